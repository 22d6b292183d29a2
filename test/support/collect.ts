/** Reads bytes with one format and gives back what it wrote, as plain objects: how tests look at a parser. */
import type { Format, MemberContext } from '../../src/formats/format.js'
import type { Instant } from '../../src/model/instant.js'
import type { ProblemKind, Sink } from '../../src/model/sink.js'
import type { Span } from '../../src/model/span.js'
import { type EvidenceTable, tables } from '../../src/model/tables.js'

export interface Row {
  readonly span: Span
  readonly t: bigint | null
  readonly guess: string | null
  readonly [column: string]: unknown
}

export interface Problem {
  readonly kind: ProblemKind
  readonly says: string
  readonly span: Span
}

export interface Collected {
  readonly rows: Record<EvidenceTable, Row[]>
  /** One span a record, or one for several that were reported together. */
  readonly records: Span[]
  recordCount: number
  readonly problems: Problem[]
  readonly notes: Problem[]
  readonly skips: Span[]
  readonly lost: { from: Instant | null; to: Instant | null; events: number; why: string }[]
  readonly covered: { from: Instant; to: Instant }[]
  /** What the spans of records, problems and skips leave open or cover twice: must be empty for text. */
  holes(size: number): string[]
}

export const context = (more: Partial<MemberContext> = {}): MemberContext => ({ path: 'test', reference: null, zoneMinutes: null, accessLogFormats: [], ...more })

/** Reads `bytes` in blocks of `blockSize` bytes. */
export function collect(format: Format, bytes: Buffer | string, more: Partial<MemberContext> = {}, blockSize = 1 << 20): Collected {
  const all = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes)
  const out: Collected = {
    rows: {} as Collected['rows'],
    records: [],
    recordCount: 0,
    problems: [],
    notes: [],
    skips: [],
    covered: [],
    lost: [],
    holes: size => holes([...out.records, ...out.problems.map(p => p.span), ...out.skips], size),
  }
  let span: Span | null = null
  const sink: Record<string, unknown> = {
    record: (s: Span) => {
      span = s
      out.recordCount++
      out.records.push(s)
    },
    records: (count: number, s: Span) => {
      out.recordCount += count
      out.records.push(s)
    },
    recall: (s: Span) => {
      if (!isWithin(out.records, s)) throw new Error('a span was recalled that is no record')
      span = s
    },
    problem: (kind: ProblemKind, says: string, s: Span) => out.problems.push({ kind, says, span: s }),
    skip: (s: Span) => out.skips.push(s),
    note: (kind: ProblemKind, says: string, s: Span) => out.notes.push({ kind, says, span: s }),
    covers: (from: Instant, to: Instant) => out.covered.push({ from, to }),
    lost: (_: Span, from: Instant | null, to: Instant | null, events: number, why: string) => out.lost.push({ from, to, events, why }),
  }
  for (const [name, table] of Object.entries(tables)) {
    if (!table.evidence) continue
    const rows: Row[] = []
    out.rows[name as EvidenceTable] = rows
    const writer: Record<string, unknown> = {
      begin: (at: Instant | null) => {
        if (!span) throw new Error('a row was begun before any record')
        rows.push({ span, t: at?.ns ?? null, guess: at?.guess ?? null, ...Object.fromEntries(Object.keys(table.columns).map(c => [c, null])) })
        return rows.length - 1
      },
    }
    for (const c of Object.keys(table.columns)) writer[c] = (v: unknown) => ((rows.at(-1) as Record<string, unknown>)[c] = v)
    sink[name] = writer
  }
  const parser = format.open(context(more))
  let at = 0
  let fed = 0
  let line = 1
  do {
    fed = Math.min(all.length, fed + blockSize)
    const block = all.subarray(at, fed)
    const used = parser.parse({ bytes: block, byteStart: at, line, last: fed === all.length }, sink as unknown as Sink)
    for (const b of block.subarray(0, used)) if (b === 10) line++
    at += used
  } while (fed < all.length)
  return out
}

/** Whether one of `records`, which are in order, holds `s`. */
function isWithin(records: readonly Span[], s: Span): boolean {
  let low = 0
  let high = records.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((records[middle] as Span).byteStart <= s.byteStart) low = middle
    else high = middle - 1
  }
  const r = records[low]
  return r !== undefined && r.byteStart <= s.byteStart && s.byteEnd <= r.byteEnd
}

function holes(spans: readonly Span[], size: number): string[] {
  const wrong: string[] = []
  let at = 0
  for (const s of [...spans].sort((a, b) => a.byteStart - b.byteStart || a.byteEnd - b.byteEnd)) {
    if (s.byteStart > at) wrong.push(`hole ${at}-${s.byteStart}`)
    if (s.byteStart < at) wrong.push(`twice ${s.byteStart}-${at}`)
    at = Math.max(at, s.byteEnd)
  }
  if (at !== size) wrong.push(`hole ${at}-${size}`)
  return wrong
}
