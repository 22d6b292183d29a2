/** Captures in the pcapng format: sections of blocks, each of which says its length at both ends. */
import { limits } from '../limits.js'
import { u16in, u32, u32in, u64in } from './bytes.js'
import { type Interface, readInterface, readOptions, setTime } from './interfaces.js'
import { instantOf } from './packet.js'
import { MORE, NOT_HERE, RecordReader } from './records.js'

const BLOCK = { interface: 1, oldPacket: 2, simplePacket: 3, names: 4, statistics: 5, packet: 6, journal: 9, secrets: 10, custom: 0xbad, customNoCopy: 0x4000_0bad } as const
const KNOWN = new Set<number>(Object.values(BLOCK))
/** The same in either byte order. */
const SECTION = 0x0a0d_0d0a
const BYTE_ORDER = 0x1a2b_3c4d
const BYTE_ORDER_LITTLE = 0x4d3c_2b1a

const SMALLEST = 12
const SMALLEST_SECTION = 28
/** Bytes of a packet block before its data. */
const PACKET_HEADER = 28
const EPB_DROPCOUNT = 4
const ISB_IFDROP = 5
const ISB_OSDROP = 7

const isByteOrder = (word: number): boolean => word === BYTE_ORDER || word === BYTE_ORDER_LITTLE

/** Whether the file begins with a section header. */
export const isPcapng = (head: Buffer): boolean => head.length >= 12 && u32(head, 0) === SECTION && isByteOrder(u32(head, 8))

export class PcapngReader extends RecordReader {
  protected readonly cutSays = 'the file ends within a block: the last packet is missing'
  private little = false
  private hasSection = false
  /** Set in a section whose version is not read. */
  private version: string | null = null
  private interfaces: Interface[] = []
  private frames = 0

  protected measure(b: Buffer, at: number): number {
    if (at + SMALLEST > b.length) return MORE
    const isSection = u32(b, at) === SECTION
    if (!isSection && !this.hasSection) return this.refuse('no capture: it does not begin with a section header')
    if (isSection && !isByteOrder(u32(b, at + 8))) return this.broken('a section header without byte order')
    const size = u32in(b, at + 4, this.orderAt(b, at))
    if (size < (isSection ? SMALLEST_SECTION : SMALLEST) || size % 4 !== 0) return this.broken(`a block of ${size} bytes`)
    if (size > limits.pcapngBlock) return this.broken(`a block of ${size} bytes: longer than is read`)
    if (at + size > b.length) return MORE
    return u32in(b, at + size - 4, this.orderAt(b, at)) === size ? size : this.broken('a block whose lengths at its begin and its end differ')
  }

  /** A section header says itself in which order it is. */
  private orderAt(b: Buffer, at: number): boolean {
    return u32(b, at) === SECTION ? u32(b, at + 8) === BYTE_ORDER_LITTLE : this.little
  }

  protected certain(b: Buffer, at: number, last: boolean): number {
    if (at + SMALLEST > b.length) return MORE
    const isSection = u32(b, at) === SECTION
    if (isSection ? !isByteOrder(u32(b, at + 8)) : !KNOWN.has(u32in(b, at, this.little))) return NOT_HERE
    const little = this.orderAt(b, at)
    const size = u32in(b, at + 4, little)
    if (size < SMALLEST || size % 4 !== 0 || size > limits.pcapngBlock) return NOT_HERE
    if (at + size > b.length) return last ? NOT_HERE : MORE
    return u32in(b, at + size - 4, little) === size ? size : NOT_HERE
  }

  protected read(b: Buffer, at: number, size: number): void {
    const type = u32(b, at) === SECTION ? SECTION : u32in(b, at, this.little)
    // Names, secrets, journals, custom and unknown blocks hold nothing that is read. Secrets are never shown.
    if (type !== BLOCK.packet && type !== BLOCK.oldPacket && type !== BLOCK.simplePacket) this.skip(at, size)
    switch (type) {
      case SECTION:
        this.readSection(b, at, size)
        break
      case BLOCK.interface:
        this.readInterface(b, at, size)
        break
      case BLOCK.packet:
      case BLOCK.oldPacket:
        this.readPacket(b, at, size)
        break
      case BLOCK.simplePacket:
        this.readSimplePacket(b, at, size)
        break
      case BLOCK.statistics:
        this.readStatistics(b, at, size)
        break
    }
  }

  private readSection(b: Buffer, at: number, size: number): void {
    this.little = this.orderAt(b, at)
    this.hasSection = true
    this.interfaces = []
    const major = u16in(b, at + 12, this.little)
    this.version = major === 1 ? null : `${major}.${u16in(b, at + 14, this.little)}`
    if (this.version !== null) this.note('bad-record', `a section in version ${this.version} of pcapng, which is not read`, at, size)
  }

  private readInterface(b: Buffer, at: number, size: number): void {
    if (size < 20) return
    if (this.interfaces.length < limits.interfaces) this.interfaces.push(readInterface(b, at + 8, at + size - 4, this.little))
    else this.note('limit', `more than ${limits.interfaces} interfaces in a section`, at, size)
  }

  /** An enhanced packet block, or the obsolete one, which differs in its first word only: number of the interface and drops. */
  private readPacket(b: Buffer, at: number, size: number): void {
    const little = this.little
    this.frames++
    if (size < PACKET_HEADER + 4) return this.badFrame('a packet block that is too short', at, size)
    const isOld = u32in(b, at, little) === BLOCK.oldPacket
    const number = isOld ? u16in(b, at + 8, little) : u32in(b, at + 8, little)
    const i = this.interfaces[number]
    if (this.version !== null || !i)
      return this.badFrame(this.version === null ? `a packet of interface ${number}, which no block describes` : `a packet in a section of version ${this.version}`, at, size)
    const captured = u32in(b, at + 20, little)
    if (captured > size - PACKET_HEADER - 4) return this.badFrame('a packet longer than its block', at, size)
    if (captured > limits.packet) return this.badFrame('a packet longer than is read', at, size, 'limit')
    const p = this.engine.packet
    const [sec, nano] = [i.sec, i.nano]
    setTime(p, i, u32in(b, at + 12, little), u32in(b, at + 16, little))
    if (p.sec >= 0) [i.sec, i.nano] = [p.sec, p.nano]
    const drops = isOld ? dropsOf(u16in(b, at + 10, little)) : this.dropCount(b, at + PACKET_HEADER + ((captured + 3) & ~3), at + size - 4)
    if (drops > 0) this.lost(at, size, { sec, nano }, p, drops, 'packets dropped before this one')
    this.hand(b, at, size, i, number, at + PACKET_HEADER, captured, u32in(b, at + 24, little))
  }

  private dropCount(b: Buffer, options: number, end: number): number {
    let drops = 0
    if (options < end)
      readOptions(b, options, end, this.little, (code, value, length) => {
        if (code === EPB_DROPCOUNT && length === 8) drops = Number(u64in(b, value, this.little))
      })
    return drops
  }

  /** A packet of the first interface, without a time. */
  private readSimplePacket(b: Buffer, at: number, size: number): void {
    this.frames++
    const i = this.interfaces[0]
    if (size < 16 || this.version !== null || !i) return this.badFrame('a simple packet block without an interface', at, size)
    const original = u32in(b, at + 8, this.little)
    const captured = Math.min(original, i.snapLength || original, size - 16)
    if (captured > limits.packet) return this.badFrame('a packet longer than is read', at, size, 'limit')
    this.engine.packet.sec = -1
    this.engine.packet.nano = 0
    this.hand(b, at, size, i, 0, at + 12, captured, original)
  }

  private hand(b: Buffer, at: number, size: number, i: Interface, number: number, data: number, captured: number, original: number): void {
    if (!i.decodes) return this.badFrame(`frames of link type ${i.link} are not decoded`, at, size, 'not-recognised')
    const p = this.engine.packet
    p.bytes = b
    p.at = data
    p.end = data + captured
    p.wireEnd = Math.max(p.end, data + original)
    p.frame = this.frames
    p.byteStart = this.base + at
    p.byteEnd = p.byteStart + size
    p.iface = number
    p.ifaceName = i.name
    this.engine.frame(i.link)
  }

  /** Counts of interface statistics grow from block to block. */
  private readStatistics(b: Buffer, at: number, size: number): void {
    const little = this.little
    const i = size < 24 ? undefined : this.interfaces[u32in(b, at + 8, little)]
    if (!i || this.version !== null) return
    const time = { sec: -1, nano: 0 }
    setTime(time, i, u32in(b, at + 12, little), u32in(b, at + 16, little))
    let drops = 0n
    readOptions(b, at + 20, at + size - 4, little, (code, value, length) => {
      if ((code === ISB_IFDROP || code === ISB_OSDROP) && length === 8) drops += u64in(b, value, little)
    })
    if (drops > i.drops) this.lost(at, size, i, time, Number(drops - i.drops), `packets dropped by interface ${i.name ?? u32in(b, at + 8, little)}`)
    i.drops = drops
  }

  private lost(at: number, size: number, from: { sec: number; nano: number }, to: { sec: number; nano: number }, events: number, why: string): void {
    if (Number.isSafeInteger(events)) this.sink.lost(this.span(at, size, null), instantOf(from.sec, from.nano), instantOf(to.sec, to.nano), events, why)
  }

  private badFrame(why: string, at: number, size: number, kind: 'bad-record' | 'limit' | 'not-recognised' = 'bad-record'): void {
    this.problem(kind, why, at, size, this.frames)
  }
}

/** 0xffff: not known. */
const dropsOf = (count: number): number => (count === 0xffff ? 0 : count)
