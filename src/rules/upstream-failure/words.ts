/** Every sentence that WC104 says. */
import { type Failure, innermost, innerStream, type RequestRecord } from '../../correlate/failures.js'
import { iso, toMilliseconds } from '../../model/instant.js'
import type { Rival } from '../../model/report.js'
import type { Attempt } from './attempts.js'
import type { Suffix } from './cause.js'
import type { Ending } from './endings.js'
import type { Holder } from './holder.js'
import type { Judged } from './rule.js'

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

export interface Told {
  readonly suffix: Suffix
  /** Failed requests of people, and failed health checks. */
  readonly failed: number
  readonly probes: number
  readonly of: { readonly requests: number; readonly probes: number }
  /** Address, or cluster. */
  readonly remote: string | null
  readonly record: RequestRecord | null
}

export function title({ suffix, failed, probes, of, remote, record }: Told): string {
  const what = record?.kind === 'tcp' ? 'TCP session' : 'request'
  const who = failed > 0 ? `${counted(failed, of.requests, what)}${probes > 0 ? ` and ${counted(probes, of.probes, 'probe')}` : ''}` : counted(probes, of.probes, 'probe')
  const flags = record && record.flags.length > 0 ? record.flags.join(',') : null
  const told = [record?.status, flags].filter(Boolean).join(' ')
  return `${who} to ${remote ?? 'no upstream'} failed${told === '' ? '' : ` with ${told}`}: ${CODES[suffix]}`
}

const counted = (n: number, of: number, what: string): string => `${n}${of > 0 ? ` of ${of}` : ''} ${what}${n === 1 && of <= 1 ? '' : 's'}`

export function because({ suffix, failure: f, attempt, ending }: Judged): string[] {
  const r = innermost(f)
  const stream = innerStream(f)
  if (suffix === 'keepalive-race' && ending?.acknowledged === false)
    return ['the FIN that ended the connection does not acknowledge the bytes of the request: the peer had not read them when it closed']
  if (suffix === 'keepalive-race' && attempt)
    return [
      'the connection had been used before and was picked from the pool again',
      `the peer's FIN was read ${attempt.start !== null && attempt.closedAt !== null ? `${toMilliseconds(attempt.closedAt - attempt.start)} ms` : 'right'} after that, before any response${attempt.roundTrip === null ? '' : `; one round trip takes ${toMilliseconds(attempt.roundTrip)} ms`}`,
    ]
  if (suffix === 'stale-endpoint') return ['the owner of the address had ended before the request began, and no other is known']
  if (suffix === 'unknown') return ['the proxy printed no reason that names a mechanism']
  const printed = r?.details ?? r?.transport ?? r?.routerError ?? f.backends.at(-1)?.error ?? stream?.reason
  if (printed)
    return [
      `the proxy printed ${JSON.stringify(printed)}`,
      ...(stream?.transport && stream.transport !== printed ? [`its log says of the connection: ${JSON.stringify(stream.transport)}`] : []),
    ]
  const flags = `the proxy set the flag ${(r?.flags ?? []).join(',')}`
  return suffix === 'connect-timeout' && r?.durationMs
    ? [`${flags} after ${r.durationMs} ms and printed no reason: a refusal takes a round trip, a timeout as long as it is configured`]
    : [flags]
}

export const recordSays = (suffix: Suffix, count: number, r: RequestRecord | null): string =>
  `${count === 1 ? 'The access log shows' : `The access log shows ${count} times (first ones cited)`}: ${[r?.status ?? (r?.kind === 'tcp' ? 'a TCP session' : 'no status'), r?.flags.join(','), r?.details, r?.transport && r.transport !== r.details ? r.transport : null].filter(Boolean).join(' ')}: ${CODES[suffix]}`

export const attemptSays = (suffix: Suffix, a: Attempt): string =>
  suffix === 'keepalive-race'
    ? `Connection ${a.connectionId} was picked from the pool for the request, then the peer's FIN was read, the socket closed and the request reset`
    : `The proxy's log of connection ${a.connectionId ?? '(unknown)'} for the request: ${a.closed === null ? 'its end is not in the log' : `ended by ${a.closed}`}`

export const logSays = (f: Failure): string => {
  const error = f.backends.at(-1)?.error
  return error !== undefined
    ? `The router's log says: attempt failed with ${JSON.stringify(error)}`
    : `The proxy's log says: upstream reset, ${f.streams.at(-1)?.reason ?? 'reason unknown'}`
}

export const endingSays = (e: Ending): string =>
  `The capture shows the peer's ${e.by === 'fin' ? 'FIN' : 'RST'}${e.t === null ? '' : ` at ${iso(e.t)}`}${e.acknowledged === null ? '' : e.acknowledged ? ', which acknowledges the request: the peer had read it' : ', which does not acknowledge the request'}`

export const listingSays = (ip: string, pods: readonly string[]): string => `No pod that is listed has ${ip}: ${pods.length === 1 ? 'there is' : 'there are'} ${pods.join(', ')}`

const stop = ({ lasting }: Holder): Rival => ({
  says: 'the instance was being stopped or had died',
  status: lasting === null ? 'open' : 'refuted',
  because: lasting === null ? 'nothing in the bundle tells when the instance behind the address stopped' : `${lasting} had the address before and after`,
  separated_by: 'when its pod or instance was told to stop and exited (kubectl get events, cf logs)',
})

const race: Rival = {
  says: 'keep-alive race',
  status: 'open',
  because: 'the record does not tell whether the connection was fresh or reused',
  separated_by: "the proxy's debug log (connection and pool) or a capture of the connection",
}

const closedOnPurpose: Rival = {
  says: 'the application read the request and closed the connection instead of answering',
  status: 'open',
  because: 'a FIN that acknowledges the request comes at the same time when the round trip is shorter than the clock shows',
  separated_by: 'whether the FIN acknowledges the bytes of the request: a capture of the connection',
}

const policyDrop: Rival = {
  says: 'a policy drops the SYN',
  status: 'open',
  because: 'a dropped SYN and a vanished host look the same to the proxy',
  separated_by: 'Hubble drops or a capture at the destination node',
}

const gone = ({ lasting, unlisted }: Holder): Rival => ({
  says: 'the address had lost its owner',
  status: lasting === null ? 'open' : 'refuted',
  because:
    lasting !== null
      ? `${lasting} had the address before and after`
      : unlisted
        ? 'no listed pod has the address; a listing of another moment proves no end'
        : 'the owner of the address at that time is not known',
  separated_by: 'who owned the address then (owner-history)',
})

/** `ending`: what a capture refutes. */
export function rivals({ suffix, ending }: Judged, holder: Holder): Rival[] {
  const shown = ending?.acknowledged ?? null
  switch (suffix) {
    case 'keepalive-race':
      return [stop(holder), shown === null ? closedOnPurpose : { ...closedOnPurpose, status: 'refuted', because: 'the FIN does not acknowledge the request' }]
    case 'reset-before-response':
      return [stop(holder), shown === null ? race : { ...race, status: 'refuted', because: `the ${ending?.by === 'fin' ? 'FIN' : 'RST'} acknowledges the request` }]
    case 'reset-mid-response':
      return [stop(holder)]
    case 'connect-timeout':
    case 'connect-failed':
      return [policyDrop, gone(holder)]
    default:
      return []
  }
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
