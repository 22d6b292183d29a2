import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { collect, context, type Row } from '../../../test/support/collect.js'
import { readWell, survives } from '../../../test/support/robust.js'
import type { Format, MemberContext } from '../format.js'
import { formatById, formats } from '../index.js'

const format = formatById('gorouter-access') as Format
const sample = (name: string): Buffer => readFileSync(new URL(`samples/${name}`, import.meta.url))
const lab = sample('lab.log')
const requests = (bytes: Buffer | string, more: Partial<MemberContext> = {}): Row[] => collect(format, bytes, more).rows.request
const one = (text: string, more: Partial<MemberContext> = {}): Row => {
  const rows = requests(text, more)
  expect(rows).toHaveLength(1)
  return rows[0] as Row
}

/** A line as gorouter writes it, with parts replaced. */
const line = (p: Partial<Record<'host' | 'time' | 'request' | 'numbers' | 'referer' | 'agent' | 'addresses' | 'xff' | 'tail', string>> = {}): string =>
  `${p.host ?? 'shop.example'} - [${p.time ?? '2026-11-30T21:48:52.001491057Z'}] ${p.request ?? '"POST /orders HTTP/1.1"'} ${p.numbers ?? '502 120 67'} ${p.referer ?? '"-"'} ` +
  `${p.agent ?? '"curl/8.5.0"'} ${p.addresses ?? '"192.0.2.7:51468" "10.0.16.12:61016"'} x_forwarded_for:${p.xff ?? '"192.0.2.7"'} x_forwarded_proto:"https" ` +
  (p.tail ??
    'vcap_request_id:"b547c88e" response_time:0.004702 gorouter_time:0.000146 app_id:"2dfe23f9" app_index:"1" instance_id:"e5d3d4dc" x_cf_routererror:"endpoint_failure (EOF)"')

describe('what an access line says', () => {
  it('fills the columns of a request', () => {
    const { span, ...row } = requests(lab)[0] as Row
    expect(span).toMatchObject({ byteStart: 0, line: 1 })
    expect(Object.fromEntries(Object.entries(row).filter(([, v]) => v !== null))).toEqual({
      t: 1796075573932500863n,
      proxy: 'gorouter',
      kind: 'http',
      phase: 'end',
      t_start: 1796075573932500863n,
      t_end: 1796075573947642863n,
      duration_ms: 15.142,
      method: 'GET',
      path: '/?ms=11',
      protocol: 'HTTP/1.1',
      status: 200,
      bytes_received: 0n,
      bytes_sent: 30n,
      upstream_host: '10.0.16.12:61016',
      upstream_ip: '10.0.16.12',
      upstream_port: 61016,
      upstream_local_ip: '10.0.4.5',
      upstream_local_port: 55732,
      upstream_cluster: '0056f0c1-d2f2-4dc3-b89f-ba1acc956437',
      downstream_remote_ip: '127.0.0.1',
      downstream_remote_port: 44606,
      authority: 'shop.apps.lab.example',
      user_agent: 'lab-client/1.0',
      x_forwarded_for: '127.0.0.1',
      request_id: '10bb32fe-227b-4efa-73c5-a8afa8263fb0',
      attempts: 1,
      instance_id: '4ce57199-39b6-43c5-938b-86e67e595315',
      probe: false,
    })
  })

  it('counts the attempt that was answered with those that failed', () => {
    expect(requests(lab).map(r => [r.status, r.attempts, r.router_error])).toEqual([
      [200, 1, null],
      [502, 1, 'endpoint_failure (EOF)'],
      [200, 2, null],
      [499, 1, 'endpoint_failure (context canceled)'],
      [502, 1, 'endpoint_failure (write tcp 10.0.4.5:57108->10.0.16.12:61016: write: broken pipe)'],
      [502, null, 'endpoint_failure (EOF)'],
    ])
  })

  it('reads a line of 2018 behind a BOSH prefix', () => {
    expect(one(sample('2018.log').toString())).toMatchObject({
      t: 1544004444229000000n,
      t_end: 1544004444235646797n,
      duration_ms: 6.646797,
      status: 502,
      upstream_host: '100.106.226.34:61032',
      x_forwarded_for: '100.106.192.20, 100.106.132.129',
      request_id: '723960c1-bb21-452b-45af-4b0b70055c3b',
      instance_id: null,
      router_error: null,
      attempts: null,
    })
  })

  it('reads the time of 2016, day first, and bare addresses', () => {
    const old = line({
      time: '05/12/2016:10:07:24.229 +0100',
      addresses: '192.0.2.7:51468 10.0.16.12:61016',
      tail: 'vcap_request_id:b547c88e response_time:0.5 app_id:2dfe23f9 app_index:0',
    })
    expect(one(old)).toMatchObject({
      t: 1480928844229000000n,
      upstream_ip: '10.0.16.12',
      downstream_remote_port: 51468,
      request_id: 'b547c88e',
      upstream_cluster: '2dfe23f9',
      ambiguous: null,
    })
  })

  it('takes the literal Z for UTC unless the zone of the member is given', () => {
    expect(one(line()).t).toBe(1796075332001491057n)
    expect(one(line(), { zoneMinutes: 120 }).t).toBe(1796075332001491057n - 7_200_000_000_000n)
    expect(one(line({ time: '2018-12-05T10:07:24.229+0000' }), { zoneMinutes: 120 }).t).toBe(1544004444229000000n)
  })

  it('takes "-" for unset, in numbers too', () => {
    const row = one(
      line({
        host: '',
        numbers: '"-" 0 0',
        agent: '"-"',
        addresses: '"-" "-"',
        xff: '"-"',
        tail: 'vcap_request_id:"-" response_time:"-" gorouter_time:"-" app_id:"-" app_index:"-" instance_id:"-" failed_attempts:0 x_cf_routererror:"unknown_route"',
      }),
    )
    expect(row).toMatchObject({
      authority: null,
      status: null,
      bytes_sent: 0n,
      user_agent: null,
      probe: null,
      upstream_host: null,
      upstream_ip: null,
      x_forwarded_for: null,
      request_id: null,
    })
    expect(row).toMatchObject({ t_end: null, duration_ms: null, upstream_cluster: null, instance_id: null, downstream_remote_ip: null, attempts: 0, router_error: 'unknown_route' })
  })

  it('reads IPv6 addresses', () => {
    expect(one(line({ addresses: '"[2001:DB8::7]:51468" "[2001:db8:0::c]:61016"' }))).toMatchObject({
      downstream_remote_ip: '2001:db8::7',
      upstream_ip: '2001:db8::c',
      upstream_host: '[2001:db8:0::c]:61016',
    })
  })

  it('knows health checks by their user agent', () => {
    expect(one(line({ agent: '"ELB-HealthChecker/2.0"' })).probe).toBe(true)
  })
})

describe('what clients write', () => {
  it('undoes the quoting', () => {
    expect(one(line({ agent: String.raw`"a \"b\" \\ \t \u00e9\x01\xff"`, request: String.raw`"GET /?q=\"x\" HTTP/1.1"` }))).toMatchObject({
      user_agent: 'a "b" \\ \t é\x01\ufffd',
      path: '/?q="x"',
      ambiguous: null,
    })
  })

  it('is not misled by an escaped line inside a user agent', () => {
    const forged = String.raw`"x\" \"6.6.6.6:1\" \"6.6.6.6:80\" x_forwarded_for:\"-\" x_forwarded_proto:\"-\" vcap_request_id:\"forged\" response_time:9 app_id:\"no\""`
    expect(one(line({ agent: forged }))).toMatchObject({ upstream_ip: '10.0.16.12', request_id: 'b547c88e', ambiguous: null })
  })

  it('takes the router’s field before a header of the same name, and says so', () => {
    expect(one(`${line()} instance_id:"forged" x_request_id:"-"`)).toMatchObject({ instance_id: 'e5d3d4dc', ambiguous: 'instance_id' })
    expect(one(`${line()} instance_id:"e5d3d4dc"`).ambiguous).toBeNull()
  })

  it('takes nothing of the router’s from behind its last field', () => {
    expect(one(`${line()} x_request_id:"-" failed_attempts:3 local_address:"6.6.6.6:1"`)).toMatchObject({ attempts: null, upstream_local_ip: null })
  })

  it('reads quotes that lost their escapes, where that leaves one reading', () => {
    const row = one(line({ agent: '"Mozilla "quoted" agent"', request: '"GET /?q="x" HTTP/1.1"' }))
    expect(row).toMatchObject({ user_agent: 'Mozilla "quoted" agent', path: '/?q="x"', upstream_ip: '10.0.16.12', ambiguous: null })
  })

  it('marks the user agent where it may end in two places', () => {
    expect(one(line({ referer: '"http://a" "b"' }))).toMatchObject({ upstream_ip: '10.0.16.12', status: 502, ambiguous: 'user_agent' })
  })

  it('trusts no tail where a client without escapes wrote another', () => {
    const row = one(line({ xff: '"a" "6.6.6.6:1" "6.6.6.6:80" x_forwarded_for:"b"' }))
    const doubted = String(row.ambiguous).split(',')
    for (const column of ['upstream_ip', 'request_id', 'router_error', 't_end', 'user_agent']) expect(doubted).toContain(column)
    for (const column of ['status', 'method', 'path', 'authority']) expect(doubted).not.toContain(column)
    expect(row).toMatchObject({ status: 502, method: 'POST', path: '/orders' })
  })

  it('doubts fields that stand twice', () => {
    const row = one(line({ xff: '"a" x_forwarded_proto:"" vcap_request_id:"forged" response_time:9 app_id:"no" x_cf_routererror:"-" y:""' }))
    expect(row.ambiguous).toBe('request_id,t_end,duration_ms,upstream_cluster,router_error')
  })

  it('reads no field out of its place', () => {
    expect(collect(format, line({ xff: '"a" failed_attempts:3 y:"b"' }))).toMatchObject({ rows: { request: [] }, problems: [{ kind: 'bad-record' }] })
  })

  it('doubts path and user agent of the releases that did not escape, where there is a backslash', () => {
    const time = '05/12/2016:10:07:24.229 +0000'
    expect(one(line({ time, agent: String.raw`"a\\b"` })).ambiguous).toBe('path,user_agent')
    expect(one(line({ time })).ambiguous).toBeNull()
  })
})

describe('lines that are not whole', () => {
  it('keeps a request whose end is missing, without a number that may be short', () => {
    const whole = line({
      tail: 'vcap_request_id:"b547c88e" response_time:0.004702 gorouter_time:0.1 app_id:"2dfe23f9" app_index:"1" instance_id:"e5d3d4dc" failed_attempts:12 x_cf_routererror:"-"',
    })
    const cut = collect(format, whole.slice(0, whole.indexOf('2 x_cf')))
    expect(cut.rows.request).toMatchObject([{ duration_ms: 4.702, instance_id: 'e5d3d4dc', attempts: null, router_error: null }])
    expect(cut.notes.map(n => n.kind)).toEqual(['truncated'])
  })

  it('makes no request of a line that ends before its app_id', () => {
    const whole = line()
    const cut = collect(format, whole.slice(0, whole.indexOf('4702')))
    expect(cut.rows.request).toEqual([])
    expect(cut.problems.map(p => p.kind)).toEqual(['truncated'])
  })

  it('says that headers were left out for length', () => {
    expect(collect(format, `${line()} x_a:"b" ...EXTRA-REQUEST-HEADERS-TOO-LONG-TO-LOG--TRUNCATED`)).toMatchObject({
      rows: { request: [{ status: 502 }] },
      notes: [{ kind: 'truncated' }],
    })
  })

  it('makes one problem of a line whose fields cannot be told apart', () => {
    const { problems, rows } = collect(format, `${line()}\n${line({ xff: '"a"b"' })}\n${line()}\n`)
    expect(problems.map(p => [p.kind, p.span.line])).toEqual([['bad-record', 2]])
    expect(rows.request).toHaveLength(2)
  })

  it('leaves other access logs alone', () => {
    const nginx = '192.0.2.7 - - [30/Nov/2026:21:48:52 +0000] "GET / HTTP/1.1" 200 612 "-" "curl/8.5.0"'
    const envoy = '[2026-11-30T21:48:52.001Z] "GET / HTTP/1.1" 200 - 0 612 1 0 "-" "curl/8.5.0" "b547c88e" "shop.example" "10.0.0.1:80"'
    const dated = 'shop.example - [2026-11-30T21:48:52.001Z] "GET / HTTP/1.1" 200 0 612 "-" "curl/8.5.0"'
    for (const text of [nginx, envoy, dated]) expect(requests(text).filter(r => r.proxy === 'gorouter')).toEqual([])
  })
})

describe('the format', () => {
  it('is recognised by content', () => {
    const scores = formats.map(f => [f.id, f.sniff(lab, context())] as const).filter(([, s]) => s > 0)
    expect(scores.map(([id]) => id)).toEqual(['gorouter-access'])
  })

  it('keeps its promises on any bytes', () => {
    readWell(format, lab)
    survives(format, lab.subarray(0, 1300))
    survives(format, lab, {}, 200)
  })

  it('is quick on text made to slow it down', () => {
    const hostile = ['" a:1 x_forwarded_for:"', '\\', '" "', ' x:"\\"', '" 200 1 1 "', '" 1:1 x_forwarded_for:x ']
    for (const part of hostile) {
      const text = line({ agent: `"${part.repeat(65_536 / part.length)}!` })
      const from = performance.now()
      collect(format, text)
      expect(performance.now() - from).toBeLessThan(500)
    }
  })
})
