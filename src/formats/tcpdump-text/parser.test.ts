import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { collect, context } from '../../../test/support/collect.js'
import { readWell, survives } from '../../../test/support/robust.js'
import { formatById } from '../index.js'
import type { Format } from '../format.js'

const format = formatById('tcpdump-text') as Format
const sample = (name: string) => readFileSync(new URL(`samples/${name}.txt`, import.meta.url))
const day = { reference: { from: 1_733_230_000_000_000_000n, to: 1_733_240_000_000_000_000n } }
const at = (text: string) => BigInt(Date.parse(text)) * 1_000_000n
const packets = (text: string, more = {}) => readWell(format, `${text}\n`, more).rows.packet
const one = (text: string, more = {}) => packets(text, more)[0] as Record<string, unknown>

const FLOW = '10.0.0.5.55434 > 10.0.0.66.5190: Flags [P.], seq 1:160, ack 1, win 502, options [nop,nop,TS val 7 ecr 9], length 159'
const READ = { src_ip: '10.0.0.5', src_port: 55_434, dst_ip: '10.0.0.66', dst_port: 5190, protocol: 'TCP', seq: 1n, ack: 1n, tcp_flags: 'ACK,PSH', length: 159, kind: null }

describe('evidence that people posted', () => {
  it('reads all 13 lines of envoyproxy/gateway#4843: placeholders for addresses, relative and absolute numbers', () => {
    const { rows, records, problems, notes } = readWell(format, sample('gateway-4843'), day)
    expect([records.length, problems.length, notes.length]).toEqual([13, 0, 0])
    expect(rows.packet[0]).toMatchObject({
      t: at('2024-12-03T13:32:04.538Z') + 539_000n,
      guess: 'date,zone',
      src_ip: 'CLIENT_IP',
      src_port: 56_939,
      dst_ip: 'SERVER_IP',
      dst_port: 6514,
      protocol: 'TCP',
      seq: 1_228_839_153n,
      ack: 3_234_245_467n,
      tcp_flags: 'ACK,PSH',
      length: 159,
      kind: null,
      detail: 'seq 1228839153:1228839312, win 7714, TS val 3420375641 ecr 86463925',
    })
    expect(rows.packet[1]).toMatchObject({ seq: 159n, ack: 1n, length: 154 })
    expect(rows.packet.map(p => p.ack)).toContain(1516n)
    expect(new Set(rows.packet.map(p => p.src_port))).toEqual(new Set([56_939, 6514]))
  })

  it('joins the two lines of -v and skips the blanks between packets (envoyproxy/envoy#19664)', () => {
    const { rows, records, problems } = readWell(format, sample('envoy-19664'), day)
    expect([records.length, problems.length]).toEqual([3, 0])
    expect(records[0]).toMatchObject({ byteStart: 0, line: 1 })
    expect(records[1]?.line).toBe(4)
    expect(rows.packet.map(p => [p.src_ip, p.src_port, p.kind, p.seq, p.ack])).toEqual([
      ['10.18.191.67', 44_332, 'syn', 849_832_810n, null],
      ['10.80.65.146', 8080, 'synack', 2_913_470_994n, 849_832_811n],
      ['10.18.191.67', 44_332, null, null, 1n],
    ])
  })

  it('mends a line that was broken inside a word, and takes a packet without a time (kubernetes#122174)', () => {
    const { rows, records, problems, notes } = readWell(format, sample('kubernetes-122174'), day)
    expect([records.length, problems.length]).toEqual([5, 0])
    expect(rows.packet[3]).toMatchObject({ kind: 'rst', length: 0, seq: 1_582_609_997n })
    expect(rows.packet[4]).toMatchObject({ t: null, kind: 'syn', src_port: 38_530 })
    expect(notes.map(n => n.says)).toEqual(['a packet without a time'])
  })

  it('uses the inner addresses of IPIP and leaves prompts and banners (calico#2141)', () => {
    const { rows, records, problems } = readWell(format, sample('calico-2141-ipip'), day)
    expect([records.length, problems.length]).toEqual([2, 0])
    expect(rows.packet[0]).toMatchObject({ src_ip: '10.2.3.1', src_port: 54_732, dst_ip: '10.2.7.26', kind: 'syn', length: 0 })
    expect(rows.packet[0]?.detail).toContain('outer 10.120.193.7 > 10.120.193.6')
    const veth = readWell(format, sample('calico-2141-veth'), day)
    expect([veth.records.length, veth.problems.length, veth.lost.length]).toEqual([3, 0, 0])
    expect(veth.rows.packet.map(p => p.kind)).toEqual(['fin', 'fin', null])
  })
})

describe('times', () => {
  it.each([
    ['13:32:04.538539 IP', at('2024-12-03T13:32:04.538Z') + 539_000n, 'date,zone'],
    ['13:32:04.538539123 IP', at('2024-12-03T13:32:04.538Z') + 539_123n, 'date,zone'],
    ['1733232724.538539 IP', at('2024-12-03T13:32:04.538Z') + 539_000n, null],
    ['1733232724.538539123 IP', at('2024-12-03T13:32:04.538Z') + 539_123n, null],
    ['2024-12-03 13:32:04.538539 IP', at('2024-12-03T13:32:04.538Z') + 539_000n, 'zone'],
    [' 00:00:00.000150 IP', null, null],
    ['-00:00:00.000150 IP', null, null],
    ['IP', null, null],
    ['    7  13:32:04.538539 IP', at('2024-12-03T13:32:04.538Z') + 539_000n, 'date,zone'],
    ['    7  IP', null, null],
  ])('%s', (head, t, guess) => {
    expect(one(`${head} ${FLOW}`, day)).toMatchObject({ t, guess, ...READ })
  })

  it('takes the zone that is given', () => {
    expect(one(`13:32:04.5 IP ${FLOW}`, { ...day, zoneMinutes: 60 })).toMatchObject({ t: at('2024-12-03T12:32:04.5Z'), guess: 'date' })
  })

  it('says that a time of day is none without a reference', () => {
    const { rows, notes } = collect(format, `13:32:04.538539 IP ${FLOW}\n`)
    expect(rows.packet[0]?.t).toBeNull()
    expect(notes).toMatchObject([{ kind: 'no-time', says: 'a time of day without a date' }])
  })

  it('takes the date from what wrapped the line', () => {
    expect(one(`2024-12-03T13:32:05.000000000Z stdout F 13:32:04.538539 IP ${FLOW}`)).toMatchObject({ t: at('2024-12-03T13:32:04.538Z') + 539_000n })
  })

  it('knows differences by the nought they begin with, where the blank before them was lost', () => {
    expect(packets(`00:00:00.000000 IP ${FLOW}\n00:00:00.000150 IP ${FLOW}`, day).map(p => p.t)).toEqual([null, null])
  })
})

describe('what stands before the addresses', () => {
  it.each([
    ['Ethernet', '02:00:00:00:00:01 > 02:00:00:00:00:02, ethertype IPv4 (0x0800), length 225: ', null],
    ['Ethernet, -q', '02:00:00:00:00:01 > 02:00:00:00:00:02, IPv4, length 225: ', null],
    ['VLAN', '02:00:00:00:00:01 > 02:00:00:00:00:02, ethertype 802.1Q (0x8100), length 78: vlan 100, p 0, ethertype IPv4 (0x0800), ', 'vlan 100'],
    [
      'QinQ',
      '02:00:00:00:00:01 > 02:00:00:00:00:02, ethertype 802.1Q-QinQ (0x88a8), length 64: vlan 200, p 0, ethertype 802.1Q (0x8100), vlan 2001, p 0, ethertype IPv4 (0x0800), ',
      'vlan 200, vlan 2001',
    ],
    ['SLL', 'Out 02:00:00:00:00:01 ethertype IPv4 (0x0800), length 76: ', 'Out'],
    ['SLL2', 'eth0  Out IP ', 'eth0 Out'],
    ['SLL2, -e', 'eth0  In  ifindex 7 02:00:00:00:00:01 ethertype IPv4 (0x0800), length 80: ', 'eth0 In'],
    ['raw', 'ip: ', null],
    ['null', 'AF IPv4 (2), length 64: ', null],
  ])('%s', (_, prefix, note) => {
    const p = one(`13:32:04.538539 ${prefix}${FLOW}`, day)
    expect(p).toMatchObject(READ)
    expect(p.detail).toBe([note, 'seq 1:160', 'win 502', 'TS val 7 ecr 9'].filter(x => x !== null).join(', '))
  })
})

describe('addresses', () => {
  it.each([
    ['IP6 fd00::5.55434 > FD00:0::1.5190', 'fd00::5', 55_434, 'fd00::1', 5190],
    ['IP6 ::ffff:10.0.0.5.55434 > ::1.http', '::ffff:a00:5', 55_434, '::1', 80],
    ['IP ip-10-0-0-5.ec2.internal.55434 > kubernetes.default.svc.https', 'ip-10-0-0-5.ec2.internal', 55_434, 'kubernetes.default.svc', 443],
    ['IP 10.0.0.5.0 > 10.0.0.6.some-service', '10.0.0.5', null, '10.0.0.6', null],
    ['IP CLIENT > SERVER.6514', 'CLIENT', null, 'SERVER', 6514],
  ])('%s', (ends, src_ip, src_port, dst_ip, dst_port) => {
    expect(one(`13:32:04.538539 ${ends}: Flags [S], seq 1, win 1, length 0`, day)).toMatchObject({ src_ip, src_port, dst_ip, dst_port, kind: 'syn' })
  })
})

describe('transports', () => {
  it.each([
    ['S', 'SYN', 'syn'],
    ['S.', 'SYN,ACK', 'synack'],
    ['SEW', 'SYN,ECE,CWR', 'syn'],
    ['SEWe', 'SYN,ECE,CWR,NS', 'syn'],
    ['F.', 'ACK,FIN', 'fin'],
    ['FP.', 'ACK,FIN,PSH', 'fin'],
    ['R', 'RST', 'rst'],
    ['R.', 'ACK,RST', 'rst'],
    ['.', 'ACK', null],
    ['P.U', 'ACK,PSH,URG', null],
    ['none', null, null],
  ])('Flags [%s]', (letters, tcp_flags, kind) => {
    expect(one(`13:32:04.538539 IP 10.0.0.5.1 > 10.0.0.6.2: Flags [${letters}], win 1, length 0`, day)).toMatchObject({ tcp_flags, kind, length: 0 })
  })

  it('reads the other forms of TCP', () => {
    expect(one('13:32:04.538539 IP 10.0.0.5.1 > 10.0.0.6.2: tcp 31', day)).toMatchObject({ protocol: 'TCP', length: 31, tcp_flags: null })
    expect(one('13:32:04.538539 IP 10.0.0.5.1 > 10.0.0.6.2: P 5:36(31) ack 9 win 5840 <nop>', day)).toMatchObject({ seq: 5n, ack: 9n, length: 31, tcp_flags: 'ACK,PSH' })
    expect(one('13:32:04.538539 IP6 fd00::5 > fd00::6: frag (0|40) 55434 > 5190: Flags [S], seq 7, win 1, length 0', day)).toMatchObject({
      src_ip: 'fd00::5',
      src_port: 55_434,
      dst_port: 5190,
      seq: 7n,
      kind: 'syn',
    })
    expect(one('13:32:04.538539 IP 10.0.0.5.1 > 10.0.0.6.2: Flags [.], ack 9, win 1, options [nop,nop,sack 1 {5:9}], length 0', day).detail).toBe('win 1, sack 1 {5:9}')
  })

  it('does not read the payload that a client wrote as part of the packet', () => {
    const p = one('13:32:04.538539 IP 10.0.0.5.1 > 10.0.0.6.80: Flags [P.], seq 1:20, ack 1, win 5, length 19: HTTP: GET /x, ack 77, length 4 HTTP/1.1', day)
    expect(p).toMatchObject({ ack: 1n, length: 19 })
    expect(p.detail).toContain('HTTP: GET /x')
  })

  it('reads UDP, ICMP and ARP', () => {
    expect(one('13:32:04.538539 IP 10.0.0.5.1 > 10.0.0.6.8472: UDP, length 31', day)).toMatchObject({ protocol: 'UDP', length: 31, kind: null })
    expect(one('13:32:04.538539 IP 10.0.0.5.1 > 10.0.0.6.53: 4660+ A? web.example. (29)', day)).toMatchObject({ protocol: 'UDP', dst_port: 53, length: null })
    expect(one('13:32:04.538539 IP 10.0.0.5 > 10.0.0.6: ICMP 10.0.0.7 udp port 53 unreachable, length 65', day)).toMatchObject({
      protocol: 'ICMPv4',
      kind: 'icmp',
      src_ip: '10.0.0.5',
      src_port: null,
      length: 65,
      detail: 'ICMP 10.0.0.7 udp port 53 unreachable, length 65',
    })
    expect(one('13:32:04.538539 IP6 fe80::1 > ff02::1: ICMP6, router advertisement, length 56', day)).toMatchObject({ protocol: 'ICMPv6', src_ip: 'fe80::1', kind: 'icmp' })
    expect(one('13:32:04.538539 ARP, Request who-has 10.0.0.66 tell 10.0.0.5, length 28', day)).toMatchObject({
      protocol: 'ARP',
      kind: 'arp',
      src_ip: '10.0.0.5',
      dst_ip: '10.0.0.66',
      detail: 'who-has',
    })
    expect(one('13:32:04.538539 ARP, Reply 10.0.0.66 is-at 02:00:00:00:00:01, length 28', day)).toMatchObject({
      src_ip: '10.0.0.66',
      dst_ip: null,
      detail: 'is-at 02:00:00:00:00:01',
    })
  })
})

describe('packets of several lines', () => {
  const inner = 'IP 192.168.1.2.37099 > 192.168.1.1.41547: Flags [S], seq 5, win 166, length 0'
  const read = { src_ip: '192.168.1.2', dst_port: 41_547, seq: 5n, kind: 'syn' }

  it.each([
    ['VXLAN', `13:32:04.538539 IP 10.0.0.1.60345 > 10.0.0.2.4789: VXLAN, flags [I] (0x08), vni 5001\n${inner}`, 'VXLAN 5001 10.0.0.1 > 10.0.0.2'],
    [
      'the port of Cilium and flannel',
      `13:32:04.538539 IP 10.0.0.1.60345 > 10.0.0.2.8472: OTV, flags [I] (0x08), overlay 0, instance 4660\n${inner}`,
      'OTV 4660 10.0.0.1 > 10.0.0.2',
    ],
    ['Geneve', `13:32:04.538539 IP 10.0.0.1.5799 > 10.0.0.2.6081: Geneve, Flags [none], vni 0x1389: ${inner}`, 'Geneve 0x1389 10.0.0.1 > 10.0.0.2'],
    [
      'Geneve, -v',
      `13:32:04.538539 IP (tos 0x0, ttl 61, id 1208, offset 0, flags [none], proto UDP (17), length 92)\n    10.0.0.1.5799 > 10.0.0.2.6081: Geneve, Flags [none], vni 0x1389\n\tIP (tos 0x0, ttl 64, id 29210, offset 0, flags [DF], proto TCP (6), length 42)\n    ${inner.slice(3)}`,
      'Geneve 0x1389 10.0.0.1 > 10.0.0.2',
    ],
    ['GRE', `13:32:04.538539 IP 10.0.0.1 > 10.0.0.2: GREv0, key=0x2, length 64: ${inner}`, 'GREv0 0x2 10.0.0.1 > 10.0.0.2'],
    [
      'GRE, -e',
      `13:32:04.538539 a > b, ethertype IPv4 (0x0800), length 99: 10.0.0.1 > 10.0.0.2: GREv0, proto IPv4 (0x0800), length 64: ${inner.slice(3)}`,
      'GREv0 10.0.0.1 > 10.0.0.2',
    ],
  ])('%s: the inner packet counts', (_, text, remark) => {
    const { rows, records, problems } = readWell(format, `${text}\n13:32:05.000000 IP ${FLOW}\n`, day)
    expect([records.length, problems.length]).toEqual([2, 0])
    expect(rows.packet[0]).toMatchObject(read)
    expect(rows.packet[0]?.detail).toContain(remark)
    expect(rows.packet[1]).toMatchObject(READ)
  })

  it('does not take the packet that an ICMP error quotes for one', () => {
    const text =
      '13:32:04.538539 IP (tos 0x0, ttl 64, id 9, offset 0, flags [none], proto ICMP (1), length 88)\n    10.0.0.9 > 10.0.0.5: ICMP host 10.0.0.66 unreachable, length 68\n\tIP (tos 0x0, ttl 63, id 3, offset 0, flags [DF], proto TCP (6), length 60)\n    10.0.0.5.55434 > 10.0.0.66.5190: Flags [S], seq 1, win 1, length 0'
    const { rows, problems } = readWell(format, `${text}\n`, day)
    expect(problems).toEqual([])
    expect(rows.packet.map(p => [p.src_ip, p.kind, p.protocol])).toEqual([['10.0.0.9', 'icmp', 'ICMPv4']])
  })

  it('keeps payload dumps with their packet, whatever they look like', () => {
    const hex = `13:32:04.538539 IP ${FLOW}\n\t0x0000:  4500 0034 0000 4000 4006 0000 0a00 0005  E..4..@.@.......\n`
    const body = '{"pod":"a","ip":"10.0.0.66","from":"2024-12-03T13:17:00Z","to":null}'
    const ascii = `13:32:04.538539 IP ${FLOW}\nE..4..@.@...........P.......\nPOST / HTTP/1.1\nhost: x\n\n${body}\n`
    const { rows, records, problems } = readWell(format, `${hex}${ascii}13:32:05.000000 IP ${FLOW}\n2 packets captured\n`, day)
    expect([records.length, problems.length, rows.packet.length, rows.pod_fact.length]).toEqual([3, 0, 3, 0])
  })
})

it('reports what the kernel dropped, over the time of the packets', () => {
  const { lost } = readWell(
    format,
    `13:32:04.000000 IP ${FLOW}\n13:32:06.000000 IP ${FLOW}\n^C\n2 packets captured\n9 packets received by filter\n7 packets dropped by kernel\n`,
    day,
  )
  expect(lost).toEqual([
    { from: { ns: at('2024-12-03T13:32:04Z'), guess: 'date,zone' }, to: { ns: at('2024-12-03T13:32:06Z'), guess: 'date,zone' }, events: 7, why: 'packets dropped by kernel' },
  ])
})

it('is recognised by content, and does not take other lines', () => {
  for (const name of ['gateway-4843', 'envoy-19664', 'kubernetes-122174', 'calico-2141-ipip', 'calico-2141-veth'])
    expect(format.sniff(sample(name), context())).toBeGreaterThan(0.9)
  for (const line of ['13:32:04.538 INFO started', '2024-12-03T13:31:05Z a > b: c', 'IP addresses: 10.0.0.1 > 10.0.0.2', '1733232724.538 x', 'a > b'])
    expect(format.sniff(Buffer.from(`${line}\n`), context()), line).toBe(0)
})

it('survives cuts and flips', () => {
  for (const name of ['gateway-4843', 'envoy-19664', 'calico-2141-ipip']) survives(format, sample(name), day)
})

it('is linear in hostile lines', () => {
  const long = ' > '.repeat(60_000)
  const started = performance.now()
  collect(format, `13:32:04.538539 IP ${long}\n13:32:04.5 IP 1.1.1.1.1 > 2.2.2.2.2: VXLAN, ${': IP 1 > 2: GREv0, '.repeat(20_000)}\n`, day)
  expect(performance.now() - started).toBeLessThan(500)
})
