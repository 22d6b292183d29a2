/** From a frame's bytes to what it says: link layer, network, tunnels, transport. Every step takes at least a byte or ends. */
import { enterLink, ethernet, vlan } from './link.js'
import { arp, ETHER, ipv4, ipv6, NONE, PROTOCOL } from './network.js'
import type { Packet } from './packet.js'
import { icmp, tcp } from './transport.js'
import { gre, ipInIp, udp } from './tunnel.js'

/** Decodes the frame that the reader has set in `p`. An ICMP error's quoted packet goes into `quoted`. */
export function decode(p: Packet, quoted: Packet, link: number): void {
  p.reset()
  let type = enterLink(p, link)
  while (type !== NONE) type = enter(p, quoted, type)
}

function enter(p: Packet, quoted: Packet, type: number): number {
  switch (type) {
    case ETHER.ipv4:
      return transport(p, quoted, ipv4(p))
    case ETHER.ipv6:
      return transport(p, quoted, ipv6(p))
    case ETHER.arp:
      return arp(p)
    case ETHER.vlan:
    case ETHER.qinq:
    case ETHER.qinq1:
    case ETHER.qinq2:
      return vlan(p)
    case ETHER.ethernet:
      return ethernet(p)
    default:
      return NONE
  }
}

function transport(p: Packet, quoted: Packet, protocol: number): number {
  switch (protocol) {
    case PROTOCOL.tcp:
      return tcp(p)
    case PROTOCOL.udp:
      return udp(p)
    case PROTOCOL.icmp:
    case PROTOCOL.icmpv6:
      return icmp(p, quoted, protocol)
    case PROTOCOL.gre:
      return gre(p)
    case PROTOCOL.ipip:
      return ipInIp(p, ETHER.ipv4)
    case PROTOCOL.ipv6:
      return ipInIp(p, ETHER.ipv6)
    default:
      return NONE
  }
}
