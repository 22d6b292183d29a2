/** Captures in libpcap's format: a header of 24 bytes, then records of 16 bytes and their data. */
import { limits } from '../limits.js'
import { u16in, u32, u32in } from './bytes.js'
import { isLink } from './link.js'
import { MORE, NOT_HERE, RecordReader } from './records.js'

const FILE_HEADER = 24
const RECORD_HEADER = 16

/** Bytes of a file as they stand on disk, and what they mean. */
const MICROSECONDS = 0xa1b2_c3d4
const NANOSECONDS = 0xa1b2_3c4d
const swapped = (magic: number): number => ((magic >>> 24) | ((magic >>> 8) & 0xff00) | ((magic << 8) & 0xff_0000) | (magic << 24)) >>> 0
/** Formats that begin likewise and go on differently. */
const EXOTIC: readonly (readonly [magic: number, name: string])[] = [
  [0xa1b2_cd34, "Kuznetzov's patched libpcap"],
  [0xa1b2_34cd, "Mesquita's patched libpcap"],
  [0xa12b_3c4d, 'Navtel'],
  [0xa1b2_c3cb, 'a BPF program in a savefile'],
]

const SUPPORTED = new Set([MICROSECONDS, NANOSECONDS, swapped(MICROSECONDS), swapped(NANOSECONDS)])

const exoticName = (magic: number): string | null => EXOTIC.find(([m]) => m === magic || swapped(m) === magic)?.[1] ?? null

/** Whether the file begins like one of libpcap's, readable or not. */
export const isPcap = (head: Buffer): boolean => head.length >= 4 && (SUPPORTED.has(u32(head, 0)) || exoticName(u32(head, 0)) !== null)

/** No packet is longer on the wire, segmentation offload included. */
const LONGEST_ON_WIRE = 16 * 1024 * 1024
/** Records further apart than this do not follow each other, when looking for the next one after damage. Seconds. */
const NEIGHBOURS = 7 * 86_400

export class PcapReader extends RecordReader {
  protected readonly cutSays = 'the file ends within a record: the last packet is missing'
  private little = false
  private nanoseconds = false
  private link = 0
  private decodes = false
  private hasHeader = false
  private frames = 0
  private lastSec = -1

  protected measure(b: Buffer, at: number): number {
    if (!this.hasHeader) return this.measureHeader(b)
    if (at + RECORD_HEADER > b.length) return MORE
    const captured = u32in(b, at + 8, this.little)
    if (captured > limits.packet) return this.broken(`a record of ${captured} bytes: longer than any packet`)
    // What a preallocated file has after its last record.
    if (captured === 0 && u32in(b, at + 12, this.little) === 0 && u32in(b, at, this.little) === 0) return this.broken('an empty record')
    return RECORD_HEADER + captured
  }

  private measureHeader(b: Buffer): number {
    if (b.length < FILE_HEADER) return MORE
    const magic = u32(b, 0)
    const exotic = exoticName(magic)
    if (exotic !== null) return this.refuse(`a capture in the format of ${exotic}, which is not read: convert it with tcpdump -r FILE -w NEW or editcap`)
    if (!SUPPORTED.has(magic)) return this.refuse('no capture: it does not begin with a magic number of libpcap')
    this.little = magic === swapped(MICROSECONDS) || magic === swapped(NANOSECONDS)
    this.nanoseconds = magic === NANOSECONDS || magic === swapped(NANOSECONDS)
    const version = u16in(b, 4, this.little)
    if (version !== 2) return this.refuse(`a capture in version ${version}.${u16in(b, 6, this.little)} of libpcap's format, which is not read`)
    return FILE_HEADER
  }

  protected read(b: Buffer, at: number, size: number): void {
    if (this.hasHeader) this.readRecord(b, at, size)
    else {
      // The upper half says how long frame check sequences are, in units that nobody agrees on.
      this.link = u32in(b, 20, this.little) & 0xffff
      this.decodes = isLink(this.link)
      this.hasHeader = true
      this.skip(0, FILE_HEADER)
    }
  }

  private readRecord(b: Buffer, at: number, size: number): void {
    const little = this.little
    const sec = u32in(b, at, little)
    const fraction = u32in(b, at + 4, little)
    this.frames++
    this.lastSec = sec
    if (!this.decodes) {
      this.problem('not-recognised', `frames of link type ${this.link} are not decoded`, at, size, this.frames)
      return
    }
    const p = this.engine.packet
    p.bytes = b
    p.at = at + RECORD_HEADER
    p.end = at + size
    p.wireEnd = Math.max(p.end, p.at + u32in(b, at + 12, little))
    p.frame = this.frames
    p.byteStart = this.base + at
    p.byteEnd = p.byteStart + size
    this.setTime(sec, this.nanoseconds ? fraction : fraction * 1000)
    this.engine.frame(this.link)
  }

  /** A fraction of a second or more is carried, as libpcap's users do; 0 is what tools write that know no time. */
  private setTime(sec: number, nano: number): void {
    const p = this.engine.packet
    const carry = Math.floor(nano / 1e9)
    p.sec = sec === 0 && nano === 0 ? -1 : sec + carry
    p.nano = nano - carry * 1e9
  }

  protected certain(b: Buffer, at: number, last: boolean): number {
    const first = this.plausible(b, at)
    if (first <= 0) return first
    if (at + first === b.length) return last ? first : MORE
    const second = this.plausible(b, at + first)
    return second > 0 ? first : second
  }

  /** Size of what may be a record: a time near the last one, lengths that fit each other. */
  private plausible(b: Buffer, at: number): number {
    if (at + RECORD_HEADER > b.length) return MORE
    const little = this.little
    const captured = u32in(b, at + 8, little)
    const original = u32in(b, at + 12, little)
    if (captured === 0 || captured > limits.packet || captured > original || original > LONGEST_ON_WIRE) return NOT_HERE
    if (u32in(b, at + 4, little) >= (this.nanoseconds ? 1e9 : 1e6)) return NOT_HERE
    if (this.lastSec >= 0 && Math.abs(u32in(b, at, little) - this.lastSec) > NEIGHBOURS) return NOT_HERE
    return RECORD_HEADER + captured
  }
}
