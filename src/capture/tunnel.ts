/** Tunnels that clusters use: what follows their headers is decoded as a packet of its own. */
import { u8, u16, u32 } from './bytes.js'
import { ETHER, lacks, NONE } from './network.js'
import type { Packet } from './packet.js'

/** Tunnels within tunnels that are followed. */
const MAX_DEPTH = 4

const VXLAN = 4789
/** The port of Linux's VXLAN driver, and so of Cilium and flannel. */
const VXLAN_LINUX = 8472
const GENEVE = 6081

function enter(p: Packet, bytes: number, name: string, id: number, type: number): number {
  if (p.depth === MAX_DEPTH) return NONE
  p.enter(bytes, name, id)
  return type
}

/** UDP is read as far as it carries a tunnel. Answers the type of what is inside. */
export function udp(p: Packet): number {
  if (!p.has(8)) return lacks(p, 'UDP')
  const port = u16(p.bytes, p.at + 2)
  if (port !== VXLAN && port !== VXLAN_LINUX && port !== GENEVE) return NONE
  if (!p.has(16)) return lacks(p, 'tunnel')
  p.at += 8
  return port === GENEVE ? geneve(p) : vxlan(p)
}

function vxlan(p: Packet): number {
  // Without the flag that says that there is a network id it is something else on the same port.
  if ((u8(p.bytes, p.at) & 0x08) === 0) return NONE
  return enter(p, 8, 'VXLAN', u32(p.bytes, p.at + 4) >>> 8, ETHER.ethernet)
}

function geneve(p: Packet): number {
  const first = u8(p.bytes, p.at)
  if (first >> 6 !== 0) return NONE
  return enter(p, 8 + (first & 0x3f) * 4, 'Geneve', u32(p.bytes, p.at + 4) >>> 8, u16(p.bytes, p.at + 2))
}

const GRE_CHECKSUM = 0x8000
const GRE_ROUTING = 0x4000
const GRE_KEY = 0x2000
const GRE_SEQUENCE = 0x1000
const GRE_VERSION = 0x0007
/** Web cache redirection: in its second version a header of four bytes stands before the packet. */
const WCCP = 0x883e

/** GRE version 0 without source routing. Version 1 is PPTP's. */
export function gre(p: Packet): number {
  if (!p.has(4)) return lacks(p, 'GRE')
  const flags = u16(p.bytes, p.at)
  if ((flags & (GRE_VERSION | GRE_ROUTING)) !== 0) return NONE
  const key = flags & GRE_CHECKSUM ? 8 : 4
  const sequence = flags & GRE_KEY ? key + 4 : key
  const bytes = flags & GRE_SEQUENCE ? sequence + 4 : sequence
  if (!p.has(bytes)) return lacks(p, 'GRE')
  const type = u16(p.bytes, p.at + 2)
  const id = flags & GRE_KEY ? u32(p.bytes, p.at + key) : -1
  if (type !== WCCP) return enter(p, bytes, 'GRE', id, type)
  if (!p.has(bytes + 1)) return lacks(p, 'GRE')
  return enter(p, u8(p.bytes, p.at + bytes) >> 4 === 4 ? bytes : bytes + 4, 'GRE', id, ETHER.ipv4)
}

/** IP in IP: `type` says which. */
export const ipInIp = (p: Packet, type: number): number => enter(p, 0, type === ETHER.ipv4 ? 'IPIP' : 'IPv6 in IP', -1, type)
