import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { type Collected, collect, type Row } from '../../../test/support/collect.js'
import { differences, sweep, unzipped } from '../../../test/support/hubble-sweep.js'
import { readWell, survives } from '../../../test/support/robust.js'
import type { MemberContext } from '../format.js'
import { formatById, formats } from '../index.js'

const format = formatById('hubble-text')!
const sample = (name: string): Buffer => readFileSync(new URL(`samples/${name}`, import.meta.url))
const read = (text: string, more: Partial<MemberContext> = {}): Collected => collect(format, `${text}\n`, more)
const one = (text: string, more: Partial<MemberContext> = {}): Row => {
  const rows = read(text, more).rows.flow
  expect(rows, text).toHaveLength(1)
  return rows[0]!
}
const known = (row: Row): object => Object.fromEntries(Object.entries(row).filter(([k, v]) => v !== null && k !== 'span'))
/** A compact line from its type on. */
const line = (rest: string): string => `Nov  3 14:00:42.051: 10.0.0.11:52005 (remote-node) <> shop/shop-b2kb7:8080 (ID:20037) ${rest}`

describe('the sweep, as the command line prints it', () => {
  const flows = sweep().filter(e => e.kind.endsWith('flow') && e.compact !== '')
  // What the text cannot tell: a redirect (printed ALLOWED), match 7 (`unknown`), the envelope's node; and what hand-made messages lack that their types imply.
  const implied = (d: string) =>
    /^line (?:126: verdict|100: policy_match|101: policy_match|458: node|459: node|460: node|463: node|391: src_labels|461: src_labels|465: src_labels|466: src_labels|4[1-5]\d: trace_point is TO_ENDPOINT)/.test(
      d,
    )
  const unprinted = [
    't',
    'src_ip',
    'dst_ip',
    'src_labels',
    'dst_labels',
    'uuid',
    'direction',
    'event_subtype',
    'drop_reason',
    'drop_reason_desc',
    'proxy_port',
    'src_xlated_ip',
    'tunnel_src_ip',
    'tunnel_dst_ip',
    'protocol',
  ]
  const compare = (rows: readonly Row[], more: readonly string[] = []): string[] =>
    flows.flatMap((e, i) => differences({ ...rows[i]!, t: null }, e, c => unprinted.includes(c) || more.includes(c))).filter(d => !implied(d))

  it('gives what the JSON of each compact line gives', () => {
    const whole = collect(format, unzipped('hubble-text/samples/sweep.compact.txt.gz'))
    expect(whole.rows.flow).toHaveLength(442)
    expect(whole.lost.map(l => l.events)).toEqual([1099511627776, 1099511627777, 1099511627778, 1099511627779, 7])
    expect(whole.problems).toEqual([])
    // Lines of a type that no name stands for (14, 12, 5), of a sample without record, and one whose JSON has flags but no summary.
    expect(compare(whole.rows.flow)).toEqual([
      'line 260: event_type is null, not 4',
      'line 260: trace_point is null, not 14',
      'line 370: event_type is null, not 3',
      'line 376: event_type is null, not 7',
      'line 384: l7_method is null, not DELETE',
      'line 384: l7_url is null, not /admin',
      'line 460: tcp_flags is null, not SYN',
    ])
  })

  it.each(['table', 'dict'])('gives what %s prints of it, without identities and replies', name => {
    const whole = collect(format, unzipped(`hubble-text/samples/sweep.${name}.txt.gz`))
    expect(whole.rows.flow).toHaveLength(442)
    expect(whole.lost.map(l => l.events)).toEqual([1099511627776, 1099511627777, 1099511627778, 1099511627779, 7])
    expect(whole.problems).toEqual([])
    const differ = compare(whole.rows.flow, ['src_identity', 'dst_identity', 'is_reply']).filter(d => !/: (event_type|trace_point|l7_method|l7_url|tcp_flags) is null/.test(d))
    // A service is printed as a pod is. A row of a table with one end does not say which end it is.
    const services = [361, 371, 376].flatMap(n => [`line ${n}: dst_namespace is shop, not null`, `line ${n}: dst_pod is db, not null`])
    const oneEnd = ['line 377: node is null, not demo/node-1', 'line 377: dst_port is null, not 53', 'line 391: dst_port is null, not 8080']
    const pod = ['line 391: dst_namespace is null, not shop', 'line 391: dst_pod is null, not db-0']
    expect(differ).toEqual(name === 'dict' ? services : [...services, ...oneEnd, ...pod])
  })

  it('reads the times in UTC, and takes the year from the rest of the bundle', () => {
    const from = 1793525400000000000n
    const whole = collect(format, unzipped('hubble-text/samples/sweep.compact.txt.gz'), { reference: { from, to: from + 3_600_000_000_000n } })
    const wrong = flows.flatMap((e, i) => {
      const row = whole.rows.flow[i]!
      const want = e.columns.t as bigint | null
      if (e.line === 448 || e.line === 449) return [] // of 1969 and 1970
      if (row.t === null) return e.columns.t === null || /^N\/A/.test(e.compact) ? [] : [e.line]
      return row.guess === 'year' && want !== null && want / 1_000_000n === row.t / 1_000_000n ? [] : [e.line]
    })
    expect(wrong).toEqual([])
  })
})

describe('compact lines', () => {
  it('puts the sender of the packet into the source, whichever way the arrow points', () => {
    const { rows, notes } = readWell(format, sample('cilium-22899.txt'))
    expect(rows.flow).toHaveLength(6)
    expect(known(rows.flow[0]!)).toEqual({
      t: 978228528502000000n,
      guess: 'year',
      verdict: 'FORWARDED',
      is_reply: true,
      src_namespace: 'gatekeeper-ns',
      src_pod: 'gatekeeper-audit-6b8d6d54d7-wjbxs',
      src_port: 9090,
      src_identity: 726615n,
      dst_ip: '10.1.0.25',
      dst_port: 46538,
      dst_identity: 1n,
      dst_labels: 'reserved:host',
      event_type: 4,
      event_subtype: 3,
      trace_point: 'TO_STACK',
      protocol: 'TCP',
      tcp_flags: 'SYN,ACK',
      summary: 'TCP Flags: SYN, ACK',
    })
    expect(rows.flow[1]).toMatchObject({ is_reply: false, src_ip: '10.1.0.25', src_identity: 2n, src_labels: 'reserved:world', dst_port: 9090, tcp_flags: 'ACK' })
    expect(notes).toEqual([])
  })

  it('leaves the ends of `<>` as they are', () => {
    expect(readWell(format, sample('cilium-42325.txt')).rows.flow[2]).toMatchObject({
      is_reply: null,
      src_pod: 'plan-app-deployment-5f5cf75fcb-nm9qq',
      src_port: 8080,
      dst_ip: '10.25.216.32',
      dst_identity: 1n,
      tcp_flags: 'SYN,ACK',
      direction: 'INGRESS',
      verdict: 'DROPPED',
    })
  })

  it('reads coloured lines as it reads plain ones', () => {
    const { rows, lost, problems } = readWell(format, sample('ansi.txt'))
    expect(problems).toEqual([])
    expect(rows.flow).toHaveLength(9)
    expect(rows.flow[5]).toMatchObject({
      src_namespace: 'jobs',
      src_pod: 'worker-85c67465d6-t6kah',
      dst_ip: '10.0.0.12',
      dst_identity: 6n,
      drop_reason: 133,
      drop_reason_desc: 'POLICY_DENIED',
    })
    expect(lost.map(l => l.events)).toEqual([3, 12])
  })

  it('reads node, policy names and nanoseconds, also where the time looks like that of kubectl', () => {
    const { rows, lost, problems } = readWell(format, sample('node-policy-rfc3339nano.txt'))
    expect(problems).toEqual([])
    expect(rows.flow.map(r => [r.t, r.guess, r.node, r.summary])).toEqual([
      [1793714400000000000n, null, 'demo/node-1', 'TCP Flags: SYN'],
      [1793714403488172045n, null, 'demo/node-2', 'TCP Flags: SYN, ACK'],
      [1793714410172695216n, null, 'demo/node-2', 'TCP Flags: ACK'],
      [1793714415855272258n, null, 'demo/node-3', 'TCP Flags: SYN'],
      [1793714417922173339n, null, 'demo/node-1', 'TCP Flags: SYN'],
      [1793714417922182339n, null, 'demo/node-1', 'TCP Flags: SYN'],
      [1793714433460592093n, null, 'demo/node-3', 'UDP'],
      [1793714441866727129n, null, 'demo/node-1', 'HTTP/1.1 GET http://shop.example.com/shop/a'],
      [1793714441875727129n, null, 'demo/node-1', 'HTTP/1.1 200 9ms (GET http://shop.example.com/shop/a)'],
    ])
    expect(lost.map(l => [l.from?.ns, l.to?.ns])).toEqual([
      [1793714490399595997n, 1793714490399595997n],
      [1793714502643055128n, 1793714502663055128n],
    ])
  })

  it('gives no time and no address to flows of a masked export', () => {
    const { rows, notes, lost } = readWell(format, sample('field-mask.txt'))
    expect(rows.flow.map(r => [r.t, r.src_ip, r.src_pod, r.dst_ip, r.dst_pod])).toEqual(Array.from({ length: 6 }, () => [null, null, null, null, null]))
    expect(rows.flow[4]).toMatchObject({ src_identity: 20148n, dst_identity: 6n, verdict: 'DROPPED', drop_reason: null, event_type: null })
    expect(notes.filter(n => n.kind === 'no-time')).toHaveLength(6)
    expect(lost).toHaveLength(1)
  })

  it('reads requests and responses', () => {
    const service = 'Jan 29 19:45:10.837: 192.168.1.43:60450 (ingress) <- infra/gateway:30603 (world) http-response FORWARDED'
    expect(one(`${service} (HTTP/1.1 503 4999ms (GET http://demo.foo.com/a?b=(c)))`)).toMatchObject({
      l7_type: 'RESPONSE',
      l7_protocol: 'http',
      l7_status: 503,
      l7_latency_ms: 4999,
      l7_method: 'GET',
      l7_url: 'http://demo.foo.com/a?b=(c)',
      event_type: 129,
      is_reply: true,
    })
    // Cut within the URL, as pasted into cilium/cilium#30510.
    const cut = read(`${service} (HTTP/1.1 503 4999ms (GET http://demo.foo.com`)
    expect(cut.rows.flow).toMatchObject([{ l7_status: 503, l7_latency_ms: 4999, l7_url: null, summary: null }])
    expect(cut.notes).toMatchObject([{ kind: 'truncated' }])
  })

  it('tells nothing of the flags of a line that ends within them', () => {
    expect(read(line('to-endpoint FORWARDED (TCP Flags: SYN')).rows.flow).toMatchObject([{ tcp_flags: null, summary: null, protocol: 'TCP' }])
    expect(read(line('to-endpoint FORWARDED')).rows.flow).toMatchObject([{ tcp_flags: null, trace_point: 'TO_ENDPOINT' }])
    expect(read(line('to-endpoint FORW')).rows.flow).toEqual([])
  })

  it('takes a name for a pod only where its identity can be one of a pod', () => {
    const to = (end: string) => one(`Nov  3 14:00:00.000: 10.0.0.1:1 (host) -> ${end} to-stack FORWARDED (TCP Flags: SYN)`)
    expect(to('infra/gateway:80 (world)')).toMatchObject({ dst_pod: null, dst_namespace: null, dst_port: 80, dst_identity: 2n })
    expect(to('shop/db:80 (unknown)')).toMatchObject({ dst_pod: null, dst_identity: null, dst_labels: null })
    expect(to('shop/db:80 (ID:16777219)')).toMatchObject({ dst_pod: null, dst_identity: 16777219n })
    expect(to('shop/db-0:80 (init)')).toMatchObject({ dst_namespace: 'shop', dst_pod: 'db-0' })
    expect(to('db-0:80 (ID:1234)')).toMatchObject({ dst_namespace: null, dst_pod: 'db-0' })
    expect(to('a.example.com,b.example.com:443 (ID:16777219)')).toMatchObject({ dst_pod: null, dst_ip: null, dst_port: 443 })
    expect(to('[2001:DB8::0:1]:443 (world-ipv6)')).toMatchObject({ dst_ip: '2001:db8::1', dst_port: 443, dst_identity: 10n })
    expect(to('fd00::11 (remote-node)')).toMatchObject({ dst_ip: 'fd00::11', dst_port: null })
    expect(to('0a:58:0a:00:00:11 (unknown)')).toMatchObject({ dst_ip: null, dst_pod: null, dst_port: null })
    expect(to('10.0.0.9:443 (kube-apiserver)')).toMatchObject({ dst_identity: 7n, dst_labels: 'reserved:kube-apiserver,reserved:remote-node' })
    expect(to('10.0.0.9:443 (made-up)')).toMatchObject({ dst_identity: null, dst_labels: 'reserved:made-up' })
  })

  it('gives verdicts and drop reasons their names', () => {
    expect(one(line('policy-verdict:none INGRESS AUDITED (TCP Flags: SYN)'))).toMatchObject({ verdict: 'AUDIT', direction: 'INGRESS', policy_match: 'none', event_type: 5 })
    expect(one(line('policy-verdict:L3-Proto EGRESS ALLOWED BY a (NetworkPolicy), b (CiliumNetworkPolicy) (TCP Flags: SYN)'))).toMatchObject({
      verdict: 'FORWARDED',
      tcp_flags: 'SYN',
    })
    const reason = (text: string) => {
      const r = one(line(`${text} DROPPED (TCP Flags: SYN)`))
      return [r.drop_reason, r.drop_reason_desc]
    }
    expect(reason('Policy denied')).toEqual([133, 'POLICY_DENIED'])
    expect(reason('Policy denied (L3)')).toEqual([133, 'POLICY_DENIED'])
    expect(reason('Stale or unroutable IP')).toEqual([151, 'STALE_OR_UNROUTABLE_IP'])
    expect(reason('L3 translation from IPv4 to IPv6 failed (NAT46)')).toEqual([187, 'NAT46'])
    expect(reason('FIB lookup failed, 3')).toEqual([169, 'FIB_LOOKUP_FAILED'])
    expect(reason('No device')).toEqual([206, '206'])
    expect(reason('250, 0')).toEqual([250, '250'])
    // Two numbers are printed so.
    expect(reason('Invalid packet')).toEqual([null, 'INVALID_PACKET_DROPPED'])
    expect(reason('A reason of next year')).toEqual([null, 'A reason of next year'])
  })

  it('reads lines of old versions: no identities, names of ports, the match alone', () => {
    expect(one('Jan  1 00:20:34.567 [k8s1]: 1.1.1.1:31793 -> 2.2.2.2:8080(http-alt) Policy denied (L3) DROPPED (TCP Flags: SYN)')).toMatchObject({
      node: 'k8s1',
      src_ip: '1.1.1.1',
      src_port: 31793,
      dst_ip: '2.2.2.2',
      dst_port: 8080,
      src_identity: null,
      drop_reason: 133,
    })
    expect(one('Jun 18 11:15:50.212: default/xwing:34562 -> default/deathstar-c74d84667-cx5kp:80(http) L3-L4 FORWARDED (TCP Flags: SYN)')).toMatchObject({
      src_pod: 'xwing',
      dst_pod: 'deathstar-c74d84667-cx5kp',
      dst_port: 80,
      policy_match: 'L3-L4',
      event_type: 5,
    })
    expect(read('EVENTS LOST: HUBBLE_RING_BUFFER CPU(0) 7').lost).toEqual([{ from: null, to: null, events: 7, why: 'HUBBLE_RING_BUFFER' }])
  })

  it('understands agent and debug events and states of nodes', () => {
    for (const text of [
      'Nov  3 14:00:00.000 [demo/node-1]: POLICY_UPDATED (labels: [k8s:a=b], revision: 42, count: 2)',
      'Nov  3 14:00:00.000: shop/db-0 (ID: 552) DBG_CT_LOOKUP MARK: 0x1 CPU: 01 (Conntrack lookup 1/2)',
      'Nov  3 14:00:00.000 [relay]: 2 nodes are unavailable: node-1, node-2',
    ]) {
      const c = read(text)
      expect([c.records.length, c.rows.flow.length, c.problems.length], text).toEqual([1, 0, 0])
    }
  })
})

describe('times', () => {
  const rest = ': 10.0.0.1:1 (host) -> 10.0.0.2:2 (host) to-stack FORWARDED (UDP)'
  it.each([
    ['Nov  3 14:00:42.051', 973260042051000000n, 'year'],
    ['2026-11-03T14:00:42Z', 1793714442000000000n, null],
    ['2026-11-03T14:00:42.051Z', 1793714442051000000n, null],
    ['2026-11-03T14:00:42.051687Z', 1793714442051687000n, null],
    ['2026-11-03T14:00:42.051687129Z', 1793714442051687129n, null],
    ['2026-11-03T16:00:42.05+02:00', 1793714442050000000n, null],
    ['Tue, 03 Nov 2026 14:00:42 +0000', 1793714442000000000n, null],
  ])('reads %s', (text, t, guess) => {
    expect(one(text + rest)).toMatchObject({ t, guess, node: null })
    expect(one(`${text} [c/n]${rest}`)).toMatchObject({ t, guess, node: 'c/n' })
  })

  it.each(['2026-11-03', '2026-11-03T14Z', '2026-11-03T14:00Z', 'N/A'])('keeps a flow at %s, without an instant', text => {
    const c = read(text + rest)
    expect(c.rows.flow).toMatchObject([{ t: null, src_ip: '10.0.0.1' }])
    expect(c.notes).toMatchObject([{ kind: 'no-time', says: text === 'N/A' ? 'a flow without a timestamp' : 'a flow whose time is coarser than a second' }])
  })

  it('takes the year from the time of a collector', () => {
    expect(one(`2026-11-03T14:00:43.000000001Z stdout F Nov  3 14:00:42.051${rest}`)).toMatchObject({ t: 1793714442051000000n, guess: 'year' })
  })
})

describe('tables and dictionaries', () => {
  it('reads the rows of a table', () => {
    const { rows, lost, problems, skips } = readWell(format, sample('table.txt'))
    expect(problems).toEqual([])
    expect(skips).toHaveLength(1)
    expect(rows.flow).toHaveLength(9)
    expect(known(rows.flow[5]!)).toMatchObject({
      node: 'demo/node-1',
      src_pod: 'worker-85c67465d6-t6kah',
      dst_ip: '10.0.0.12',
      dst_port: 10250,
      verdict: 'DROPPED',
      drop_reason: 133,
      tcp_flags: 'SYN',
    })
    // The source of a reply is its sender, as everywhere.
    expect(rows.flow[1]).toMatchObject({ src_pod: 'api-5b7f9d4c6c-m4xc9', src_port: 9000, tcp_flags: 'SYN,ACK', is_reply: null })
    expect(lost.map(l => [l.why, l.events])).toEqual([
      ['PERF_EVENT_RING_BUFFER', 3],
      ['OBSERVER_EVENTS_QUEUE', 12],
    ])
  })

  it('reads a table without nodes', () => {
    expect(one('Nov  3 14:00:42.051   10.0.0.11:52005   shop/shop-b2kb7:8080   Policy denied   DROPPED   TCP Flags: SYN')).toMatchObject({
      node: null,
      src_port: 52005,
      dst_pod: 'shop-b2kb7',
    })
    expect(one('2026-11-03T14:00:42.051687129Z   shop/a   shop/b   to-endpoint   FORWARDED   ICMPv4 EchoRequest')).toMatchObject({
      t: 1793714442051687129n,
      src_pod: 'a',
      dst_pod: 'b',
      protocol: 'ICMPv4',
      node: null,
    })
  })

  it('does not guess which end a row with one end has', () => {
    expect(one('Nov  3 14:00:42.051   demo/node-1             shop/db-0:8080   http-request   FORWARDED   HTTP/1.1 GET /')).toMatchObject({
      node: 'demo/node-1',
      src_pod: null,
      src_port: null,
      dst_pod: null,
      dst_port: null,
      l7_method: 'GET',
    })
  })

  it('takes no other table for one of flows', () => {
    for (const text of ['2026-11-03T14:00:42Z   worker   ERROR   connection lost', 'Nov  3 14:00:42.051   a   b   c', 'Nov  3 14:00:42.051: job -> queue state ERROR (retry)'])
      expect(read(text).rows.flow, text).toEqual([])
  })

  it('reads the entries of a dictionary', () => {
    const { rows, lost, problems, records } = readWell(format, sample('dict.txt'))
    expect(problems).toEqual([])
    expect(records).toHaveLength(4)
    expect(rows.flow).toMatchObject([
      { src_ip: '10.244.1.1', dst_pod: 'shop-6d4f9c7b8d-b2ka7', direction: 'INGRESS', verdict: 'FORWARDED', span: { line: 1 } },
      { src_pod: 'api-5b7f9d4c6c-m4xc9', trace_point: 'TO_ENDPOINT', tcp_flags: 'SYN,ACK', span: { line: 9 } },
    ])
    expect(lost.map(l => [l.events, l.to?.ns])).toEqual([
      [3, 973260090399000000n],
      [12, 973260102663000000n],
    ])
  })

  it('says that an entry was cut off', () => {
    const c = read('  TIMESTAMP: Nov  3 14:00:00.000\n     SOURCE: 10.244.1.1:50258\nDESTINATION: shop/a:8080')
    expect(c.rows.flow).toEqual([])
    expect(c.problems).toMatchObject([{ kind: 'truncated' }])
  })
})

it('survives cuts and damage', () => {
  for (const name of ['cilium-42325.txt', 'dict.txt', 'node-policy-rfc3339nano.txt']) survives(format, sample(name))
  for (const name of ['table.txt', 'ansi.txt']) survives(format, sample(name), {}, 7)
})

it('is recognised by its lines', () => {
  const best = (bytes: Buffer) =>
    formats.map(f => [f.sniff(bytes, { path: 'x', reference: null, zoneMinutes: null, accessLogFormats: [] }), f.id] as const).sort((a, b) => b[0] - a[0])[0]![1]
  for (const name of ['ansi.txt', 'cilium-22899.txt', 'dict.txt', 'field-mask.txt', 'node-policy-rfc3339nano.txt', 'table.txt'])
    expect(best(sample(name)), name).toBe('hubble-text')
})
