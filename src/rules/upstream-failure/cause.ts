/**
 * Why a request failed, from what its proxies printed: the reset reason and the transport failure where there is one,
 * the details, then the flags. One failure has one cause, that of the innermost hop that failed by itself.
 */
import type { StreamFailure } from '../../correlate/connections.js'
import { type Failure, innermost, innerStream, isFailed, type RequestRecord, streamBehind } from '../../correlate/failures.js'
import { gorouterError, ztunnelError } from './others.js'

/** A cause that explains a failure without being a finding. */
export type Harmless = 'answered-by-app' | 'client-gone' | 'client-fault' | 'retried' | 'local-answer'

/** Suffixes of WC104 codes. */
export type Suffix =
  | 'connect-refused'
  | 'connect-timeout'
  | 'no-route'
  | 'bind-failed'
  | 'connect-failed'
  | 'tls-verify-failed'
  | 'tls-failed'
  | 'keepalive-race'
  | 'reset-before-response'
  | 'reset-mid-response'
  | 'remote-reset'
  | 'local-reset'
  | 'protocol-error'
  | 'timeout'
  | 'stream-idle'
  | 'max-duration'
  | 'no-healthy-upstream'
  | 'no-cluster'
  | 'no-route-match'
  | 'overflow'
  | 'overload'
  | 'dns-failed'
  | 'misconfigured'
  | 'stale-endpoint'
  | 'refused-by-policy'
  | 'policy-service-failed'
  | 'rate-limited'
  | 'fault-injected'
  | 'unknown'

export type Cause = { readonly code: Suffix } | { readonly harmless: Harmless }

const code = (c: Suffix): Cause => ({ code: c })
const harmless = (h: Harmless): Cause => ({ harmless: h })

/** The cause of a failure. */
export function causeOf(f: Failure): Cause {
  if (f.streams.length > 0 && f.streams.every(s => s.healed) && !f.hops.some(isFailed)) return harmless('retried')
  const inner = innermost(f)
  const stream = innerStream(f)
  if (!inner) return stream ? ofStream(stream) : gorouterError(f.backends.at(-1)?.error ?? '')
  if (f.backends.length > 0 && (inner.status ?? 500) < 500 && inner.routerError === null) return harmless('retried')
  if (inner.proxy === 'gorouter') return ofRouter(inner, f)
  if (inner.proxy === 'ztunnel') return ztunnelError(inner.details ?? inner.termination ?? inner.transport ?? '')
  const cause = ofEnvoy(inner, stream)
  const behind = streamBehind(f)
  // What looks like the application's answer may be that of a sidecar, whose log says why.
  return behind && 'harmless' in cause && cause.harmless === 'answered-by-app' ? ofStream(behind) : cause
}

/** A failure that only the proxy's log shows. */
const ofStream = (s: StreamFailure): Cause => cut(resetCause(s.reason, s.transport ?? ''), s.responded)

/** `stream`: what the same proxy's log says of the attempt. It counts where the record prints less. */
function ofEnvoy(r: RequestRecord, stream: StreamFailure | null): Cause {
  const details = r.details ?? ''
  const reset = /^upstream_reset_(before|after)_response_started(?:\{(.*)\})?$/.exec(details)
  if (reset) {
    const [reason = '', ...rest] = (reset[2] ?? '').split(/[|,]/)
    const transport = rest.join('|') || r.transport || (stream?.transport ?? '')
    return cut(resetCause(reason || (stream?.reason ?? ''), transport, r.flags), reset[1] === 'after')
  }
  if (details === 'via_upstream' && (r.status ?? 0) >= 500) return harmless('answered-by-app')
  const byDetails = DETAILS.find(([pattern]) => pattern.test(details))
  if (byDetails) return byDetails[1]
  if (r.flags.includes('UF')) return connectFailure(r, stream)
  if (stream && r.flags.some(x => OF_UPSTREAM.has(x))) return ofStream(stream)
  const byFlag = flagCause(r.flags)
  if (byFlag) return byFlag
  // URX alone: retries ran out, and what the last one failed of would have a flag of its own.
  if (details === '' && r.flags.every(x => x === 'URX') && (r.status ?? 0) >= 500 && r.upstreamHost !== null) return harmless('answered-by-app')
  return code('unknown')
}

/** Flags that the router sets for a reset. */
const OF_UPSTREAM: ReadonlySet<string> = new Set(['UC', 'UR', 'LR', 'UPE', 'UO'])

/** Formats of before 1.15 and of TCP print no reset reason: then the transport failure, the log and at last the duration tell the kind. */
function connectFailure(r: RequestRecord, stream: StreamFailure | null): Cause {
  if (r.transport !== null) return connectCause(r.transport)
  if (stream) return ofStream(stream)
  return code(r.durationMs !== null && tookTimeout(r.durationMs) ? 'connect-timeout' : 'connect-failed')
}

/** Milliseconds. A refusal takes a round trip, an address that is gone from its network 3 s (three ARP requests); what takes longer, or one of the usual short timeouts, has run into a timeout. */
export const tookTimeout = (ms: number): boolean => SHORT_TIMEOUTS.some(t => ms >= t - 2 && ms <= t + 20) || (ms >= 900 && (ms < 2950 || ms > 3300))
const SHORT_TIMEOUTS = [250, 500] as const

/** What is left of a cause once the response had begun: it was cut off. */
const cut = (cause: Cause, after: boolean): Cause => (after && 'code' in cause && AFTER.has(cause.code) ? code('reset-mid-response') : cause)
const AFTER: ReadonlySet<Suffix> = new Set(['reset-before-response', 'keepalive-race', 'remote-reset', 'protocol-error', 'unknown'])

/** Envoy's reset reasons, with blanks or underscores. `connection failure` is the name before 1.27 for all three kinds. */
export function resetCause(reason: string, transport: string, flags: readonly string[] = []): Cause {
  const name = reason.replaceAll('_', ' ').trim()
  switch (name) {
    case 'upstream timeout':
      return code('timeout')
    case 'connection timeout':
      return code('connect-timeout')
    case 'connection failure':
    case 'remote connection failure':
    case 'local connection failure':
      return transport === '' ? code('connect-failed') : connectCause(transport)
    case 'connection termination':
      return transport !== '' && isHandshake(transport) ? connectCause(transport) : code('reset-before-response')
    case 'remote reset':
    case 'remote refused stream reset':
    case 'remote error with CONNECT request':
      return code('remote-reset')
    case 'local reset':
    case 'local refused stream reset':
    case 'HTTP/1 premature upstream half close':
      return code('local-reset')
    case 'protocol error':
      return code('protocol-error')
    case 'overflow':
      return code('overflow')
    case 'overload manager reset':
      return code('overload')
    default:
      return flagCause(flags) ?? code('unknown')
  }
}

const isHandshake = (transport: string): boolean => /CERTIFICATE|SSL.?routines|verify cert/i.test(transport)

/** Why a connect failed, from the transport failure reason (text or errno). */
export function connectCause(transport: string): Cause {
  const t = transport.replaceAll('_', ' ')
  if (/Connection refused|error: ?111\b|errno: ?111\b/i.test(t)) return code('connect-refused')
  if (/No route to host|error: ?113\b|Network is unreachable|error: ?101\b|Host is unreachable/i.test(t)) return code('no-route')
  if (/failed to bind|Cannot assign requested address|error: ?99\b|Address already in use/i.test(t)) return code('bind-failed')
  if (/Connection timed out|connect timeout|error: ?110\b/i.test(t)) return code('connect-timeout')
  if (/CERTIFICATE.VERIFY.FAILED|verify cert|verify SAN|CERTIFICATE.UNKNOWN|UNKNOWN.CA|certificate (?:has )?expired|x509/i.test(t)) return code('tls-verify-failed')
  // A reset or a broken pipe inside TLS is no TLS failure: library 2 of BoringSSL is the system.
  if (/Connection reset by peer|Broken pipe|error: ?104\b|error: ?32\b/i.test(t)) return code('connect-failed')
  if (/TLS|SSL|handshake/i.test(t)) return code('tls-failed')
  return code('connect-failed')
}

/** Response code details, most telling first. */
const DETAILS: readonly (readonly [RegExp, Cause])[] = [
  [/^downstream_local_disconnect\((?=.{0,200}max_connection_duration)/, code('max-duration')],
  [/^downstream_(?:remote|local)_disconnect/, harmless('client-gone')],
  [/^http2\.remote_re(?:set|fuse)/, harmless('client-gone')],
  [/^rbac_access_denied/, code('refused-by-policy')],
  [/^ext_(?:authz|proc)_error/, code('policy-service-failed')],
  [/^ext_authz_denied/, code('refused-by-policy')],
  [/^(?:jwt_authn_access_denied|csrf_origin_mismatch|oauth)/, code('refused-by-policy')],
  [/^(?:rate_limited|request_rate_limited|local_rate_limited)/, code('rate-limited')],
  [/^rate_limiter_error/, code('policy-service-failed')],
  [/^fault_filter_(?:abort|delay)/, code('fault-injected')],
  [/^no_healthy_upstream/, code('no-healthy-upstream')],
  [/^cluster_not_found/, code('no-cluster')],
  [/^(?:route_not_found|route_configuration_not_found|filter_chain_not_found)/, code('no-route-match')],
  [/^(?:overload|drop_overload|unconditional_drop_overload|reached_concurrency_limit|denied_by_admission_control)/, code('overload')],
  [/^(?:response_timeout|upstream_per_try_timeout|upstream_per_try_idle_timeout|upstream_response_timeout)/, code('timeout')],
  [/^stream_idle_timeout/, code('stream-idle')],
  [/^(?:max_duration_timeout|duration_timeout|upstream_max_stream_duration_reached)/, code('max-duration')],
  [/^request_(?:header|overall)_timeout/, harmless('client-fault')],
  [/^(?:direct_response|admin_filter_response|health_check|maintenance_mode|lua_response|custom_response)/, harmless('local-answer')],
  [/^dns_resolution_failure/, code('dns-failed')],
  [/^dns_cache_pending_requests_overflow/, code('overflow')],
  [/^(?:response_payload_too_large|request_payload_exceeded_retry_buffer_limit|filter_config)/, code('misconfigured')],
  [
    /^(?:low_version|missing_(?:host|path)|host_header_missing|path_normalization_failed|request_headers_|request_payload_too_large|invalid_|absolute_path_rejected|upgrade_failed)/,
    harmless('client-fault'),
  ],
  [/^(?:http[123]\.|codec_error|internal_redirect)/, harmless('client-fault')],
]

const FLAGS: readonly (readonly [string, Cause])[] = [
  ['DC', harmless('client-gone')],
  ['DR', harmless('client-gone')],
  ['UH', code('no-healthy-upstream')],
  ['LH', code('no-healthy-upstream')],
  ['NC', code('no-cluster')],
  ['NR', code('no-route-match')],
  ['UAEX', code('refused-by-policy')],
  ['RLSE', code('policy-service-failed')],
  ['RL', code('rate-limited')],
  ['FI', code('fault-injected')],
  ['DI', code('fault-injected')],
  ['UO', code('overflow')],
  ['OM', code('overload')],
  ['DO', code('overload')],
  ['UDO', code('overload')],
  ['DF', code('dns-failed')],
  ['NFCF', code('misconfigured')],
  ['UT', code('timeout')],
  ['SI', code('stream-idle')],
  ['UMSDR', code('max-duration')],
  ['DT', code('max-duration')],
  ['UF', code('connect-failed')],
  ['UC', code('reset-before-response')],
  ['UR', code('remote-reset')],
  ['LR', code('local-reset')],
  ['UPE', code('protocol-error')],
  ['DPE', harmless('client-fault')],
  ['IH', harmless('client-fault')],
]

const flagCause = (flags: readonly string[]): Cause | undefined => FLAGS.find(([flag]) => flags.includes(flag))?.[1]

/** gorouter: x_cf_routererror, or the error of the last attempt in its log. */
function ofRouter(r: RequestRecord, f: Failure): Cause {
  if (r.status === 499) return harmless('client-gone')
  const error = r.routerError ?? f.backends.at(-1)?.error ?? null
  if (error === null) return (r.status ?? 0) >= 500 && r.upstreamHost !== null ? harmless('answered-by-app') : code('unknown')
  return gorouterError(error)
}
