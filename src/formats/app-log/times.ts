/** The time that a log line begins with, in the ways of common loggers. */
import type { Instant } from '../../model/instant.js'
import { readClock, readEpoch, readIso, readStamp, type TimeContext } from '../text/time.js'

export interface Timed {
  /** null: a time of day that nothing dates. */
  readonly at: Instant | null
  readonly level: string | null
  readonly message: string
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** `[2024/12/03 13:31:18] …`, also after the priority of syslog (RFC 5424: `<34>1 2024-…`). */
const BRACKETED = /^\[\s?([^\]]{8,40})\]\s{0,8}/
const PRIORITY = /^<\d{1,3}>(?:1 )?/
const ISO_FIRST = /^(\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?)(?:[:,|]|\s|$)\s{0,8}/
const STAMP_FIRST = /^([A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d(?:\.\d{1,9})?):?\s{1,8}/
/** `[Tue Dec  3 13:31:18 2024]` of dmesg -T and httpd, `03/Dec/2024:13:31:18 +0000` of access logs. */
const ASCTIME = /^[A-Z][a-z]{2} ([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d\d:\d\d:\d\d(?:\.\d{1,9})?) (\d{4})$/
const COMMON = /^[^[]{1,200}\[(\d\d)\/([A-Z][a-z]{2})\/(\d{4}):(\d\d:\d\d:\d\d) ([+-]\d{4})\] /
const KLOG = /^([IWEF])(\d\d)(\d\d) (\d\d:\d\d:\d\d\.\d{6})\s{1,8}\d{1,10} /
const EPOCH_FIRST = /^(\d{10}(?:\.\d{1,9})?)\s{1,8}/
const CLOCK_FIRST = /^(\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?\s{1,8}/
const LOGFMT_TIME = /(?:^|\s)(?:time|ts|timestamp|t)="?(\d{4}-\d\d-\d\d[T ][^\s"]{8,35})"?/
/** The stdout plugin of Fluent Bit: `[0] tag: [[1733233643.000000000, {}], {"k"=>"v"}]`. */
const FLUENT_STDOUT = /^\[\d{1,9}\] [^:]{1,200}: \[\[?(\d{9,11}\.\d{1,9})/
const KLOG_LEVEL: Readonly<Record<string, string>> = { I: 'info', W: 'warning', E: 'error', F: 'fatal' }

/** null where the line begins with no time. */
export function readTimed(line: string, context: TimeContext): Timed | null {
  const fluent = FLUENT_STDOUT.exec(line)
  if (fluent) return { at: readEpoch(fluent[1] as string), level: null, message: line }
  const priority = PRIORITY.exec(line)
  const rest = priority ? line.slice(priority[0].length) : line
  return bracketed(rest, context) ?? first(rest, context) ?? klog(rest, context) ?? common(line) ?? logfmt(rest, context) ?? clock(rest, context)
}

function bracketed(line: string, context: TimeContext): Timed | null {
  const m = BRACKETED.exec(line)
  if (!m) return null
  const text = (m[1] as string).trim()
  const at = readIso(text, context) ?? asctime(text, context) ?? readStamp(text, context, 'local') ?? clockTime(text, context)
  return at ? withLevel(at, line.slice(m[0].length)) : null
}

function first(line: string, context: TimeContext): Timed | null {
  const iso = ISO_FIRST.exec(line)
  const stamp = iso ? null : STAMP_FIRST.exec(line)
  const epoch = iso || stamp ? null : EPOCH_FIRST.exec(line)
  const m = iso ?? stamp ?? epoch
  if (!m) return null
  const at = iso ? readIso(iso[1] as string, context) : stamp ? readStamp(stamp[1] as string, context, 'local') : readEpoch(m[1] as string)
  return at ? withLevel(at, line.slice(m[0].length)) : null
}

function klog(line: string, context: TimeContext): Timed | null {
  const m = KLOG.exec(line)
  const month = m ? MONTHS[Number(m[2]) - 1] : undefined
  const at = m && month ? readStamp(`${month} ${Number(m[3])} ${m[4]}`, context, 'local') : null
  return m && at ? { at, level: KLOG_LEVEL[m[1] as string] ?? null, message: line.slice(m[0].length) } : null
}

function asctime(text: string, context: TimeContext): Instant | null {
  const m = ASCTIME.exec(text)
  return m ? readIso(`${m[4]}-${monthNumber(m[1] as string)}-${(m[2] as string).padStart(2, '0')}T${m[3]}`, context) : null
}

/** The line as a whole stays the message: its beginning names the client. */
function common(line: string): Timed | null {
  const m = COMMON.exec(line)
  const at = m ? readIso(`${m[3]}-${monthNumber(m[2] as string)}-${m[1]}T${m[4]}${m[5]}`) : null
  return at ? { at, level: null, message: line } : null
}

const monthNumber = (name: string): string => String(MONTHS.indexOf(name) + 1).padStart(2, '0')

function logfmt(line: string, context: TimeContext): Timed | null {
  const m = LOGFMT_TIME.exec(line.length > 400 ? line.slice(0, 400) : line)
  const at = m ? readIso(m[1] as string, context) : null
  return at ? withLevel(at, line) : null
}

function clock(line: string, context: TimeContext): Timed | null {
  const m = CLOCK_FIRST.exec(line)
  return m ? withLevel(clockTime(`${m[1]}.${m[2] ?? '0'}`, context), line.slice(m[0].length)) : null
}

const clockTime = (text: string, context: TimeContext): Instant | null => readClock(text.length === 8 ? `${text}.0` : text, context)

const WORDS = 'trace|debug|info|notice|warn|warning|error|err|critical|fatal|panic'
/** At the beginning, in brackets, between dashes or bars, or as logfmt writes it. */
const LEVEL_FIRST = new RegExp(`^\\W{0,3}(${WORDS})\\b`, 'i')
const LEVEL_LATER = new RegExp(`(?:[\\[|(] ?|- |\\] {1,2}|\\blevel="?)(${WORDS})"?(?: ?[\\])|]| -|\\s|$)`, 'i')
const SHORT: Readonly<Record<string, string>> = { warn: 'warning', err: 'error' }

function withLevel(at: Instant | null, message: string): Timed {
  const word = LEVEL_FIRST.exec(message)?.[1] ?? LEVEL_LATER.exec(message.slice(0, 120))?.[1] ?? null
  return { at, level: levelName(word), message }
}

/** Lower case; `warn` and `err` in full. */
export const levelName = (word: string | null): string | null => (word === null ? null : (SHORT[word.toLowerCase()] ?? word.toLowerCase()))
