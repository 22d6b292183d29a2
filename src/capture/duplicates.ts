import { type Packet, SOME_INTERFACE } from './packet.js'

const WAYS = 4
const SETS = 4096
/** Who, sequence, acknowledgement, identification and payload, flags and window, interface, time: one entry. */
const ENTRY = 8
const SET = WAYS * ENTRY

/** Entries count time in these, modulo 2^32. */
const TICKS_PER_SECOND = 100_000
const TICK_NANOSECONDS = 10_000
/** The same IP identification within 50 ms is the same packet: a sender numbers a retransmission anew. */
const SAME_ID_WITHIN = 0.05 * TICKS_PER_SECOND
/** Without identification (IPv6, and IPv4 packets that carry 0) another interface must have shown it within 2 ms. */
const NO_ID_WITHIN = 0.002 * TICKS_PER_SECOND

/**
 * Knows a packet again that passed another interface just before: `-i any` shows it on each, a mirrored port may show it
 * twice. Of the last 16,384 packets.
 */
export class Duplicates {
  private readonly entries = new Int32Array(SETS * SET)
  private readonly turns = new Uint8Array(SETS)

  /** `who` stands for addresses, ports and direction; it is never 0. */
  seen(who: number, p: Packet): boolean {
    if (p.sec < 0) return false
    const e = this.entries
    const idAndPayload = (p.ipId << 16) ^ p.payload
    const flagsAndWindow = (p.flags << 16) | p.window
    const time = (p.sec * TICKS_PER_SECOND + Math.floor(p.nano / TICK_NANOSECONDS)) | 0
    const set = mix(who, p.seq, p.ack ^ idAndPayload) & (SETS - 1)
    const first = set * SET
    for (let at = first; at < first + SET; at += ENTRY) {
      if (e[at] !== who || e[at + 1] !== p.seq || e[at + 2] !== p.ack || e[at + 3] !== idAndPayload || e[at + 4] !== flagsAndWindow) continue
      const apart = Math.abs((time - (e[at + 6] as number)) | 0)
      if (p.ipId !== 0 ? apart <= SAME_ID_WITHIN : apart <= NO_ID_WITHIN && (p.iface === SOME_INTERFACE || p.iface !== e[at + 5])) return true
      e[at + 5] = p.iface
      e[at + 6] = time
      return false
    }
    const turn = this.turns[set] as number
    this.turns[set] = (turn + 1) & (WAYS - 1)
    const at = first + turn * ENTRY
    e[at] = who
    e[at + 1] = p.seq
    e[at + 2] = p.ack
    e[at + 3] = idAndPayload
    e[at + 4] = flagsAndWindow
    e[at + 5] = p.iface
    e[at + 6] = time
    return false
  }
}

function mix(a: number, b: number, c: number): number {
  const h = Math.imul(a, 0x85eb_ca6b) ^ Math.imul(b, 0xc2b2_ae35) ^ Math.imul(c, 0x27d4_eb2f)
  return Math.imul(h ^ (h >>> 15), 0x2c1b_3c6d) >>> 20
}
