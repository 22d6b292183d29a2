/** The shapes in which Envoy's log lines are printed: what stands before, and sometimes after, the message. */
import { readIso, readStamp, type TimeContext } from '../text/time.js'
import { readAgentLine } from './agent.js'
import { levelName, type Line, withFile } from './line.js'

const LEVELS = 'trace|debug|info|warning|warn|error|critical|off'
const DEFAULT = new RegExp(String.raw`^\[(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?)\]\[(\d{1,20})\]\[(${LEVELS})\](?:\[([^\]\s]{1,100})\])? ?`)
const EPOCH = /^\[Envoy \(Epoch \d{1,6}\)\] /
const ISTIO = new RegExp(
  String.raw`^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z)[ \t]{1,20}(${LEVELS})[ \t]{1,20}envoy ([^\s:]{1,100})(?:[ \t]{1,20}([^\s:]{1,400}\.(?:cc|h)):(\d{1,7}))?(?:\t| {1,20}|$)`,
)
const CONSUL = new RegExp(String.raw`^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?)(Z?)([+-]\d\d:?\d\d)? \[(${LEVELS})\] envoy\.([\w.-]{1,100})\((\d{1,20})\) ?`)
/** A log tool's columns: time, file, level, thread, message. */
const COLUMNS = new RegExp(
  String.raw`^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})?)\t {0,40}([\w.-]{1,100}\.(?:cc|h)):(\d{1,7})\t {0,40}(${LEVELS})\t {0,40}(\d{1,20})\t[ \t]{0,40}`,
)
const GLOG = /^([TDIWEC])(\d\d)(\d\d) (\d\d:\d\d:\d\d(?:\.\d{1,9})?) {1,8}(\d{1,20}) (?:envoy\/)?([^\s:\]]{1,400}\.(?:cc|h)):(\d{1,7})\] (?:\[(\d{1,20})\]\[([^\]\s]{1,100})\] ?)?/
const GLOG_LEVEL: Readonly<Record<string, string>> = { T: 'trace', D: 'debug', I: 'info', W: 'warning', E: 'error', C: 'critical' }
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** Takes the envelope off a line; null where the line has none of Envoy's. */
export function readEnvelope(line: string, context: TimeContext): Line | null {
  const c = line.charCodeAt(0)
  if (c === 0x5b) return readDefault(line.startsWith('[Envoy (') ? line.replace(EPOCH, '') : line, context)
  if (c >= 0x30 && c <= 0x39) return readIstio(line) ?? readConsul(line) ?? readColumns(line, context)
  if (c >= 0x41 && c <= 0x5a) return readGlog(line, context)
  return c >= 0x61 && c <= 0x7a ? readAgentLine(line, context) : null
}

function readDefault(line: string, context: TimeContext): Line | null {
  const m = DEFAULT.exec(line)
  if (!m) return null
  const at = readIso(m[1] as string, context)
  return (
    at &&
    withFile({ at, thread: m[2] as string, level: levelName(m[3] as string), logger: m[4] ?? null, file: null, fileLine: null, rest: line.slice(m[0].length), style: 'other' })
  )
}

function readIstio(line: string): Line | null {
  const m = ISTIO.exec(line)
  if (!m) return null
  const at = readIso(m[1] as string)
  if (!at) return null
  const base = { at, thread: null, level: levelName(m[2] as string), logger: m[3] as string, rest: line.slice(m[0].length), style: 'istio' } as const
  return m[4] === undefined ? withFile({ ...base, file: null, fileLine: null }) : { ...base, file: m[4], fileLine: Number(m[5]) }
}

/** Consul prints local time with its offset, and a `Z` before it that means nothing. */
function readConsul(line: string): Line | null {
  const m = CONSUL.exec(line)
  if (!m) return null
  const at = readIso(`${m[1]}${m[3] ?? m[2]}`)
  return at && { at, thread: m[6] as string, level: levelName(m[4] as string), logger: m[5] as string, file: null, fileLine: null, rest: line.slice(m[0].length), style: 'other' }
}

function readColumns(line: string, context: TimeContext): Line | null {
  const m = COLUMNS.exec(line)
  const at = m ? readIso(m[1] as string, context) : null
  if (!m || !at) return null
  return { at, thread: m[5] as string, level: levelName(m[4] as string), logger: null, file: m[2] as string, fileLine: Number(m[3]), rest: line.slice(m[0].length), style: 'other' }
}

function readGlog(line: string, context: TimeContext): Line | null {
  const m = GLOG.exec(line)
  const month = m ? MONTHS[Number(m[2]) - 1] : undefined
  if (!m || !month) return null
  const at = readStamp(`${month} ${Number(m[3])} ${m[4]}`, context, 'local')
  const level = GLOG_LEVEL[m[1] as string] ?? null
  return at && { at, thread: m[8] ?? (m[5] as string), level, logger: m[9] ?? null, file: m[6] as string, fileLine: Number(m[7]), rest: line.slice(m[0].length), style: 'other' }
}
