import { Half, KEEPALIVE, NEW_PAYLOAD, RETRANSMISSION } from './half.js'
import { ACK, FIN, type Packet, RST, SYN } from './packet.js'
import type { Sightings } from './sighting.js'

export type Ending = 'fin' | 'rst' | 'refused' | 'open' | 'none'

/**
 * Letters of a history, each once a side, in the order of their first occurrence; capital: the client's. The first eight
 * are Zeek's. `K` is a keep-alive probe, `E` an ICMP error about a segment of that side. `~` stands where the session was
 * given up for room, and begins the row that carries it on.
 */
type Letter = 'S' | 'H' | 'A' | 'D' | 'F' | 'R' | 'T' | 'G' | 'W' | 'K' | 'E'
const GIVEN_UP = '~'

/** A TCP connection as one capture shows it. `low` and `high` are its ends in the order of the table that holds it. */
export class Session {
  low0 = 0
  low1 = 0
  low2 = 0
  low3 = 0
  high0 = 0
  high1 = 0
  high2 = 0
  high3 = 0
  lowPort = 0
  highPort = 0
  /** The next session of its bucket, and its neighbours in the order of use. */
  chain: Session | null = null
  older: Session | null = null
  newer: Session | null = null
  /** The frame with which its place in the order of use was last set. */
  touched = 0

  readonly low = new Half()
  readonly high = new Half()
  clientIsLow = true
  midStream = false

  /** The first frame. */
  frame = 0
  byteStart = 0
  byteEnd = 0
  firstSec = -1
  firstNano = 0
  synSec = -1
  synNano = 0
  establishedSec = -1
  establishedNano = 0
  established = false

  ended: Ending = 'none'
  endedByClient: boolean | null = null
  /** Both sides said that they are done, or one broke it off. */
  closed = false
  keepalives = 0
  zeroWindows = 0
  icmpErrors = 0
  history = ''
  sni: string | null = null

  /** `serial` counts the sessions of a capture. */
  constructor(readonly serial: number) {}

  get client(): Half {
    return this.clientIsLow ? this.low : this.high
  }

  get server(): Half {
    return this.clientIsLow ? this.high : this.low
  }

  /** Whether a segment that fits its addresses belongs to another, later connection. */
  isOver(p: Packet, from: Half): boolean {
    if (p.flags & RST) return false
    if (p.flags & SYN) return !from.beganAt(p.seq) && (this.closed || !(p.flags & ACK))
    return this.closed && p.payload > 0 && from.isFarFrom(p.seq)
  }

  /** Takes a segment and answers what it is. */
  take(p: Packet, from: Half, sightings: Sightings): number {
    const to = from === this.low ? this.high : this.low
    const isClient = from === this.client
    const gaps = from.gaps
    const verdict = from.take(p, to, sightings)
    if (p.flags & (SYN | FIN | RST)) this.turn(p, from, isClient)
    else if (p.window === 0) {
      this.zeroWindows++
      this.note('W', from, isClient)
    }
    if (!this.established && isClient && p.flags & ACK && to.isn !== null && (p.flags & (SYN | RST)) === 0) {
      this.established = true
      this.establishedSec = p.sec
      this.establishedNano = p.nano
    }
    if (from.gaps !== gaps) this.note('G', from, isClient)
    this.describe(p, from, isClient, verdict)
    return verdict
  }

  /** Opening and closing. */
  private turn(p: Packet, from: Half, isClient: boolean): void {
    if (p.flags & RST) this.reset(from, isClient)
    else if (p.flags & SYN) this.open(p, from, isClient)
    if (p.flags & FIN && this.ended === 'none') {
      this.ended = 'fin'
      this.endedByClient = isClient
    }
    if (p.flags & FIN) this.note('F', from, isClient)
    this.closed = this.ended === 'rst' || this.ended === 'refused' || (this.low.finished && this.high.finished)
  }

  private open(p: Packet, from: Half, isClient: boolean): void {
    this.note(p.flags & ACK ? 'H' : 'S', from, isClient)
    if (p.flags & ACK || !isClient) return
    if (this.synSec < 0) {
      this.synSec = p.sec
      this.synNano = p.nano
    }
    // A client that resets what answers an older connection tries the same SYN again.
    if (!this.established && this.ended === 'rst' && this.endedByClient) this.ended = 'none'
  }

  private reset(from: Half, isClient: boolean): void {
    this.note('R', from, isClient)
    const to = from === this.low ? this.high : this.low
    // After a close from both sides it is a farewell, unless it answers payload that was not taken.
    if (this.ended === 'rst' || this.ended === 'refused' || (this.closed && to.unacknowledged(from) === null)) return
    const refused = !isClient && from.isn === null && this.client.isn !== null && this.client.bytes === 0
    this.ended = refused ? 'refused' : 'rst'
    this.endedByClient = isClient
  }

  private describe(p: Packet, from: Half, isClient: boolean, verdict: number): void {
    if (verdict === KEEPALIVE) {
      this.keepalives++
      this.note('K', from, isClient)
    } else if (verdict === RETRANSMISSION) this.note('T', from, isClient)
    else if (verdict === NEW_PAYLOAD) this.note('D', from, isClient)
    else if (p.payload === 0 && (p.flags & (SYN | FIN | RST | ACK)) === ACK) this.note('A', from, isClient)
  }

  /** An ICMP error came back for a segment of `from`. */
  fail(from: Half): void {
    this.icmpErrors++
    this.note('E', from, from === this.client)
  }

  private note(letter: Letter, from: Half, isClient: boolean): void {
    const bit = 1 << (letter.charCodeAt(0) - 65)
    if (from.letters & bit) return
    from.letters |= bit
    this.history += isClient ? letter : letter.toLowerCase()
  }

  /** The capture ends while it may still live. */
  outlive(): void {
    if (this.ended === 'none' && (this.midStream || this.server.packets > 0)) this.ended = 'open'
  }

  giveUp(): void {
    this.history += GIVEN_UP
  }

  /** Goes on with a session that was given up. */
  resume(before: { readonly clientIsLow: boolean; readonly synSec: number; readonly synNano: number; readonly establishedSec: number; readonly establishedNano: number }): void {
    this.clientIsLow = before.clientIsLow
    this.synSec = before.synSec
    this.synNano = before.synNano
    this.establishedSec = before.establishedSec
    this.establishedNano = before.establishedNano
    this.history = GIVEN_UP
  }
}
