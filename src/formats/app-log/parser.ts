import type { Instant } from '../../model/instant.js'
import type { TextFormat } from '../text/reader.js'
import { readEpoch, readIso, readStamp, type TimeContext } from '../text/time.js'

interface Found {
  readonly at: Instant | null
  readonly level: string | null
  readonly message: string
}

const BRACKETED = /^\[\s?([^\]]{8,40})\]\s*/
const ISO_FIRST = /^(\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:\s?(?:Z|[+-]\d\d:?\d\d))?)[:,]?\s+/
const STAMP_FIRST = /^([A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d(?:\.\d{1,9})?):?\s+/
const KLOG = /^([IWEF])(\d{2})(\d{2}) (\d\d:\d\d:\d\d\.\d{6})\s+\d+ /
const LOGFMT_TIME = /\b(?:time|ts)="?(\d{4}-\d\d-\d\dT[^\s"]{8,35})"?/
const LEVEL = /^\W{0,3}(trace|debug|info|notice|warn|warning|error|critical|fatal)\b/i
/** The stdout plugin of Fluent Bit: `[0] tag: [[1733233643.000000000, {}], {"k"=>"v"}]`. */
const FLUENT_STDOUT = /^\[\d+\] [^:]{1,200}: \[\[?(\d{9,11}\.\d{1,9})/
const KLOG_LEVEL: Record<string, string> = { I: 'info', W: 'warning', E: 'error', F: 'fatal' }

function read(line: string, context: TimeContext): Found | null {
  const fluent = FLUENT_STDOUT.exec(line)
  if (fluent) return { at: readEpoch(fluent[1] as string), level: null, message: line }
  const bracketed = BRACKETED.exec(line)
  if (bracketed) {
    const at = readIso(bracketed[1] as string, context)
    if (at) return message(at, line.slice(bracketed[0].length))
  }
  const iso = ISO_FIRST.exec(line)
  if (iso) {
    const at = readIso(iso[1] as string, context)
    if (at) return message(at, line.slice(iso[0].length))
  }
  const stamp = STAMP_FIRST.exec(line)
  if (stamp) {
    const at = readStamp(stamp[1] as string, context, 'local')
    if (at) return message(at, line.slice(stamp[0].length))
  }
  const klog = KLOG.exec(line)
  if (klog) {
    const month = MONTHS[Number(klog[2]) - 1]
    const at = month ? readStamp(`${month} ${Number(klog[3])} ${klog[4]}`, context, 'local') : null
    if (at) return { at, level: KLOG_LEVEL[klog[1] as string] ?? null, message: line.slice(klog[0].length) }
  }
  const logfmt = LOGFMT_TIME.exec(line.length > 400 ? line.slice(0, 400) : line)
  const at = logfmt ? readIso(logfmt[1] as string, context) : null
  return at ? message(at, line) : null
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

function message(at: Instant, rest: string): Found {
  const level = LEVEL.exec(rest.replace(/^\[\s*/, ''))
  return { at, level: level ? (level[1] as string).toLowerCase() : null, message: rest }
}

export const appLog: TextFormat = {
  id: 'app-log',
  title: 'application log: any lines with a time stamp',
  names: [/\.log(\.gz)?$/],
  collect: 'kubectl logs -n <namespace> <pod> -c <container> --timestamps > <pod>.log',
  weak: true,
  recogniser: context => ({
    match: unit => {
      const found = read(unit.text, context)
      if (found) return found
      return unit.wrapper.at ? { at: unit.wrapper.at, level: null, message: unit.text } : null
    },
    continues: () => true,
    // Banners before the first dated line.
    skips: line => !/\d\d:\d\d:\d\d/.test(line) && line.length < 200,
    write: (found, unit, sink) => {
      const f = found as Found
      sink.record(unit.span)
      sink.event.begin(f.at)
      sink.event.subject(unit.wrapper.pod)
      sink.event.kind('log')
      sink.event.reason(f.level)
      const end = unit.text.indexOf('\n')
      sink.event.text(end < 0 ? f.message : f.message + unit.text.slice(end))
    },
  }),
}
