/** TCP segments and ICMP errors. */
import { i32, u8, u16 } from './bytes.js'
import { fault, lacks, NONE, PROTOCOL, ipv4, ipv6 } from './network.js'
import { ICMP, type Packet, TCP } from './packet.js'

/** The header up to the flags and the window. */
const TCP_NEEDED = 16

export function tcp(p: Packet): typeof NONE {
  const b = p.bytes
  const at = p.at
  if (!p.has(TCP_NEEDED)) return lacks(p, 'TCP')
  const offset = u16(b, at + 12)
  const header = (offset >> 12) * 4
  if (header < 20 || at + header > p.limit) return fault(p, 'a TCP header of impossible length')
  p.what = TCP
  p.srcPort = u16(b, at)
  p.dstPort = u16(b, at + 2)
  p.seq = i32(b, at + 4)
  p.ack = i32(b, at + 8)
  p.flags = offset & 0x1ff
  p.window = u16(b, at + 14)
  p.payloadAt = at + header
  p.payload = p.limit - p.payloadAt
  return NONE
}

/** ICMP as far as it speaks of another packet, whose header it quotes. The quoted packet goes into `quoted`. */
export function icmp(p: Packet, quoted: Packet, protocol: number): typeof NONE {
  if (!p.has(8)) return lacks(p, 'ICMP')
  const type = u8(p.bytes, p.at)
  if (!(protocol === PROTOCOL.icmp ? QUOTES_V4 : QUOTES_V6).has(type)) return NONE
  p.what = ICMP
  p.flags = u16(p.bytes, p.at)
  p.window = u16(p.bytes, p.at + 6)
  p.payload = Math.max(0, p.limit - p.at - 8)
  quote(p, quoted, protocol)
  p.seq = quoted.seq
  p.ack = (quoted.srcPort << 16) | quoted.dstPort
  return NONE
}

/** Unreachable, source quench, redirect, time exceeded, parameter problem. */
const QUOTES_V4 = new Set([3, 4, 5, 11, 12])
/** Unreachable, packet too big, time exceeded, parameter problem, redirect excluded: it quotes behind options. */
const QUOTES_V6 = new Set([1, 2, 3, 4])

/** At least eight bytes of the quoted payload are there: ports and sequence number. `what` is TCP only then. */
function quote(p: Packet, quoted: Packet, protocol: number): void {
  quoted.bytes = p.bytes
  quoted.at = p.at + 8
  quoted.end = quoted.wireEnd = p.end
  quoted.reset()
  quoted.srcPort = quoted.dstPort = quoted.seq = 0
  const inner = protocol === PROTOCOL.icmp ? ipv4(quoted) : ipv6(quoted)
  if (inner !== PROTOCOL.tcp || !quoted.has(8)) return
  quoted.what = TCP
  quoted.srcPort = u16(p.bytes, quoted.at)
  quoted.dstPort = u16(p.bytes, quoted.at + 2)
  quoted.seq = i32(p.bytes, quoted.at + 4)
}
