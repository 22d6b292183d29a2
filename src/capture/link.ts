/** Link layers: from a frame's first byte to the type of what it carries. */
import { u8, u16, u32, u32in } from './bytes.js'
import { ETHER, lacks, NONE } from './network.js'
import { type Packet, SOME_INTERFACE } from './packet.js'

/** Link types, as pcap and pcapng number them. 12 and 14 are raw IP in files of systems that number it so. */
const NULL = 0
const EN10MB = 1
const RAW = [12, 14, 101] as const
const LOOP = 108
const LINUX_SLL = 113
const IPV4 = 228
const IPV6 = 229
const LINUX_SLL2 = 276

const LINKS = new Set<number>([NULL, EN10MB, ...RAW, LOOP, LINUX_SLL, IPV4, IPV6, LINUX_SLL2])

/** Whether frames of this link type are decoded. */
export const isLink = (type: number): boolean => LINKS.has(type)

/** Enters the frame and answers the type of what it carries, or NONE. */
export function enterLink(p: Packet, type: number): number {
  switch (type) {
    case EN10MB:
      return ethernet(p)
    case LINUX_SLL:
      return cooked(p)
    case LINUX_SLL2:
      return cooked2(p)
    case NULL:
    case LOOP:
      return loopback(p)
    case IPV4:
      return ETHER.ipv4
    case IPV6:
      return ETHER.ipv6
    default:
      return raw(p)
  }
}

export function ethernet(p: Packet): number {
  if (!p.has(14)) return lacks(p, 'Ethernet')
  const type = u16(p.bytes, p.at + 12)
  p.at += 14
  return type < 0x0600 ? snap(p) : type
}

/** IEEE 802.2 with SNAP, as far as it wraps an Ethernet type. */
function snap(p: Packet): number {
  if (!p.has(8) || u32(p.bytes, p.at) !== 0xaaaa_0300 || u16(p.bytes, p.at + 4) !== 0) return NONE
  const type = u16(p.bytes, p.at + 6)
  p.at += 8
  return type
}

/** A VLAN tag; with several the inner one counts. */
export function vlan(p: Packet): number {
  if (!p.has(4)) return lacks(p, 'VLAN')
  p.vlan = u16(p.bytes, p.at) & 0x0fff
  const type = u16(p.bytes, p.at + 2)
  p.at += 4
  return type < 0x0600 ? NONE : type
}

/** `tcpdump -i any` before libpcap 1.10: the interface has no number. */
function cooked(p: Packet): number {
  if (!p.has(16)) return lacks(p, 'Linux cooked')
  p.iface = SOME_INTERFACE
  p.direction = u16(p.bytes, p.at)
  const type = u16(p.bytes, p.at + 14)
  p.at += 16
  return type
}

/** `tcpdump -i any`: the same packet may be seen on several interfaces, and coming in and going out of one. */
function cooked2(p: Packet): number {
  if (!p.has(20)) return lacks(p, 'Linux cooked')
  p.ifindex = u32(p.bytes, p.at + 4)
  p.direction = u8(p.bytes, p.at + 10)
  p.iface = (p.ifindex & 0xfff_ffff) * 8 + (p.direction & 7)
  const type = u16(p.bytes, p.at)
  p.at += 20
  return type
}

/** BSD's null link has the address family in its writer's byte order, OpenBSD's loop in the network's. */
function loopback(p: Packet): number {
  if (!p.has(4)) return lacks(p, 'loopback')
  const family = Math.min(u32(p.bytes, p.at), u32in(p.bytes, p.at, true))
  p.at += 4
  if (family === 2) return ETHER.ipv4
  // FreeBSD and macOS, the other BSDs, and Linux number IPv6 differently.
  return family === 24 || family === 28 || family === 30 || family === 10 ? ETHER.ipv6 : NONE
}

function raw(p: Packet): number {
  if (!p.has(1)) return lacks(p, 'IP')
  const version = u8(p.bytes, p.at) >> 4
  return version === 4 ? ETHER.ipv4 : version === 6 ? ETHER.ipv6 : NONE
}
