/**
 * Text formats are read unit by unit: a line, a line with its continuation lines, or a JSON value that may span lines.
 * A text format is a `Recogniser`; one member may hold several (a container's stdout mixes access and application log),
 * so every unit is offered to the member's own format first and then to the others.
 */
import { limits } from '../../limits.js'
import type { Sink } from '../../model/sink.js'
import { lineSpan, type Span } from '../../model/span.js'
import type { Block, Format, FormatId, MemberContext, Parser } from '../format.js'
import { decode } from './bytes.js'
import { depthOf, isJsonObject, parseJson, type JsonObject, scanJson } from './json.js'
import { ListReader, openingOf } from './list.js'
import { peel, type Peeled } from './wrappers.js'

/** One unit of text as recognisers see it. */
export interface Unit {
  readonly span: Span
  /** The unit without what wrapped it (CRI, `kubectl --prefix`, grep -n …), without its newline. Continuation lines are joined by `\n`. */
  readonly text: string
  readonly wrapper: Peeled
}

/**
 * How one text format reads its units. `match` looks at the first line (`unit.text` is that line) and answers what it
 * found or null; `write` gets it back when the unit is complete. `json` takes a parsed JSON object, or declines it.
 */
export interface Recogniser<M = unknown> {
  match?(unit: Unit): M | null
  write?(found: M, unit: Unit, sink: Sink): void
  /** Whether a line that nothing recognises continues the unit that this recogniser began. */
  continues?(found: M, line: string): boolean
  /** Whether a line belongs to the unit that this recogniser began, whatever it looks like to others: a block of YAML, a dumped payload. */
  holds?(found: M, line: string): boolean
  json?(value: JsonObject, unit: Unit, sink: Sink): boolean
  /** Whether a JSON object with this beginning, up to the bracket that opens its `items`, is a list whose items this format reads one by one. */
  list?(head: string): boolean
  /** Lines without evidence that belong to this format: table headers, separators, banners. */
  skips?(line: string): boolean
}

export interface TextFormat extends Omit<Format, 'sniff' | 'open' | 'split'> {
  /** `line` unless a unit's meaning depends on earlier ones (a table's header). */
  readonly split?: 'none' | 'line' | 'resync'
  /** True for a format that takes almost any line: asked only where it is the member's own. */
  readonly weak?: boolean
  /** Whether the beginning of a member can be this format's at all: asked where single lines do not tell. */
  confirms?(head: Buffer): boolean
  /** Another format that reads the units of this one's members, too, and whether the beginning of a member says that they are this one's: it then has the other's votes. */
  readonly refines?: { readonly id: FormatId; when(head: Buffer): boolean }
  recogniser(context: MemberContext): Recogniser
}

interface Named {
  readonly id: FormatId
  readonly recogniser: Recogniser
}

/** Makes the formats of a list of text formats: they share the reader and know of each other. */
export function textFormats(list: readonly TextFormat[]): Format[] {
  return list.map(own => ({
    id: own.id,
    title: own.title,
    names: own.names,
    split: own.split ?? 'line',
    collect: own.collect,
    sniff: (head, context) => (own.confirms?.(head) === false ? 0 : share(list, own.id, head, context)),
    // A weak format is asked only where the member is its own: elsewhere it would turn lines that nobody understood into events, and hide them.
    open: context =>
      new TextParser(
        order(list, own.id)
          .filter(f => !f.weak || f.id === own.id)
          .map(f => named(f, context)),
      ),
  }))
}

/** The member's own format first; a weak one last even then, for it would take what others read better. */
const order = (list: readonly TextFormat[], first: FormatId): TextFormat[] => {
  const strong = list.filter(f => !f.weak)
  return [...strong.filter(f => f.id === first), ...strong.filter(f => f.id !== first), ...list.filter(f => f.weak)]
}
const named = (f: TextFormat, context: MemberContext): Named => ({ id: f.id, recogniser: f.recogniser(context) })

const shares = new WeakMap<Buffer, Map<FormatId, number>>()

/** Each unit of the head is a vote for the first format that takes it; the share of votes is the score. */
function share(list: readonly TextFormat[], id: FormatId, head: Buffer, context: MemberContext): number {
  let votes = shares.get(head)
  if (!votes) {
    votes = new Map()
    const count = new Map<FormatId, number>()
    let total = 0
    const vote = (who: FormatId | null) => {
      total++
      if (who) count.set(who, (count.get(who) ?? 0) + 1)
    }
    const parser = new TextParser(
      [...list.filter(f => !f.weak), ...list.filter(f => f.weak)].map(f => named(f, context)),
      vote,
    )
    parser.parse({ bytes: head, byteStart: 0, line: 1, last: head.length < limits.head }, silent)
    const strong = [...count].filter(([f]) => !list.find(l => l.id === f)?.weak)
    // A weak format takes almost any line: it is the member's own only where no other format has anything.
    for (const [f, n] of strong.length > 0 ? strong : count) votes.set(f, total === 0 ? 0 : 0.1 + (0.9 * n) / total)
    refine(list, votes, head)
    shares.set(head, votes)
  }
  return votes.get(id) ?? 0
}

/** The votes of a format go to the first one that refines it for this member. */
function refine(list: readonly TextFormat[], votes: Map<FormatId, number>, head: Buffer): void {
  for (const { id, refines } of list) {
    const won = refines && votes.get(refines.id)
    if (!refines || won === undefined || !refines.when(head)) continue
    votes.set(id, Math.max(won, votes.get(id) ?? 0))
    votes.delete(refines.id)
  }
}

const noop = () => 0
const silentWriter: unknown = new Proxy({}, { get: () => noop })
/** A sink that keeps nothing. */
export const silent = new Proxy({}, { get: (_, key) => (['record', 'problem', 'skip', 'note', 'lost'].includes(String(key)) ? noop : silentWriter) }) as Sink

interface Pending {
  readonly by: Named
  readonly found: unknown
  readonly wrapper: Peeled
  readonly byteStart: number
  readonly line: number
  byteEnd: number
  text: string
}

const continues = (p: Pending, line: string): boolean => p.by.recogniser.continues?.(p.found, line) === true

/** Reads text units of several formats from the blocks of one member. */
export class TextParser implements Parser {
  private readonly formats: readonly Named[]
  private readonly vote: ((by: FormatId | null) => void) | null
  private pending: Pending | null = null
  /** Inside a JSON array of records at the top of the member. */
  private inArray = false
  /** Reads the list object that the member is in, item by item. */
  private list: ListReader | null = null
  /** Where the line began that is too long and not at its end yet. */
  private longLine: { readonly byteStart: number; readonly line: number } | null = null

  constructor(formats: readonly Named[], vote: ((by: FormatId | null) => void) | null = null) {
    this.formats = formats
    this.vote = vote
  }

  atStart(): boolean {
    return this.pending === null && !this.inArray && this.list === null && this.longLine === null
  }

  parse(block: Block, sink: Sink): number {
    const { bytes } = block
    let at = 0
    let line = block.line
    while (at < bytes.length) {
      // Parts of a list are no lines: there may be a million of them in one.
      const { list } = this
      const newline = list ? -1 : bytes.indexOf(10, at)
      const complete = newline >= 0
      if (!list && !complete && !block.last && bytes.length - at <= limits.line) break
      const end = complete ? newline : bytes.length
      const next = complete ? end + 1 : end
      const span = lineSpan(block.byteStart + at, block.byteStart + next, line)
      if (!list && (this.longLine || next - at > limits.line)) {
        this.passOver(span, complete || block.last, sink)
        at = next
        if (complete) line++
        continue
      }
      const taken = list ? this.listPart(list, block, at, line, sink) : this.unit(block, at, end, next, span, sink)
      if (taken === 0) break
      line += countLines(bytes, at, taken)
      at = taken
    }
    if (block.last) this.flush(sink)
    return at
  }

  /** A line that is too long, block by block: one problem at its end. */
  private passOver(span: Span, ends: boolean, sink: Sink): void {
    if (!this.longLine) {
      this.flush(sink)
      this.vote?.(null)
    }
    const from = this.longLine ?? { byteStart: span.byteStart, line: span.line ?? 1 }
    this.longLine = ends ? null : from
    if (ends) sink.problem('limit', `a line longer than ${limits.line} bytes was not read`, lineSpan(from.byteStart, span.byteEnd, from.line))
  }

  /** Reads the unit that begins at `at`. Answers where it ends, or 0 where more bytes are needed. */
  private unit(block: Block, at: number, end: number, next: number, span: Span, sink: Sink): number {
    const { bytes } = block
    const stop = end > at && bytes[end - 1] === 13 ? end - 1 : end
    const raw = decode(bytes, span.byteStart === 0 && startsWithBom(bytes, at) ? at + 3 : at, stop)
    const wrapper = peel(raw)
    const payload = wrapper.payload
    const pending = this.pending && sameOrigin(this.pending.wrapper, wrapper) ? this.pending : null
    if (pending?.by.recogniser.holds?.(pending.found, payload)) {
      this.extend(span, payload, sink)
      return next
    }
    if (isBlank(payload)) {
      if (pending && continues(pending, payload)) this.extend(span, payload, sink)
      else this.skip(span, sink)
      return next
    }
    const first = payload.charCodeAt(firstVisible(payload))
    if (first === 0x7b) {
      const opened = raw === payload ? this.openList(block, at, span.line ?? 1, sink) : null
      if (opened !== null) return opened
      const taken = this.jsonUnit(block, at, stop, next, span, raw, wrapper, sink)
      if (taken !== null) return taken
    } else if (this.arrayPunctuation(payload, wrapper, raw)) {
      this.skip(span, sink)
      return next
    }
    this.lineUnit(payload, wrapper, span, sink)
    return next
  }

  private lineUnit(payload: string, wrapper: Peeled, span: Span, sink: Sink): void {
    const unit: Unit = { span, text: payload, wrapper }
    for (const f of this.formats) {
      const found = f.recogniser.match?.(unit) ?? null
      if (found !== null) {
        this.flush(sink)
        this.pending = { by: f, found, wrapper, byteStart: span.byteStart, byteEnd: span.byteEnd, line: span.line ?? 1, text: payload }
        this.vote?.(f.id)
        return
      }
    }
    for (const f of this.formats)
      if (f.recogniser.skips?.(payload)) {
        this.skip(span, sink)
        return
      }
    if (this.pending && sameOrigin(this.pending.wrapper, wrapper) && continues(this.pending, payload)) {
      this.extend(span, payload, sink)
      return
    }
    this.flush(sink)
    this.vote?.(null)
    sink.problem('not-recognised', 'a line that no format recognises', span)
  }

  /** A JSON object that starts on this line. null: it is not one, and is read as a line. */
  private jsonUnit(block: Block, at: number, stop: number, next: number, span: Span, raw: string, wrapper: Peeled, sink: Sink): number | null {
    const trimmed = trimEnd(wrapper.payload)
    const text = this.inArray && trimmed.endsWith(',') ? trimmed.slice(0, -1) : trimmed
    const balance = depthOf(text)
    if (balance === 'closed') {
      if (this.jsonText(text, { span, text, wrapper }, sink)) return next
      // Formats that print text which only looks like JSON get it as a line.
      for (const f of this.formats) {
        const found = f.recogniser.match?.({ span, text, wrapper }) ?? null
        if (found === null) continue
        this.flush(sink)
        this.vote?.(f.id)
        f.recogniser.write?.(found, { span, text, wrapper }, sink)
        return next
      }
      this.flush(sink)
      this.vote?.(null)
      if (parseJson(text) === undefined) sink.problem('not-json', 'a line that looks like JSON and is not', span)
      else sink.problem('not-recognised', 'a JSON object of no known format', span)
      return next
    }
    if (balance === 'broken') return null
    if (raw !== wrapper.payload && wrapper.perLine) return this.torn(span, sink, next)
    const start = at + (stop - at - Buffer.byteLength(wrapper.payload))
    const found = scanJson(block.bytes, start, limits.depth)
    if (found.end === 'torn') return this.torn(span, sink, next)
    if (found.end === 'more') {
      if (!block.last && block.bytes.length - at < limits.unit) return 0
      this.flush(sink)
      this.vote?.(null)
      // What follows the brace may still be readable: only this line is given up.
      sink.problem('truncated', 'a JSON value that does not end', span)
      return next
    }
    let close = found.at
    while (close < block.bytes.length && (block.bytes[close] === 32 || block.bytes[close] === 13 || block.bytes[close] === 44)) close++
    // The line's end belongs to the value wherever the block ends.
    if (close === block.bytes.length && !block.last && close - at < limits.unit) return 0
    if (close < block.bytes.length && block.bytes[close] === 10) close++
    else close = found.at
    const whole = lineSpan(span.byteStart, block.byteStart + close, span.line ?? 1)
    const value = decode(block.bytes, start, found.at)
    if (!this.jsonText(value, { span: whole, text: value, wrapper }, sink)) {
      this.flush(sink)
      this.vote?.(null)
      if (parseJson(value) === undefined) sink.problem('not-json', 'a JSON value that is malformed', whole)
      else sink.problem('not-recognised', 'a JSON object of no known format', whole)
    }
    return close
  }

  /** Enters a list whose items are read one by one. null: it is none, 0: more bytes are needed. */
  private openList(block: Block, at: number, line: number, sink: Sink): number | null {
    const opened = openingOf(block, at, head => this.formats.find(f => f.recogniser.list?.(head))?.id ?? null)
    if (opened === null || opened.to === 0) return opened && 0
    this.vote?.(opened.by)
    this.list = new ListReader({ item: (text, unit, to) => this.jsonText(text, unit, to), lost: () => this.vote?.(null) })
    this.skip(lineSpan(block.byteStart + at, block.byteStart + opened.to, line), sink)
    return opened.to
  }

  private listPart(list: ListReader, block: Block, at: number, line: number, sink: Sink): number {
    const to = list.part(block, at, line, sink)
    if (list.ended) this.list = null
    return to
  }

  private torn(span: Span, sink: Sink, next: number): number {
    this.flush(sink)
    this.vote?.(null)
    sink.problem('truncated', 'a JSON record that was cut off', span)
    return next
  }

  private jsonText(text: string, unit: Unit, sink: Sink): boolean {
    const value = parseJson(text)
    if (!isJsonObject(value)) return false
    this.flush(sink)
    for (const f of this.formats)
      if (f.recogniser.json?.(value, unit, sink)) {
        this.vote?.(f.id)
        return true
      }
    return false
  }

  /** `[`, `]` and `,` between the records of a JSON array. */
  private arrayPunctuation(payload: string, wrapper: Peeled, raw: string): boolean {
    if (raw !== wrapper.payload) return false
    const p = payload.trim()
    if (p === '[') {
      this.inArray = true
      return true
    }
    if (this.inArray && (p === ']' || p === ',' || p === '],')) {
      if (p !== ',') this.inArray = false
      return true
    }
    return false
  }

  private extend(span: Span, payload: string, sink: Sink): void {
    const p = this.pending
    if (!p) return
    if (p.text.length + payload.length > limits.unit) {
      this.flush(sink)
      sink.problem('limit', `a message longer than ${limits.unit} bytes was cut`, span)
      return
    }
    p.text += `\n${payload}`
    p.byteEnd = span.byteEnd
  }

  private skip(span: Span, sink: Sink): void {
    this.flush(sink)
    sink.skip(span)
  }

  private flush(sink: Sink): void {
    const p = this.pending
    if (!p) return
    this.pending = null
    const span = lineSpan(p.byteStart, p.byteEnd, p.line)
    p.by.recogniser.write?.(p.found, { span, text: p.text, wrapper: p.wrapper }, sink)
  }
}

/** Whether two lines may be of one message: of one pod, container and stream. */
const sameOrigin = (a: Peeled, b: Peeled): boolean => a.pod === b.pod && a.container === b.container && a.stream === b.stream

const startsWithBom = (b: Buffer, at: number): boolean => b[at] === 0xef && b[at + 1] === 0xbb && b[at + 2] === 0xbf
const isBlank = (s: string): boolean => firstVisible(s) === s.length
function firstVisible(s: string): number {
  let i = 0
  while (i < s.length && (s.charCodeAt(i) === 32 || s.charCodeAt(i) === 9 || s.charCodeAt(i) === 13)) i++
  return i
}
function trimEnd(s: string): string {
  let n = s.length
  while (n > 0 && s.charCodeAt(n - 1) <= 32) n--
  return s.slice(0, n)
}
/** Looks no further than `to`: what follows may be a line of megabytes, and is looked at again. */
function countLines(b: Buffer, from: number, to: number): number {
  const part = b.subarray(from, to)
  let n = 0
  for (let i = part.indexOf(10); i >= 0; i = part.indexOf(10, i + 1)) n++
  return n
}
