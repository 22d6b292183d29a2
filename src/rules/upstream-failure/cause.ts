/**
 * Why a request failed, from what its proxies printed: the reset reason and the transport failure where there is one,
 * the details, then the flags. One failure has one cause, that of the innermost hop that failed by itself.
 */
import { type Failure, innermost, type RequestRecord } from '../../correlate/failures.js'

/** A cause that explains a failure without being a finding. */
export type Harmless = 'answered-by-app' | 'client-gone' | 'client-fault' | 'retried' | 'local-answer'

/** Suffixes of WC104 codes. */
export type Suffix =
  | 'connect-refused' | 'connect-timeout' | 'no-route' | 'bind-failed' | 'connect-failed' | 'tls-verify-failed' | 'tls-failed' | 'keepalive-race' | 'reset-before-response'
  | 'reset-mid-response' | 'remote-reset' | 'local-reset' | 'protocol-error' | 'timeout' | 'stream-idle' | 'max-duration' | 'no-healthy-upstream' | 'no-cluster' | 'no-route-match'
  | 'overflow' | 'overload' | 'dns-failed' | 'misconfigured' | 'stale-endpoint' | 'refused-by-policy' | 'policy-service-failed' | 'rate-limited' | 'fault-injected' | 'unknown'

export type Cause = { readonly code: Suffix } | { readonly harmless: Harmless }

const code = (c: Suffix): Cause => ({ code: c })
const harmless = (h: Harmless): Cause => ({ harmless: h })

/** The cause of a failure. */
export function causeOf(f: Failure): Cause {
  if (f.streams.length > 0 && f.streams.every(s => s.healed) && !f.hops.some(h => (h.status ?? 0) >= 500)) return harmless('retried')
  const inner = innermost(f)
  if (!inner) return f.backends.length > 0 ? gorouterError(f.backends.at(-1)?.error ?? '') : resetCause(f.streams.at(-1)?.reason ?? '', f.streams.at(-1)?.transport ?? '')
  if (f.backends.length > 0 && (inner.status ?? 500) < 500 && inner.routerError === null) return harmless('retried')
  return isRouter(inner) ? ofRouter(inner, f) : ofEnvoy(inner)
}

const isRouter = (r: RequestRecord): boolean => r.proxy === 'gorouter'

function ofEnvoy(r: RequestRecord): Cause {
  const details = r.details ?? ''
  const reset = /^upstream_reset_(before|after)_response_started(?:\{(.*)\})?$/.exec(details)
  if (reset) {
    const [reason = '', ...rest] = (reset[2] ?? '').split(/[|,]/)
    const transport = rest.join('|') || (r.transport ?? '')
    const cause = resetCause(reason, transport, r.flags)
    return reset[1] === 'after' && 'code' in cause && AFTER.has(cause.code) ? code('reset-mid-response') : cause
  }
  const byDetails = DETAILS.find(([pattern]) => pattern.test(details))
  if (byDetails) return byDetails[1]
  if (r.transport !== null && r.flags.includes('UF')) return connectCause(r.transport)
  for (const [flag, cause] of FLAGS) if (r.flags.includes(flag)) return cause
  if (details === 'via_upstream' && (r.status ?? 0) >= 500) return harmless('answered-by-app')
  if (details === '' && r.flags.length === 0 && (r.status ?? 0) >= 500 && r.upstreamHost !== null) return harmless('answered-by-app')
  return code('unknown')
}

/** Resets that cut a response off once it had begun. */
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
      for (const [flag, cause] of FLAGS) if (flags.includes(flag)) return cause
      return code('unknown')
  }
}

const isHandshake = (transport: string): boolean => /CERTIFICATE|SSL.?routines|verify cert/i.test(transport)

/** Why a connect failed, from the transport failure reason (text or errno). */
export function connectCause(transport: string): Cause {
  const t = transport.replaceAll('_', ' ')
  if (/Connection refused|error: ?111\b|errno: ?111\b/i.test(t)) return code('connect-refused')
  if (/No route to host|error: ?113\b|Network is unreachable|error: ?101\b|Host is unreachable/i.test(t)) return code('no-route')
  if (/failed to bind|Cannot assign requested address|error: ?99\b|Address already in use/i.test(t)) return code('bind-failed')
  if (/Connection timed out|error: ?110\b/i.test(t)) return code('connect-timeout')
  if (/CERTIFICATE.VERIFY.FAILED|verify cert|verify SAN|CERTIFICATE.UNKNOWN|UNKNOWN.CA|certificate (?:has )?expired|x509/i.test(t)) return code('tls-verify-failed')
  // A reset or a broken pipe inside TLS is no TLS failure: library 2 of BoringSSL is the system.
  if (/Connection reset by peer|Broken pipe|error: ?104\b|error: ?32\b/i.test(t)) return code('connect-failed')
  if (/TLS|SSL|handshake/i.test(t)) return code('tls-failed')
  return code('connect-failed')
}

/** Response code details, most telling first. */
const DETAILS: readonly (readonly [RegExp, Cause])[] = [
  [/^downstream_(?:remote|local)_disconnect/, harmless('client-gone')],
  [/^http2\.remote_re(?:set|fuse)/, harmless('client-gone')],
  [/^rbac_access_denied/, code('refused-by-policy')],
  [/^ext_authz_error/, code('policy-service-failed')],
  [/^ext_authz_denied/, code('refused-by-policy')],
  [/^(?:jwt_authn_access_denied|csrf_origin_mismatch|cors)/, code('refused-by-policy')],
  [/^(?:rate_limited|request_rate_limited|local_rate_limited)/, code('rate-limited')],
  [/^rate_limiter_error/, code('policy-service-failed')],
  [/^fault_filter_(?:abort|delay)/, code('fault-injected')],
  [/^no_healthy_upstream/, code('no-healthy-upstream')],
  [/^cluster_not_found/, code('no-cluster')],
  [/^route_not_found|^filter_chain_not_found/, code('no-route-match')],
  [/^(?:overload|drop_overload|unconditional_drop_overload)/, code('overload')],
  [/^maintenance_mode/, code('overload')],
  [/^(?:response_timeout|upstream_per_try_timeout|upstream_per_try_idle_timeout|upstream_response_timeout)/, code('timeout')],
  [/^stream_idle_timeout/, code('stream-idle')],
  [/^(?:max_duration_timeout|duration_timeout|upstream_max_stream_duration_reached)/, code('max-duration')],
  [/^request_(?:header|overall)_timeout/, harmless('client-fault')],
  [/^(?:direct_response|admin_filter_response|health_check)/, harmless('local-answer')],
  [/^dns_resolution_failure/, code('dns-failed')],
  [/^(?:http[123]\.|low_version|missing_host|missing_path|path_normalization_failed|request_headers_too_large|request_payload_too_large|invalid_|absolute_path_rejected|codec_error|internal_redirect_failure)/, harmless('client-fault')],
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
  ['URX', code('unknown')],
]

/** gorouter: x_cf_routererror, or the error of the last attempt in its log. */
function ofRouter(r: RequestRecord, f: Failure): Cause {
  if (r.status === 499 || /context canceled/.test(r.routerError ?? '')) return harmless('client-gone')
  const error = r.routerError ?? f.backends.at(-1)?.error ?? null
  if (error === null) return (r.status ?? 0) >= 500 && r.upstreamHost !== null ? harmless('answered-by-app') : code('unknown')
  return gorouterError(error)
}

export function gorouterError(error: string): Cause {
  if (/context canceled/.test(error)) return harmless('client-gone')
  if (/^unknown_route/.test(error)) return code('no-route-match')
  if (/^no_endpoints/.test(error)) return code('no-healthy-upstream')
  if (/Connection Limit Reached/i.test(error)) return code('overflow')
  if (/^(?:empty_host|invalid_cf_|max-request-size|deprecated-semicolon)/.test(error)) return harmless('client-fault')
  if (/route_service/.test(error)) return code('misconfigured')
  if (/connection refused/.test(error)) return code('connect-refused')
  if (/no route to host|network is unreachable/.test(error)) return code('no-route')
  if (/cannot assign requested address/.test(error)) return code('bind-failed')
  if (/dial tcp.*(?:i\/o timeout|timed out)/.test(error)) return code('connect-timeout')
  if (/context deadline exceeded|timeout awaiting response|i\/o timeout/.test(error)) return code('timeout')
  if (/x509|HostnameMismatch|unknown certificate|certificate/.test(error)) return code('tls-verify-failed')
  if (/tls:|handshake/.test(error)) return code('tls-failed')
  if (/EOF|reset by peer|broken pipe|server closed idle connection|closed network connection/.test(error)) return code('reset-before-response')
  return code('unknown')
}
