/** Settings to rows. Each has the bytes of its own key and value as its span, where the text's characters can be told to be bytes of the member. */
import type { Sink } from '../../model/sink.js'
import { lineSpan, type Span } from '../../model/span.js'
import type { Unit } from '../text/reader.js'
import type { Setting } from './settings.js'

/** `name` stands for what has no name: the file. */
export function writeSettings(settings: readonly Setting[], unit: Unit, name: string, sink: Sink): void {
  const places = placesOf(settings, unit)
  if (!places) {
    sink.record(unit.span)
    for (const s of settings) writeSetting(s, name, sink)
    return
  }
  let at = unit.span.byteStart
  let line = unit.span.line ?? 1
  let last: Span | null = null
  for (const s of [...settings].sort((a, b) => a.start - b.start || a.end - b.end)) {
    const from = places.get(s.start) as Place
    const to = places.get(s.end) as Place
    // Configuration in a string has the place of the string.
    if (from.byte < at && last) sink.recall(last)
    else {
      if (from.byte > at) sink.skip(lineSpan(at, from.byte, line))
      last = lineSpan(from.byte, to.byte, from.line)
      sink.record(last)
      at = to.byte
      line = to.line
    }
    writeSetting(s, name, sink)
  }
  if (at < unit.span.byteEnd) sink.skip(lineSpan(at, unit.span.byteEnd, line))
}

/** Rows with the span of the record that was begun. */
export function writeSetting(s: Setting, name: string, sink: Sink): void {
  const row = sink.setting
  row.begin(null)
  row.subject(s.subject ?? name)
  row.name(s.name)
  row.value(s.value)
  row.unit(s.unit)
}

interface Place {
  readonly byte: number
  readonly line: number
}

/** Where the settings stand in the member, by the characters of the unit's text; null where that cannot be told, or there are none. */
function placesOf(settings: readonly Setting[], { span, text, wrapper }: Unit): Map<number, Place> | null {
  if (wrapper.perLine || settings.length === 0) return null
  const breaks = countBreaks(text)
  // What the span has more than the text: the break at its end; of a text read line by line one byte a line where lines end in CR LF.
  const rest = span.byteEnd - span.byteStart - Buffer.byteLength(text)
  const carriage = breaks > 4 && rest >= breaks && rest <= breaks + 2 ? 1 : 0
  // A byte order mark, or bytes that are no UTF-8.
  if (rest < 0 || (!carriage && rest > 2)) return null
  const places = new Map<number, Place>()
  let seen = 0
  let byte = span.byteStart
  let line = span.line ?? 1
  for (const at of [...new Set(settings.flatMap(s => [s.start, s.end]))].sort((a, b) => a - b)) {
    const between = text.slice(seen, at)
    const lines = countBreaks(between)
    byte += Buffer.byteLength(between) + carriage * lines
    line += lines
    seen = at
    places.set(at, { byte, line })
  }
  return places
}

function countBreaks(text: string): number {
  let n = 0
  for (let i = text.indexOf('\n'); i >= 0; i = text.indexOf('\n', i + 1)) n++
  return n
}
