/** Captures made in code: frames from their headers up, pcap and pcapng files around them. */
import ipaddr from 'ipaddr.js'

export const FIN = 1
export const SYN = 2
export const RST = 4
export const PSH = 8
export const ACK = 16

export interface Segment {
  /** `10.0.0.1:40000`, `[2001:db8::1]:40000`. */
  readonly from: string
  readonly to: string
  readonly flags?: number
  readonly seq?: number
  readonly ack?: number
  readonly window?: number
  readonly payload?: string | Buffer
  /** IPv4 identification. */
  readonly id?: number
  /** IPv4 total length or IPv6 payload length to write instead of the true one. */
  readonly length?: number
  /** IPv4 flags and fragment offset. */
  readonly fragment?: number
  /** Bytes of IPv6 extension headers, and the number of the first. */
  readonly extensions?: { readonly first: number; readonly bytes: Buffer }
}

const u16 = (n: number): Buffer => Buffer.from([(n >> 8) & 255, n & 255])
const u32 = (n: number): Buffer => Buffer.from([(n >>> 24) & 255, (n >>> 16) & 255, (n >>> 8) & 255, n & 255])
const address = (text: string): Buffer => Buffer.from(ipaddr.parse(text).toByteArray())

function endpoint(text: string): { ip: string; port: number } {
  const colon = text.lastIndexOf(':')
  return { ip: text.slice(0, colon).replace(/[[\]]/g, ''), port: Number(text.slice(colon + 1)) }
}

export function tcpBytes(s: Segment): Buffer {
  const payload = Buffer.from(s.payload ?? '')
  const flags = s.flags ?? ACK
  const header = [u16(endpoint(s.from).port), u16(endpoint(s.to).port), u32(s.seq ?? 0), u32(s.ack ?? 0), u16(0x5000 | flags), u16(s.window ?? 500), u16(0), u16(0)]
  return Buffer.concat([...header, payload])
}

/** An IPv4 or IPv6 packet around `body`. */
export function ip(from: string, to: string, protocol: number, body: Buffer, s: Pick<Segment, 'id' | 'length' | 'fragment' | 'extensions'> = {}): Buffer {
  if (!from.includes(':'))
    return Buffer.concat([
      Buffer.from([0x45, 0]),
      u16(s.length ?? 20 + body.length),
      u16(s.id ?? 0),
      u16(s.fragment ?? 0x4000),
      Buffer.from([64, protocol, 0, 0]),
      address(from),
      address(to),
      body,
    ])
  const extensions = s.extensions?.bytes ?? Buffer.alloc(0)
  const next = s.extensions?.first ?? protocol
  return Buffer.concat([Buffer.from([0x60, 0, 0, 0]), u16(s.length ?? extensions.length + body.length), Buffer.from([next, 64]), address(from), address(to), extensions, body])
}

export const tcp = (s: Segment): Buffer => ip(endpoint(s.from).ip, endpoint(s.to).ip, 6, tcpBytes(s), s)
export const udp = (from: string, to: string, payload: Buffer): Buffer =>
  ip(endpoint(from).ip, endpoint(to).ip, 17, Buffer.concat([u16(endpoint(from).port), u16(endpoint(to).port), u16(8 + payload.length), u16(0), payload]))

const typeOf = (packet: Buffer): number => ((packet[0] as number) >> 4 === 6 ? 0x86dd : 0x0800)

/** An Ethernet frame; `tags` are VLAN tags, outermost first. */
export function ethernet(packet: Buffer, tags: readonly (readonly [type: number, id: number])[] = [], type = typeOf(packet)): Buffer {
  return Buffer.concat([Buffer.from('0a0000000002' + '0a0000000001', 'hex'), ...tags.flatMap(([t, id]) => [u16(t), u16(id)]), u16(type), packet])
}

export const arp = (operation: number, sender: string, target: string): Buffer =>
  ethernet(Buffer.concat([Buffer.from('000108000604', 'hex'), u16(operation), Buffer.from('0a0000000001', 'hex'), address(sender), Buffer.alloc(6), address(target)]), [], 0x0806)

/** An ICMP error that quotes the first bytes of `packet`. */
export const icmpError = (from: string, to: string, type: number, code: number, packet: Buffer): Buffer =>
  ip(from, to, from.includes(':') ? 58 : 1, Buffer.concat([Buffer.from([type, code, 0, 0]), u32(0), packet.subarray(0, typeOf(packet) === 0x86dd ? 48 : 28)]))

/** Linux cooked capture, version 2. */
export const cooked2 = (packet: Buffer, ifindex: number, direction: number): Buffer =>
  Buffer.concat([u16(typeOf(packet)), u16(0), u32(ifindex), u16(1), Buffer.from([direction, 6]), Buffer.alloc(8), packet])
export const cooked = (packet: Buffer, direction: number): Buffer => Buffer.concat([u16(direction), u16(1), u16(6), Buffer.alloc(8), u16(typeOf(packet)), packet])

export const BASE = 1_796_073_480

export interface Frame {
  /** Seconds after BASE. */
  readonly t: number
  readonly bytes: Buffer
  /** Captured bytes, if fewer. */
  readonly snap?: number
  /** Bytes on the wire, if not those of `bytes`. */
  readonly wire?: number
  /** Number of the pcapng interface. */
  readonly iface?: number
}

export const at = (t: number, bytes: Buffer, more: Partial<Frame> = {}): Frame => ({ t, bytes, ...more })

const swap = (big: boolean) => ({
  u16: (n: number) => (big ? u16(n) : u16(n).reverse()),
  u32: (n: number) => (big ? u32(n) : u32(n).reverse()),
})

export function pcapFile(frames: readonly Frame[], o: { readonly big?: boolean; readonly nano?: boolean; readonly link?: number; readonly magic?: number } = {}): Buffer {
  const { u16, u32 } = swap(o.big ?? false)
  const header = Buffer.concat([u32(o.magic ?? (o.nano ? 0xa1b2_3c4d : 0xa1b2_c3d4)), u16(2), u16(4), u32(0), u32(0), u32(262_144), u32(o.link ?? 1)])
  const record = (f: Frame): Buffer => {
    const nanos = Math.round((f.t % 1) * 1e9)
    const data = f.bytes.subarray(0, f.snap ?? f.bytes.length)
    return Buffer.concat([u32(BASE + Math.floor(f.t)), u32(o.nano ? nanos : Math.floor(nanos / 1000)), u32(data.length), u32(f.wire ?? f.bytes.length), data])
  }
  return Buffer.concat([header, ...frames.map(record)])
}

/** Blocks of a pcapng section in one byte order. */
export function pcapngBlocks(big = false) {
  const { u16, u32 } = swap(big)
  const pad = (b: Buffer): Buffer => Buffer.concat([b, Buffer.alloc((4 - (b.length % 4)) % 4)])
  const u64 = (n: bigint): Buffer => {
    const b = Buffer.alloc(8)
    b.writeBigUInt64BE(BigInt.asUintN(64, n))
    return big ? b : b.reverse()
  }
  const option = (code: number, value: Buffer): Buffer => Buffer.concat([u16(code), u16(value.length), pad(value)])
  const block = (type: number, body: Buffer): Buffer => Buffer.concat([u32(type), u32(12 + body.length), body, u32(12 + body.length)])
  const stamp = (units: bigint): Buffer => Buffer.concat([u32(Number((units >> 32n) & 0xffff_ffffn)), u32(Number(units & 0xffff_ffffn))])
  const packet = (units: bigint, data: Buffer, iface = 0, options: Buffer = Buffer.alloc(0), wire = data.length): Buffer =>
    block(6, Buffer.concat([u32(iface), stamp(units), u32(data.length), u32(wire), pad(data), options]))
  return {
    u16,
    u32,
    u64,
    option,
    block,
    stamp,
    packet,
    section: (major = 1): Buffer => block(0x0a0d_0d0a, Buffer.concat([u32(0x1a2b_3c4d), u16(major), u16(0), u64(-1n)])),
    iface: (link = 1, options: Buffer = Buffer.alloc(0), snap = 0): Buffer => block(1, Buffer.concat([u16(link), u16(0), u32(snap), options])),
    simple: (data: Buffer, wire = data.length): Buffer => block(3, Buffer.concat([u32(wire), pad(data)])),
    old: (units: bigint, data: Buffer, iface = 0, drops = 0xffff): Buffer =>
      block(2, Buffer.concat([u16(iface), u16(drops), stamp(units), u32(data.length), u32(data.length), pad(data)])),
    statistics: (units: bigint, drops: bigint, iface = 0): Buffer => block(5, Buffer.concat([u32(iface), stamp(units), option(5, u64(drops))])),
  }
}

export interface Line {
  readonly t: number
  readonly client: boolean
  readonly flags?: number
  /** Bytes after the side's initial sequence number. */
  readonly seq: number
  readonly ack?: number
  readonly payload?: string | Buffer
  readonly window?: number
  readonly id?: number
}

/** Segments of one connection, as offsets from both sides' initial sequence numbers. */
export function connection(lines: readonly Line[], o: { readonly client?: string; readonly server?: string; readonly isn?: number; readonly serverIsn?: number } = {}): Frame[] {
  const client = o.client ?? '10.0.0.1:40000'
  const server = o.server ?? '10.0.0.2:8080'
  const isns = [o.isn ?? 1000, o.serverIsn ?? 5_000_000]
  return lines.map(({ t, client: isClient, flags = ACK, seq, ack, ...rest }, i) => {
    const [own, other] = isClient ? isns : [...isns].reverse()
    const absolute = { seq: ((own as number) + seq) >>> 0, ack: ack === undefined ? 0 : ((other as number) + ack) >>> 0 }
    return at(t, ethernet(tcp({ from: isClient ? client : server, to: isClient ? server : client, flags, id: i + 1, ...absolute, ...rest })))
  })
}

/** A handshake that begins at `t`. */
export const handshake = (t = 0): Line[] => [
  { t, client: true, flags: SYN, seq: 0 },
  { t: t + 0.001, client: false, flags: SYN | ACK, seq: 0, ack: 1 },
  { t: t + 0.002, client: true, seq: 1, ack: 1 },
]
