import type { Instant } from '../../model/instant.js'
import type { Sink } from '../../model/sink.js'
import { type Reading, readAccessLine } from '../gorouter-access/line.js'
import { writeAccess } from '../gorouter-access/parser.js'
import type { TextFormat, Unit } from '../text/reader.js'
import { readIso, type TimeContext } from '../text/time.js'
import { factOf, type InstanceFact } from './facts.js'

interface Found {
  readonly at: Instant
  /** Who speaks: `APP/PROC/WEB/0`, `CELL/1`, `RTR/0`. */
  readonly tag: string
  readonly stream: 'OUT' | 'ERR'
  readonly text: string
  /** The access line that a `RTR` line holds. */
  readonly access: Reading | null
}

const PREFIX = /^\s{0,8}(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)) \[([A-Za-z]{2,20}\/[^\]]{0,300})\]\s{0,30}(OUT|ERR)(?: |$)/

function read(line: string, context: TimeContext): Found | null {
  const m = PREFIX.exec(line)
  const at = m ? readIso(m[1] as string) : null
  if (!m || !at) return null
  const tag = m[2] as string
  const text = line.slice(m[0].length)
  return { at, tag, stream: m[3] as Found['stream'], text, access: tag.startsWith('RTR/') ? readAccessLine(text, context) : null }
}

function writeLine(found: Found, text: string, sink: Sink): void {
  const e = sink.event
  e.begin(found.at)
  e.subject(found.tag)
  e.kind('log')
  e.reason(found.stream)
  e.text(text === '' ? null : text)
  const fact = factOf(found.tag, found.text)
  if (fact) writeFact(fact, found.at, sink)
}

function writeFact(fact: InstanceFact, at: Instant, sink: Sink): void {
  const f = sink.pod_fact
  f.begin(at)
  f.subject(fact.subject)
  f.kind('instance')
  f.node(fact.node)
  f.what(fact.what)
  f.reason(fact.reason)
  f.t_earliest(at.ns)
  f.t_latest(at.ns)
}

function write(found: Found, unit: Unit, sink: Sink): void {
  if (found.access !== null) {
    writeAccess(found.access, unit, sink)
    return
  }
  sink.record(unit.span)
  const end = unit.text.indexOf('\n')
  writeLine(found, end < 0 ? found.text : found.text + unit.text.slice(end), sink)
}

const BANNER = /^(?:Retrieving logs for app|Connected, (?:tailing|dumping recent) logs for app) /
/** Early releases of the command (version 6) print the first line of a message after the prefix and the others below it, indented by its width. */
const INDENTED = /^ {30,200}\S/

export const cfAppLog: TextFormat = {
  id: 'cf-app-log',
  title: 'cf logs: application log with platform lines (Cloud Foundry)',
  names: [/(^|\/)cf[-_.]?(app[-_.]?)?logs?[^/]{0,100}\.(txt|log)(\.gz)?$/],
  collect: 'cf logs <app> --recent > cf-logs.txt',
  recogniser: context => ({
    match: unit => read(unit.text, context),
    write: (found, unit, sink) => write(found as Found, unit, sink),
    continues: (_, line) => INDENTED.test(line),
    skips: line => BANNER.test(line),
  }),
}
