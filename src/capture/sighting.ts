import { limits } from '../limits.js'
import type { Packet } from './packet.js'

/** A segment that carried new payload and may have to be shown later: when its session ends. */
export class Sighting {
  frame = 0
  byteStart = 0
  byteEnd = 0
  sec = -1
  nano = 0
  seq = 0
  ack = 0
  flags = 0
  payload = 0
  /** Sequence number after its payload, or after that of later segments merged into it. */
  end = 0
  /** It has a row already. */
  shown = false
  /** It waits for its acknowledgement. */
  waiting = false
  next: Sighting | null = null

  set(p: Packet, end: number): void {
    this.frame = p.frame
    this.byteStart = p.byteStart
    this.byteEnd = p.byteEnd
    this.sec = p.sec
    this.nano = p.nano
    this.seq = p.seq
    this.ack = p.ack
    this.flags = p.flags
    this.payload = p.payload
    this.end = end
    this.shown = false
    this.waiting = false
    this.next = null
  }
}

/** Sightings that are used again and again: one a data segment would keep the garbage collector busy. */
export class Sightings {
  private free: Sighting | null = null
  private made = 0

  take(p: Packet, end: number): Sighting {
    let s = this.free
    if (s === null) {
      s = new Sighting()
      this.made++
    } else this.free = s.next
    s.set(p, end)
    return s
  }

  give(s: Sighting): void {
    s.next = this.free
    this.free = s
  }

  /** No more of them should wait for acknowledgements. */
  get scarce(): boolean {
    return this.free === null && this.made >= limits.unacknowledged
  }
}
