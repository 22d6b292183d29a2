/** Envoy's access log: text and JSON, as products configure it by default and as users do. See README.md. */
import type { Sink } from '../../model/sink.js'
import { lineSpan, type Span } from '../../model/span.js'
import type { MemberContext } from '../format.js'
import { isJsonObject, parseJson } from '../text/json.js'
import type { TextFormat, Unit } from '../text/reader.js'
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

export const envoyAccess: TextFormat = {
  id: 'envoy-access',
  title: 'Envoy access log: text or JSON of Envoy, Istio, Envoy Gateway, Contour, Consul, Cilium, Emissary, or a format of your own',
  names: [/access.*\.(log|jsonl?)(\.gz)?$/i, /(istio-proxy|envoy)[^/]*\.log(\.gz)?$/i],
  collect: 'kubectl logs -n <namespace> <pod> -c <istio-proxy or envoy> > <pod>.envoy-access.log',
  recogniser: (context: MemberContext) => {
    const given = new GivenFormats(context.accessLogFormats)
    const shipped = new TextFormats(shippedTemplates())
    const readText = (text: string): Reading | null => given.texts.read(text, context) ?? (mayBeShipped(text) ? shipped.read(text, context) : null)
    return {
      match: ({ text }): Found | null => {
        const opened = given.multiline.find(t => t.opens(text))
        if (opened) return { is: 'lines', template: opened, lines: 1 }
        const reading = readText(text)
        return reading ? { is: 'record', reading } : given.readJoined(text, context)
      },
      holds: (found, line) => {
        const f = found as Found
        return f.is === 'lines' && !f.template.reopens(line) && f.lines++ < f.template.lines
      },
      write: (found, unit, sink) => write(found as Found, unit, context, sink),
      json: (value, unit, sink) => {
        const reading = readJson()
        if (!reading) return false
        sink.record(unit.span)
        writeRequest(reading, unit.wrapper.pod, unit.span, sink)
        return true

        function readJson(): Reading | null {
          for (const format of given.json) {
            const found = format.read(value, context)
            if (found) return found
          }
          return readText(unit.text) ?? readByKeys(value, unit.text, context)
        }
      },
    }
  },
}

function write(found: Found, unit: Unit, context: TimeContext, sink: Sink): void {
  const proxy = unit.wrapper.pod
  if (found.is === 'joined') return writeJoined(found.records, unit, sink)
  const reading = found.is === 'record' ? found.reading : (found.template.read(unit.text, 'plain', context) ?? found.template.read(unit.text, 'named', context) ?? found.template.read(unit.text, 'omitted', context))
  if (!reading) return sink.problem('truncated', 'an access-log record of several lines that does not fit its format', unit.span)
  sink.record(unit.span)
  writeRequest(reading, proxy, unit.span, sink)
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
