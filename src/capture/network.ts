/** IPv4, IPv6 and ARP. */
import { IPV4_WORD } from './address.js'
import { i32, u8, u16 } from './bytes.js'
import { ARP, type Packet } from './packet.js'

/** Nothing further to decode. */
export const NONE = -1

/** Type field of Ethernet and of what borrows it. */
export const ETHER = { ipv4: 0x0800, arp: 0x0806, ipv6: 0x86dd, ethernet: 0x6558, vlan: 0x8100, qinq: 0x88a8, qinq1: 0x9100, qinq2: 0x9200 } as const
/** Protocol field of IPv4, next header of IPv6. */
export const PROTOCOL = { icmp: 1, ipip: 4, tcp: 6, udp: 17, ipv6: 41, gre: 47, icmpv6: 58 } as const

/** A header is not all there: the snapshot length cut it, or the frame is shorter than its headers say. */
export function lacks(p: Packet, header: string): typeof NONE {
  if (p.end < p.wireEnd) p.cut = true
  else p.fault = `the frame ends within its ${header} header`
  return NONE
}

export function fault(p: Packet, why: string): typeof NONE {
  p.fault = why
  return NONE
}

/** Enters an IPv4 packet and answers the protocol of its payload. Fragments but the first have no ports: they end here. */
export function ipv4(p: Packet): number {
  const b = p.bytes
  const at = p.at
  if (!p.has(20)) return lacks(p, 'IPv4')
  const first = u8(b, at)
  const header = (first & 15) * 4
  if (first >> 4 !== 4 || header < 20) return fault(p, 'an IPv4 header of another version or impossible length')
  // A total length of 0 is a segmentation offload's: the packet had no header of its own yet.
  const total = u16(b, at + 2)
  if (total !== 0 && total < header) return fault(p, 'an IPv4 packet shorter than its header')
  if (total !== 0) p.limit = Math.min(p.limit, at + total)
  p.ipId = u16(b, at + 4)
  p.src0 = p.src1 = p.dst0 = p.dst1 = 0
  p.src2 = p.dst2 = IPV4_WORD
  p.src3 = i32(b, at + 12)
  p.dst3 = i32(b, at + 16)
  p.at = at + header
  if ((u16(b, at + 6) & 0x1fff) !== 0) return NONE
  return u8(b, at + 9) === AUTHENTICATION ? extensions(p, AUTHENTICATION) : u8(b, at + 9)
}

/** Enters an IPv6 packet, passes its extension headers and answers the protocol of its payload. */
export function ipv6(p: Packet): number {
  const b = p.bytes
  const at = p.at
  if (!p.has(40)) return lacks(p, 'IPv6')
  if (u8(b, at) >> 4 !== 6) return fault(p, 'an IPv6 header of another version')
  // A payload length of 0 is a jumbogram's.
  const length = u16(b, at + 4)
  if (length !== 0) p.limit = Math.min(p.limit, at + 40 + length)
  p.ipId = 0
  p.src0 = i32(b, at + 8)
  p.src1 = i32(b, at + 12)
  p.src2 = i32(b, at + 16)
  p.src3 = i32(b, at + 20)
  p.dst0 = i32(b, at + 24)
  p.dst1 = i32(b, at + 28)
  p.dst2 = i32(b, at + 32)
  p.dst3 = i32(b, at + 36)
  p.at = at + 40
  return extensions(p, u8(b, at + 6))
}

const FRAGMENT = 44
const AUTHENTICATION = 51

/** Bytes of an extension header by its length field; 0 for what is no extension header. */
function extensionBytes(type: number, length: number): number {
  switch (type) {
    case 0: // hop by hop
    case 43: // routing
    case 60: // destination options
    case 135: // mobility
    case 139: // host identity
    case 140: // shim6
      return (length + 1) * 8
    case FRAGMENT:
      return 8
    case AUTHENTICATION:
      return (length + 2) * 4
    default:
      return 0
  }
}

function extensions(p: Packet, first: number): number {
  let type = first
  for (;;) {
    if (extensionBytes(type, 0) === 0) return type
    if (!p.has(8)) return lacks(p, 'IP extension')
    const bytes = extensionBytes(type, u8(p.bytes, p.at + 1))
    const later = type === FRAGMENT && (u16(p.bytes, p.at + 2) & 0xfff8) !== 0
    type = u8(p.bytes, p.at)
    p.at += bytes
    if (later) return NONE
  }
}

/** ARP over Ethernet for IPv4; others hold nothing that is read. */
export function arp(p: Packet): typeof NONE {
  const b = p.bytes
  const at = p.at
  if (!p.has(28)) return p.has(8) && u16(b, at + 2) !== ETHER.ipv4 ? NONE : lacks(p, 'ARP')
  if (u16(b, at + 2) !== ETHER.ipv4 || u8(b, at + 4) !== 6 || u8(b, at + 5) !== 4) return NONE
  p.what = ARP
  p.flags = u16(b, at + 6)
  p.ipId = p.flags
  p.window = 0
  p.payload = 0
  p.seq = i32(b, at + 14)
  p.ack = i32(b, at + 24)
  p.payloadAt = at + 8
  return NONE
}
