import { describe, expect, it } from 'vitest'
import { collect, type Row } from '../../test/support/collect.js'
import { ACK, arp, at, cooked, cooked2, ethernet, icmpError, ip, pcapFile, SYN, tcp, tcpBytes, udp } from '../../test/support/packets.js'
import { pcap } from '../formats/pcap/parser.js'

const inner = { from: '10.0.0.1:40000', to: '10.0.0.2:80', flags: SYN, seq: 7 }
const inner6 = { from: '[2001:db8::1]:40000', to: '[2001:db8::2]:80', flags: SYN, seq: 7 }
const read = (bytes: Buffer, link = 1) => collect(pcap, pcapFile([at(0, bytes)], { link }))
const only = (bytes: Buffer, link = 1): Row => {
  const out = read(bytes, link)
  expect(out.problems).toEqual([])
  expect(out.rows.packet).toHaveLength(1)
  return out.rows.packet[0]!
}
const IPV4 = { src_ip: '10.0.0.1', src_port: 40_000, dst_ip: '10.0.0.2', dst_port: 80, protocol: 'TCP', seq: 7n, kind: 'syn' }
const IPV6 = { ...IPV4, src_ip: '2001:db8::1', dst_ip: '2001:db8::2' }
const af = (family: number, big: boolean): Buffer => Buffer.from(big ? [0, 0, 0, family] : [family, 0, 0, 0])
const vxlan = (id: number): Buffer => Buffer.from([8, 0, 0, 0, id >> 16, (id >> 8) & 255, id & 255, 0])
const geneve = (type: number, options = 0): Buffer => Buffer.concat([Buffer.from([options, 0, type >> 8, type & 255, 0, 0, 9, 0]), Buffer.alloc(options * 4)])

describe('link layers', () => {
  it.each([
    ['Ethernet', 1, ethernet(tcp(inner)), null],
    ['a VLAN tag', 1, ethernet(tcp(inner), [[0x8100, 100]]), 'vlan 100'],
    [
      'two tags',
      1,
      ethernet(tcp(inner), [
        [0x88a8, 5],
        [0x8100, 0x2064],
      ]),
      'vlan 100',
    ],
    ['SNAP', 1, Buffer.concat([ethernet(Buffer.alloc(0), [], 60), Buffer.from('aaaa030000000800', 'hex'), tcp(inner)]), null],
    ['Linux cooked', 113, cooked(tcp(inner), 4), 'Out'],
    ['Linux cooked 2', 276, cooked2(tcp(inner), 7, 0), 'ifindex 7 In'],
    ['raw IP', 101, tcp(inner), null],
    ['raw IP of OpenBSD', 14, tcp(inner), null],
    ['raw IP of other BSDs', 12, tcp(inner), null],
    ['IPv4', 228, tcp(inner), null],
    ['a null link, little-endian', 0, Buffer.concat([af(2, false), tcp(inner)]), null],
    ['a null link, big-endian', 0, Buffer.concat([af(2, true), tcp(inner)]), null],
    ['a loop link', 108, Buffer.concat([af(2, true), tcp(inner)]), null],
  ])('reads %s', (_, link, bytes, detail) => {
    expect(only(bytes, link)).toMatchObject({ ...IPV4, detail })
  })

  it.each([
    ['Ethernet', 1, ethernet(tcp(inner6))],
    ['IPv6', 229, tcp(inner6)],
    ['raw IP', 101, tcp(inner6)],
    ['the null link of FreeBSD', 0, Buffer.concat([af(28, false), tcp(inner6)])],
    ['the null link of macOS', 0, Buffer.concat([af(30, false), tcp(inner6)])],
    ['the null link of NetBSD', 0, Buffer.concat([af(24, true), tcp(inner6)])],
  ])('reads IPv6 in %s', (_, link, bytes) => {
    expect(only(bytes, link)).toMatchObject(IPV6)
  })
})

describe('IP', () => {
  const options = Buffer.from([6, 0, 1, 4, 0, 0, 0, 0])
  const segment = (payload: number): Buffer => tcpBytes({ ...inner, flags: ACK, payload: Buffer.alloc(payload) })

  it.each([
    ['hop-by-hop options', 0, options],
    ['two headers', 60, Buffer.concat([Buffer.from([43, 0, 1, 4, 0, 0, 0, 0]), options])],
    ['a first fragment', 44, Buffer.from([6, 0, 0, 1, 0, 0, 0, 9])],
    ['an authentication header', 51, Buffer.concat([Buffer.from([6, 4]), Buffer.alloc(22)])],
  ])('passes %s of IPv6', (_, first, bytes) => {
    expect(only(ethernet(tcp({ ...inner6, extensions: { first, bytes } })))).toMatchObject({ ...IPV6, length: 0 })
  })

  it('takes no ports from later fragments', () => {
    for (const later of [tcp({ ...inner, fragment: 0x0010 }), tcp({ ...inner6, extensions: { first: 44, bytes: Buffer.from([6, 0, 0, 8, 0, 0, 0, 9]) } })]) {
      const out = read(ethernet(later))
      expect(out.recordCount).toBe(1)
      expect(out.problems).toEqual([])
      expect(out.rows.packet).toEqual([])
    }
  })

  it('takes the length of a segmentation offload from the frame, where IP says 0', () => {
    const big = ip('10.0.0.1', '10.0.0.2', 6, segment(30_000), { length: 0 })
    const big6 = ip('2001:db8::1', '2001:db8::2', 6, segment(30_000), { length: 0 })
    for (const bytes of [big, big6]) expect(only(ethernet(bytes))).toMatchObject({ kind: 'first', length: 30_000 })
  })

  it('leaves the padding of short frames out', () => {
    expect(only(Buffer.concat([ethernet(tcp(inner)), Buffer.alloc(6)]))).toMatchObject({ length: 0 })
  })

  it.each([
    ['of another version', Buffer.concat([Buffer.from([0x55]), tcp(inner).subarray(1)])],
    ['with an impossible header length', Buffer.concat([Buffer.from([0x42]), tcp(inner).subarray(1)])],
    ['shorter than its header', tcp({ ...inner, length: 8 })],
    ['that ends within TCP', tcp({ ...inner, length: 30 })],
    ['that the frame cuts', tcp(inner).subarray(0, 12)],
  ])('reports a packet %s', (_, bytes) => {
    const out = read(ethernet(bytes, [], 0x0800))
    expect(out.problems.map(p => [p.kind, p.span.frame])).toEqual([['bad-record', 1]])
    expect(out.rows.packet).toEqual([])
  })

  it('passes what it does not know', () => {
    for (const frame of [ethernet(Buffer.alloc(40), [], 0x88cc), ethernet(udp('10.0.0.1:5353', '10.0.0.2:5353', Buffer.from('query')))]) {
      const out = read(frame)
      expect([out.recordCount, out.problems.length, out.rows.packet.length]).toEqual([1, 0, 0])
    }
  })
})

describe('tunnels', () => {
  const node = ['192.0.2.1', '192.0.2.2'] as const
  const over = (port: number, header: Buffer, packet: Buffer): Buffer => ethernet(udp(`${node[0]}:50000`, `${node[1]}:${port}`, Buffer.concat([header, packet])))
  const ends = '192.0.2.1 > 192.0.2.2'

  it.each([
    ['VXLAN', over(4789, vxlan(4660), ethernet(tcp(inner))), `VXLAN 4660 ${ends}`],
    ['VXLAN as Cilium and flannel send it', over(8472, vxlan(1), ethernet(tcp(inner))), `VXLAN 1 ${ends}`],
    ['Geneve with Ethernet', over(6081, geneve(0x6558), ethernet(tcp(inner))), `Geneve 9 ${ends}`],
    ['Geneve with IP and options', over(6081, geneve(0x0800, 2), tcp(inner)), `Geneve 9 ${ends}`],
    ['GRE', ethernet(ip(...node, 47, Buffer.concat([Buffer.from('00000800', 'hex'), tcp(inner)]))), `GRE ${ends}`],
    ['GRE with a key, a checksum and Ethernet', ethernet(ip(...node, 47, Buffer.concat([Buffer.from('a00065580000000000000063', 'hex'), ethernet(tcp(inner))]))), `GRE 99 ${ends}`],
    ['IP in IP', ethernet(ip(...node, 4, tcp(inner))), `IPIP ${ends}`],
    ['a tagged frame in VXLAN', over(4789, vxlan(1), ethernet(tcp(inner), [[0x8100, 9]])), `vlan 9, VXLAN 1 ${ends}`],
  ])('reads what is in %s', (_, bytes, detail) => {
    expect(only(bytes)).toMatchObject({ ...IPV4, detail })
  })

  it('reads IPv6 in IPv4', () => {
    expect(only(ethernet(ip(...node, 41, tcp(inner6))))).toMatchObject({ ...IPV6, detail: `IPv6 in IP ${ends}` })
  })

  it('follows no more than four', () => {
    let bytes = tcp(inner)
    for (let i = 0; i < 4; i++) bytes = ip(...node, 4, bytes)
    expect(read(ethernet(bytes)).rows.packet).toHaveLength(1)
    expect(read(ethernet(ip(...node, 4, bytes))).rows.packet).toHaveLength(0)
  })

  it('leaves other UDP on the same port alone', () => {
    expect(read(over(4789, Buffer.alloc(8), ethernet(tcp(inner)))).rows.packet).toEqual([])
  })
})

describe('ICMP and ARP', () => {
  it.each([
    [3, 1, 'host unreachable, about TCP 10.0.0.1:40000 > 10.0.0.2:80'],
    [3, 4, 'fragmentation needed, about TCP 10.0.0.1:40000 > 10.0.0.2:80'],
    [11, 0, 'time exceeded, about TCP 10.0.0.1:40000 > 10.0.0.2:80'],
    [3, 99, 'unreachable (code 99), about TCP 10.0.0.1:40000 > 10.0.0.2:80'],
  ])('reads an ICMP error of type %d, code %d', (type, code, detail) => {
    expect(only(ethernet(icmpError('192.0.2.9', '10.0.0.1', type, code, tcp(inner))))).toMatchObject({
      src_ip: '192.0.2.9',
      dst_ip: '10.0.0.1',
      src_port: null,
      protocol: 'ICMPv4',
      seq: 7n,
      kind: 'icmp',
      detail,
    })
  })

  it('reads an ICMPv6 error', () => {
    expect(only(ethernet(icmpError('2001:db8::9', '2001:db8::1', 1, 3, tcp(inner6))))).toMatchObject({
      protocol: 'ICMPv6',
      detail: 'address unreachable, about TCP [2001:db8::1]:40000 > [2001:db8::2]:80',
    })
  })

  it('says of an error about UDP what it is, and no more', () => {
    expect(only(ethernet(icmpError('192.0.2.9', '10.0.0.1', 3, 3, udp('10.0.0.1:5000', '10.0.0.2:53', Buffer.from('query')))))).toMatchObject({
      seq: null,
      detail: 'port unreachable',
    })
  })

  it('reads ARP', () => {
    expect(only(arp(1, '10.0.0.1', '10.0.0.9'))).toMatchObject({ src_ip: '10.0.0.1', dst_ip: '10.0.0.9', protocol: 'ARP', kind: 'arp', detail: 'who-has' })
    expect(only(arp(2, '10.0.0.9', '10.0.0.1'))).toMatchObject({ src_ip: '10.0.0.9', detail: 'is-at 0a:00:00:00:00:01' })
  })
})
