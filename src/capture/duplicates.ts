import { type Packet, SOME_INTERFACE } from './packet.js'

const WAYS = 4
const SETS = 4096
const KEYS = 6

/** The same IP identification this soon after is the same packet: a sender numbers a retransmission anew. Seconds. */
const SAME_ID_WITHIN = 0.05
/** Without identification (IPv6, and IPv4 packets that carry 0) another interface must have shown it this soon before. Seconds. */
const NO_ID_WITHIN = 0.002

/**
 * Knows a packet again that passed another interface just before: `-i any` shows it on each, a mirrored port may show it
 * twice. Of the last 16,384 packets.
 */
export class Duplicates {
  private readonly keys = new Int32Array(SETS * WAYS * KEYS)
  private readonly times = new Float64Array(SETS * WAYS).fill(Number.NEGATIVE_INFINITY)
  private readonly ifaces = new Int32Array(SETS * WAYS)
  private readonly turn = new Uint8Array(SETS)

  /** `who` stands for addresses, ports and direction. */
  seen(who: number, p: Packet): boolean {
    if (p.sec < 0) return false
    const time = p.sec + p.nano / 1e9
    const set = (mix(who, p.seq, p.ack ^ (p.ipId << 12) ^ p.payload) >>> 20) & (SETS - 1)
    for (let way = set * WAYS; way < set * WAYS + WAYS; way++) {
      if (!this.holds(way * KEYS, who, p)) continue
      const apart = Math.abs(time - (this.times[way] as number))
      if (p.ipId !== 0 ? apart <= SAME_ID_WITHIN : apart <= NO_ID_WITHIN && (p.iface === SOME_INTERFACE || p.iface !== this.ifaces[way])) return true
      this.keep(way, who, p, time)
      return false
    }
    const turn = this.turn[set] as number
    this.turn[set] = (turn + 1) & (WAYS - 1)
    this.keep(set * WAYS + turn, who, p, time)
    return false
  }

  private holds(at: number, who: number, p: Packet): boolean {
    const k = this.keys
    return (
      k[at] === who && k[at + 1] === p.seq && k[at + 2] === p.ack && k[at + 3] === p.ipId && k[at + 4] === p.payload && k[at + 5] === ((p.flags << 16) | p.window)
    )
  }

  private keep(way: number, who: number, p: Packet, time: number): void {
    const k = this.keys
    const at = way * KEYS
    k[at] = who
    k[at + 1] = p.seq
    k[at + 2] = p.ack
    k[at + 3] = p.ipId
    k[at + 4] = p.payload
    k[at + 5] = (p.flags << 16) | p.window
    this.times[way] = time
    this.ifaces[way] = p.iface
  }
}

function mix(a: number, b: number, c: number): number {
  let h = Math.imul(a, 0x85eb_ca6b) ^ Math.imul(b, 0xc2b2_ae35) ^ Math.imul(c, 0x27d4_eb2f)
  h ^= h >>> 15
  return Math.imul(h, 0x2c1b_3c6d)
}
