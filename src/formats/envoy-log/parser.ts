import type { Sink } from '../../model/sink.js'
import { get, getString, type JsonObject } from '../text/json.js'
import type { Recogniser, TextFormat, Unit } from '../text/reader.js'
import { readIso, type TimeContext } from '../text/time.js'
import { agentLine, readAgentLine } from './agent.js'
import { readEnvelope } from './envelope.js'
import { type Line, levelName } from './line.js'
import { connectionId, requestId, templateOf, untag } from './message.js'

/** A message that may still go on: `open` once it dumps something, `complete` once its end was seen. */
interface Found {
  readonly line: Line
  open: boolean
  complete: boolean
}

const THREAD = /(?:^|[ \t\n])thread=(\d{1,20})$/
const ESCAPE = '\x1b'
const COLOURS = new RegExp(`${ESCAPE}\\[[0-9;]{0,20}m`, 'g')
/** A line of its own, though none of Envoy's: it begins with a date, or holds a time or a request line. */
const OTHER_RECORD = /^\[?\d{4}-\d\d-\d\d|^(?:time|level)=|\d{4}-\d\d-\d\dT\d\d:\d\d|HTTP\/[\d.]{1,3}"/

const plain = (text: string): string => (text.includes(ESCAPE) ? text.replace(COLOURS, '') : text)

function match(unit: Unit, context: TimeContext): Found | null {
  const line = readEnvelope(plain(unit.text), context)
  return line && { line, open: line.rest.trimEnd().endsWith(':'), complete: line.style === 'istio' && THREAD.test(line.rest.trimEnd()) }
}

/** Lines of a dump that others might take for their own: headers, nested values, what the agent logs line by line. */
function holds(found: Found, text: string, context: TimeContext): boolean {
  if (found.line.style === 'agent') {
    const next = found.open ? readAgentLine(text, context) : null
    return next?.rest.startsWith('\n') === true && next.thread === found.line.thread && next.logger === found.line.logger
  }
  const c = text.charCodeAt(0)
  return found.open && !found.complete && (c === 0x27 || ((c === 0x20 || c === 0x09) && !OTHER_RECORD.test(text.slice(0, 200)))) && goOn(found, text)
}

function continues(found: Found, text: string): boolean {
  if (found.complete || found.line.style === 'agent') return false
  if (text.trim() === '') return found.open
  return !OTHER_RECORD.test(text.slice(0, 200)) && goOn(found, text)
}

function goOn(found: Found, text: string): boolean {
  found.open = true
  found.complete = found.line.style === 'istio' && THREAD.test(text.trimEnd())
  return true
}

function write(found: Found, unit: Unit, sink: Sink, context: TimeContext): void {
  const { line } = found
  const newline = unit.text.indexOf('\n')
  const more = newline < 0 ? '' : plain(unit.text.slice(newline + 1))
  let text = newline < 0 ? line.rest : line.style === 'agent' ? line.rest + agentText(more, context) : `${line.rest}\n${more}`
  let thread = line.thread
  if (line.style === 'istio') {
    const m = THREAD.exec(text.trimEnd())
    if (m) {
      thread = m[1] as string
      text = text.slice(0, m.index)
    }
  }
  writeLine({ ...line, thread, rest: text }, {}, unit, sink)
}

const agentText = (more: string, context: TimeContext): string =>
  more
    .split('\n')
    .map(l => readAgentLine(l, context)?.rest ?? `\n${l}`)
    .join('')

/** `{"level","time","scope":"envoy X","msg","caller","thread"}` of Istio, with the ids as further properties, or the Cilium agent's. */
function json(value: JsonObject, unit: Unit, sink: Sink, context: TimeContext): boolean {
  const line = istioObject(value, context) ?? agentObject(value, context)
  if (!line) return false
  writeLine(line, { connection: idOf(value, 'ConnectionId'), stream: idOf(value, 'StreamId') }, unit, sink)
  return true
}

function istioObject(value: JsonObject, context: TimeContext): Line | null {
  const scope = get(value, 'scope')
  const message = get(value, 'msg')
  if (typeof scope !== 'string' || !scope.startsWith('envoy ') || typeof message !== 'string') return null
  const caller = getString(value, 'caller')
  const colon = caller?.lastIndexOf(':') ?? -1
  const place =
    caller && colon > 0 && /^\d{1,7}$/.test(caller.slice(colon + 1)) ? { file: caller.slice(0, colon), fileLine: Number(caller.slice(colon + 1)) } : { file: null, fileLine: null }
  const at = readIso(getString(value, 'time') ?? '', context)
  return { at, thread: idOf(value, 'thread'), level: levelName(getString(value, 'level')), logger: scope.slice(6), ...place, rest: message, style: 'other' }
}

function agentObject(value: JsonObject, context: TimeContext): Line | null {
  const subsystem = getString(value, 'subsys')
  if (!subsystem?.startsWith('envoy-')) return null
  const fields = Object.entries(value).flatMap(([k, v]): [string, string][] => (typeof v === 'string' || typeof v === 'number' ? [[k, String(v)]] : []))
  return agentLine(new Map(fields), context)
}

/** An id printed as a number or as its digits. */
function idOf(value: JsonObject, key: string): string | null {
  const v = get(value, key)
  const text = typeof v === 'number' ? String(v) : v
  return typeof text === 'string' && /^\d{1,20}$/.test(text) ? text : null
}

function writeLine(line: Line, ids: { connection?: string | null; stream?: string | null }, unit: Unit, sink: Sink): void {
  const tagged = untag(line.rest)
  const stream = ids.stream ?? tagged.stream
  const text = tagged.message.trimEnd().replace(/^\n/, '')
  const { template, args } = templateOf(tagged.message.replace(/^\n/, ''))
  sink.record(unit.span)
  const row = sink.proxy_line
  row.begin(line.at)
  row.proxy(unit.wrapper.pod)
  row.thread(line.thread)
  row.level(line.level)
  row.logger(line.logger)
  row.file(line.file === null ? null : line.file.slice(line.file.lastIndexOf('/') + 1))
  row.file_line(line.fileLine)
  row.connection_id(connectionId(ids.connection ?? tagged.connection, stream))
  row.stream_id(stream)
  row.request_id(requestId(text))
  row.template(template || null)
  row.args(args.length === 0 ? '[]' : JSON.stringify(args))
  row.text(text || null)
  if (!line.at) sink.note('no-time', 'a proxy line without a time stamp', unit.span)
}

export const envoyLog: TextFormat = {
  id: 'envoy-log',
  title: 'Envoy application log',
  names: [/debug[^/]{0,100}\.(?:log|json)(?:\.gz)?$/, /(?:^|\/)envoy(?:-\d{1,4})?\.log(?:\.gz)?$/],
  collect: 'kubectl logs -n <namespace> <pod> -c <container> > <pod>-debug.log',
  recogniser: (context): Recogniser<Found> => ({
    match: unit => match(unit, context),
    holds: (found, line) => holds(found, line, context),
    continues,
    write: (found, unit, sink) => write(found, unit, sink, context),
    json: (value, unit, sink) => json(value, unit, sink, context),
  }),
}
