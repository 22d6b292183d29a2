import { describe, expect, it } from 'vitest'
import { analyzeFiles } from '../../../test/support/analyze.js'
import type { Report } from '../../model/report.js'

interface Record {
  id?: string
  start?: string
  code?: number
  flags?: string
  details?: string | null
  transport?: string | null
  duration?: number
  host?: string | null
  agent?: string
}
const record = ({
  id = 'r-1',
  start = '10:00:00.000',
  code = 503,
  flags = '-',
  details = null,
  transport = null,
  duration = 3,
  host = '10.0.0.5:8080',
  agent = 'curl/8',
}: Record): string =>
  JSON.stringify({
    start_time: `2026-01-02T${start}Z`,
    method: 'GET',
    path: '/',
    protocol: 'HTTP/1.1',
    response_code: code,
    response_flags: flags,
    response_code_details: details,
    upstream_transport_failure_reason: transport,
    bytes_received: 0,
    bytes_sent: 9,
    duration,
    upstream_host: host,
    upstream_cluster: 'outbound|80||web',
    request_id: id,
    user_agent: agent,
    authority: 'web',
    downstream_remote_address: '10.9.9.9:5000',
  })
const resetBefore = (reason: string) => `upstream_reset_before_response_started{${reason}}`
const text = (...lines: string[]) => `${lines.join('\n')}\n`
const found = (r: Report) => r.findings.filter(f => f.rule === 'WC104')
const causeOf = async (of: Record) => (await analyzeFiles({ 'a.json': text(record(of)) })).failures.list[0]?.cause ?? null

describe('says why, by cause', () => {
  it.each([
    [{ flags: 'UF', details: resetBefore('remote_connection_failure|delayed_connect_error:_Connection_refused') }, 'connect-refused'],
    [{ flags: 'UF', details: resetBefore('remote_connection_failure,delayed_connect_error:_111') }, 'connect-refused'],
    [{ flags: 'UF', details: resetBefore('connection_failure'), transport: 'delayed connect error: 113' }, 'no-route'],
    [{ flags: 'UF', details: resetBefore('connection_timeout') }, 'connect-timeout'],
    [{ flags: 'UF', details: resetBefore('local_connection_failure|immediate_connect_error:_Cannot_assign_requested_address') }, 'bind-failed'],
    [
      { flags: 'UF', details: resetBefore('remote_connection_failure|TLS_error:|268435581:SSL_routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED:TLS_error_end') },
      'tls-verify-failed',
    ],
    [{ flags: 'UF', details: resetBefore('remote_connection_failure|TLS_error:|268435703:SSL_routines:OPENSSL_internal:WRONG_VERSION_NUMBER:TLS_error_end') }, 'tls-failed'],
    [{ flags: 'UC', details: resetBefore('connection_termination') }, 'reset-before-response'],
    [{ code: 200, flags: 'UPE', details: 'upstream_reset_after_response_started{protocol_error}' }, 'reset-mid-response'],
    [{ flags: 'UR', details: resetBefore('remote_reset') }, 'remote-reset'],
    [{ flags: 'LR', details: resetBefore('local_reset') }, 'local-reset'],
    [{ code: 504, flags: 'UT', details: 'response_timeout' }, 'timeout'],
    [{ code: 504, flags: 'SI', details: 'stream_idle_timeout' }, 'stream-idle'],
    [{ code: 504, details: 'max_duration_timeout' }, 'max-duration'],
    [{ flags: 'UH', details: 'no_healthy_upstream', host: null }, 'no-healthy-upstream'],
    [{ flags: 'NC', details: 'cluster_not_found', host: null }, 'no-cluster'],
    [{ code: 404, flags: 'NR', details: 'route_not_found', host: null }, 'no-route-match'],
    [{ flags: 'UO', details: resetBefore('overflow') }, 'overflow'],
    [{ details: 'overload', host: null }, 'overload'],
    [{ flags: 'DF', details: 'dns_resolution_failure', host: null }, 'dns-failed'],
    [{ code: 403, details: 'rbac_access_denied_matched_policy[none]', host: null }, 'refused-by-policy'],
    [{ code: 403, flags: 'UAEX', details: 'ext_authz_error', host: null }, 'policy-service-failed'],
    [{ code: 429, flags: 'RL', details: 'request_rate_limited', host: null }, 'rate-limited'],
    [{ flags: 'FI', details: 'fault_filter_abort', host: null }, 'fault-injected'],
  ] as [Record, string][])('%j', async (of, suffix) => expect(await causeOf(of)).toBe(`WC104.${suffix}`))

  it.each([
    [{ details: 'via_upstream' }, 'answered-by-app'],
    [{ code: 0, flags: 'DC', details: 'downstream_remote_disconnect' }, 'client-gone'],
    [{ code: 400, flags: 'DPE', details: 'http1.codec_error', host: null }, 'client-fault'],
    [{ code: 503, details: 'direct_response', host: null }, 'local-answer'],
  ] as [Record, string][])('%j without a finding', async (of, cause) => {
    const r = await analyzeFiles({ 'a.json': text(record(of)) })
    expect([r.failures.list[0]?.cause, found(r)]).toEqual([cause, []])
    expect(r.verdicts.find(v => v.rule === 'WC104')?.verdict).toBe('held')
  })
})

describe('counts', () => {
  it('folds the same cause to the same upstream into one finding, with the denominator', async () => {
    const lines = Array.from({ length: 30 }, (_, i) =>
      record({
        id: `r-${i}`,
        start: `10:00:${String(i + 10)}.000`,
        ...(i < 3 ? { flags: 'UC', details: resetBefore('connection_termination') } : { code: 200, details: 'via_upstream' }),
      }),
    )
    expect(found(await analyzeFiles({ 'a.json': text(...lines) }))).toMatchObject([{ count: 3, severity: 'high', subject: { remote: '10.0.0.5:8080' } }])
  })

  it('one request in the logs of gateway and sidecar once, by the cause of the innermost hop', async () => {
    const gateway = record({ id: 'x', start: '10:00:00.000', duration: 9, details: 'via_upstream', host: '10.0.0.4:15006' })
    const sidecar = record({
      id: 'x',
      start: '10:00:00.002',
      duration: 5,
      flags: 'UF',
      details: resetBefore('remote_connection_failure|delayed_connect_error:_Connection_refused'),
    })
    const r = await analyzeFiles({ 'gateway.json': text(gateway), 'sidecar.json': text(sidecar) })
    expect(r.failures).toMatchObject({ total: 1, list: [{ cause: 'WC104.connect-refused', path: 'gateway.json' }] })
    expect(r.failures.list[0]?.hops).toHaveLength(2)
  })

  it('probes apart: their failures alone are low', async () => {
    const r = await analyzeFiles({ 'a.json': text(record({ flags: 'UC', details: resetBefore('connection_termination'), agent: 'kube-probe/1.30' })) })
    expect(found(r)).toMatchObject([{ severity: 'low' }])
    expect(r.failures.list[0]?.probe).toBe(true)
  })

  it('the same with lines shuffled and clocks shifted', async () => {
    const lines = ['10:00:01.000', '10:00:02.000', '10:00:03.000'].map((start, i) => record({ id: `r-${i}`, start, flags: 'UC', details: resetBefore('connection_termination') }))
    const plain = await analyzeFiles({ 'a.json': text(...lines) })
    const shuffled = await analyzeFiles({ 'a.json': text(lines[2] as string, lines[0] as string, lines[1] as string) })
    const shifted = await analyzeFiles({ 'a.json': text(...lines).replaceAll('2026-01-02T10', '2026-01-05T17') })
    for (const r of [shuffled, shifted]) expect(found(r).map(f => [f.code, f.count, f.fingerprint])).toEqual(found(plain).map(f => [f.code, f.count, f.fingerprint]))
  })
})

describe('with owners', () => {
  const owner = (to: string | null) => text(JSON.stringify({ ip: '10.0.0.5', pod: 'web-1', from: '2026-01-02T08:00:00Z', to: to && `2026-01-02T${to}Z` }))
  const refused = text(record({ flags: 'UF', details: resetBefore('connection_timeout'), duration: 5000 }))

  it('an address whose owner had ended is a stale endpoint', async () =>
    expect(found(await analyzeFiles({ 'a.json': refused, 'pods.jsonl': owner('09:00:00') }))).toMatchObject([{ code: 'WC104.stale-endpoint' }]))
  it('one whose owner lives is not', async () =>
    expect(found(await analyzeFiles({ 'a.json': refused, 'pods.jsonl': owner(null) }))).toMatchObject([{ code: 'WC104.connect-timeout' }]))
})

it('cannot be evaluated without requests', async () => {
  const r = await analyzeFiles({ 'app.log': '[2025/10/22 09:00:00] [ info] hello\n' })
  expect(r.verdicts.find(v => v.rule === 'WC104')).toMatchObject({ verdict: 'not-evaluable', applies: false, missing: [{ needs: 'requests' }] })
})
