/** What a configuration calls a setting, and what it is called here. */

/** Keys in snake_case: Envoy's own spelling. `connectTimeout`, `accesslog-format-string` → `connect_timeout`, `accesslog_format_string`. */
export const snake = (key: string): string => key.replace(/[A-Z]/g, c => `_${c.toLowerCase()}`).replaceAll('-', '_')

type Names = Readonly<Record<string, string>>

/** Settings that mean the same wherever they stand. */
const ANYWHERE: Names = {
  connect_timeout: 'connect_timeout',
  idle_timeout: 'idle_timeout',
  connection_idle_timeout: 'idle_timeout',
  stream_idle_timeout: 'stream_idle_timeout',
  max_connection_duration: 'max_connection_duration',
  max_downstream_connection_duration: 'max_connection_duration',
  max_stream_duration: 'max_stream_duration',
  request_timeout: 'request_timeout',
  request_headers_timeout: 'request_headers_timeout',
  request_received_timeout: 'request_received_timeout',
  drain_timeout: 'drain_timeout',
  delayed_close_timeout: 'delayed_close_timeout',
  per_try_timeout: 'per_try_timeout',
  per_try_idle_timeout: 'per_try_idle_timeout',
  keepalive_time: 'keepalive_time',
  keepalive_interval: 'keepalive_interval',
  keepalive_probes: 'keepalive_probes',
  tcp_user_timeout: 'tcp_user_timeout',
  num_retries: 'max_retries',
  retry_on: 'retry_on',
  max_connect_attempts: 'max_connect_attempts',
  max_requests_per_connection: 'max_requests_per_connection',
  ignore_health_on_host_removal: 'ignore_health_on_host_removal',
  close_connections_on_host_health_failure: 'close_connections_on_host_health_failure',
}

const KEEPALIVE: Names = { time: 'keepalive_time', idle_time: 'keepalive_time', interval: 'keepalive_interval', probes: 'keepalive_probes' }
const RETRIES: Names = { attempts: 'max_retries', timeout: 'per_try_timeout', triggers: 'retry_on' }

/** Settings that mean something only under one of these keys, the nearest first. */
const UNDER: Readonly<Record<string, Names>> = {
  tcp_keepalive: KEEPALIVE,
  connection_keepalive: { interval: 'http2_keepalive_interval', timeout: 'http2_keepalive_timeout' },
  retries: RETRIES,
  retry: RETRIES,
  retry_on: RETRIES,
  per_retry: RETRIES,
  default_http_retry_policy: RETRIES,
  // The action of a route: its idle timeout is a stream's, not a connection's.
  route: { timeout: 'request_timeout', idle_timeout: 'stream_idle_timeout' },
  // A route of an Istio VirtualService; the connection pool of a DestinationRule.
  http: { timeout: 'request_timeout', max_retries: 'circuit_breaker_max_retries' },
  // Of a Gateway API HTTPRoute.
  timeouts: { request: 'request_timeout', backend_request: 'backend_request_timeout' },
  // The whole request must have come within it: not the time that a response may take.
  http_connection_manager: { request_timeout: 'request_received_timeout' },
  thresholds: { max_connections: 'max_connections', max_pending_requests: 'max_pending_requests', max_requests: 'max_requests', max_retries: 'circuit_breaker_max_retries' },
  health_checks: { timeout: 'health_check_timeout', interval: 'health_check_interval', unhealthy_threshold: 'health_check_unhealthy_threshold' },
  providers: { name: 'access_log_provider' },
}

/** What the setting at `key` is called, by the keys above it, from the root on; null for what bounds nothing. */
export function settingName(key: string, above: readonly string[]): string | null {
  const parent = above.at(-1) ?? ''
  const under = Object.hasOwn(UNDER, parent) ? UNDER[parent] : undefined
  if (under && Object.hasOwn(under, key)) return parent === 'providers' && !above.includes('access_logging') ? null : (under[key] as string)
  return Object.hasOwn(ANYWHERE, key) ? (ANYWHERE[key] as string) : null
}

/** Seconds are meant where Envoy takes a bare number for a time. */
export const inSeconds = (name: string): boolean => name === 'keepalive_time' || name === 'keepalive_interval'

/** Linux options of TCP sockets (`level: 6`), by number, and their unit. */
export const SOCKET_OPTIONS: Readonly<Record<number, readonly [string, string | null]>> = {
  4: ['keepalive_time', 's'],
  5: ['keepalive_interval', 's'],
  6: ['keepalive_probes', null],
  18: ['tcp_user_timeout', 'ms'],
}

/** Whether the text or mapping at `key` is the format of an access log; `app` of the proxy's own log. */
export function formatAt(key: string, above: readonly string[]): 'access' | 'app' | null {
  const [parent, grandparent] = [above.at(-1), above.at(-2)]
  if (key === 'access_log_format' || key === 'accesslog_format_string') return 'access'
  const inLogFormat =
    parent === 'log_format'
      ? ['text_format', 'json_format', 'text', 'labels'].includes(key)
      : parent === 'text_format_source' && grandparent === 'log_format' && key === 'inline_string'
  if (inLogFormat) return above.includes('application_log_config') ? 'app' : 'access'
  if (parent === 'access_logs') return key === 'text' || key === 'json' ? 'access' : null
  if (!above.includes('access_log')) return null
  if (parent === 'format') return key === 'text' || key === 'json' ? 'access' : null
  return ['format', 'json_format', 'typed_json_format'].includes(key) && (parent === 'typed_config' || parent === 'config') ? 'access' : null
}
