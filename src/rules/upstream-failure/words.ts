/** Every sentence that WC104 says. */
import type { Failure, RequestRecord } from '../../correlate/failures.js'
import { toMilliseconds } from '../../model/instant.js'
import type { Rival } from '../../model/report.js'
import type { Suffix } from './cause.js'
import type { AttemptFacts } from './rule.js'

/** What each code means, as a rest of a sentence: `n requests to X: …`. */
export const CODES: Readonly<Record<Suffix, string>> = {
  'connect-refused': 'the upstream refused the connection (nothing listens on that port)',
  'connect-timeout': 'the connection was not established within the connect timeout',
  'no-route': 'there was no route to the upstream (host or network unreachable)',
  'bind-failed': 'the proxy could not bind a local address for the connection',
  'connect-failed': 'the connection could not be established',
  'tls-verify-failed': 'the certificate of the upstream was not accepted',
  'tls-failed': 'the TLS handshake with the upstream failed',
  'keepalive-race': 'a pooled connection was picked at the moment at which the upstream closed it',
  'reset-before-response': 'the upstream connection ended after the request was sent and before any response',
  'reset-mid-response': 'the upstream connection ended in the middle of the response: the client got a part of it',
  'remote-reset': 'the upstream reset the stream',
  'local-reset': 'the proxy reset the stream itself',
  'protocol-error': 'the upstream broke the protocol, or ended in the middle of a body',
  timeout: 'the upstream did not answer in time',
  'stream-idle': 'the stream was idle for too long',
  'max-duration': 'the stream or connection reached its maximum duration',
  'no-healthy-upstream': 'the cluster had no healthy endpoint',
  'no-cluster': 'the route names a cluster that the proxy does not have',
  'no-route-match': 'no route or filter chain matched',
  overflow: 'a circuit breaker was open (too many connections, pending requests or retries)',
  overload: 'the proxy shed load or was told to drop',
  'dns-failed': 'the name of the upstream did not resolve',
  misconfigured: 'the proxy lacks a filter configuration, or the route service is wrong',
  'stale-endpoint': 'the address had lost its owner before the proxy connected, and nobody had taken it',
  'refused-by-policy': 'a policy refused the request (RBAC or external authorization), as configured',
  'policy-service-failed': 'the authorization or rate-limit service failed',
  'rate-limited': 'a rate limit refused the request, as configured',
  'fault-injected': 'a fault was injected, as configured',
  unknown: 'nothing in the evidence explains the failure',
}

export function title(suffix: Suffix, count: number, remote: string | null, record: RequestRecord | null, requests: number): string {
  const where = remote ?? record?.cluster ?? 'no upstream'
  const of = requests > 0 ? ` of ${requests}` : ''
  const what = record?.kind === 'tcp' ? 'TCP session' : 'request'
  const status = record?.status ? ` with ${record.status}${record.flags.length > 0 ? ` ${record.flags.join(',')}` : ''}` : record && record.flags.length > 0 ? ` with ${record.flags.join(',')}` : ''
  return `${count}${of} ${what}${count === 1 && requests <= 1 ? '' : 's'} to ${where} failed${status}: ${CODES[suffix]}`
}

export function because(suffix: Suffix, f: Failure, attempt: AttemptFacts | null): string[] {
  const r = f.hops.at(-1)
  if (suffix === 'keepalive-race' && attempt)
    return [
      'the connection had been used before and was picked from the pool again',
      `the peer's FIN was read ${attempt.start !== null && attempt.closedAt !== null ? `${toMilliseconds(attempt.closedAt - attempt.start)} ms` : 'right'} after that, before any response`,
    ]
  if (suffix === 'stale-endpoint') return ['the owner of the address had ended before the request began, and no other is known']
  if (suffix === 'unknown') return ['the proxy printed no reason that names a mechanism']
  const printed = r?.details ?? r?.transport ?? r?.routerError ?? f.backends.at(-1)?.error ?? f.streams.at(-1)?.reason
  return [printed ? `the proxy printed ${JSON.stringify(printed)}` : `the proxy set the flag ${(r?.flags ?? []).join(',')}`]
}

export const recordSays = (suffix: Suffix, count: number, r: RequestRecord | null): string =>
  `${count === 1 ? 'The access log shows' : `The access log shows ${count} times (first ones cited)`}: ${[r?.status ?? (r?.kind === 'tcp' ? 'a TCP session' : 'no status'), r?.flags.join(','), r?.details, r?.transport && r.transport !== r.details ? r.transport : null].filter(Boolean).join(' ')}: ${CODES[suffix]}`

export const attemptSays = (suffix: Suffix, a: AttemptFacts): string =>
  suffix === 'keepalive-race'
    ? `Connection ${a.connectionId} was picked from the pool for the request, then the peer's FIN was read, the socket closed and the request reset`
    : `The proxy's log of connection ${a.connectionId ?? '(unknown)'} for the request: ${a.closed === null ? 'its end is not in the log' : `ended by ${a.closed}`}`

export const logSays = (f: Failure): string => {
  const error = f.backends.at(-1)?.error
  return error !== undefined ? `The router's log says: attempt failed with ${JSON.stringify(error)}` : `The proxy's log says: upstream reset, ${f.streams.at(-1)?.reason ?? 'reason unknown'}`
}

const STOP: Rival = {
  says: 'the instance was being stopped or had died',
  status: 'open',
  because: 'nothing in the bundle tells when the instance behind the address stopped',
  separated_by: 'when its pod or instance was told to stop and exited (kubectl get events, cf logs)',
}

export function rivals(suffix: Suffix, stopsKnown: boolean): Rival[] {
  if (suffix === 'keepalive-race' || suffix === 'reset-before-response' || suffix === 'reset-mid-response')
    return [
      stopsKnown ? { ...STOP, status: 'refuted', because: 'no known stop coincides with the failure' } : STOP,
      ...(suffix === 'reset-before-response'
        ? [{ says: 'keep-alive race', status: 'open' as const, because: 'the record does not tell whether the connection was fresh or reused', separated_by: "the proxy's debug log (connection and pool) or a capture of the connection" }]
        : []),
    ]
  if (suffix === 'connect-timeout')
    return [
      { says: 'a policy drops the SYN', status: 'open', because: 'a dropped SYN and a vanished host look the same to the proxy', separated_by: 'Hubble drops or a capture at the destination node' },
      { says: 'the address had lost its owner', status: 'open', because: 'the owner of the address at that time is not known', separated_by: 'who owned the address then (owner-history)' },
    ]
  return []
}

const ADVICE: Partial<Record<Suffix, readonly string[]>> = {
  'connect-refused': ['Check that the application listens on that port and on the pod address, not on 127.0.0.1 only, and that the Service targetPort is right.'],
  'connect-timeout': ['Test the path from the node of the proxy to the address (SYN answered or not), and look for drops by policy at the destination.'],
  'no-route': ['Look whether the endpoint still exists; a constant 3 s means that ARP failed: the address is gone from its network.'],
  'bind-failed': ['Local ports or the source address ran out: look for 5-tuple collisions and many connections to one endpoint.'],
  'keepalive-race': [
    "Make the proxy's idle timeout for the cluster shorter than the keep-alive timeout of the server.",
    'Retry on "reset-before-request" (Envoy 1.31 and later) or on "reset" for idempotent requests.',
  ],
  'reset-before-response': ['Find out who ended the connection: debug log of the proxy (connection, pool) or a capture, and when the instance behind the address stopped.'],
  'reset-mid-response': ['Look for crashes or restarts of the upstream at that instant.'],
  'tls-verify-failed': ['Compare the certificate that the upstream presents with what the proxy expects (SAN, CA, validity).'],
  'tls-failed': ['Check whether the port speaks TLS at all, and which versions and client certificates it wants.'],
  timeout: ['Compare the route timeout with the response times of the upstream.'],
  'no-healthy-upstream': ['List the endpoints of the cluster at that time (kubectl get endpointslices; /clusters of the proxy) and look for failed health checks or ejections.'],
  'no-cluster': ['The route names a cluster that the proxy does not have: compare routes and clusters in its configuration.'],
  overflow: ['Raise the circuit-breaker limits or find out why requests pile up.'],
  'stale-endpoint': ['Find out why the endpoint was still in the proxy after its pod had ended (EDS, DNS, a draining delay).'],
  'dns-failed': ['Resolve the name from the pod of the proxy.'],
  'policy-service-failed': ['Look into the log of the authorization or rate-limit service at that time.'],
  unknown: ['Add response_code_details and upstream_transport_failure_reason to the access log; without them many causes look the same.'],
}

export const advice = (suffix: Suffix): string[] => [...(ADVICE[suffix] ?? [])]
