import { describe, expect, it } from 'vitest'
import type { StreamFailure } from '../../correlate/connections.js'
import type { Failure, RequestRecord } from '../../correlate/failures.js'
import { type Cause, causeOf, connectCause, resetCause, tookTimeout } from './cause.js'
import { gorouterError, ztunnelError } from './others.js'

const nameOf = (c: Cause): string => ('code' in c ? c.code : c.harmless)
const PLACE = { source: 1, line: 1n, frame: null, byteStart: 0n, byteEnd: 1n }

const record = (more: Partial<RequestRecord>): RequestRecord => ({
  row: 0n,
  place: PLACE,
  proxy: null,
  kind: 'http',
  start: 0n,
  end: 1n,
  durationMs: 3,
  method: 'GET',
  status: 503,
  flags: [],
  details: null,
  termination: null,
  transport: null,
  bytesReceived: 0n,
  bytesSent: 0n,
  upstreamHost: '10.0.0.5:8080',
  upstreamIp: '10.0.0.5',
  upstreamPort: 8080,
  upstreamLocalIp: null,
  upstreamLocalPort: null,
  cluster: 'c',
  downstreamRemoteIp: null,
  downstreamRemotePort: null,
  requestId: 'r',
  connectionId: null,
  upstreamConnectionId: null,
  attempts: null,
  routerError: null,
  instanceId: null,
  probe: false,
  ambiguous: [],
  ...more,
})
const stream = (more: Partial<StreamFailure>): StreamFailure => ({
  source: 2,
  t: 1n,
  downstreamConnectionId: 3n,
  streamId: '77',
  requestId: 'r',
  reason: 'connection termination',
  transport: null,
  responded: false,
  healed: false,
  details: null,
  status: null,
  attempt: 0,
  connection: 0,
  connectionBy: 'connection-id',
  remote: { ip: '10.0.0.5', port: 8080 },
  place: PLACE,
  ...more,
})
const failure = (more: Partial<Failure>): Failure => ({
  index: 0,
  t: 1n,
  requestId: 'r',
  hops: [],
  streams: [],
  backends: [],
  joins: new Map(),
  probe: false,
  cause: null,
  finding: null,
  ...more,
})
const ofRecord = (more: Partial<RequestRecord>): string => nameOf(causeOf(failure({ hops: [record(more)] })))

describe('reset reasons', () => {
  it.each([
    ['connection timeout', 'connect-timeout'],
    ['connection termination', 'reset-before-response'],
    ['local reset', 'local-reset'],
    ['local refused stream reset', 'local-reset'],
    ['HTTP/1 premature upstream half close', 'local-reset'],
    ['remote reset', 'remote-reset'],
    ['remote refused stream reset', 'remote-reset'],
    ['remote error with CONNECT request', 'remote-reset'],
    ['protocol error', 'protocol-error'],
    ['overflow', 'overflow'],
    ['overload manager reset', 'overload'],
    ['upstream timeout', 'timeout'],
    ['connection failure', 'connect-failed'],
    ['local connection failure', 'connect-failed'],
    ['remote connection failure', 'connect-failed'],
    ['something new', 'unknown'],
  ])('%s is %s, in the log, in details with blanks and with underscores', (reason, name) => {
    expect(nameOf(resetCause(reason, ''))).toBe(name)
    expect(ofRecord({ details: `upstream_reset_before_response_started{${reason}}` })).toBe(name)
    expect(ofRecord({ details: `upstream_reset_before_response_started{${reason.replaceAll(' ', '_')}}` })).toBe(name)
  })
  it.each([
    ['connection_termination', 'reset-mid-response'],
    ['remote_reset', 'reset-mid-response'],
    ['protocol_error', 'reset-mid-response'],
    ['local_reset', 'local-reset'],
    ['overload_manager_reset', 'overload'],
  ])('after the response had begun, %s is %s', (reason, name) => expect(ofRecord({ status: 200, details: `upstream_reset_after_response_started{${reason}}` })).toBe(name))
  it('without a reason the flag decides', () => expect(ofRecord({ details: 'upstream_reset_before_response_started', flags: ['UR'] })).toBe('remote-reset'))
})

describe('why a connect failed', () => {
  it.each([
    ['delayed_connect_error:_Connection_refused', 'connect-refused'],
    ['delayed connect error: 111', 'connect-refused'],
    ['delayed connect error: 113', 'no-route'],
    ['delayed_connect_error:_No_route_to_host', 'no-route'],
    ['immediate connect error: Network is unreachable', 'no-route'],
    ['immediate connect error: Cannot assign requested address|remote address:10.0.0.5:80', 'bind-failed'],
    ['failed to bind to 10.1.1.1:0: Address already in use', 'bind-failed'],
    ['delayed connect error: 110', 'connect-timeout'],
    ['connect timeout', 'connect-timeout'],
    ['TLS_error:|268435581:SSL routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED:verify cert failed: SAN matcher:TLS_error_end', 'tls-verify-failed'],
    ['TLS error: 268435581:SSL routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED', 'tls-verify-failed'],
    ['TLS_error:|268436502:SSL routines:OPENSSL_internal:SSLV3_ALERT_CERTIFICATE_UNKNOWN:TLS_error_end', 'tls-verify-failed'],
    ['TLS_error:|268435703:SSL routines:OPENSSL_internal:WRONG_VERSION_NUMBER:TLS_error_end', 'tls-failed'],
    ['TLS_error:|33554536:system library:OPENSSL_internal:Connection reset by peer:TLS_error_end', 'connect-failed'],
    ['something new', 'connect-failed'],
  ])('%s is %s', (transport, name) => {
    expect(nameOf(connectCause(transport))).toBe(name)
    expect(ofRecord({ flags: ['UF'], details: `upstream_reset_before_response_started{remote_connection_failure|${transport.replaceAll(' ', '_')}}` })).toBe(name)
    expect(ofRecord({ flags: ['UF'], details: 'upstream_reset_before_response_started{connection_failure}', transport })).toBe(name)
    expect(ofRecord({ kind: 'tcp', status: null, flags: ['UF', 'URX'], transport })).toBe(name)
  })
  it('a handshake that fails on an open connection is the certificate’s fault, a reset inside TLS is not', () => {
    expect(nameOf(resetCause('connection termination', 'TLS_error:|268435581:SSL routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED:TLS_error_end'))).toBe('tls-verify-failed')
    expect(nameOf(resetCause('connection termination', 'TLS_error:|33554536:system library:OPENSSL_internal:Connection reset by peer:TLS_error_end'))).toBe('reset-before-response')
  })
  it.each([
    [1, false],
    [40, false],
    [250, true],
    [262, true],
    [400, false],
    [500, true],
    [999, true],
    [1000, true],
    [2000, true],
    [3060, false],
    [5000, true],
    [10_000, true],
  ])('where nothing is printed, %i ms are a timeout: %s', (ms, is) => {
    expect(tookTimeout(ms)).toBe(is)
    expect(ofRecord({ flags: ['UF'], durationMs: ms })).toBe(is ? 'connect-timeout' : 'connect-failed')
  })
  it('the proxy’s log says what the record does not', () => {
    const of = (more: Partial<StreamFailure>, r: Partial<RequestRecord> = {}) =>
      nameOf(causeOf(failure({ hops: [record({ flags: ['UF'], durationMs: 100, ...r })], streams: [stream(more)] })))
    expect(of({ reason: 'connection timeout' })).toBe('connect-timeout')
    expect(of({ reason: 'connection failure', transport: 'connect timeout' })).toBe('connect-timeout')
    expect(of({ reason: 'connection failure', transport: '111' }, { details: 'upstream_reset_before_response_started{connection_failure}' })).toBe('connect-failed')
    expect(of({ reason: 'connection failure', transport: 'Connection refused' }, { details: 'upstream_reset_before_response_started{connection_failure}' })).toBe('connect-refused')
  })
})

describe('details', () => {
  it.each([
    ['rbac_access_denied_matched_policy[none]', 'refused-by-policy'],
    ['ext_authz_denied', 'refused-by-policy'],
    ['jwt_authn_access_denied{Jwt_is_missing}', 'refused-by-policy'],
    ['csrf_origin_mismatch', 'refused-by-policy'],
    ['ext_authz_error', 'policy-service-failed'],
    ['ext_proc_error_gRPC_error_14', 'policy-service-failed'],
    ['rate_limiter_error', 'policy-service-failed'],
    ['request_rate_limited', 'rate-limited'],
    ['local_rate_limited', 'rate-limited'],
    ['fault_filter_abort', 'fault-injected'],
    ['no_healthy_upstream', 'no-healthy-upstream'],
    ['cluster_not_found', 'no-cluster'],
    ['route_not_found', 'no-route-match'],
    ['route_configuration_not_found', 'no-route-match'],
    ['filter_chain_not_found', 'no-route-match'],
    ['overload', 'overload'],
    ['drop_overload', 'overload'],
    ['unconditional_drop_overload', 'overload'],
    ['reached_concurrency_limit', 'overload'],
    ['response_timeout', 'timeout'],
    ['upstream_per_try_timeout', 'timeout'],
    ['upstream_per_try_idle_timeout', 'timeout'],
    ['stream_idle_timeout', 'stream-idle'],
    ['max_duration_timeout', 'max-duration'],
    ['duration_timeout', 'max-duration'],
    ['upstream_max_stream_duration_reached', 'max-duration'],
    ['downstream_local_disconnect(max_connection_duration_reached)', 'max-duration'],
    ['dns_resolution_failure{x}', 'dns-failed'],
    ['dns_cache_pending_requests_overflow', 'overflow'],
    ['request_payload_exceeded_retry_buffer_limit', 'misconfigured'],
    ['response_payload_too_large', 'misconfigured'],
    ['downstream_remote_disconnect', 'client-gone'],
    ['downstream_local_disconnect(http2_ping_timeout)', 'client-gone'],
    ['http2.remote_reset', 'client-gone'],
    ['http2.remote_refuse', 'client-gone'],
    ['request_header_timeout', 'client-fault'],
    ['request_overall_timeout', 'client-fault'],
    ['request_headers_too_large', 'client-fault'],
    ['request_headers_failed_strict_check', 'client-fault'],
    ['host_header_missing', 'client-fault'],
    ['low_version', 'client-fault'],
    ['http1.codec_error', 'client-fault'],
    ['http2.invalid.header.field', 'client-fault'],
    ['upgrade_failed', 'client-fault'],
    ['direct_response', 'local-answer'],
    ['maintenance_mode', 'local-answer'],
    ['via_upstream', 'answered-by-app'],
    ['something_new', 'unknown'],
  ])('%s is %s', (details, name) => expect(ofRecord({ details })).toBe(name))
})

describe('flags, where no details are logged', () => {
  it.each([
    ['DC', 'client-gone'],
    ['DR', 'client-gone'],
    ['UH', 'no-healthy-upstream'],
    ['LH', 'no-healthy-upstream'],
    ['NC', 'no-cluster'],
    ['NR', 'no-route-match'],
    ['UAEX', 'refused-by-policy'],
    ['RLSE', 'policy-service-failed'],
    ['RL', 'rate-limited'],
    ['FI', 'fault-injected'],
    ['DI', 'fault-injected'],
    ['UO', 'overflow'],
    ['OM', 'overload'],
    ['DO', 'overload'],
    ['UDO', 'overload'],
    ['DF', 'dns-failed'],
    ['NFCF', 'misconfigured'],
    ['UT', 'timeout'],
    ['SI', 'stream-idle'],
    ['UMSDR', 'max-duration'],
    ['DT', 'max-duration'],
    ['UF', 'connect-failed'],
    ['UC', 'reset-before-response'],
    ['UR', 'remote-reset'],
    ['LR', 'local-reset'],
    ['UPE', 'protocol-error'],
    ['DPE', 'client-fault'],
    ['IH', 'client-fault'],
  ])('%s is %s', (flag, name) => {
    expect(ofRecord({ flags: [flag] })).toBe(name)
    // Of the order of flags nothing is known.
    if (!['DC', 'DR'].includes(flag)) expect([ofRecord({ flags: ['URX', flag] }), ofRecord({ flags: [flag, 'URX'] })]).toEqual([name, name])
  })
  it('URX alone is the application’s last answer, and a 5xx without any flag too', () => {
    expect(ofRecord({ flags: ['URX'] })).toBe('answered-by-app')
    expect(ofRecord({})).toBe('answered-by-app')
    expect(ofRecord({ upstreamHost: null })).toBe('unknown')
  })
  it('URX with via_upstream too', () => expect(ofRecord({ flags: ['URX'], details: 'via_upstream' })).toBe('answered-by-app'))
})

describe('several hops', () => {
  const gateway = record({ place: { ...PLACE, source: 1 }, details: 'via_upstream', upstreamIp: '10.0.0.4', upstreamPort: 15_006 })
  it('the innermost that failed by itself decides', () =>
    expect(nameOf(causeOf(failure({ hops: [gateway, record({ flags: ['UH'], details: 'no_healthy_upstream' })] })))).toBe('no-healthy-upstream'))
  it('one that only lost its client follows the outer’s decision', () =>
    expect(
      nameOf(
        causeOf(
          failure({
            hops: [record({ status: 504, flags: ['UT'], details: 'response_timeout' }), record({ status: null, flags: ['DC'], details: 'downstream_remote_disconnect' })],
          }),
        ),
      ),
    ).toBe('timeout'))
  it('an inner proxy’s log says why what looks like the application’s answer failed', () =>
    expect(nameOf(causeOf(failure({ hops: [gateway], streams: [stream({ reason: 'connection timeout' })] })))).toBe('connect-timeout'))
  it('a healed attempt is `retried`, unless the request failed all the same', () => {
    expect(nameOf(causeOf(failure({ hops: [record({ status: 200, details: 'via_upstream' })], streams: [stream({ healed: true })] })))).toBe('retried')
    expect(nameOf(causeOf(failure({ hops: [record({ status: 504, flags: ['UT'], details: 'response_timeout' })], streams: [stream({ healed: true })] })))).toBe('timeout')
    expect(nameOf(causeOf(failure({ hops: [record({ status: null, flags: ['DC'], details: 'downstream_remote_disconnect' })], streams: [stream({ healed: true })] })))).toBe(
      'client-gone',
    )
  })
  it('of what only a log shows, the log decides', () => {
    expect(nameOf(causeOf(failure({ streams: [stream({ reason: 'remote connection failure', transport: 'No route to host' })] })))).toBe('no-route')
    expect(nameOf(causeOf(failure({ streams: [stream({ responded: true })] })))).toBe('reset-mid-response')
  })
})

describe('gorouter', () => {
  it.each([
    ['endpoint_failure (EOF)', 'reset-before-response'],
    ['EOF (via idempotent request)', 'reset-before-response'],
    ['incomplete request (EOF)', 'reset-before-response'],
    ['endpoint_failure (read tcp 10.0.0.1:5->10.0.0.2:6: read: connection reset by peer)', 'reset-before-response'],
    ['write tcp 10.0.0.1:5->10.0.0.2:6: write: broken pipe', 'reset-before-response'],
    ['http: server closed idle connection', 'reset-before-response'],
    ['use of closed network connection', 'reset-before-response'],
    ['endpoint_failure (dial tcp 10.0.0.2:6: connect: connection refused)', 'connect-refused'],
    ['dial tcp 10.0.0.2:6: i/o timeout', 'connect-timeout'],
    ['dial tcp 10.0.0.2:6: connect: no route to host', 'no-route'],
    ['endpoint_failure (context deadline exceeded)', 'timeout'],
    ['net/http: timeout awaiting response headers', 'timeout'],
    ['tls: failed to verify certificate: x509: certificate is not valid for any names, but wanted to match 1-2-3', 'tls-verify-failed'],
    ['remote error: tls: bad certificate', 'tls-verify-failed'],
    ['remote error: tls: handshake failure', 'tls-failed'],
    ['tls: first record does not look like a TLS handshake', 'tls-failed'],
    ['no_endpoints', 'no-healthy-upstream'],
    ['unknown_route', 'no-route-match'],
    ['Connection Limit Reached', 'overflow'],
    ['route_service_unsupported', 'misconfigured'],
    ['expired_route_service_signature', 'misconfigured'],
    ['endpoint_failure (context canceled)', 'client-gone'],
    ['empty_host', 'client-fault'],
    ['invalid_cf_app_instance_header', 'client-fault'],
    ['max-request-size-exceeded', 'client-fault'],
    ['endpoint_failure', 'unknown'],
    ['unknown_failure', 'unknown'],
  ])('%s is %s', (error, name) => {
    expect(nameOf(gorouterError(error))).toBe(name)
    expect(ofRecord({ proxy: 'gorouter', status: 502, routerError: error })).toBe(name)
  })
  it('a 5xx without an error is the application’s, 499 the client’s', () => {
    expect(ofRecord({ proxy: 'gorouter', status: 502 })).toBe('answered-by-app')
    expect(ofRecord({ proxy: 'gorouter', status: 499, routerError: 'endpoint_failure (context canceled)' })).toBe('client-gone')
  })
  it('an attempt that another instance answered for is `retried`', () => {
    const backends = [
      { row: 0n, place: PLACE, t: 0n, requestId: 'r', backend: '10.0.0.2:6', error: 'EOF', attempt: 1, retriable: true, gotConnection: true, wroteHeaders: true, reused: true },
    ]
    expect(nameOf(causeOf(failure({ hops: [record({ proxy: 'gorouter', status: 200 })], backends })))).toBe('retried')
    expect(nameOf(causeOf(failure({ hops: [record({ proxy: 'gorouter', status: 502 })], backends })))).toBe('reset-before-response')
    expect(nameOf(causeOf(failure({ backends })))).toBe('reset-before-response')
  })
})

describe('ztunnel', () => {
  it.each([
    ['connection timed out, maybe a NetworkPolicy is blocking HBONE port 15008: deadline has elapsed', 'connect-timeout'],
    ['connection failed: Connection refused (os error 111)', 'connect-refused'],
    ['connection failed: No route to host (os error 113)', 'no-route'],
    ['io error: Network is unreachable (os error 101)', 'no-route'],
    ['io error: Connection reset by peer (os error 104)', 'unknown'],
    ['failed to bind to address 127.0.0.6:0: Cannot assign requested address', 'bind-failed'],
    ['connection failed: something else', 'connect-failed'],
    ['http2 handshake failed: broken pipe', 'tls-failed'],
    ['tls error: received fatal alert', 'tls-failed'],
    ['tls error: invalid peer certificate: Expired', 'tls-verify-failed'],
    ['connection closed: peer certificate revoked by CRL', 'tls-verify-failed'],
    ['connection closed due to policy rejection: allow policies exist, but none allowed', 'refused-by-policy'],
    ['connection closed due to policy change', 'refused-by-policy'],
    ['http status: 401 Unauthorized', 'refused-by-policy'],
    ['http status: 503 Service Unavailable', 'protocol-error'],
    ['h2 failed: stream error received: unspecific protocol error detected', 'protocol-error'],
    ['h2 failed: connection reset', 'remote-reset'],
    ['no healthy upstream: default/web', 'no-healthy-upstream'],
    ['no endpoints for workload: web', 'no-healthy-upstream'],
    ['no ip addresses were resolved for workload: web', 'dns-failed'],
    ['dns: no records', 'dns-failed'],
    ['unknown waypoint: x', 'no-cluster'],
    ['no service or workload for hostname: x', 'no-cluster'],
    ['ip mismatch: 10.0.0.1 != 10.0.0.2', 'misconfigured'],
    ['connection failed to drain within the timeout', 'local-reset'],
    ['pool draining', 'local-reset'],
    ['destination disconnected before all data was written', 'remote-reset'],
    ['client disconnected before all data was written', 'client-gone'],
    ['expected method CONNECT, got GET', 'client-fault'],
    ['invalid CONNECT address x', 'client-fault'],
    ['receive: Connection reset by peer (os error 104)', 'unknown'],
  ])('%s is %s', (error, name) => {
    expect(nameOf(ztunnelError(error))).toBe(name)
    expect(ofRecord({ proxy: 'ztunnel', kind: 'tcp', status: null, details: error })).toBe(name)
  })
})

it('takes time linear in the length of hostile text', () => {
  const started = performance.now()
  for (const text of ['dial tcp '.repeat(20_000), 'h2 failed '.repeat(20_000), 'downstream_local_disconnect('.repeat(10_000), `${'TLS_error:|3355'.repeat(20_000)}`]) {
    gorouterError(text)
    ztunnelError(text)
    connectCause(text)
    ofRecord({ details: text })
  }
  expect(performance.now() - started).toBeLessThan(2000)
})
