/** Causes of what gorouter and ztunnel print. */
import type { Cause, Harmless, Suffix } from './cause.js'

const code = (c: Suffix): Cause => ({ code: c })
const harmless = (h: Harmless): Cause => ({ harmless: h })
type Table = readonly (readonly [RegExp, Cause])[]
const first = (table: Table, text: string): Cause | undefined => table.find(([pattern]) => pattern.test(text))?.[1]

/** Errors of Go's network and TLS stack, wherever they stand in the text. */
const GO: Table = [
  [/connection refused/, code('connect-refused')],
  [/no route to host|network is unreachable/, code('no-route')],
  [/cannot assign requested address/, code('bind-failed')],
  [/dial tcp.{0,200}(?:i\/o timeout|timed out)/, code('connect-timeout')],
  [/context deadline exceeded|timeout awaiting response|i\/o timeout/, code('timeout')],
  [/x509|HostnameMismatch|unknown certificate|bad certificate|certificate/, code('tls-verify-failed')],
  [/tls:|handshake/, code('tls-failed')],
  [/EOF|reset by peer|broken pipe|server closed idle connection|closed network connection/, code('reset-before-response')],
]

/** x_cf_routererror, or the error of an attempt in the router's log. */
const GOROUTER: Table = [
  [/context canceled/, harmless('client-gone')],
  [/^unknown_route/, code('no-route-match')],
  [/^no_endpoints/, code('no-healthy-upstream')],
  [/Connection Limit Reached/i, code('overflow')],
  [/^(?:empty_host|invalid_cf_(?:app|process)_instance_header|max-request-size|deprecated-semicolon)/, harmless('client-fault')],
  [/route_service/, code('misconfigured')],
]

export const gorouterError = (error: string): Cause => first(GOROUTER, error) ?? first(GO, error) ?? code('unknown')

/** The rest of an I/O error, as Rust prints it: `Connection refused (os error 111)`. */
const RUST: Table = [
  [/os error 111\b|connection refused/i, code('connect-refused')],
  [/os error (?:101|113)\b|no route to host|network is unreachable|host is unreachable/i, code('no-route')],
  [/os error 99\b|cannot assign requested address/i, code('bind-failed')],
  [/os error 110\b|timed out|deadline has elapsed/i, code('connect-timeout')],
]

/** `error=` of ztunnel's access log. An error of copying does not say on which side: nothing is made of it. */
const ZTUNNEL: Table = [
  [/^client disconnected/, harmless('client-gone')],
  [/^(?:expected method CONNECT|invalid CONNECT address)/, harmless('client-fault')],
  [/^connection timed out/, code('connect-timeout')],
  [/^failed to bind/, code('bind-failed')],
  [/policy rejection|policy change|^http status: 40[13]\b/, code('refused-by-policy')],
  [/revoked|invalid peer certificate|certificate|identity (?:error|mismatch)/i, code('tls-verify-failed')],
  [/^(?:tls error|http2 handshake failed)/, code('tls-failed')],
  [/^h2 failed.{0,200}(?:reset|GoAway|go away)/i, code('remote-reset')],
  [/^h2 failed|^http status/, code('protocol-error')],
  [/^(?:no ip addresses were resolved|dns: )/, code('dns-failed')],
  [/^(?:no healthy upstream|no endpoints for workload|no valid )/, code('no-healthy-upstream')],
  [/^(?:unknown waypoint|no service or workload for hostname)/, code('no-cluster')],
  [/^ip mismatch/, code('misconfigured')],
  [/drain|draining/, code('local-reset')],
  [/^destination disconnected/, code('remote-reset')],
]

export function ztunnelError(error: string): Cause {
  const named = first(ZTUNNEL, error)
  if (named) return named
  if (/^connection failed: /.test(error)) return first(RUST, error) ?? code('connect-failed')
  return /^io error: /.test(error) ? (first(RUST, error) ?? code('unknown')) : code('unknown')
}
