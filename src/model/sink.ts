import type { Instant } from './instant.js'
import type { Span } from './span.js'
import type { Column, EvidenceTable, TableName, tables, ValueOf } from './tables.js'

type ColumnsOf<T extends TableName> = (typeof tables)[T]['columns']
type SetterOf<C> = C extends Column<infer K> ? (value: ValueOf<K>) => void : never

/** One setter a column; what is not set is NULL. Setting a column twice keeps the last value. */
export type Setters<T extends TableName> = { readonly [C in keyof ColumnsOf<T>]: SetterOf<ColumnsOf<T>[C]> }

/** Writes rows of an evidence table. `begin` starts a row with the span of the current record and answers its number. */
export type EvidenceWriter<T extends EvidenceTable> = Setters<T> & { begin(at: Instant | null): number }

/** Kinds of problem. The first five mean that a recognised source was damaged (exit code 4). */
export const PROBLEM_KINDS = ['not-json', 'truncated', 'limit', 'bad-record', 'bad-compression', 'not-recognised', 'no-time', 'ambiguous', 'skipped'] as const
export type ProblemKind = (typeof PROBLEM_KINDS)[number]
export const DAMAGE: ReadonlySet<string> = new Set(['not-json', 'truncated', 'limit', 'bad-record', 'bad-compression'])

/**
 * Where a parser puts what it reads. Together the spans given to `record`, `problem` and `skip` cover the member without
 * a hole and without overlap; a note (`note`) may speak of a region that is covered already.
 */
export type Sink = { readonly [T in EvidenceTable]: EvidenceWriter<T> } & {
  /** One record understood. Rows begun from now on carry this span. */
  record(span: Span): void
  /** Several records side by side, of which none has a row of its own. `span` is all of them, with the number of the first. */
  records(count: number, span: Span): void
  /** Rows begun from now on carry the span of a record given earlier: what a later record shows of it. */
  recall(span: Span): void
  /** A region that was not understood: one malformed line costs one problem. */
  problem(kind: ProblemKind, says: string, span: Span): void
  /** A region that holds no evidence: blank lines, headers, banners. */
  skip(span: Span): void
  /** A remark on a record that was understood, such as a missing time stamp. */
  note(kind: ProblemKind, says: string, span: Span): void
  /** Times between which the source shows what happened, rows or not. */
  covers(from: Instant, to: Instant): void
  /** Events that the source itself says it lost, in an interval. */
  lost(span: Span, from: Instant | null, to: Instant | null, events: number, why: string): void
}
