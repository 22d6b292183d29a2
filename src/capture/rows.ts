/** Writes what the engine found: rows of the tables `packet` and `session`. */
import type { Sink } from '../model/sink.js'
import type { Span } from '../model/span.js'
import { addressText, hardwareText, IPV4_WORD } from './address.js'
import type { Half } from './half.js'
import { icmpText } from './icmp-text.js'
import { ACK, instantOf, type Packet, TCP } from './packet.js'
import type { Session } from './session.js'
import type { Sighting } from './sighting.js'

export type Kind = 'syn' | 'synack' | 'fin' | 'rst' | 'first' | 'last' | 'retransmission' | 'probe' | 'keepalive'

/** Hubble's order. */
const FLAG_NAMES: readonly (readonly [number, string])[] = [
  [0x002, 'SYN'],
  [0x010, 'ACK'],
  [0x004, 'RST'],
  [0x001, 'FIN'],
  [0x008, 'PSH'],
  [0x020, 'URG'],
  [0x040, 'ECE'],
  [0x080, 'CWR'],
  [0x100, 'NS'],
]
const flagTexts = Array.from({ length: 0x200 }, (_, flags) => {
  const names = FLAG_NAMES.filter(([bit]) => flags & bit).map(([, name]) => name)
  return names.length > 0 ? names.join(',') : null
})

export const spanOf = (r: { readonly frame: number; readonly byteStart: number; readonly byteEnd: number }): Span => ({
  byteStart: r.byteStart,
  byteEnd: r.byteEnd,
  line: null,
  frame: r.frame,
})

const number32 = (signed: number): bigint => BigInt(signed >>> 0)

/** Port 0 is no port. */
const port = (p: number): number | null => (p === 0 ? null : p)

export class Rows {
  /** Where the rows go; a reader sets it with every block. */
  sink!: Sink

  /** The frame at hand, a TCP segment. */
  segment(p: Packet, kind: Kind, note: string | null): void {
    const row = this.sink.packet
    row.begin(instantOf(p.sec, p.nano))
    row.src_ip(p.srcText())
    row.src_port(port(p.srcPort))
    row.dst_ip(p.dstText())
    row.dst_port(port(p.dstPort))
    row.protocol('TCP')
    row.seq(number32(p.seq))
    row.ack(p.flags & ACK ? number32(p.ack) : null)
    row.tcp_flags(flagTexts[p.flags] ?? null)
    row.length(p.payload)
    row.kind(kind)
    row.detail(detailOf(p, note))
  }

  /** The frame at hand, an ICMP error about what `quoted` holds. */
  icmp(p: Packet, quoted: Packet): void {
    const row = this.sink.packet
    row.begin(instantOf(p.sec, p.nano))
    row.src_ip(p.srcText())
    row.dst_ip(p.dstText())
    row.protocol(p.isIpv4 ? 'ICMPv4' : 'ICMPv6')
    row.seq(quoted.what === TCP ? number32(quoted.seq) : null)
    row.length(p.payload)
    row.kind('icmp')
    row.detail(detailOf(p, icmpText(p, quoted)))
  }

  arp(p: Packet): void {
    const row = this.sink.packet
    row.begin(instantOf(p.sec, p.nano))
    row.src_ip(addressText(0, 0, IPV4_WORD, p.seq))
    row.dst_ip(addressText(0, 0, IPV4_WORD, p.ack))
    row.protocol('ARP')
    row.kind('arp')
    row.detail(detailOf(p, p.flags === 1 ? 'who-has' : p.flags === 2 ? `is-at ${hardwareText(p.bytes.subarray(p.payloadAt, p.payloadAt + 6))}` : `operation ${p.flags}`))
  }

  /** A session that is over, and those of its frames that only now are known to be notable. */
  session(s: Session): void {
    const low = addressText(s.low0, s.low1, s.low2, s.low3)
    const high = addressText(s.high0, s.high1, s.high2, s.high3)
    const [client, server] = s.clientIsLow ? [low, high] : [high, low]
    const [clientPort, serverPort] = s.clientIsLow ? [s.lowPort, s.highPort] : [s.highPort, s.lowPort]
    this.sink.recall(spanOf(s))
    const row = this.summary(s, { ip: client, port: port(clientPort) }, { ip: server, port: port(serverPort) })
    for (const half of [s.client, s.server]) {
      const [from, to] = half === s.low ? [low, high] : [high, low]
      const [fromPort, toPort] = half === s.low ? [s.lowPort, s.highPort] : [s.highPort, s.lowPort]
      const ends: Ends = { from, fromPort: port(fromPort), to, toPort: port(toPort), session: row }
      const lost = half.unacknowledged(half === s.low ? s.high : s.low)
      if (lost !== null && !lost.shown && lost !== half.last) this.sighting(lost, ends, null, 'its first byte was never acknowledged')
      if (half.last !== null && !half.last.shown) this.sighting(half.last, ends, 'last', half.last === lost ? 'its first byte was never acknowledged' : null)
    }
  }

  private summary(s: Session, client: { ip: string; port: number | null }, server: { ip: string; port: number | null }): number {
    const row = this.sink.session
    const number = row.begin(instantOf(s.firstSec, s.firstNano))
    row.client_ip(client.ip)
    row.client_port(client.port)
    row.server_ip(server.ip)
    row.server_port(server.port)
    row.t_syn(nanoseconds(s.synSec, s.synNano))
    row.t_established(nanoseconds(s.establishedSec, s.establishedNano))
    row.t_first(nanoseconds(s.firstSec, s.firstNano))
    const [c, v] = [s.client, s.server]
    const serverIsLater = v.lastSec > c.lastSec || (v.lastSec === c.lastSec && v.lastNano > c.lastNano)
    row.t_last(serverIsLater ? lastOf(v) : lastOf(c))
    row.t_client_last(lastOf(c))
    row.t_server_last(lastOf(v))
    row.client_bytes(BigInt(c.bytes))
    row.server_bytes(BigInt(v.bytes))
    row.client_packets(c.packets)
    row.server_packets(v.packets)
    row.client_retransmissions(c.retransmissions)
    row.server_retransmissions(v.retransmissions)
    row.t_client_unacked(firstUnacknowledged(c, v))
    row.t_server_unacked(firstUnacknowledged(v, c))
    row.keepalive_probes(s.keepalives)
    row.zero_windows(s.zeroWindows)
    row.icmp_errors(s.icmpErrors)
    row.ended(s.ended)
    row.ended_by(s.endedByClient === null ? null : s.endedByClient ? 'client' : 'server')
    row.mid_stream(s.midStream)
    row.history(s.history === '' ? null : s.history)
    row.sni(s.sni)
    return number
  }

  private sighting(s: Sighting, ends: Ends, kind: Kind | null, detail: string | null): void {
    this.sink.recall(spanOf(s))
    const row = this.sink.packet
    row.begin(instantOf(s.sec, s.nano))
    row.src_ip(ends.from)
    row.src_port(ends.fromPort)
    row.dst_ip(ends.to)
    row.dst_port(ends.toPort)
    row.protocol('TCP')
    row.seq(number32(s.seq))
    row.ack(s.flags & ACK ? number32(s.ack) : null)
    row.tcp_flags(flagTexts[s.flags] ?? null)
    row.length(s.payload)
    row.kind(kind)
    row.session(BigInt(ends.session))
    row.detail(detail)
  }
}

interface Ends {
  readonly from: string
  readonly fromPort: number | null
  readonly to: string
  readonly toPort: number | null
  readonly session: number
}

const nanoseconds = (sec: number, nano: number): bigint | null => instantOf(sec, nano)?.ns ?? null
const lastOf = (h: Half): bigint | null => nanoseconds(h.lastSec, h.lastNano)

function firstUnacknowledged(h: Half, peer: Half): bigint | null {
  const first = h.unacknowledged(peer)
  return first ? nanoseconds(first.sec, first.nano) : null
}

const DIRECTIONS = ['In', 'B', 'M', 'P', 'Out']

/** Interface, tag and tunnel of the frame, then the note; null where there is nothing to say. */
function detailOf(p: Packet, note: string | null): string | null {
  if (note === null && p.ifaceName === null && p.direction < 0 && p.vlan < 0 && p.depth === 0) return null
  const parts: string[] = []
  if (p.ifaceName !== null) parts.push(p.ifaceName)
  const direction = DIRECTIONS[p.direction]
  if (p.ifindex >= 0) parts.push(direction === undefined ? `ifindex ${p.ifindex}` : `ifindex ${p.ifindex} ${direction}`)
  else if (direction !== undefined) parts.push(direction)
  if (p.vlan >= 0) parts.push(`vlan ${p.vlan}`)
  if (p.depth > 0) parts.push(tunnelText(p))
  if (note !== null) parts.push(note)
  return parts.length > 0 ? parts.join(', ') : null
}

function tunnelText(p: Packet): string {
  const [s0, s1, s2, s3, d0, d1, d2, d3] = p.outer as unknown as [number, number, number, number, number, number, number, number]
  return `${p.tunnel}${p.tunnelId < 0 ? '' : ` ${p.tunnelId}`} ${addressText(s0, s1, s2, s3)} > ${addressText(d0, d1, d2, d3)}`
}
