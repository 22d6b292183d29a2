/** Text formats, compiled, and the choice between those that a member may be written in. */
import type { TimeContext } from '../text/time.js'
import { Pattern } from './matcher.js'
import { merge, putAll, Reading } from './reading.js'
import type { Level } from './shapes.js'
import { parseTemplate, type Token } from './template.js'

const SHIPPED_LEVELS: readonly Level[] = ['plain', 'named', 'redacted']
const GIVEN_LEVELS: readonly Level[] = ['plain', 'named', 'omitted']

/** How much of a line is searched for the end of a record that no line break ends. */
const WINDOW = 4096

/** One text format. */
export class TextTemplate {
  /** Lines that a record takes. */
  readonly lines: number
  /** Records end with a line break. Without, they stand one after the other on one line. */
  readonly terminated: boolean
  private readonly tokens: readonly Token[]
  private readonly levels: readonly Level[]
  private readonly patterns = new Map<Level, Pattern>()
  private readonly opening: Pattern | null

  private constructor(tokens: readonly Token[], terminated: boolean, levels: readonly Level[]) {
    this.tokens = tokens
    this.terminated = terminated
    this.levels = levels
    this.lines = 1 + tokens.reduce((n, t) => n + (typeof t === 'string' ? t.split('\n').length - 1 : 0), 0)
    this.opening = this.lines > 1 ? openingOf(tokens) : null
  }

  /** null where the string has no operator: it can then tell nothing. `shipped`: a product's own, which never omits empty values. */
  static compile(format: string, shipped = false): TextTemplate | null {
    const body = withoutNewline(format.replaceAll('\r\n', '\n'))
    const tokens = parseTemplate(body)
    if (!tokens.some(t => typeof t !== 'string')) return null
    const template = new TextTemplate(tokens, body !== format, shipped ? SHIPPED_LEVELS : GIVEN_LEVELS)
    return template.lines > 1 && !template.opening ? null : template
  }

  /** Equal for formats whose lines cannot be told apart. */
  get key(): string {
    const { prefix, steps } = this.pattern('plain')
    return JSON.stringify([prefix, this.terminated, ...steps.map(s => [s.operator.key, s.literal])])
  }

  /** Whether a client may have written any of a record: then only a line break tells where a record ends. */
  get hasFreeText(): boolean {
    return this.pattern('plain').steps.some(s => s.operator.free)
  }

  has(level: Level): boolean {
    return this.levels.includes(level)
  }

  /** Whether `line` can be the first line of a record of several. */
  opens(line: string): boolean {
    return this.opening?.match(line) != null
  }

  /** Whether `line` is surely the first line of another record, so that the one before it was cut off. */
  reopens(line: string): boolean {
    return this.opening !== null && this.opening.prefix.trim() !== '' && this.opens(line)
  }

  /** What `text` says as one record, or null. */
  read(text: string, level: Level, context: TimeContext): Reading | null {
    const pattern = this.pattern(level)
    const values = pattern.match(text)
    if (!values) return null
    const reading = new Reading()
    putAll(reading, pattern, values, context)
    return reading
  }

  /** What `text` says as one record, at the first level that can read it, or null. */
  readAny(text: string, context: TimeContext): Reading | null {
    for (const level of this.levels) {
      const reading = this.read(text, level, context)
      if (reading) return reading
    }
    return null
  }

  /** The records that stand on one line without a line break between them, each with its end in the line; null where it is anything else. */
  readJoined(line: string, context: TimeContext): { reading: Reading; end: number }[] | null {
    const out: { reading: Reading; end: number }[] = []
    for (let at = 0; at < line.length; ) {
      const found = this.firstJoined(line, at, context)
      if (!found) return null
      out.push(found)
      at = found.end
    }
    return out.length > 0 ? out : null
  }

  private firstJoined(line: string, at: number, context: TimeContext): { reading: Reading; end: number } | null {
    const window = line.slice(at, at + WINDOW)
    for (const level of this.levels) {
      const length = this.pattern(level).firstEnd(window, at + window.length === line.length)
      const reading = length > 0 ? this.read(window.slice(0, length), level, context) : null
      if (reading) return { reading, end: at + length }
    }
    return null
  }

  private pattern(level: Level): Pattern {
    let pattern = this.patterns.get(level)
    if (!pattern) {
      pattern = new Pattern(this.tokens, level)
      this.patterns.set(level, pattern)
    }
    return pattern
  }
}

/** Without the line break that ends a record; `\n` typed as two characters, as it comes from a shell, is one too. */
function withoutNewline(format: string): string {
  return format.endsWith('\n') ? format.slice(0, -1) : format.endsWith('\\n') ? format.slice(0, -2) : format
}

/** The tokens of a format's first line as a pattern; null where it has no operator. */
function openingOf(tokens: readonly Token[]): Pattern | null {
  const first: Token[] = []
  for (const token of tokens) {
    const cut = typeof token === 'string' ? token.indexOf('\n') : -1
    if (cut < 0) first.push(token)
    else {
      if (cut > 0) first.push((token as string).slice(0, cut))
      break
    }
  }
  return first.some(t => typeof t !== 'string') ? new Pattern(first, 'omitted') : null
}

/**
 * The formats that a member may be written in. A line that only one of them can read proves that one to be in use; where
 * several can read a line, the proven one counts, and without proof only what all agree on. So a client cannot make its
 * own text certain by imitating a format that the proxy does not use.
 */
export class TextFormats {
  private readonly templates: readonly TextTemplate[]
  private readonly proven: TextTemplate[] = []

  constructor(templates: readonly TextTemplate[]) {
    this.templates = templates
  }

  read(text: string, context: TimeContext): Reading | null {
    return this.byLevel(text, 'plain', context) ?? this.byLevel(text, 'named', context) ?? this.byLevel(text, 'redacted', context) ?? this.byLevel(text, 'omitted', context)
  }

  private byLevel(text: string, level: Level, context: TimeContext): Reading | null {
    if (this.proven.length > 0) {
      const known = readAll(this.proven, text, level, context)
      if (known) return known.reading
    }
    const found = readAll(this.templates, text, level, context)
    if (found?.only && level === 'plain' && !this.proven.includes(found.only)) this.proven.push(found.only)
    return found?.reading ?? null
  }
}

function readAll(templates: readonly TextTemplate[], text: string, level: Level, context: TimeContext): { reading: Reading; only: TextTemplate | null } | null {
  let reading: Reading | null = null
  let only: TextTemplate | null = null
  for (const template of templates) {
    if (!template.has(level)) continue
    const found = template.read(text, level, context)
    if (!found) continue
    only = reading === null ? template : null
    reading = reading === null ? found : merge(reading, found)
  }
  return reading && { reading, only }
}
