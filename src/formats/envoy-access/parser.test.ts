import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { type Collected, collect, type Row } from '../../../test/support/collect.js'
import { readWell, survives } from '../../../test/support/robust.js'
import { formatById } from '../index.js'
import { SHIPPED_TEXT } from './shipped.js'

const format = formatById('envoy-access')!
const bytes = (name: string): Buffer => readFileSync(new URL(`samples/${name}`, import.meta.url))
const read = (text: string, ...accessLogFormats: string[]): Collected => collect(format, Buffer.from(text), { accessLogFormats })
const one = (text: string, ...accessLogFormats: string[]): Row => {
  const { rows } = read(text, ...accessLogFormats)
  expect(rows.request).toHaveLength(1)
  return rows.request[0]!
}
const at = (iso: string): bigint => BigInt(Date.parse(iso)) * 1_000_000n

describe('samples', () => {
  it('reads Istio', () => {
    const { request } = readWell(format, bytes('istio.log')).rows
    expect(request).toHaveLength(5)
    expect(request[0]).toMatchObject({
      kind: 'tcp',
      phase: 'end',
      status: null,
      flags: 'UF,URX',
      upstream_ip: '100.72.2.95',
      upstream_port: 7801,
      upstream_local_ip: null,
      probe: null,
    })
    expect(request[1]).toMatchObject({
      kind: 'http',
      status: 503,
      flags: 'UF',
      bytes_received: 398n,
      route: 'default',
      upstream_cluster: 'inbound|8080||',
      transport_failure: 'delayed_connect_error:_111',
    })
    expect(request[3]).toMatchObject({ t: at('2022-02-09T13:34:21.473Z'), t_start: at('2022-02-09T13:34:21.473Z'), t_end: at('2022-02-09T13:34:45.728Z'), duration_ms: 24_255 })
    expect(request[4]).toMatchObject({ kind: 'tcp', flags: 'UH', upstream_cluster: 'BlackHoleCluster', downstream_remote_port: 52_006, ambiguous: null })
  })

  it('reads Envoy', () => {
    const { request } = readWell(format, bytes('envoy.log')).rows
    expect(request[0]).toMatchObject({
      upstream_host: 'tcp://10.0.2.1:80',
      upstream_ip: '10.0.2.1',
      upstream_port: 80,
      protocol: 'HTTP/2',
      request_id: 'cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2',
    })
    expect(request[1]).toMatchObject({ path: '/foo', x_forwarded_for: null, user_agent: 'HTTPie/1.0.3', authority: 'localhost:8080', downstream_remote_ip: null, probe: false })
  })

  it('reads Envoy Gateway 1.2.3, whose JSON is text', () => {
    const { request } = readWell(format, bytes('envoy-gateway-1.2.3.jsonl')).rows
    expect(request[1]).toMatchObject({
      kind: 'tcp',
      method: null,
      status: null,
      bytes_received: 74_625n,
      t_end: at('2024-12-03T13:47:07.438Z'),
      upstream_port: 5190,
      upstream_local_port: 55_434,
    })
  })

  it('reads pretty-printed JSON and the pod behind an internal listener', () => {
    const { request } = readWell(format, bytes('waypoint.json')).rows
    expect(request).toHaveLength(1)
    expect(request[0]).toMatchObject({
      kind: 'http',
      flags: 'UC',
      upstream_host: 'envoy://connect_originate/10.208.43.235:8080',
      upstream_ip: '10.208.43.235',
      upstream_port: 8080,
      upstream_local_ip: null,
    })
    expect(request[0]!.upstream_cluster).toBe('inbound-vip|80|http|xxx.yyy.svc.cluster.local;')
  })

  it('reads typed nulls of a TCP session', () => {
    const row = readWell(format, bytes('tcp-nulls.jsonl')).rows.request[0]
    expect(row).toMatchObject({ kind: 'tcp', status: null, flags: null, sni: 'tenant-1.example.com', bytes_sent: 8453n, duration_ms: 5303, path: null })
  })

  it('keeps the ports of addresses that somebody replaced', () => {
    const row = one(bytes('envoy-gateway-1.2.3.jsonl').toString().split('\n')[0]!.replace('198.51.100.20:', 'CLIENT_IP:'))
    expect(row).toMatchObject({ downstream_remote_ip: null, downstream_remote_port: 56_913, upstream_ip: '10.0.0.112' })
    const hidden = bytes('istio.log').toString().split('\n')[1]!.replace('100.72.9.85:44759', '<hidden>')
    expect(one(hidden)).toMatchObject({ downstream_remote_ip: null, downstream_remote_port: null, status: 503, ambiguous: null })
  })

  it.each(['istio.log', 'envoy.log', 'envoy-gateway-1.2.3.jsonl', 'waypoint.json', 'forged.log'])('survives damage of %s', name => survives(format, bytes(name), {}, 7))
})

describe('text that a client wrote', () => {
  const lines = bytes('forged.log').toString().trimEnd().split('\n') as [string, string, string, string, string, string]

  it('leaves headers open where a user agent imitates its neighbours, and keeps the true addresses', () => {
    for (const line of [lines[0], lines[1]]) {
      const row = one(`${line}\n`)
      expect(row.ambiguous).toBe('authority,user_agent,x_forwarded_for,request_id,probe')
      expect(row).toMatchObject({
        status: 200,
        upstream_ip: '10.7.1.11',
        upstream_port: 9001,
        upstream_local_ip: '10.7.0.1',
        downstream_remote_ip: '10.7.0.9',
        user_agent: null,
        route: 'default',
      })
    }
  })

  it('does not believe a response in a path', () => {
    const row = one(`${lines[3]}\n`)
    expect(row).toMatchObject({
      status: null,
      flags: null,
      path: null,
      duration_ms: null,
      t_end: null,
      method: 'GET',
      protocol: 'HTTP/1.1',
      kind: 'http',
      phase: 'end',
      upstream_ip: '10.7.1.11',
    })
    expect(row.ambiguous).toBe('t_end,duration_ms,path,status,flags,details,bytes_received,bytes_sent,x_forwarded_for')
    // The same text in a line of another format has one reading.
    expect(one(`${lines[2]}\n`)).toMatchObject({ status: 200, flags: null, path: '/x HTTP/1.1" 503 UC 1 2 3 4 "y', ambiguous: null })
    expect(one(`${lines[4]}\n`)).toMatchObject({ status: null, path: null, upstream_ip: '10.7.1.11' })
  })

  it('does not believe keys in a user agent', () => {
    expect(one(`${lines[5]}\n`)).toMatchObject({ status: 200, flags: null, user_agent: null, request_id: null, authority: null, upstream_ip: '10.7.1.11' })
  })

  it('reads a line that several formats fit as the one that the member is known to have', () => {
    const forged = lines[3].replace('via_upstream - "-" 0 15', '"-" 0 15') // Istio 1.8's line, with Istio 1.9's in the path
    const honest =
      '[2026-11-30T21:50:57.000Z] "GET /a HTTP/1.1" 200 - "-" 0 15 0 0 "-" "curl" "6a8efd57" "app" "10.7.1.11:9001" outbound|80||a 10.7.0.1:49774 10.7.0.1:10001 10.7.0.9:53285 - default'
    expect(one(`${forged}\n`)).toMatchObject({ status: null, path: null })
    const [, second] = read(`${honest}\n${forged}\n`).rows.request
    expect(second).toMatchObject({ status: 200, ambiguous: null })
  })

  it('trusts nothing of a JSON text in which a key stands twice', () => {
    const forged =
      '{"start_time":"2026-11-30T21:50:58.165Z","duration":"5","user_agent":"x","response_code":"503","a":"y","response_code":"200","response_flags":"-","bytes_sent":"5"}'
    expect(one(`${forged}\n`)).toMatchObject({
      t: at('2026-11-30T21:50:58.165Z'),
      status: null,
      flags: null,
      ambiguous: 'kind,t_end,duration_ms,status,flags,bytes_sent,user_agent,probe',
    })
  })

  it('notes each record that it cannot prove', () => {
    expect(read(`${lines[3]}\n`).notes.map(n => n.kind)).toEqual(['ambiguous'])
  })
})

describe('kinds and phases', () => {
  const typed = '%START_TIME% %ACCESS_LOG_TYPE% %REQ(:METHOD)% %RESPONSE_CODE% %CONNECTION_ID%\n'
  it.each([
    ['DownstreamEnd', 'http', 'end'],
    ['DownstreamStart', 'http', 'start'],
    ['DownstreamPeriodic', 'http', 'periodic'],
    ['DownstreamTunnelSuccessfullyEstablished', 'http', 'connected'],
    ['UpstreamPoolReady', 'upstream', 'connected'],
    ['UpstreamEnd', 'upstream', 'end'],
    ['TcpConnectionStart', 'tcp', 'start'],
    ['TcpUpstreamConnected', 'tcp', 'connected'],
    ['TcpPeriodic', 'tcp', 'periodic'],
    ['TcpConnectionEnd', 'tcp', 'end'],
    ['NotSet', 'listener', 'end'],
  ])('%s is %s, %s', (type, kind, phase) => {
    expect(one(`2026-01-01T00:00:00.000Z ${type} GET 0 0\n`, typed)).toMatchObject({ kind, phase, status: null, connection_id: null })
  })

  const istio = (slot: string, code: string, details = '-') =>
    one(`[2026-01-01T00:00:00.000Z] "${slot}" ${code} ${details} - "-" 0 0 0 - "-" "-" "-" "-" "-" - - 10.0.0.1:80 10.0.0.2:5 - -\n`)
  it('tells requests, sessions and listeners apart without it', () => {
    expect(istio('GET / HTTP/1.1', '200 -')).toMatchObject({ kind: 'http', phase: 'end' })
    expect(istio('- - -', '0 -')).toMatchObject({ kind: 'tcp', phase: 'end' })
    expect(istio('- - HTTP/1.1', '0 DC')).toMatchObject({ kind: 'http', phase: 'end' })
    expect(istio('- - HTTP/1.1', '400 DPE')).toMatchObject({ kind: 'http' })
    expect(istio('- - HTTP/1.1', '0 -')).toMatchObject({ kind: 'listener', phase: 'end' })
    expect(istio('- - -', '0 NR', 'filter_chain_not_found')).toMatchObject({ kind: 'listener' })
  })

  it('does not call a request without a result ended', () => {
    expect(istio('GET / HTTP/1.1', '0 -')).toMatchObject({ kind: 'http', phase: null })
    expect(istio('GET / HTTP/1.1', '0 DC')).toMatchObject({ phase: 'end' })
  })

  it.each([
    ['kube-probe/1.30', true],
    ['ELB-HealthChecker/2.0', true],
    ['GoogleHC/1.0', true],
    ['Blackbox Exporter/0.24.0', true],
    ['Mozilla/5.0 kube-probe/1', false],
  ])('%s is a probe: %s', (agent, probe) => {
    expect(one(`2026-01-01T00:00:00.000Z "${agent}"\n`, '%START_TIME% "%REQ(USER-AGENT)%"\n').probe).toBe(probe)
  })
})

describe('formats that are given', () => {
  it('prints short flags for long ones, and keeps what it does not know', () => {
    expect(one('1796075423 UpstreamConnectionFailure,UpstreamRetryLimitExceeded,MyOwn\n', '%START_TIME(%s)% %RESPONSE_FLAGS_LONG%\n').flags).toBe('UF,URX,MyOwn')
  })

  it.each([
    ['%s.%3f', '1796075423.074', '2026-11-30T21:50:23.074Z'],
    ['%s%3f', '1796075423074', '2026-11-30T21:50:23.074Z'],
    ['%Y/%m/%dT%H:%M:%S%z %s', '2026/11/30T21:50:23+0000 1796075423', '2026-11-30T21:50:23Z'],
    ['%d/%b/%Y:%H:%M:%S %z', '30/Nov/2026:21:50:23 +0000', '2026-11-30T21:50:23Z'],
    ['%d/%b/%Y:%H:%M:%S %z', '01/Dec/2026:03:20:23 +0530', '2026-11-30T21:50:23Z'],
    ['%a %e %B %y %I:%M:%S %p', 'Mon  5 January 26 12:50:23 PM', '2026-01-05T12:50:23Z'],
    ['%FT%T%Ez', '2026-12-01T03:20:23+05:30', '2026-11-30T21:50:23Z'],
    ['%Y-%j', '2026-334', '2026-11-30T00:00:00Z'],
    ['%E3S of %FT%R', '23.074 of 2026-11-30T21:50', '2026-11-30T21:50:23.074Z'],
  ])('reads %s', (spec, text, iso) => {
    expect(one(`{${text}} 200\n`, `{%START_TIME(${spec})%} %RESPONSE_CODE%\n`)).toMatchObject({ t: at(iso), guess: null, status: 200 })
  })

  it('guesses the zone of a local time without one', () => {
    expect(one('2026-11-30 21:50:23 200\n', '%START_TIME_LOCAL(%Y-%m-%d %H:%M:%S)% %RESPONSE_CODE%\n')).toMatchObject({ guess: 'zone' })
  })

  it('keeps the finest start', () => {
    expect(one('1796075423|1796075423.074017000\n', '%START_TIME(%s)%|%START_TIME(%s.%9f)%\n').t_start).toBe(1_796_075_423_074_017_000n)
  })

  it('has records without a time, and says so', () => {
    const found = read('200 5\n', '%RESPONSE_CODE% %DURATION%\n')
    expect(found.rows.request[0]).toMatchObject({ t: null, t_start: null, t_end: null, duration_ms: 5 })
    expect(found.notes.map(n => n.kind)).toEqual(['no-time'])
  })

  it('takes operators that it does not know as text', () => {
    expect(one('2026-01-01T00:00:00.000Z "what ever" 200\n', '%START_TIME% "%A_NEW_ONE(x:y)%" %RESPONSE_CODE%\n')).toMatchObject({ status: 200, ambiguous: null })
  })

  it('knows that a cut value may be another one', () => {
    const row = one('194de2de GET /ok?lon curl/7.8 10.7.\n', '%REQ(X-REQUEST-ID):8% %REQ(:METHOD):5% %REQ(:PATH):7% %REQ(USER-AGENT):8% %UPSTREAM_HOST:5%\n')
    expect(row).toMatchObject({ request_id: null, method: 'GET', path: '/ok?lon', user_agent: 'curl/7.8', upstream_host: null, upstream_ip: null })
  })

  it('reads empty values where they are omitted', () => {
    expect(one('2026-01-01T00:00:00.000Z  200 "" \n', '%START_TIME% %REQ(:METHOD)% %RESPONSE_CODE% "%REQ(USER-AGENT)%" %UPSTREAM_HOST%\n')).toMatchObject({
      status: 200,
      method: null,
      upstream_host: null,
    })
  })

  it('reads records of several lines', () => {
    const given = '--- %START_TIME%\n up: %UPSTREAM_HOST%\n code: %RESPONSE_CODE%\n'
    const text = '--- 2026-01-01T00:00:00.000Z\n up: 10.0.0.1:80\n code: 200\n--- 2026-01-01T00:00:01.000Z\n up: -\n--- 2026-01-01T00:00:02.000Z\n up: -\n code: 503\nrest\n'
    const found = readWell(format, text, { accessLogFormats: [given] })
    expect(found.rows.request.map(r => [r.status, r.upstream_ip, r.span.line])).toEqual([
      [200, '10.0.0.1', 1],
      [503, null, 6],
    ])
    expect(found.problems.map(p => p.kind)).toEqual(['truncated', 'not-recognised'])
    survives(format, text, { accessLogFormats: [given] })
  })

  it('reads records that no line break ends', () => {
    const text = '{2026-01-01T00:00:00.000Z 200 10.0.0.1:80}{2026-01-01T00:00:01.000Z 503 -}{2026-01-01T00:00:02.000Z 200 -}'
    const given = ['{%START_TIME% %RESPONSE_CODE% %UPSTREAM_HOST%}']
    const { rows, records } = readWell(format, text, { accessLogFormats: given })
    expect(rows.request.map(r => r.status)).toEqual([200, 503, 200])
    expect(records.map(s => text.slice(s.byteStart, s.byteEnd))).toEqual([
      '{2026-01-01T00:00:00.000Z 200 10.0.0.1:80}',
      '{2026-01-01T00:00:01.000Z 503 -}',
      '{2026-01-01T00:00:02.000Z 200 -}',
    ])
    survives(format, text, { accessLogFormats: given })
  })

  it('takes a line break typed as two characters', () => {
    expect(one('2026-01-01T00:00:00.000Z 200\n', '%START_TIME% %RESPONSE_CODE%\\n').status).toBe(200)
  })

  it('reads a json_format, nested, with lists and literals', () => {
    const given = JSON.stringify({ v: 2, at: { start: '%START_TIME%' }, list: ['%RESPONSE_CODE%', { d: '%DURATION%' }], line: '%REQ(:METHOD)% %REQ(:PATH)%' })
    const text = '{"at":{"start":"2026-01-01T00:00:00.000Z"},"line":"GET /a","list":[200,{"d":7}],"more":1,"v":2}\n'
    expect(one(text, given)).toMatchObject({ status: 200, duration_ms: 7, method: 'GET', path: '/a', kind: 'http' })
    expect(read(text.replace('"v":2', '"v":3'), given).rows.request).toEqual([])
  })

  it('goes before the shipped ones', () => {
    const given = SHIPPED_TEXT.Envoy!.replace('%REQ(X-FORWARDED-FOR)%', '%DOWNSTREAM_REMOTE_ADDRESS%')
    expect(one(bytes('envoy.log').toString().split('\n')[0]!.replace('10.0.35.28', '10.0.35.28:99'), given)).toMatchObject({ downstream_remote_port: 99, x_forwarded_for: null })
  })

  it('ignores a format without an operator', () => {
    expect(read('hello\n', 'hello\n', '{"a":"b"}', '').rows.request).toEqual([])
  })
})

describe('JSON records', () => {
  const base = { start_time: '2026-01-01T00:00:00.000Z', response_code: 200, response_flags: '-', duration: 5, bytes_sent: 3 }
  const json = (more: object) => one(`${JSON.stringify({ ...base, ...more })}\n`)

  it('takes numbers, strings and all spellings of unset', () => {
    expect(json({ response_code: '0', duration: '7', bytes_sent: '-', upstream_host: '', protocol: null })).toMatchObject({
      status: null,
      duration_ms: 7,
      bytes_sent: null,
      upstream_host: null,
      protocol: null,
    })
    expect(json({ connection_id: 12, upstream_connection_id: 0, upstream_request_attempt_count: 0 })).toMatchObject({
      connection_id: 12n,
      upstream_connection_id: null,
      attempts: 0,
    })
  })

  it("takes Contour's keys", () => {
    const { start_time, ...rest } = base
    expect(one(`${JSON.stringify({ '@timestamp': start_time, ...rest, upstream_cluster: 'default/a/80/da39a3ee5e' })}\n`)).toMatchObject({
      t: at(start_time),
      upstream_cluster: 'default/a/80/da39a3ee5e',
    })
  })

  it("takes Envoy Gateway's keys and ignores others", () => {
    expect(
      json({ 'x-envoy-origin-path': '/a', ':authority': 'b', 'user-agent': 'c', 'x-request-id': 'd', 'x-forwarded-for': 'e', kubernetes: { pod_name: 'x' }, ['__proto__']: 1 }),
    ).toMatchObject({
      path: '/a',
      authority: 'b',
      user_agent: 'c',
      request_id: 'd',
      x_forwarded_for: 'e',
      ambiguous: null,
    })
  })

  it.each([
    { level: 'info', time: '2026-01-01T00:00:00.000Z', msg: 'x' },
    { '@timestamp': '2026-01-01T00:00:00.000Z', duration: 3, response_code: 200 },
    { ...base, start_time: 'yesterday' },
    { start_time: '2026-01-01T00:00:00.000Z', method: 'GET', path: '/' },
  ])('leaves other objects alone: %o', value => {
    expect(read(`${JSON.stringify(value)}\n`).rows.request).toEqual([])
  })
})

describe('other lines', () => {
  it.each([
    '[2024-10-18 12:25:20.416][30][debug][pool] [source/common/conn_pool/conn_pool_base.cc:265] [Tags: "ConnectionId":"41"] creating stream',
    '[2026-01-01T00:00:00.000Z] "GET / HTTP/1.1" 200 - 0 5',
    '[2026-01-01T00:00:00.000Z] hello "a" "b" "c" "d" "10.0.0.1:80"',
    '10.0.0.1 - - [01/Jan/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "curl"',
    'ACCESS [',
    '[',
    '{"start_time":"2026-01-01T00:00:00.000Z","method":"-"',
  ])('%s is no record', line => expect(read(`${line}\n`).rows.request).toEqual([]))

  it('reads what Fluent Bit wrapped', () => {
    const log = bytes('envoy.log').toString().split('\n')[0]
    const wrapped = { date: 1_730_547_081.92, stream: 'stdout', log: `${log}\n`, kubernetes: { pod_name: 'web-1' } }
    expect(one(`${JSON.stringify(wrapped)}\n`)).toMatchObject({ proxy: 'web-1', status: 204 })
    const record = bytes('envoy-gateway-1.2.3.jsonl').toString().split('\n')[0]
    expect(one(`${JSON.stringify({ ...wrapped, log: record })}\n`)).toMatchObject({ kind: 'tcp', upstream_ip: '10.0.0.112' })
  })

  it('takes the pod from the wrapper', () => {
    const line = bytes('envoy.log').toString().split('\n')[1]
    expect(one(`[pod/web-0/istio-proxy] 2026-11-30T21:50:57.000000001Z ${line}\n`)).toMatchObject({ proxy: 'web-0', status: 200, t: at('2021-04-14T16:36:00.361Z') })
  })
})
