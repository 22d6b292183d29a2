/** Gaps that are kept a side; the oldest is forgotten first. */
const GAPS = 8

/**
 * Which sequence numbers of one side were seen: all from the first to `next`, but for gaps. A capture lacks packets that
 * it dropped, and gets some out of order.
 */
export class Sent {
  /** After the highest number seen. */
  next = 0
  /** Starts and ends of gaps, oldest first; made when there is one. */
  private gaps: Int32Array | null = null
  private count = 0

  /** Forgets all; numbers go on from `next`. */
  restart(next: number): void {
    this.next = next
    this.count = 0
  }

  /** Marks a segment as seen: SYN from `seq`, payload from `start` to `end`, FIN up to `next`. Answers how many bytes of its payload are new. */
  add(seq: number, start: number, end: number, next: number): number {
    const ahead = (seq - this.next) | 0
    if (ahead > 0) this.open(this.next, seq)
    const known = this.next
    if (((next - known) | 0) > 0) this.next = next
    const beyond = Math.max(0, (end - (((start - known) | 0) > 0 ? start : known)) | 0)
    return this.count === 0 || ahead >= 0 ? beyond : beyond + this.fill(start, end)
  }

  private open(from: number, to: number): void {
    this.gaps ??= new Int32Array(GAPS * 2)
    if (this.count === GAPS) this.remove(0)
    this.gaps[this.count * 2] = from
    this.gaps[this.count * 2 + 1] = to
    this.count++
  }

  private remove(i: number): void {
    this.gaps?.copyWithin(i * 2, i * 2 + 2, this.count * 2)
    this.count--
  }

  /** Closes gaps between `start` and `end`, and answers how many bytes that were. */
  private fill(start: number, end: number): number {
    const gaps = this.gaps as Int32Array
    let bytes = 0
    for (let i = this.count - 1; i >= 0; i--) {
      const from = gaps[i * 2] as number
      const to = gaps[i * 2 + 1] as number
      const first = ((start - from) | 0) > 0 ? start : from
      const last = ((end - to) | 0) < 0 ? end : to
      if (((last - first) | 0) <= 0) continue
      bytes += (last - first) | 0
      if (first === from && last === to) this.remove(i)
      else if (first === from) gaps[i * 2] = last
      else {
        gaps[i * 2 + 1] = first
        if (last !== to) this.open(last, to)
      }
    }
    return bytes
  }
}
