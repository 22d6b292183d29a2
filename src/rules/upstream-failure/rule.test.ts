import { describe, expect, it } from 'vitest'
import { analyzeFiles } from '../../../test/support/analyze.js'
import { ACK, BASE, connection, FIN, handshake, pcapFile, PSH, RST } from '../../../test/support/packets.js'
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

describe('health checks', () => {
  it('are told apart in the title and in the impact', async () => {
    const fail = { flags: 'UC', details: resetBefore('connection_termination') }
    const r = await analyzeFiles({
      'a.json': text(
        record({ ...fail, id: 'a' }),
        record({ ...fail, id: 'b', agent: 'kube-probe/1.30' }),
        record({ ...fail, id: 'c', agent: 'kube-probe/1.30' }),
        record({ code: 200, details: 'via_upstream', id: 'd' }),
      ),
    })
    expect(found(r)).toMatchObject([{ count: 3, severity: 'high' }])
    expect(found(r)[0]?.title).toMatch(/^1 of 2 requests and 2 of 2 probes to 10\.0\.0\.5:8080 failed with 503 UC/)
    expect(r.incidents.map(i => i.impact)).toEqual([{ requests: 2, failed: 1, reached_client: 1, probes: 2 }])
    expect(r.verdicts.find(v => v.rule === 'WC104')?.checked).toBe(4)
  })
})

describe('a keep-alive race', () => {
  const line = (t: string, logger: string, message: string, c: number, s?: number) =>
    `[2026-01-02 ${t}][7][debug][${logger}] [source/x.cc:1] [Tags: "ConnectionId":"${c}"${s === undefined ? '' : `,"StreamId":"${s}"`}] ${message}`
  const log = (fin: string, handshake = '10:00:00.050') =>
    text(
      line('10:00:00.000', 'connection', 'connecting to 10.0.0.5:8080', 4),
      line(handshake, 'connection', 'connected', 4),
      line('10:00:00.060', 'pool', 'creating stream', 4),
      line('10:00:00.060', 'router', 'pool ready', 3, 76),
      line('10:00:00.120', 'router', 'upstream headers complete: end_stream=true', 3, 76),
      line('10:00:05.000', 'pool', 'using existing fully connected connection', 4),
      line('10:00:05.000', 'router', 'pool ready', 3, 77),
      line(fin, 'connection', 'remote close', 4),
      line(fin, 'connection', 'closing socket: 0', 4),
      line(fin, 'router', 'upstream reset: reset reason: connection termination, transport failure reason: ', 3, 77),
    )
  const codes = async (files: { [name: string]: string | Buffer }) => found(await analyzeFiles(files)).map(f => [f.code, f.confidence.level])

  it('is a FIN that comes sooner than an answer could', async () => expect(await codes({ 'debug.log': log('10:00:05.030') })).toEqual([['WC104.keepalive-race', 'likely']]))
  it('is none where the request had the time to be read', async () => {
    expect(await codes({ 'debug.log': log('10:00:05.090') })).toEqual([['WC104.reset-before-response', 'likely']])
    expect(await codes({ 'debug.log': log('10:00:05.010', '10:00:00.001') })).toEqual([['WC104.reset-before-response', 'likely']])
  })

  describe('in a capture', () => {
    const t0 = BASE + 0.1
    const size = 18
    const ask = { t: 5, client: true, flags: PSH | ACK, seq: 1, ack: 1, payload: 'GET / HTTP/1.1\r\n\r\n' }
    const frames = (end: Parameters<typeof connection>[0][number]) => pcapFile(connection([...handshake(0), ask, end], { client: '10.0.0.1:40000', server: '10.0.0.5:8080' }))
    const access = text(
      JSON.stringify({
        start_time: new Date((t0 + 4.9) * 1000).toISOString(),
        method: 'GET',
        path: '/',
        protocol: 'HTTP/1.1',
        response_code: 503,
        response_flags: 'UC',
        response_code_details: resetBefore('connection_termination'),
        bytes_received: 0,
        bytes_sent: 95,
        duration: 2,
        upstream_host: '10.0.0.5:8080',
        upstream_local_address: '10.0.0.1:40000',
        upstream_cluster: 'c',
        request_id: 'r-1',
      }),
    )
    it('is a FIN that does not acknowledge the request, whatever the log has', async () => {
      expect(await codes({ 'access.json': access, 'gw.pcap': frames({ t: 5.001, client: false, flags: FIN | ACK, seq: 1, ack: 1 }) })).toEqual([['WC104.keepalive-race', 'likely']])
    })
    it.each([
      ['a FIN', FIN | ACK],
      ['a RST', RST | ACK],
    ])('is none where %s acknowledges it', async (_, flags) => {
      const r = await analyzeFiles({ 'access.json': access, 'gw.pcap': frames({ t: 5.001, client: false, flags, seq: 1, ack: 1 + size }) })
      expect(found(r)).toMatchObject([{ code: 'WC104.reset-before-response' }])
      expect(found(r)[0]?.rivals.find(v => v.says === 'keep-alive race')?.status).toBe('refuted')
      expect(found(r)[0]?.claims.flatMap(c => c.evidence.flatMap(e => (e.frame === null ? [] : [e.frame])))).toEqual([4, 5])
    })
  })
})

describe('what only a log shows', () => {
  const line = (t: string, logger: string, message: string, c: number) => `[2026-01-02 ${t}][7][debug][${logger}] [source/x.cc:1] [Tags: "ConnectionId":"${c}"] ${message}`
  it('counts: a TCP session that could not connect', async () => {
    const log = text(
      line('10:00:00.000', 'filter', 'Creating connection to cluster tcp', 3),
      line('10:00:00.000', 'connection', 'connecting to 10.0.0.5:5999', 4),
      line('10:00:00.000', 'conn_handler', 'new connection from 10.9.9.9:5000', 3),
      line('10:00:00.001', 'connection', 'delayed connect error: Connection refused', 4),
      line('10:00:00.001', 'connection', 'closing socket: 0', 4),
    )
    const r = await analyzeFiles({ 'debug.log': log })
    expect(found(r)).toMatchObject([{ code: 'WC104.connect-refused', subject: { connection_id: '4', remote: '10.0.0.5:5999', cluster: 'tcp' } }])
    expect(r.verdicts.find(v => v.rule === 'WC104')?.verdict).toBe('violated')
  })
})

describe('with a listing', () => {
  const pods = 'pod,ip,status\nweb-1,10.0.1.4,Running\nweb-2,10.0.2.4,Running\n'
  it('that does not have the address, says so as an open rival: a listing proves no end', async () => {
    const r = await analyzeFiles({ 'a.json': text(record({ flags: 'UF', duration: 999 })), 'pods.csv': pods })
    expect(found(r)).toMatchObject([{ code: 'WC104.connect-timeout', confidence: { level: 'likely' } }])
    expect(found(r)[0]?.claims.flatMap(c => c.evidence.map(e => e.path))).toContain('pods.csv')
    expect(found(r)[0]?.rivals.find(v => v.says === 'the address had lost its owner')).toMatchObject({ status: 'open' })
  })
  it('of another network says nothing', async () => {
    const r = await analyzeFiles({ 'a.json': text(record({ flags: 'UF', duration: 999, host: '192.0.2.1:443' })), 'pods.csv': pods })
    expect(found(r)[0]?.claims.flatMap(c => c.evidence.map(e => e.path))).toEqual(['a.json'])
  })
})

describe('with owners', () => {
  it('one whose end and the connect are closer than the clocks may differ is no stale endpoint', async () => {
    const access = text(record({ flags: 'UF', details: resetBefore('connection_timeout'), duration: 5000 }))
    const pods = text(JSON.stringify({ ip: '10.0.0.5', pod: 'web-1', from: '2026-01-02T08:00:00Z', to: '2026-01-02T09:59:59Z' }))
    expect(found(await analyzeFiles({ 'a.json': access, 'pods.jsonl': pods })).map(f => f.code)).toEqual(['WC104.connect-timeout'])
    expect(found(await analyzeFiles({ 'a.json': access, 'pods.jsonl': pods }, { clockError: 100_000_000n })).map(f => f.code)).toEqual(['WC104.stale-endpoint'])
  })

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
