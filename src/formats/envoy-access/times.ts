/** Times as a format string has them printed: strftime with Envoy's additions `%s`, `%f` and `%1f` … `%9f`. */
import type { Instant } from '../../model/instant.js'
import { instant, type TimeContext } from '../text/time.js'

/** How one time operator prints. */
export interface TimeFormat {
  /** Fractional digits of a second that are printed. */
  readonly digits: number
  /** Where a time that begins at `at` ends, or -1. */
  end(text: string, at: number): number
  /** The instant that `text` as a whole is; null where it is none, or prints no date. */
  read(text: string, context: TimeContext): Instant | null
}

type Part = 'year' | 'year2' | 'month' | 'day' | 'hour' | 'hour12' | 'minute' | 'second' | 'epoch' | 'yearday'
type Op =
  | { readonly is: 'text'; readonly text: string }
  | { readonly is: 'number'; readonly part: Part; readonly least: number; readonly most: number }
  | { readonly is: 'fraction'; readonly least: number; readonly most: number }
  | { readonly is: 'month' }
  | { readonly is: 'half' }
  | { readonly is: 'zone' }
  | { readonly is: 'word' }

const number = (part: Part, least: number, most = least): Op => ({ is: 'number', part, least, most })
const literal = (text: string): Op => ({ is: 'text', text })

/** What each conversion prints; made of others where the value is a string. */
const CONVERSIONS: Readonly<Record<string, Op | string>> = {
  Y: number('year', 4),
  y: number('year2', 2),
  m: number('month', 2),
  d: number('day', 2),
  e: number('day', 1, 2),
  j: number('yearday', 3),
  H: number('hour', 2),
  I: number('hour12', 2),
  M: number('minute', 2),
  S: number('second', 2),
  s: number('epoch', 1, 12),
  f: { is: 'fraction', least: 9, most: 9 },
  b: { is: 'month' },
  h: { is: 'month' },
  B: { is: 'month' },
  p: { is: 'half' },
  z: { is: 'zone' },
  Z: { is: 'word' },
  a: { is: 'word' },
  A: { is: 'word' },
  n: literal('\n'),
  t: literal('\t'),
  F: '%Y-%m-%d',
  T: '%H:%M:%S',
  R: '%H:%M',
  D: '%m/%d/%y',
}

const DEFAULT = '%Y-%m-%dT%H:%M:%S.%3f'
const CONVERSION = /^%(?:E([*#]|\d{1,2})?([SfzTYyHMd])|([1-9])f|([A-Za-z%]))/

/** What a time operator with this argument prints. `local`: in the zone of the machine, which is known only where it is printed. */
export function timeFormat(argument: string | null, local: boolean): TimeFormat {
  const ops = compile(argument === null || argument === '' ? `${DEFAULT}${local ? '%z' : 'Z'}` : argument)
  const digits = Math.max(0, ...ops.map(o => (o.is === 'fraction' ? o.most : 0)))
  const parts = new Parts()
  return {
    digits,
    end: (text, at) => walk(ops, text, at, parts),
    read: (text, context) => (walk(ops, text, 0, parts) === text.length ? parts.instant(local, context) : null),
  }
}

function compile(spec: string): Op[] {
  const out: Op[] = []
  for (let i = 0; i < spec.length; ) {
    const m = spec[i] === '%' ? CONVERSION.exec(spec.slice(i, i + 6)) : null
    if (!m) out.push(literal(spec[i++] as string))
    else {
      i += m[0].length
      out.push(...conversion(m))
    }
  }
  return out.map((op, i) => (op.is === 'number' && op.part === 'epoch' && touches(out[i + 1]) ? number('epoch', 10) : op))
}

/** `%s%3f`: digits on digits. Seconds of this age have ten. */
const touches = (next: Op | undefined): boolean => next !== undefined && (next.is === 'fraction' || next.is === 'number')

function conversion(m: RegExpExecArray): Op[] {
  const [, precision, extended, digits, plain] = m
  if (digits !== undefined) return [{ is: 'fraction', least: Number(digits), most: Number(digits) }]
  if (plain === '%') return [literal('%')]
  if (extended === 'S' || extended === 'f') {
    const most = precision === undefined || !/\d/.test(precision) ? 9 : Number(precision)
    const fraction: Op = { is: 'fraction', least: most === 9 ? 0 : most, most }
    return extended === 'f' ? [fraction] : most === 0 ? [number('second', 2)] : [number('second', 2), literal('.'), fraction]
  }
  const known = CONVERSIONS[plain ?? extended ?? '']
  return known === undefined ? [{ is: 'word' }] : typeof known === 'string' ? compile(known) : [known]
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const isDigit = (c: number): boolean => c >= 0x30 && c <= 0x39
const isLetter = (c: number): boolean => (c >= 0x41 && c <= 0x5a) || (c >= 0x61 && c <= 0x7a)

/** What was read of one time. */
class Parts {
  year = -1
  month = -1
  day = -1
  hour = 0
  minute = 0
  second = 0
  epoch = -1
  fraction = ''
  afternoon: boolean | null = null
  zone: number | null = null

  clear(): void {
    this.year = this.month = this.day = this.epoch = -1
    this.hour = this.minute = this.second = 0
    this.fraction = ''
    this.afternoon = null
    this.zone = null
  }

  set(part: Part, value: number): void {
    if (part === 'year2') this.year = value < 69 ? 2000 + value : 1900 + value
    else if (part === 'hour12') this.hour = value % 12
    else if (part === 'yearday') {
      this.month = 1
      this.day = value
    } else this[part] = value
  }

  instant(local: boolean, context: TimeContext): Instant | null {
    const fraction = this.fraction === '' ? 0n : BigInt(this.fraction.padEnd(9, '0'))
    if (this.epoch >= 0) return { ns: BigInt(this.epoch) * 1_000_000_000n + fraction, guess: null }
    if (this.year < 0 || this.month < 0 || this.day < 0) return null
    const hour = this.afternoon === true ? this.hour + 12 : this.hour
    const offset = this.zone ?? (local ? (context.zoneMinutes ?? 0) : 0)
    const wholeYear = this.day > 31 // the day of the year
    const ns = instant(this.year, this.month, wholeYear ? 1 : this.day, hour, this.minute, this.second, this.fraction === '' ? undefined : this.fraction, offset)
    if (ns === null) return null
    return { ns: wholeYear ? ns + BigInt(this.day - 1) * 86_400_000_000_000n : ns, guess: local && this.zone === null && context.zoneMinutes === null ? 'zone' : null }
  }
}

/** Reads a time at `at` into `parts`. Answers where it ends, or -1. */
function walk(ops: readonly Op[], text: string, at: number, parts: Parts): number {
  parts.clear()
  let i = at
  for (const op of ops) {
    if (op.is === 'text') i = text.startsWith(op.text, i) ? i + op.text.length : -1
    else if (op.is === 'number') {
      const end = digitsEnd(text, i, op.most, op.part === 'day' && op.least === 1)
      if (end - i < op.least) return -1
      parts.set(op.part, Number(text.slice(i, end)))
      i = end
    } else if (op.is === 'fraction') {
      const end = digitsEnd(text, i, op.most, false)
      if (end - i < op.least) return -1
      if (end - i > parts.fraction.length) parts.fraction = text.slice(i, end)
      i = end
    } else if (op.is === 'zone') i = zoneEnd(text, i, parts)
    else i = wordEnd(op.is, text, i, parts)
    if (i < 0) return -1
  }
  return i
}

function digitsEnd(text: string, at: number, most: number, padded: boolean): number {
  let i = padded && text.charCodeAt(at) === 32 ? at + 1 : at
  while (i < text.length && i - at < most && isDigit(text.charCodeAt(i))) i++
  return i
}

function zoneEnd(text: string, at: number, parts: Parts): number {
  const sign = text.charCodeAt(at)
  if (sign === 0x5a) {
    parts.zone = 0
    return at + 1
  }
  const hours = text.slice(at + 1, at + 3)
  const minutes = text.charCodeAt(at + 3) === 0x3a ? at + 4 : at + 3
  const rest = text.slice(minutes, minutes + 2)
  if ((sign !== 0x2b && sign !== 0x2d) || !/^\d\d$/.test(hours) || !/^\d\d$/.test(rest)) return -1
  parts.zone = (sign === 0x2d ? -1 : 1) * (Number(hours) * 60 + Number(rest))
  return minutes + 2
}

function wordEnd(is: 'month' | 'half' | 'word', text: string, at: number, parts: Parts): number {
  let i = at
  while (i < text.length && i - at < 16 && isLetter(text.charCodeAt(i))) i++
  if (i === at) return -1
  if (is === 'half') parts.afternoon = text.charCodeAt(at) === 0x50
  if (is !== 'month') return i
  const month = MONTHS.indexOf(text.slice(at, at + 3).toLowerCase())
  parts.month = month + 1
  return month < 0 ? -1 : i
}
