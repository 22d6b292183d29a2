import { limits } from '../limits.js'
import type { Packet } from './packet.js'
import type { Session } from './session.js'

const BUCKETS = 1 << 16
/** Sessions of one bucket. Evidence that is made to fill one must not make every look-up a search. */
const CROWD = 32
const ROUGHLY = 1024

/** Sessions in the order of their last use. */
class Order {
  private oldestOne: Session | null = null
  private newestOne: Session | null = null

  get oldest(): Session | null {
    return this.oldestOne
  }

  add(s: Session): void {
    s.older = this.newestOne
    s.newer = null
    if (this.newestOne !== null) this.newestOne.newer = s
    else this.oldestOne = s
    this.newestOne = s
  }

  remove(s: Session): void {
    if (s.older !== null) s.older.newer = s.newer
    else this.oldestOne = s.newer
    if (s.newer !== null) s.newer.older = s.older
    else this.newestOne = s.older
    s.older = s.newer = null
  }
}

/** The sessions of a capture by their addresses and ports. Looking one up makes nothing: it is done for every segment. */
export class SessionTable {
  private readonly buckets: (Session | null)[] = new Array<Session | null>(BUCKETS).fill(null)
  private readonly open = new Order()
  private readonly closed = new Order()
  private count = 0
  /** Whether the source of the packet last looked for is the lower end. */
  fromLow = false

  find(p: Packet): Session | null {
    this.fromLow = isLow(p)
    for (let s = this.buckets[bucketOf(p)] as Session | null; s !== null; s = s.chain) if (this.fromLow ? sourceIsLow(s, p) : sourceIsHigh(s, p)) return s
    return null
  }

  /** Adds a session of the packet's addresses. */
  add(s: Session, p: Packet): void {
    setKey(s, p, isLow(p))
    const bucket = bucketOf(p)
    s.chain = this.buckets[bucket] as Session | null
    this.buckets[bucket] = s
    this.open.add(s)
    this.count++
  }

  /** Keeps the order of use, to within some frames: setting it right with each would cost more than all else that is done here. */
  touch(s: Session, wasClosed: boolean, frame: number): void {
    if (s.closed === wasClosed && frame - s.touched < ROUGHLY) return
    s.touched = frame
    ;(wasClosed ? this.closed : this.open).remove(s)
    ;(s.closed ? this.closed : this.open).add(s)
  }

  remove(s: Session): void {
    const bucket = hash(s.low3, s.high3, s.lowPort, s.highPort, s.low0 ^ s.low1 ^ s.high0 ^ s.high1 ^ s.low2 ^ s.high2)
    if (this.buckets[bucket] === s) this.buckets[bucket] = s.chain
    else {
      let before = this.buckets[bucket] as Session
      while (before.chain !== s) before = before.chain as Session
      before.chain = s.chain
    }
    s.chain = null
    ;(s.closed ? this.closed : this.open).remove(s)
    this.count--
  }

  /** The session to give up before one of the packet's addresses is added, or null: closed ones go before open ones, and of these the longest unused. */
  spare(p: Packet): Session | null {
    if (this.count >= limits.sessions) return this.closed.oldest ?? this.open.oldest
    let last: Session | null = null
    let length = 0
    for (let s = this.buckets[bucketOf(p)] as Session | null; s !== null; s = s.chain) {
      last = s
      length++
    }
    return length >= CROWD ? last : null
  }

  all(): Session[] {
    const out: Session[] = []
    for (const first of this.buckets) for (let s = first; s !== null; s = s.chain) out.push(s)
    return out.sort((a, b) => a.serial - b.serial)
  }
}

/** Ends are ordered by port, equal ports by address. */
function isLow(p: Packet): boolean {
  if (p.srcPort !== p.dstPort) return p.srcPort < p.dstPort
  if (p.src3 !== p.dst3) return p.src3 < p.dst3
  if (p.src0 !== p.dst0) return p.src0 < p.dst0
  if (p.src1 !== p.dst1) return p.src1 < p.dst1
  return p.src2 <= p.dst2
}

const sourceIsLow = (s: Session, p: Packet): boolean =>
  s.lowPort === p.srcPort &&
  s.highPort === p.dstPort &&
  s.low3 === p.src3 &&
  s.high3 === p.dst3 &&
  s.low2 === p.src2 &&
  s.high2 === p.dst2 &&
  s.low1 === p.src1 &&
  s.high1 === p.dst1 &&
  s.low0 === p.src0 &&
  s.high0 === p.dst0

const sourceIsHigh = (s: Session, p: Packet): boolean =>
  s.highPort === p.srcPort &&
  s.lowPort === p.dstPort &&
  s.high3 === p.src3 &&
  s.low3 === p.dst3 &&
  s.high2 === p.src2 &&
  s.low2 === p.dst2 &&
  s.high1 === p.src1 &&
  s.low1 === p.dst1 &&
  s.high0 === p.src0 &&
  s.low0 === p.dst0

function setKey(s: Session, p: Packet, low: boolean): void {
  s.lowPort = low ? p.srcPort : p.dstPort
  s.highPort = low ? p.dstPort : p.srcPort
  s.low0 = low ? p.src0 : p.dst0
  s.low1 = low ? p.src1 : p.dst1
  s.low2 = low ? p.src2 : p.dst2
  s.low3 = low ? p.src3 : p.dst3
  s.high0 = low ? p.dst0 : p.src0
  s.high1 = low ? p.dst1 : p.src1
  s.high2 = low ? p.dst2 : p.src2
  s.high3 = low ? p.dst3 : p.src3
}

/** The same for both directions. */
const bucketOf = (p: Packet): number => hash(p.src3, p.dst3, p.srcPort, p.dstPort, p.src0 ^ p.src1 ^ p.dst0 ^ p.dst1 ^ p.src2 ^ p.dst2)

function hash(a: number, b: number, port: number, otherPort: number, rest: number): number {
  let h = Math.imul(a + b, 0x9e37_79b1) ^ Math.imul((a ^ b) + rest, 0x85eb_ca6b) ^ Math.imul(port + otherPort, 0xc2b2_ae35) ^ Math.imul(port ^ otherPort, 0x27d4_eb2f)
  h = Math.imul(h ^ (h >>> 15), 0x2c1b_3c6d)
  return (h ^ (h >>> 13)) & (BUCKETS - 1)
}
