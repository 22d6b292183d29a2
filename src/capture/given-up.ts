import { limits } from '../limits.js'
import type { Half } from './half.js'
import type { Packet } from './packet.js'
import type { Session } from './session.js'

/** How far a side may have come, unseen, since its session was given up. */
const REACH = 1 << 24

/** What a later half of a session must know of the earlier one, whose row is written. */
interface Stub {
  readonly clientIsLow: boolean
  readonly synSec: number
  readonly synNano: number
  readonly establishedSec: number
  readonly establishedNano: number
  readonly low: number | null
  readonly high: number | null
}

/** Open sessions that were given up for room, the newest of them: what goes on later is joined to them by addresses, ports and sequence. */
export class GivenUp {
  /** Two generations: dropping the older at once is cheap, where dropping the oldest entry of a map is not. */
  private young = new Map<string, Stub>()
  private old = new Map<string, Stub>()

  add(s: Session): void {
    if (this.young.size >= limits.sessions / 2) {
      this.old = this.young
      this.young = new Map()
    }
    const { clientIsLow, synSec, synNano, establishedSec, establishedNano } = s
    this.young.set(keyOf(s), { clientIsLow, synSec, synNano, establishedSec, establishedNano, low: s.low.next, high: s.high.next })
  }

  /** Lets a new session that begins with `p` go on with an earlier one that it fits. */
  resume(s: Session, p: Packet, from: Half): void {
    if (this.young.size === 0) return
    const key = keyOf(s)
    const stub = this.young.get(key) ?? this.old.get(key)
    if (!stub) return
    const next = from === s.low ? stub.low : stub.high
    if (next !== null && Math.abs((p.seq - next) | 0) < REACH) s.resume(stub)
  }
}

const keyOf = (s: Session): string => [s.low0, s.low1, s.low2, s.low3, s.lowPort, s.high0, s.high1, s.high2, s.high3, s.highPort].join(' ')
