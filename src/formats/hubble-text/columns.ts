/** `hubble observe -o table` (columns padded by three blanks or more) and `-o dict` (a line a field). */
import type { Instant } from '../../model/instant.js'
import type { TimeContext } from '../text/time.js'
import { lossOf, VERDICT_WORDS } from './compact.js'
import { type AsideText, type End, type FlowText, isType, type LossText, type RecordText, type TimeText } from './record.js'
import { NO_TIME, readTime, TIME } from './time.js'

const ROW = new RegExp(`^(${TIME})? {3}`)
const VERDICT = new RegExp(`^(?:${VERDICT_WORDS})$`)
const NUMBER = /^\d{1,10}$/
const LOSS_SUMMARY = /^CPU\(-?\d{1,10}\) - (\d{1,20})(?: \((.{0,200})\))?$/
const LOSS_SOURCE = /^(?:[A-Z_]{1,40}|\d{1,10})$/

export const isTableHeader = (line: string): boolean => /^TIMESTAMP {3}[A-Z/ ]{4,600}$/.test(line)

/** One row, read by itself: an empty cell is only known from what the others look like. */
export function readTableRow(line: string, fallback: Instant | null, context: TimeContext): RecordText | null {
  const head = ROW.exec(line) ?? (fallback && line.startsWith('  ') ? ['  ', undefined] : null)
  if (!head) return null
  const cells = line
    .slice((head[0] as string).length)
    .trimStart()
    .split(/ {3,}/)
  const time: TimeText = head[1] === undefined ? { at: fallback, coarse: false } : readTime(head[1], context)
  return readLossRow(cells, time, context) ?? (head[1] === undefined && !fallback ? null : readFlowRow(cells, time))
}

function readLossRow(cells: readonly string[], time: TimeText, context: TimeContext): LossText | null {
  const at = cells.indexOf('EVENTS LOST')
  const summary = at < 0 ? null : LOSS_SUMMARY.exec(cells.at(-1)?.trim() ?? '')
  const source = cells.slice(0, Math.max(at, 0)).find(c => LOSS_SOURCE.test(c))
  return summary && source !== undefined ? lossOf(time, source, summary[1] as string, summary[2], context) : null
}

function readFlowRow(cells: readonly string[], time: TimeText): FlowText | null {
  let at = cells.findIndex((c, i) => i > 0 && VERDICT.test(c.trimEnd()))
  if (at < 0) at = cells.findLastIndex((c, i) => i > 0 && i >= cells.length - 2 && NUMBER.test(c.trimEnd()))
  if (at < 1 || at > 4) return null
  const type = cells[at - 1] as string
  const verdict = (cells[at] as string).trimEnd()
  if (!isType(type, verdict)) return null
  const placed = place(cells.slice(0, at - 1), type)
  return {
    kind: 'flow',
    time,
    ...placed,
    isReply: null,
    type,
    verdict,
    summary: cells.slice(at + 1).join('   '),
    cut: false,
  }
}

/** Node, source and destination from the cells that are not empty. Where they may be told in two ways, none is. */
function place(cells: readonly string[], type: string): Pick<FlowText, 'node' | 'source' | 'destination'> {
  const [a, b, c] = cells
  if (a === undefined) return { node: null, source: end('', type), destination: end('', type) }
  if (b !== undefined && c !== undefined) return { node: a, source: end(b, type), destination: end(c, type) }
  if (b === undefined) return { node: looksLikeEnd(a) ? null : a, source: null, destination: null }
  if (looksLikeEnd(a) || !looksLikeEnd(b)) return { node: null, source: end(a, type), destination: end(b, type) }
  // A node and one end. But the client of a socket event is printed without port, too.
  return { node: type.includes('-xlate-') ? null : a, source: null, destination: null }
}

/** The far end of a socket event may be a service, which has no identity; the near end is printed without port. */
const end = (host: string, type: string): End => ({ host, identity: type.includes('-xlate-') && /:\d{1,5}$/.test(host) ? 'unknown' : null })
const looksLikeEnd = (cell: string): boolean => /^[0-9a-f:.]{2,45}$/i.test(cell) || /:\d{1,5}(?:\([a-z0-9-]{1,40}\))?$/.test(cell)

const DICT_FIRST = new RegExp(`^(?:-{12})? {0,4}TIMESTAMP:(?: {1,2}${TIME})? ?$`)
const DICT_LINE = /^ {0,11}(NODE|SOURCE|DESTINATION|TYPE|VERDICT|SUMMARY|DETAILS|FROM|MARK|CPU|MESSAGE|STATE|NODES):(?: |$)/

export const startsDict = (line: string): boolean => DICT_FIRST.test(line)
export const continuesDict = (line: string): boolean => DICT_LINE.test(line)
export const isDictSeparator = (line: string): boolean => /^-{12}\s*$/.test(line)

/** The lines of one entry. null: it ends before its verdict. */
export function readDict(text: string, context: TimeContext): RecordText | null {
  const fields = new Map<string, string>(text.split('\n').map(readField))
  const stamp = fields.get('TIMESTAMP') ?? ''
  const time = stamp === '' ? NO_TIME : readTime(stamp, context)
  const type = fields.get('TYPE')
  const summary = fields.get('SUMMARY')
  if (fields.has('DETAILS') || fields.has('STATE') || fields.has('MARK')) return ASIDE
  if (type === 'EVENTS LOST') {
    const m = LOSS_SUMMARY.exec(summary ?? '')
    return m ? lossOf(time, fields.get('SOURCE') ?? '', m[1] as string, m[2], context) : null
  }
  const verdict = fields.get('VERDICT')
  if (type === undefined || verdict === undefined || !(VERDICT.test(verdict) || NUMBER.test(verdict))) return null
  const [source, destination] = [end(fields.get('SOURCE') ?? '', type), end(fields.get('DESTINATION') ?? '', type)]
  return { kind: 'flow', time, node: fields.get('NODE') || null, source, destination, isReply: null, type, verdict, summary: summary ?? '', cut: summary === undefined }
}

/** `    VERDICT: DROPPED`. The first line of an entry may stand behind the separator. A summary without flags ends in a blank. */
function readField(line: string): [string, string] {
  const colon = line.indexOf(':')
  const key = line.slice(line.startsWith('-') ? 12 : 0, colon).trim()
  const value = line.slice(colon + 1)
  return [key, key === 'SUMMARY' ? value.slice(1) : value.trim()]
}

const ASIDE: AsideText = { kind: 'aside' }
