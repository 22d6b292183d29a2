/** From frames to rows: decodes each, follows TCP sessions, writes what is notable. One engine a capture, in order. */
import { limits } from '../limits.js'
import type { ProblemKind, Sink } from '../model/sink.js'
import { decode } from './decode.js'
import { Duplicates } from './duplicates.js'
import { GivenUp } from './given-up.js'
import { KEEPALIVE, NEW_PAYLOAD, PROBE, RETRANSMISSION } from './half.js'
import { serverName } from './hello.js'
import { isError } from './icmp-text.js'
import { ACK, ARP, FIN, ICMP, instantOf, Packet, RST, SYN, TCP } from './packet.js'
import { type Kind, Rows, spanOf } from './rows.js'
import { Session } from './session.js'
import { Sightings } from './sighting.js'
import { SessionTable } from './table.js'

/** Who speaks, for `Duplicates`: sessions have positive numbers. */
const WHO_ARP = -1
const WHO_ICMP = -2

export class Engine {
  /** Where readers put each frame before they hand it over. */
  readonly packet = new Packet()
  private readonly quoted = new Packet()
  private readonly rows = new Rows()
  private readonly table = new SessionTable()
  private readonly duplicates = new Duplicates()
  private readonly givenUp = new GivenUp()
  private readonly sightings = new Sightings()
  /** Ports that SYNs were sent to: who serves in a session whose begin is missing. */
  private readonly serverPorts = new Uint8Array(1 << 16)
  private serial = 0
  private firstSec = -1
  private firstNano = 0
  private lastSec = -1
  private lastNano = 0
  private announced = false
  private passed = 0
  private passedFrame = 0
  private passedFrom = 0
  private passedTo = 0

  use(sink: Sink): void {
    this.rows.sink = sink
  }

  /** Takes the frame that `packet` describes: one record, or one problem. */
  frame(link: number): void {
    const p = this.packet
    const sink = this.rows.sink
    decode(p, this.quoted, link)
    this.see(p)
    if (p.fault !== null) {
      this.flush()
      sink.problem('bad-record', p.fault, spanOf(p))
      return
    }
    this.announced = false
    if (p.what === TCP) this.segment(p)
    else if (p.what === ICMP) this.icmp(p)
    else if (p.what === ARP) this.arp(p)
    else if (p.cut) this.remark('skipped', 'the snapshot length cut a header off', p)
    if (p.sec < 0) this.remark('no-time', 'a frame without a time', p)
    if (!this.announced) this.pass(p)
  }

  /** Most frames have no row: they are reported together, before the next that has one. */
  private pass(p: Packet): void {
    if (this.passed++ === 0) {
      this.passedFrame = p.frame
      this.passedFrom = p.byteStart
    }
    this.passedTo = p.byteEnd
  }

  /** Reports the frames that were passed. Readers call it before they report anything else. */
  flush(): void {
    if (this.passed === 0) return
    this.rows.sink.records(this.passed, spanOf({ frame: this.passedFrame, byteStart: this.passedFrom, byteEnd: this.passedTo }))
    this.passed = 0
  }

  /** The frame at hand has something to say. */
  private announce(p: Packet): void {
    if (this.announced) return
    this.announced = true
    this.flush()
    this.rows.sink.record(spanOf(p))
  }

  private remark(kind: ProblemKind, says: string, p: Packet): void {
    this.announce(p)
    this.rows.sink.note(kind, says, spanOf(p))
  }

  /** The interval that the capture covers. */
  private see(p: Packet): void {
    if (p.sec < 0) return
    if (this.firstSec < 0 || p.sec < this.firstSec || (p.sec === this.firstSec && p.nano < this.firstNano)) {
      this.firstSec = p.sec
      this.firstNano = p.nano
    }
    if (p.sec > this.lastSec || (p.sec === this.lastSec && p.nano > this.lastNano)) {
      this.lastSec = p.sec
      this.lastNano = p.nano
    }
  }

  /** The capture ends: writes the sessions that are left, in the order in which they began. */
  finish(): void {
    this.flush()
    for (const s of this.table.all()) {
      s.outlive()
      this.rows.session(s)
    }
    const from = instantOf(this.firstSec, this.firstNano)
    const to = instantOf(this.lastSec, this.lastNano)
    if (from && to) this.rows.sink.covers(from, to)
  }

  private segment(p: Packet): void {
    let s = this.table.find(p)
    let fromLow = this.table.fromLow
    if (s?.isOver(p, fromLow ? s.low : s.high)) {
      this.close(s, p)
      s = null
    }
    if (s === null) {
      s = this.begin(p)
      fromLow = this.table.fromLow
    }
    if (this.duplicates.seen(s.serial * 2 + (fromLow ? 1 : 2), p)) return
    const from = fromLow ? s.low : s.high
    const wasClosed = s.closed
    const isFirst = from.last === null
    const verdict = s.take(p, from, this.sightings)
    this.table.touch(s, wasClosed, p.frame)
    if (isFirst && verdict === NEW_PAYLOAD && (s.midStream || from === s.client)) s.sni ??= serverName(p.bytes, p.payloadAt, Math.min(p.end, p.limit))
    const kind = kindOf(p, verdict, isFirst)
    if (kind === null) return
    this.announce(p)
    this.rows.segment(p, kind, verdict === RETRANSMISSION && kind !== 'retransmission' ? 'retransmission' : null)
    if (verdict === NEW_PAYLOAD && from.last !== null) from.last.shown = true
  }

  private begin(p: Packet): Session {
    this.makeRoom(p)
    const s = new Session(this.serial++)
    this.table.add(s, p)
    this.table.find(p)
    const fromLow = this.table.fromLow
    s.frame = p.frame
    s.byteStart = p.byteStart
    s.byteEnd = p.byteEnd
    s.firstSec = p.sec
    s.firstNano = p.nano
    const opens = (p.flags & (SYN | RST)) === SYN
    s.midStream = !opens
    const sourceIsClient = opens ? !(p.flags & ACK) : this.sourceIsClient(p)
    s.clientIsLow = sourceIsClient === fromLow
    if (opens) this.serverPorts[sourceIsClient ? p.dstPort : p.srcPort] = 1
    else this.givenUp.resume(s, p, fromLow ? s.low : s.high)
    return s
  }

  /** Without a SYN: a port that took one serves; else the lower one does; else who speaks first is the client. */
  private sourceIsClient(p: Packet): boolean {
    const known = (this.serverPorts[p.srcPort] as number) - (this.serverPorts[p.dstPort] as number)
    return known !== 0 ? known < 0 : p.srcPort >= p.dstPort
  }

  private makeRoom(p: Packet): void {
    const spare = this.table.spare(p)
    if (spare === null) return
    if (!spare.closed) {
      spare.giveUp()
      this.givenUp.add(spare)
      this.remark('limit', `more sessions at a time than are followed (${limits.sessions}): the longest idle one is cut in two`, p)
    }
    this.close(spare, p)
  }

  /** Writes a session before the capture ends. Rows that follow are about the frame at hand again. */
  private close(s: Session, p: Packet): void {
    this.announce(p)
    this.table.remove(s)
    this.rows.session(s)
    this.rows.sink.recall(spanOf(p))
    s.low.release(this.sightings)
    s.high.release(this.sightings)
  }

  private icmp(p: Packet): void {
    if (this.duplicates.seen(WHO_ICMP, p)) return
    const q = this.quoted
    if (q.what === TCP && isError(p)) {
      const s = this.table.find(q)
      if (s !== null) s.fail(this.table.fromLow ? s.low : s.high)
    }
    this.announce(p)
    this.rows.icmp(p, q)
  }

  private arp(p: Packet): void {
    if (this.duplicates.seen(WHO_ARP, p)) return
    this.announce(p)
    this.rows.arp(p)
  }
}

/** Why a segment is notable by itself, or null. Flags come before what its payload is. */
function kindOf(p: Packet, verdict: number, isFirst: boolean): Kind | null {
  if (p.flags & RST) return 'rst'
  if (p.flags & SYN) return p.flags & ACK ? 'synack' : 'syn'
  if (p.flags & FIN) return 'fin'
  switch (verdict) {
    case RETRANSMISSION:
      return 'retransmission'
    case KEEPALIVE:
      return 'keepalive'
    case PROBE:
      return 'probe'
    case NEW_PAYLOAD:
      return isFirst ? 'first' : null
    default:
      return null
  }
}
