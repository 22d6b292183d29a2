/** Interfaces of a pcapng section, and the times that their packets carry. */
import { u8, u16in, u32in, u64in } from './bytes.js'
import { isLink } from './link.js'

export interface Interface {
  readonly link: number
  /** Frames of that link type are decoded. */
  readonly decodes: boolean
  readonly snapLength: number
  readonly name: string | null
  /** Units of time a second where they are decimal and no finer than nanoseconds; else 0, and `resolution` says. */
  readonly perSecond: number
  /** The byte of the option if_tsresol. */
  readonly resolution: number
  /** Seconds to add. */
  readonly offset: number
  /** Drops that the last statistics told, in all; and when that, or the first packet, was. */
  drops: bigint
  sec: number
  nano: number
}

const IF_NAME = 2
const IF_TSRESOL = 9
const IF_TSOFFSET = 14
const MICROSECONDS = 6
const NAME_BYTES = 64

/** Calls `each` for every option between `at` and `end`, and stops at the first that does not fit. */
export function readOptions(b: Buffer, at: number, end: number, little: boolean, each: (code: number, at: number, length: number) => void): void {
  for (let x = at; x + 4 <= end; ) {
    const code = u16in(b, x, little)
    const length = u16in(b, x + 2, little)
    if (code === 0 || x + 4 + length > end) return
    each(code, x + 4, length)
    x += 4 + ((length + 3) & ~3)
  }
}

/** The interface that the block body between `at` and `end` describes. */
export function readInterface(b: Buffer, at: number, end: number, little: boolean): Interface {
  let name: string | null = null
  let resolution = MICROSECONDS
  let offset = 0
  readOptions(b, at + 8, end, little, (code, value, length) => {
    if (code === IF_NAME && length > 0) name = b.toString('utf8', value, value + Math.min(length, NAME_BYTES))
    else if (code === IF_TSRESOL && length === 1) resolution = u8(b, value)
    else if (code === IF_TSOFFSET && length === 8) offset = Number(BigInt.asIntN(64, u64in(b, value, little)))
  })
  const perSecond = resolution <= 9 ? 10 ** resolution : 0
  const link = u16in(b, at, little)
  return { link, decodes: isLink(link), snapLength: u32in(b, at + 4, little), name, perSecond, resolution, offset, drops: 0n, sec: -1, nano: 0 }
}

/** Times that fit 64-bit nanoseconds. Seconds. */
const LATEST = 9_200_000_000

/** Sets the time that the words `high` and `low` give; a time that no clock shows is unknown. */
export function setTime(to: { sec: number; nano: number }, i: Interface, high: number, low: number): void {
  if (i.perSecond > 0) divide(to, high, low, i.perSecond)
  else divideBig(to, (BigInt(high) << 32n) | BigInt(low), i.resolution)
  to.sec += i.offset
  if (!(to.sec >= 0 && to.sec < LATEST) || (high === 0 && low === 0)) {
    to.sec = -1
    to.nano = 0
  }
}

/** Long division in steps that stay below 2^53. */
function divide(to: { sec: number; nano: number }, high: number, low: number, perSecond: number): void {
  const first = (high % perSecond) * 65_536 + (low >>> 16)
  const second = (first % perSecond) * 65_536 + (low & 0xffff)
  to.sec = Math.floor(high / perSecond) * 4_294_967_296 + Math.floor(first / perSecond) * 65_536 + Math.floor(second / perSecond)
  to.nano = (second % perSecond) * (1e9 / perSecond)
}

/** Powers of two, and decimal units finer than nanoseconds: what is finer is cut off. */
function divideBig(to: { sec: number; nano: number }, units: bigint, resolution: number): void {
  const perSecond = resolution & 0x80 ? 1n << BigInt(resolution & 0x7f) : 10n ** BigInt(resolution)
  to.sec = Number(units / perSecond)
  to.nano = Number(((units % perSecond) * 1_000_000_000n) / perSecond)
}
