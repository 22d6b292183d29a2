/** Envoy's access log: text and JSON, as products configure it by default and as users do. See README.md. */
import type { Sink } from '../../model/sink.js'
import { lineSpan, type Span } from '../../model/span.js'
import type { MemberContext } from '../format.js'
import { getObject, getString, isJsonObject, type JsonObject, parseJson } from '../text/json.js'
import type { Recogniser, TextFormat, Unit } from '../text/reader.js'
import type { TimeContext } from '../text/time.js'
import { JsonFormat, readByKeys } from './json.js'
import type { Reading } from './reading.js'
import { writeRequest } from './request.js'
import { shippedTemplates } from './shipped.js'
import { TextFormats, TextTemplate } from './text-formats.js'

type Found =
  | { readonly is: 'record'; readonly reading: Reading }
  | { readonly is: 'joined'; readonly records: readonly { reading: Reading; end: number }[] }
  | { readonly is: 'lines'; readonly template: TextTemplate; lines: number }

/** The formats that the user or the bundle's configuration gives. */
class GivenFormats {
  readonly texts: TextFormats
  readonly json: readonly JsonFormat[]
  readonly joined: readonly TextTemplate[]
  readonly multiline: readonly TextTemplate[]

  constructor(formats: readonly string[]) {
    const json: JsonFormat[] = []
    const texts: TextTemplate[] = []
    for (const format of formats) {
      const value = format.endsWith('\n') ? undefined : parseJson(format)
      const map = isJsonObject(value) ? JsonFormat.compile(value) : null
      const template = map ? null : TextTemplate.compile(format)
      if (map) json.push(map)
      if (template) texts.push(template)
    }
    this.json = json
    this.texts = new TextFormats(texts.filter(t => t.lines === 1))
    this.joined = texts.filter(t => !t.terminated && t.lines === 1 && !t.hasFreeText)
    this.multiline = texts.filter(t => t.lines > 1)
  }

  readJoined(line: string, context: TimeContext): Found | null {
    for (const template of this.joined) {
      const records = template.readJoined(line, context)
      if (records && records.length > 1) return { is: 'joined', records }
    }
    return null
  }
}

/** A line of a shipped text format begins with one of these. */
const mayBeShipped = (text: string): boolean => {
  const c = text.charCodeAt(0)
  return c === 0x5b ? isDigit(text.charCodeAt(1)) : c === 0x41 ? text.startsWith('ACCESS [') : c === 0x7b && text.startsWith('{"start_time":"')
}
const isDigit = (c: number): boolean => c >= 0x30 && c <= 0x39

/** Reads the units of one member. */
class AccessLog implements Recogniser<Found> {
  private readonly given: GivenFormats
  private readonly shipped = new TextFormats(shippedTemplates())
  private readonly context: TimeContext

  constructor(context: MemberContext) {
    this.given = new GivenFormats(context.accessLogFormats)
    this.context = context
  }

  match({ text }: Unit): Found | null {
    const opened = this.given.multiline.find(t => t.opens(text))
    if (opened) return { is: 'lines', template: opened, lines: 1 }
    const reading = this.text(text)
    return reading ? { is: 'record', reading } : this.given.readJoined(text, this.context)
  }

  holds(found: Found, line: string): boolean {
    return found.is === 'lines' && !found.template.reopens(line) && found.lines++ < found.template.lines
  }

  write(found: Found, unit: Unit, sink: Sink): void {
    if (found.is === 'joined') return writeJoined(found.records, unit, sink)
    const reading = found.is === 'record' ? found.reading : found.template.readAny(unit.text, this.context)
    if (!reading) return sink.problem('truncated', 'an access-log record of several lines that does not fit its format', unit.span)
    sink.record(unit.span)
    writeRequest(reading, unit.wrapper.pod, unit.span, sink)
  }

  json(value: JsonObject, unit: Unit, sink: Sink): boolean {
    const reading = this.object(value, unit.text) ?? this.shipment(value)
    if (!reading) return false
    sink.record(unit.span)
    writeRequest(reading, unit.wrapper.pod ?? getString(getObject(value, 'kubernetes'), 'pod_name'), unit.span, sink)
    return true
  }

  private text(text: string): Reading | null {
    return this.given.texts.read(text, this.context) ?? (mayBeShipped(text) ? this.shipped.read(text, this.context) : null)
  }

  /** A JSON object as a record, or a text that only looks like one. */
  private object(value: JsonObject, text: string): Reading | null {
    for (const format of this.given.json) {
      const reading = format.read(value, this.context)
      if (reading) return reading
    }
    for (const template of this.given.multiline) {
      const reading = template.readAny(text, this.context)
      if (reading) return reading
    }
    return this.text(text) ?? readByKeys(value, text, this.context)
  }

  /** The line that a log shipper (Fluent Bit, Fluentd) put into an object of its own. */
  private shipment(value: JsonObject): Reading | null {
    const line = getString(value, 'log')?.trimEnd()
    if (line === undefined) return null
    const inner = line.startsWith('{') ? parseJson(line) : undefined
    return isJsonObject(inner) ? this.object(inner, line) : this.text(line)
  }
}

export const envoyAccess: TextFormat = {
  id: 'envoy-access',
  title: 'Envoy access log: text or JSON of Envoy, Istio, Envoy Gateway, Contour, Consul, Cilium, Emissary, or a format of your own',
  names: [/access.{0,100}\.(log|jsonl?)(\.gz)?$/i, /(istio-proxy|envoy)[^/]{0,100}\.log(\.gz)?$/i],
  collect: 'kubectl logs -n <namespace> <pod> -c <istio-proxy or envoy> > <pod>.envoy-access.log',
  recogniser: context => new AccessLog(context) as Recogniser,
}

/** Records that share a line have spans of their own where each character is a byte, and the line's span otherwise. */
function writeJoined(records: readonly { reading: Reading; end: number }[], unit: Unit, sink: Sink): void {
  const { span, text } = unit
  const rest = span.byteEnd - span.byteStart - text.length
  const apart = rest >= 0 && rest <= 2 && !unit.wrapper.perLine
  if (!apart) sink.record(span)
  let start = span.byteStart
  records.forEach(({ reading, end }, i) => {
    let own: Span = span
    if (apart) {
      own = lineSpan(start, i === records.length - 1 ? span.byteEnd : span.byteStart + end, span.line ?? 1)
      start = own.byteEnd
      sink.record(own)
    }
    writeRequest(reading, unit.wrapper.pod, own, sink)
  })
}
