/** Timelines as lines of text and as CSV. */
import { plainAddress } from '../text/address.js'
import { columnOf, isOpen, readTime, type Values } from './entry.js'

/** At least one end is a time, and no line begins with it: most log lines end here. */
const LATER_TIME = /[\s=~"](?:\d{4}[-/]\d\d[-/]\d\d|\d{10})/
const BLANKS = new Set([' ', '\t'])

/**
 * `10.0.0.66 default/web-1 from 2024-12-03T13:17:00Z to 2024-12-03T13:31:05Z approx`; owner first; `pod=… ip=… from=… to=…`;
 * bare columns `ip owner from to [note]`. null where the line is not of such a shape.
 */
export function readLine(line: string): Values | null {
  if (line.length > 2000 || !LATER_TIME.test(line)) return null
  const words = wordsOf(line)
  if (words.length < 3 || words.length > 40) return null
  return pairs(words) ?? sentence(words)
}

/** Words apart by blanks; a date and the time after it are one. */
function wordsOf(line: string): string[] {
  const words: string[] = []
  let word = ''
  for (const c of `${line} `) {
    if (!BLANKS.has(c)) word += c
    else if (word !== '') {
      if (/^\d\d:\d\d/.test(word) && /^~?\d{4}-\d\d-\d\d$/.test(words.at(-1) ?? '')) words.push(`${words.pop()} ${word}`)
      else words.push(word)
      word = ''
    }
  }
  return words
}

/** `key=value` words only; what follows the last of them is a note. */
function pairs(words: readonly string[]): Values | null {
  const values: Partial<Record<keyof Values, string>> = {}
  for (const w of words) {
    const eq = w.indexOf('=')
    const key = eq > 0 ? columnOf(w.slice(0, eq)) : null
    if (!key) return null
    values[key] = unquote(w.slice(eq + 1))
  }
  return complete(values)
}

function sentence(words: readonly string[]): Values | null {
  const rest = words.map(w => (w.endsWith(',') || w.endsWith(';') ? w.slice(0, -1) : w))
  if (['pod', 'ip', 'address'].includes(rest[0]?.toLowerCase() ?? '')) rest.shift()
  const first = rest.shift() ?? ''
  const ip = addressOf(first)
  while (['pod', 'owner', 'owned', 'by', 'ip', 'address', 'had', 'has', 'held', '->', '=', ':', 'belonged', 'to'].includes(rest[0]?.toLowerCase() ?? '') && rest.length > 2)
    rest.shift()
  const second = rest.shift() ?? ''
  const other = ip === null ? addressOf(second) : null
  const owner = ip === null ? first : second
  if ((ip ?? other) === null || !isName(owner)) return null
  const values: Partial<Record<keyof Values, string>> = { ip: (ip ?? other) as string, owner: owner.endsWith(':') ? owner.slice(0, -1) : owner }
  return interval(rest, values)
}

/** `from T to T`, `since T`, `T - T`, `T T`; the rest is a note. */
function interval(words: readonly string[], values: Partial<Record<keyof Values, string>>): Values | null {
  let i = 0
  const next = () => words[i]?.toLowerCase() ?? ''
  const time = (): string | null => {
    const open = i < words.length && isOpen(words[i] as string)
    const approximate = ['~', 'about', 'approx', 'approx.', 'around', 'ca.'].includes(next())
    if (approximate && i + 1 < words.length && readTime(words[i + 1] as string, ANYWHERE)) {
      i += 2
      return `~${words[i - 1]}`
    }
    return open || readTime(words[i] ?? '', ANYWHERE) ? (words[i++] as string) : null
  }
  const worded = columnOf(next()) === 'from'
  if (worded) i++
  const to = columnOf(next()) === 'to'
  const from = to ? null : time()
  if (from === null && !to) return null
  if (['to', 'until', 'till', '-', '–', '—', '..', '...', '->', '→'].includes(next()) && i + 1 < words.length) i++
  const end = i < words.length ? time() : null
  // Two bare columns are an interval; one is a log line.
  if (end === null && (from === null || isOpen(from) || !worded)) return null
  const note = words.slice(i).join(' ')
  return complete({ ...values, from: from ?? '', to: end ?? '', note: note === '' ? undefined : note } as Partial<Record<keyof Values, string>>)
}

const ANYWHERE = { reference: null, zoneMinutes: null }
const addressOf = (word: string): string | null => plainAddress(word) ?? (word.endsWith(':') ? plainAddress(word.slice(0, -1)) : null)
const isName = (word: string): boolean =>
  word.length <= 400 && /[A-Za-z]/.test(word) && /^[\w.@:*-]{1,253}(?:\/[\w.@:*-]{1,253}){0,2}$/.test(word) && plainAddress(word) === null && readTime(word, ANYWHERE) === null
const complete = (v: Partial<Record<keyof Values, string>>): Values | null =>
  v.ip !== undefined && v.owner !== undefined && (v.from !== undefined || v.to !== undefined) ? (v as Values) : null

export interface Header {
  readonly separator: string
  readonly columns: readonly (keyof Values | null)[]
}

/** A CSV header names an address and an owner and, for the rest, columns of its own. */
export function readHeader(line: string): Header | null {
  if (line.length > 1000) return null
  for (const separator of [',', ';', '\t']) {
    const names = split(line, separator)
    if (names.length < 2 || names.length > 40) continue
    const columns = names.map(columnOf)
    if (columns.includes('ip') && columns.includes('owner') && names.every(n => /^[A-Za-z][\w -]{0,30}$/.test(n))) return { separator, columns }
  }
  return null
}

/** A row under its header; null where it has not as many cells, or no address where the address belongs. */
export function readRow(line: string, header: Header): Values | null {
  const cells = split(line, header.separator)
  if (cells.length !== header.columns.length) return null
  const values: Partial<Record<keyof Values, string>> = {}
  for (const [i, c] of header.columns.entries()) if (c !== null) values[c] ??= cells[i] as string
  return values.ip !== undefined && values.owner !== undefined && addressOf(values.ip) !== null ? (values as unknown as Values) : null
}

/** Cells of a CSV line; `"` quotes, doubled within. */
function split(line: string, separator: string): string[] {
  const cells: string[] = []
  let cell = ''
  let quoted = false
  for (let i = 0; i < line.length; i++) {
    const c = line[i] as string
    if (quoted) {
      if (c !== '"') cell += c
      else if (line[i + 1] === '"') cell += line[++i]
      else quoted = false
    } else if (c === '"' && cell.trim() === '') {
      cell = ''
      quoted = true
    } else if (c === separator) {
      cells.push(cell.trim())
      cell = ''
    } else cell += c
  }
  cells.push(cell.trim())
  return cells
}

const unquote = (text: string): string => (text.length > 1 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text)
