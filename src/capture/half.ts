import { ACK, FIN, type Packet, RST, SYN } from './packet.js'
import { Sent } from './sent.js'
import type { Sighting, Sightings } from './sighting.js'

/** What a segment is, seen against what its side has sent before. */
const ORDINARY = 0
/** It brought payload that had not been seen. */
export const NEW_PAYLOAD = 1
export const RETRANSMISSION = 2
export const KEEPALIVE = 3
/** A zero-window probe. */
export const PROBE = 4

/** A jump this far is no gap of a capture but another connection, or nonsense. */
const FAR = 1 << 30
/** After its close a connection does not go on this far from where it was. */
const ANOTHER = 1 << 20

/** One side of a session: what it sent, and what of that the other side acknowledged. Sequence numbers are signed 32-bit and wrap. */
export class Half {
  /** Its initial sequence number, if its SYN was seen. */
  isn: number | null = null
  finished = false

  packets = 0
  /** Payload bytes, each once. */
  bytes = 0
  retransmissions = 0
  /** As last announced: not scaled. 0: closed. */
  window = -1
  lastSec = -1
  lastNano = 0
  /** History letters that it has, one bit a letter. */
  letters = 0
  /** The last segment with payload that was new. */
  last: Sighting | null = null
  /** The other side acknowledged bytes of it before the capture showed a packet of it. */
  private heard = false
  /** Bytes that were missing when later ones came: the capture lacks them. */
  gaps = 0

  private known = false
  private readonly sent = new Sent()
  private ackKnown = false
  private acked = 0
  /** Segments not yet acknowledged, in the order of their sequence numbers. */
  private head: Sighting | null = null
  private tail: Sighting | null = null

  /** Takes a segment of this side, and the acknowledgement that it carries for the other side. */
  take(p: Packet, peer: Half, sightings: Sightings): number {
    this.packets++
    this.lastSec = p.sec
    this.lastNano = p.nano
    const verdict = p.flags & RST ? ORDINARY : this.judge(p, peer, sightings)
    if (p.flags & ACK) peer.acknowledge(p.ack, this, sightings)
    if (!(p.flags & RST)) this.window = p.window
    return verdict
  }

  private judge(p: Packet, peer: Half, sightings: Sightings): number {
    const opens = p.flags & SYN ? 1 : 0
    const closes = p.flags & FIN ? 1 : 0
    if (opens) this.isn ??= p.seq
    const start = (p.seq + opens) | 0
    const end = (start + p.payload) | 0
    const ahead = this.known ? (p.seq - this.sent.next) | 0 : 0
    if (!this.known || ahead > FAR || ahead < -FAR) return this.restart(p, end, closes, sightings)
    if (ahead === -1 && p.payload <= 1 && !opens && !closes && !this.finished) {
      if (p.payload === 0 || this.acked === this.sent.next || peer.window === 0) return peer.window === 0 ? PROBE : KEEPALIVE
    }
    if (closes) this.finished = true
    const before = this.sent.next
    const fresh = this.sent.add(p.seq, start, end, (end + closes) | 0)
    if (ahead > 0) this.gaps += ahead
    if (fresh === 0) return before === this.sent.next && opens + p.payload + closes > 0 ? this.repeated() : ORDINARY
    return this.carry(p, fresh, end, sightings)
  }

  /** The first segment, or one so far off that nothing before it counts. */
  private restart(p: Packet, end: number, closes: number, sightings: Sightings): number {
    if (this.known) {
      this.forget(sightings)
      this.ackKnown = false
    }
    this.known = true
    this.sent.restart((end + closes) | 0)
    if (closes) this.finished = true
    return p.payload > 0 ? this.carry(p, p.payload, end, sightings) : ORDINARY
  }

  private repeated(): number {
    this.retransmissions++
    return RETRANSMISSION
  }

  private carry(p: Packet, fresh: number, end: number, sightings: Sightings): number {
    this.bytes += fresh
    const s = sightings.take(p, end)
    if (this.last !== null && !this.last.waiting) sightings.give(this.last)
    this.last = s
    if (this.ackKnown && ((end - this.acked) | 0) <= 0) return NEW_PAYLOAD
    if (this.tail === null) this.head = s
    // What fills a gap is not the newest: the segments behind it wait already, and stand for it.
    else if (((end - this.tail.end) | 0) <= 0) return NEW_PAYLOAD
    else if (sightings.scarce) {
      this.tail.end = end
      return NEW_PAYLOAD
    } else this.tail.next = s
    this.tail = s
    s.waiting = true
    return NEW_PAYLOAD
  }

  /** The other side, `peer`, has all bytes before `ack`. */
  private acknowledge(ack: number, peer: Half, sightings: Sightings): void {
    const ahead = this.known ? (ack - this.sent.next) | 0 : 0
    // Of bytes that were never sent, or as good as: not about this connection.
    if (ahead > FAR || ahead < -FAR) return
    if (this.ackKnown && ((ack - this.acked) | 0) <= 0) return
    if (this.packets === 0 && (this.ackKnown || peer.isn !== null)) this.heard = true
    this.ackKnown = true
    this.acked = ack
    while (this.head !== null && ((this.head.end - ack) | 0) <= 0) this.drop(this.head, sightings)
  }

  private drop(s: Sighting, sightings: Sightings): void {
    this.head = s.next
    if (this.head === null) this.tail = null
    s.waiting = false
    s.next = null
    if (s !== this.last) sightings.give(s)
  }

  /**
   * The segment that first carried the first byte that was never acknowledged, or null. A capture of one direction cannot
   * tell: `peer` lives if what it sent is acknowledged, though no packet of it is there.
   */
  unacknowledged(peer: Half): Sighting | null {
    return peer.packets === 0 && peer.heard ? null : this.head
  }

  /** Whether a SYN with this number is the one that it began with: seen, or known from its acknowledgement. */
  beganAt(seq: number): boolean {
    return this.isn === null ? this.ackKnown && this.acked === ((seq + 1) | 0) : this.isn === seq
  }

  isFarFrom(seq: number): boolean {
    return this.known && Math.abs((seq - this.sent.next) | 0) > ANOTHER
  }

  /** The sequence number that comes next, or null before the first segment. */
  get next(): number | null {
    return this.known ? this.sent.next : null
  }

  private forget(sightings: Sightings): void {
    while (this.head !== null) this.drop(this.head, sightings)
  }

  /** Gives back what was kept of its segments. */
  release(sightings: Sightings): void {
    this.forget(sightings)
    if (this.last !== null) sightings.give(this.last)
    this.last = null
  }
}
