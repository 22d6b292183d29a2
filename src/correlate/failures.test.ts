import { describe, expect, it } from 'vitest'
import { joinFiles } from '../../test/support/joined.js'
import { innermost, isFailed, outermost } from './failures.js'

interface Record {
  id?: string | null
  start?: string
  code?: number
  flags?: string
  details?: string | null
  duration?: number
  host?: string | null
  local?: string | null
  client?: string
  connection?: number
  attempts?: number
  agent?: string
  method?: string | null
  type?: string
}
const record = ({
  id = 'r-1',
  start = '10:00:00.000',
  code = 503,
  flags = '-',
  details = null,
  duration = 10,
  host = '10.0.0.5:8080',
  local = null,
  client = '10.9.9.9:5000',
  connection,
  attempts,
  agent = 'curl/8',
  method = 'GET',
  type,
}: Record): string =>
  `${JSON.stringify({
    start_time: `2026-01-02T${start}Z`,
    method,
    path: method && '/',
    protocol: method && 'HTTP/1.1',
    response_code: code,
    response_flags: flags,
    response_code_details: details,
    bytes_received: 0,
    bytes_sent: 9,
    duration,
    upstream_host: host,
    upstream_local_address: local,
    upstream_cluster: 'outbound|80||web',
    request_id: id,
    user_agent: agent,
    authority: 'web',
    downstream_remote_address: client,
    ...(connection === undefined ? {} : { connection_id: connection }),
    ...(attempts === undefined ? {} : { upstream_request_attempt_count: attempts }),
    ...(type === undefined ? {} : { access_log_type: type }),
  })}\n`
const resetBefore = (reason: string): string => `upstream_reset_before_response_started{${reason}}`

const tags = (c: number, s?: number): string => `[Tags: "ConnectionId":"${c}"${s === undefined ? '' : `,"StreamId":"${s}"`}] `
const line = (t: string, logger: string, message: string, c: number, s?: number): string => `[2026-01-02 ${t}][7][debug][${logger}] [source/x.cc:1] ${tags(c, s)}${message}\n`
const headers = (t: string, c: number, s: number, id: string): string => line(t, 'router', `router decoding headers:\n':path', '/'\n'x-request-id', '${id}'`, c, s)
const attempt = (t: string, c: number, s: number, up: number): string => line(t, 'pool', 'using existing fully connected connection', up) + line(t, 'router', 'pool ready', c, s)
const reset = (t: string, c: number, s: number): string => line(t, 'router', 'upstream reset: reset reason: connection termination, transport failure reason: ', c, s)
const connecting = (t: string, up: number, to = '10.0.0.5:8080'): string => line(t, 'connection', `connecting to ${to}`, up)

const failuresOf = async (files: { [name: string]: string }) => (await joinFiles(files)).joined.failures
const CHAIN =
  'SELECT f.cause, f.finding IS NOT NULL AS told, c.hop, c.view, c.row IS NOT NULL AS there, c.joined_by, c.certain, c.missing FROM chain c JOIN failure f ON f.row = c.failure ORDER BY c.failure, c.view, c.hop, c.row'

describe('one request in several logs', () => {
  const gateway = record({ id: 'x', start: '10:00:00.000', duration: 9, details: 'via_upstream', host: '10.0.0.4:15006', local: '10.0.0.1:40000' })
  const sidecar = record({
    id: 'x',
    start: '10:00:00.002',
    duration: 5,
    flags: 'UF',
    details: resetBefore('remote_connection_failure|delayed_connect_error:_Connection_refused'),
    client: '10.0.0.1:40000',
  })

  it('is one failure with hops, the proxy nearest to the client first', async () => {
    const { list } = await failuresOf({ 'a-sidecar.json': sidecar, 'b-gateway.json': gateway })
    expect(list).toHaveLength(1)
    const [f] = list
    expect(f && [outermost(f)?.details, innermost(f)?.flags]).toEqual(['via_upstream', ['UF']])
    expect(f && [...f.joins.values()]).toEqual(['request-id'])
  })
  it('stays in order by the connection between them, whatever the clocks say', async () => {
    const early = sidecar.replace('10:00:00.002', '09:59:59.100')
    const { list } = await failuresOf({ 'gateway.json': gateway, 'sidecar.json': early })
    expect(list.map(f => f.hops.map(h => h.flags.join()))).toEqual([['', 'UF']])
  })
  it('is joined by that connection where the inner log has no request id', async () => {
    const { list } = await failuresOf({ 'gateway.json': gateway, 'sidecar.json': sidecar.replace('"x"', 'null') })
    expect(list.map(f => [f.hops.length, ...f.joins.values()])).toEqual([[2, 'tuple']])
  })
  it('is two where the same id comes again later, or in the same log at the same time ends apart', async () => {
    expect((await failuresOf({ 'g.json': record({ id: 'x', start: '10:00:00.000' }) + record({ id: 'x', start: '10:00:30.000' }) })).list).toHaveLength(2)
    expect((await failuresOf({ 'a.json': record({ id: 'x' }), 'b.json': record({ id: 'x', start: '10:05:00.000' }) })).list).toHaveLength(2)
  })
  it('has an outer timeout as its cause where the inner hop only lost its client', async () => {
    const outer = record({ id: 'x', code: 504, flags: 'UT', details: 'response_timeout', duration: 1000 })
    const inner = record({ id: 'x', start: '10:00:00.001', code: 0, flags: 'DC', details: 'downstream_remote_disconnect', duration: 999 })
    const { list } = await failuresOf({ 'outer.json': outer, 'inner.json': inner })
    expect(list.map(f => f.cause)).toEqual(['WC104.timeout'])
  })
})

describe('attempts of a proxy’s log', () => {
  const failed = record({ id: 'r-1', flags: 'UC', details: resetBefore('connection_termination'), connection: 3 })
  const log = connecting('09:59:00.000', 9) + headers('10:00:00.001', 3, 77, 'r-1') + attempt('10:00:00.001', 3, 77, 9) + reset('10:00:00.009', 3, 77)

  it('are joined by request id', async () =>
    expect((await failuresOf({ 'access.json': failed, 'debug.log': log })).list.map(f => [f.hops.length, f.streams.length, ...f.joins.values()])).toEqual([[1, 1, 'request-id']]))
  it('else by the client’s connection and the time', async () => {
    const bare = log.replace(headers('10:00:00.001', 3, 77, 'r-1'), '')
    expect((await failuresOf({ 'access.json': failed, 'debug.log': bare })).list.map(f => [...f.joins.values()])).toEqual([['connection-id']])
  })
  it('not by the same id of another proxy, which went elsewhere', async () => {
    const other = log.replace(headers('10:00:00.001', 3, 77, 'r-1'), '').replace('10.0.0.5:8080', '10.7.7.7:8080')
    expect((await failuresOf({ 'access.json': failed, 'debug.log': other })).list.map(f => [f.hops.length, f.streams.length])).toEqual([
      [0, 1],
      [1, 0],
    ])
  })
  it('not by ids of a log that mixes two processes', async () => {
    const mixed = connecting('09:58:00.000', 9, '10.0.0.6:8080') + log.replace(headers('10:00:00.001', 3, 77, 'r-1'), '')
    expect((await failuresOf({ 'access.json': failed, 'debug.log': mixed })).list.map(f => [...f.joins.values()])).toEqual([['address']])
  })
  it('else by the address and the time, within milliseconds', async () => {
    const record3 = failed.replace('"connection_id":3,', '').replace('"connection_id":3', '"x":0')
    const bare = log.replace(headers('10:00:00.001', 3, 77, 'r-1'), '')
    expect((await failuresOf({ 'access.json': record3, 'debug.log': bare })).list.map(f => [...f.joins.values()])).toEqual([['address']])
    expect((await failuresOf({ 'access.json': record3, 'debug.log': bare.replaceAll('10:00:00.009', '10:00:00.109') })).list.map(f => [f.hops.length, f.streams.length])).toEqual([
      [1, 0],
      [0, 1],
    ])
  })
  it('that a retry healed make a request `retried`, with its record', async () => {
    const healed =
      log +
      line('10:00:00.009', 'router', 'performing retry', 3, 77) +
      attempt('10:00:00.010', 3, 77, 10) +
      line('10:00:00.012', 'router', 'upstream headers complete: end_stream=true', 3, 77)
    const { list } = await failuresOf({ 'access.json': record({ id: 'r-1', code: 200, details: 'via_upstream', duration: 14 }), 'debug.log': healed })
    expect(list.map(f => [f.cause, f.hops.length, f.streams.map(s => s.healed)])).toEqual([['retried', 1, [true]]])
  })
  it('stand alone where only the log is there', async () => {
    const { list } = await failuresOf({ 'debug.log': log })
    expect(list.map(f => [f.hops.length, f.requestId, f.cause])).toEqual([[0, 'r-1', 'WC104.reset-before-response']])
  })
  it('of the proxy’s own clients are no client’s failure', async () =>
    expect((await failuresOf({ 'debug.log': attempt('10:00:00.001', 0, 77, 9) + reset('10:00:00.009', 0, 77) })).list).toEqual([]))
  it('are joined over the log of several proxies, each by its own ids', async () => {
    const prefixed = (pod: string, text: string) =>
      text
        .trim()
        .split('\n')
        .map(l => `[pod/${pod}/proxy] ${l}\n`)
        .join('')
    const one = connecting('09:59:00.000', 9, '10.0.0.5:8080') + attempt('10:00:00.001', 3, 77, 9) + reset('10:00:00.009', 3, 77)
    const two = connecting('09:59:00.000', 9, '10.0.0.6:8080') + attempt('10:00:00.001', 3, 78, 9) + reset('10:00:00.009', 3, 78)
    const { joined } = await joinFiles({ 'all.log': prefixed('gw-1', one) + prefixed('gw-2', two) })
    expect(joined.connections.mixed.size).toBe(0)
    expect(joined.failures.list.map(f => f.streams[0]?.remote?.ip).sort()).toEqual(['10.0.0.5', '10.0.0.6'])
  })
})

describe('what is a failure', () => {
  const of = (status: number | null, flags: string[], details: string | null) => isFailed({ status, flags, details, routerError: null })
  it.each([
    [503, [], null],
    [200, ['UPE'], 'upstream_reset_after_response_started{protocol_error}'],
    [404, ['NR'], 'route_not_found'],
    [403, [], 'rbac_access_denied_matched_policy[none]'],
    [null, ['DC'], 'downstream_remote_disconnect'],
    [503, [], 'direct_response'],
    [404, [], 'direct_response'],
  ] as [number | null, string[], string | null][])('%s %j %s', (status, flags, details) => expect(of(status, flags, details)).toBe(true))
  it.each([
    [200, [], 'via_upstream'],
    [404, [], 'via_upstream'],
    [404, [], null],
    [200, ['DI'], 'via_upstream'],
    [200, ['RFCF'], 'cache.response_from_cache_filter'],
    [301, [], 'direct_response'],
    [200, [], 'health_check_ok'],
  ] as [number | null, string[], string | null][])('%s %j %s is none', (status, flags, details) => expect(of(status, flags, details)).toBe(false))
})

describe('counts', () => {
  it('requests of people and health checks apart', async () => {
    const ok = { code: 200, details: 'via_upstream' }
    const { requests, probes } = await failuresOf({
      'a.json': record({ ...ok, id: 'a' }) + record({ ...ok, id: 'b', agent: 'kube-probe/1.30' }) + record({ ...ok, id: 'c', agent: 'kube-probe/1.30' }),
    })
    expect([requests, probes]).toEqual([1, 2])
  })
  it('a request once whose router wrote a record for its attempt', async () => {
    const { list, requests } = await failuresOf({
      'a.json':
        record({ flags: 'UC', details: resetBefore('connection_termination'), type: 'UpstreamEnd' }) +
        record({ flags: 'UC', details: resetBefore('connection_termination'), type: 'DownstreamEnd' }),
    })
    expect([list.length, list[0]?.hops.length, requests]).toEqual([1, 1, 1])
  })
})

describe('the views', () => {
  const access = record({ id: 'r-1', flags: 'UC', details: resetBefore('connection_termination'), local: '10.0.0.1:40000' })
  const log =
    connecting('09:59:00.000', 9) +
    headers('10:00:00.001', 3, 77, 'r-1') +
    attempt('10:00:00.001', 3, 77, 9) +
    line('10:00:00.009', 'connection', 'closing socket: 0', 9) +
    reset('10:00:00.009', 3, 77)
  const pods = `${JSON.stringify({ ip: '10.0.0.5', pod: 'shop/web-1', from: '2026-01-02T09:00:00Z', to: null })}\n`

  it('tell cause and finding of every failure', async () => {
    const { rows, joined } = await joinFiles({ 'access.json': access }, [
      'SELECT row, request_id, status, flags, details, cause, finding, hops, probe, request FROM failure ORDER BY row',
    ])
    expect(rows[0]).toEqual([
      {
        row: 0n,
        request_id: 'r-1',
        status: 503,
        flags: 'UC',
        details: resetBefore('connection_termination'),
        cause: 'WC104.reset-before-response',
        finding: joined.failures.list[0]?.finding,
        hops: 'access.json',
        probe: false,
        request: 0n,
      },
    ])
    expect(joined.failures.list[0]?.finding).toMatch(/^WC104-[0-9a-f]{12}$/)
  })
  it('tell each part with how it was joined', async () => {
    const { rows } = await joinFiles({ 'access.json': access, 'debug.log': log, 'pods.jsonl': pods }, [CHAIN])
    expect(rows[0]?.map(r => [r.view, r.hop, r.there, r.joined_by, r.certain, r.missing])).toEqual([
      ['attempt', 'debug.log', true, 'request-id', true, null],
      ['connection', 'debug.log', true, 'connection-id', true, null],
      ['owner', 'shop/web-1', true, 'address', true, null],
      ['request', 'access.json', true, null, true, null],
      ['session', 'access.json', false, null, false, 'upstream-capture'],
    ])
  })
  it('name what could not be joined', async () => {
    const { rows } = await joinFiles({ 'access.json': access }, [CHAIN])
    expect(rows[0]?.filter(r => r.missing !== null).map(r => [r.view, r.missing])).toEqual([
      ['connection', 'upstream-connections'],
      ['owner', 'owner-history'],
      ['session', 'upstream-capture'],
    ])
  })
  it('say of which owner a connection was opened to', async () => {
    const { rows } = await joinFiles({ 'debug.log': log, 'pods.jsonl': pods }, [
      'SELECT c.connection_id, o.name FROM connection c JOIN owner o ON o.row = c.owner_at_open ORDER BY c.row',
    ])
    expect(rows[0]).toEqual([{ connection_id: 9n, name: 'shop/web-1' }])
  })
})

it('reads long logs in pieces, and gives the same for lines of two files in another order', async () => {
  const lines = Array.from({ length: 3000 }, (_, i) => `${connecting('09:59:00.000', 100 + i)}${line('09:59:00.001', 'connection', 'closing socket: 1', 100 + i)}`).join('')
  const access = record({ id: 'r-1', flags: 'UC', details: resetBefore('connection_termination') })
  const log = headers('10:00:00.001', 3, 77, 'r-1') + attempt('10:00:00.001', 3, 77, 9) + reset('10:00:00.009', 3, 77)
  for (const name of ['a.log', 'z.log']) {
    const { rows, joined } = await joinFiles({ [name]: lines + log, 'b.json': access }, ['SELECT count(*) AS n FROM connection'])
    expect(rows[0]).toEqual([{ n: 3001n }])
    expect(joined.failures.list.map(f => [f.hops.length, f.streams.length, f.cause])).toEqual([[1, 1, 'WC104.reset-before-response']])
  }
})
