/** Times as logs print them, to nanoseconds, with a note of what had to be assumed. */
import type { Instant, Nanoseconds } from '../../model/instant.js'

export interface TimeContext {
  readonly reference: { readonly from: Nanoseconds; readonly to: Nanoseconds } | null
  readonly zoneMinutes: number | null
}

/** The year of times that print none, where the bundle has no dated time at all. A leap year, so that every day exists. */
const YEAR_UNKNOWN = 2000

const ISO = /^(\d{4})[-/](\d\d)[-/](\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(?:\s?(Z|UTC|[+-]\d\d:?\d\d))?$/

/**
 * ISO 8601 and its usual relatives: `T` or a blank, `-` or `/`, 0 to 9 fractional digits, `Z`, `+0000`, `+00:00` or no
 * zone (then the context's, guessed). null where it is not such a time or no such instant exists.
 */
export function readIso(text: string, context?: TimeContext): Instant | null {
  const m = ISO.exec(text)
  if (!m) return null
  const zone = m[8]
  const offset = zone === undefined ? (context?.zoneMinutes ?? 0) : zoneOffset(zone)
  const ns = instant(Number(m[1]), Number(m[2]), Number(m[3]), Number(m[4]), Number(m[5]), Number(m[6]), m[7], offset)
  if (ns === null) return null
  return { ns, guess: zone === undefined && (context?.zoneMinutes ?? null) === null ? 'zone' : null }
}

/** Minutes east of UTC of `Z`, `UTC`, `+0530` or `+05:30`. */
export function zoneOffset(zone: string): number {
  if (zone === 'Z' || zone === 'UTC') return 0
  const sign = zone.charCodeAt(0) === 0x2d ? -1 : 1
  return sign * (Number(zone.slice(1, 3)) * 60 + Number(zone.slice(-2)))
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const STAMP = /^([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?$/

/** `Dec 31 02:08:48.502`: no year (the one that lies nearest to the reference is taken) and no zone. `zone` says which is meant where the format defines it. */
export function readStamp(text: string, context: TimeContext, zone: 'utc' | 'local'): Instant | null {
  const m = STAMP.exec(text)
  const month = m ? MONTHS.indexOf(m[1] as string) + 1 : 0
  if (!m || month === 0) return null
  const offset = zone === 'utc' ? 0 : (context.zoneMinutes ?? 0)
  const inYear = (year: number) => instant(year, month, Number(m[2]), Number(m[3]), Number(m[4]), Number(m[5]), m[6], offset)
  const guess = zone === 'local' && context.zoneMinutes === null ? 'year,zone' : 'year'
  const ref = context.reference
  if (!ref) {
    const ns = inYear(YEAR_UNKNOWN)
    return ns === null ? null : { ns, guess }
  }
  const about = new Date(Number(ref.from / 1_000_000n)).getUTCFullYear()
  return nearest([about - 1, about, about + 1].map(inYear), ref, guess)
}

const DATE_LINE = /^[A-Z][a-z]{2} ([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d\d):(\d\d):(\d\d) (UTC|GMT|[+-]\d{4}) (\d{4})$/

/** What `date` prints without a format, in the C locale: `Mon Nov 30 21:47:33 UTC 2026`. */
export function readDateLine(text: string): Instant | null {
  const m = text.length < 40 ? DATE_LINE.exec(text) : null
  const month = m ? MONTHS.indexOf(m[1] as string) + 1 : 0
  if (!m || month === 0) return null
  const offset = m[6] === 'GMT' ? 0 : zoneOffset(m[6] as string)
  const ns = instant(Number(m[7]), month, Number(m[2]), Number(m[3]), Number(m[4]), Number(m[5]), undefined, offset)
  return ns === null ? null : { ns, guess: null }
}

const CLOCK = /^(\d\d):(\d\d):(\d\d)\.(\d{1,9})$/

/** `13:32:04.538539`: the date that lies nearest to the reference. null without a reference: a time of day alone is no instant. */
export function readClock(text: string, context: TimeContext): Instant | null {
  const m = CLOCK.exec(text)
  const ref = context.reference
  if (!m || !ref) return null
  const offset = context.zoneMinutes ?? 0
  const day = (d: number) => {
    const date = new Date(Number(ref.from / 1_000_000n) + d * 86_400_000)
    return instant(date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate(), Number(m[1]), Number(m[2]), Number(m[3]), m[4], offset)
  }
  const days = Number((ref.to - ref.from) / 86_400_000_000_000n)
  const candidates = [-1, 0, 1, ...(days > 0 && days < 400 ? Array.from({ length: days + 1 }, (_, i) => i + 1) : [])].map(day)
  return nearest(candidates, ref, context.zoneMinutes === null ? 'date,zone' : 'date')
}

/** Seconds since the epoch, digits with or without a fraction, without rounding. */
export function readEpoch(text: string): Instant | null {
  const m = /^(\d{9,11})(?:\.(\d{1,12}))?$/.exec(text)
  if (!m) return null
  const ns = storable(BigInt(m[1] as string) * 1_000_000_000n + fraction(m[2]?.slice(0, 9)))
  return ns === null ? null : { ns, guess: null }
}

/** The candidate inside the reference interval, else the one with the least distance to it. */
function nearest(candidates: (Nanoseconds | null)[], ref: { from: Nanoseconds; to: Nanoseconds }, guess: string): Instant | null {
  let best: Nanoseconds | null = null
  let least: bigint | null = null
  for (const c of candidates) {
    if (c === null) continue
    const distance = c < ref.from ? ref.from - c : c > ref.to ? c - ref.to : 0n
    if (least === null || distance < least) {
      best = c
      least = distance
    }
  }
  return best === null ? null : { ns: best, guess }
}

function fraction(digits: string | undefined): bigint {
  return digits === undefined ? 0n : BigInt(digits.padEnd(9, '0'))
}

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** An instant from its parts, or null where no such date or time exists. Second 60 is the next minute's first. */
export function instant(
  year: number,
  month: number,
  day: number,
  hour: number,
  minute: number,
  second: number,
  digits: string | undefined,
  offsetMinutes: number,
): Nanoseconds | null {
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  const days = (DAYS[month - 1] ?? 0) + (month === 2 && leap ? 1 : 0)
  if (year < 1 || day < 1 || day > days || hour > 23 || minute > 59 || second > 60) return null
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day) // Date.UTC reads years under 100 as 19xx
  const ms = date.getTime() + ((hour * 60 + minute - offsetMinutes) * 60 + second) * 1000
  return storable(BigInt(ms) * 1_000_000n + fraction(digits))
}

const LAST = 9_223_372_036_854_775_807n

/** 64 bits hold the years 1677 to 2262. What lies outside is no time of evidence: Go prints the year 1 for a time that is not set. */
export const storable = (ns: Nanoseconds): Nanoseconds | null => (ns > LAST || ns < -LAST ? null : ns)
