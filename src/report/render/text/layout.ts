/** Lines on a terminal: evidence is escaped here, measured, broken at blanks and painted, in this order. */
import { Chalk, type ChalkInstance } from 'chalk'
import stringWidth from 'string-width'
import { escapeTerminal } from '../../escape/terminal.js'

export interface TextOptions {
  /** Whether to use SGR colours. */
  readonly color: boolean
  /** Columns of the terminal. */
  readonly width: number
  /** What makes a path of the report one that the reader can open, e.g. `bundle/`. */
  readonly prefix: string
}

/** What all parts of a text rendering share. */
export interface Page {
  readonly paint: ChalkInstance
  readonly width: number
  readonly prefix: string
}

export type Paint = (text: string) => string

/** Columns below which lines overflow rather than break, and above which they get hard to read. */
const NARROWEST = 60
const WIDEST = 160

export const pageOf = (options: TextOptions): Page => ({
  paint: new Chalk({ level: options.color ? 1 : 0 }),
  width: Math.min(WIDEST, Math.max(NARROWEST, options.width || NARROWEST)),
  prefix: options.prefix,
})

const plain: Paint = text => text

export interface Block {
  /** Blanks before every line. */
  readonly indent?: number
  /** What stands before the first line; the others are indented by as much. */
  readonly lead?: string
  /** Most lines; the rest is cut, and said to be. */
  readonly rows?: number
  readonly paint?: Paint
}

/** A paragraph, broken at blanks only: paths, addresses and commands stay whole and can be copied. */
export function block(page: Page, text: string, { indent = 0, lead = '', rows = Number.POSITIVE_INFINITY, paint = plain }: Block = {}): string[] {
  const head = escapeTerminal(lead)
  const hang = indent + widthOf(head)
  const room = page.width - hang
  const lines = wrap(escapeTerminal(text), room)
  const shown = rows < Number.POSITIVE_INFINITY ? clip(lines, rows, room) : lines
  return shown.map((line, i) => (i === 0 ? ' '.repeat(indent) + page.paint.dim(head) : ' '.repeat(hang)) + paint(line))
}

/** One line that is never broken nor cut: a command, a citation. */
export const line = (text: string, { indent = 0, lead = '', paint = plain }: Block = {}): string => `${' '.repeat(indent)}${lead}${paint(escapeTerminal(text))}`

/** A record, cut to `rows` lines: at blanks, and anywhere in words that are wider than a line, as JSON without blanks is. */
export function excerpt(page: Page, text: string, indent: number, rows: number): string[] {
  const room = page.width - indent - 2
  const lines = wrap(escapeTerminal(text), room).flatMap(l => chop(l, room, Number.POSITIVE_INFINITY).lines)
  const rest = lines.slice(rows).reduce((n, l) => n + l.length, 0)
  const shown = rest === 0 ? lines : [...lines.slice(0, rows), `… ${rest} more characters`]
  return shown.map(l => ' '.repeat(indent) + page.paint.dim(`| ${l}`))
}

/** Columns that text takes. */
const widthOf = (text: string): number => (/^[ -~]*$/.test(text) ? text.length : stringWidth(text))

/** Escaped text in at most `room` columns; a cut is shown. */
export const fit = (text: string, room: number): string => (widthOf(text) <= room ? text : `${chop(text, room - 1, 1).lines[0] ?? ''}…`)

function wrap(text: string, room: number): string[] {
  const lines: string[] = []
  let current = ''
  let taken = 0
  for (const [i, word] of text.split(' ').entries()) {
    const width = widthOf(word)
    if (i > 0 && taken + 1 + width > room) {
      lines.push(current)
      current = word
      taken = width
    } else {
      current = i === 0 ? word : `${current} ${word}`
      taken += i === 0 ? width : width + 1
    }
  }
  return [...lines, current]
}

/** The first `rows` lines, none wider than `room`; a cut is shown. */
function clip(lines: readonly string[], rows: number, room: number): string[] {
  const kept = lines.slice(0, rows)
  return kept.map((l, i) => fit(i === kept.length - 1 && lines.length > rows ? `${l} …` : l, room))
}

/** Lines of at most `room` columns, and how many characters were left over. */
function chop(text: string, room: number, rows: number): { lines: string[]; rest: number } {
  const characters = [...text]
  const lines: string[] = []
  let at = 0
  while (at < characters.length && lines.length < rows) {
    let line = ''
    let taken = 0
    while (at < characters.length) {
      const c = characters[at] as string
      const width = widthOf(c)
      if (taken + width > room && line !== '') break
      line += c
      taken += width
      at++
    }
    lines.push(line)
  }
  return { lines, rest: characters.length - at }
}
