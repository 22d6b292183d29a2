/** User SQL: one SELECT a call, against the public views. */
import { DuckDBArrayValue, DuckDBDecimalValue, DuckDBListValue, DuckDBMapValue, type DuckDBResult, DuckDBStructValue, DuckDBUnionValue } from '@duckdb/node-api'
import type { Store } from './store.js'

/** A query that is refused or fails: the user's mistake, one line, and what the engine suggests. */
export class QueryError extends Error {
  constructor(
    message: string,
    readonly hint: string | null = null,
  ) {
    super(message)
  }
}

/** A query that needs more than the store may use. */
export class QueryTooLarge extends Error {}

/** A number that a JavaScript number may not hold: its digits. */
export class Digits {
  constructor(readonly text: string) {}
}

/**
 * A value of a result: BIGINT and HUGEINT, times, UUID, blobs and the like are strings; NULL is null; what is nested is an
 * array or an object.
 */
export type QueryValue = null | boolean | number | string | Digits | readonly QueryValue[] | { readonly [key: string]: QueryValue }

export interface QueryResult {
  readonly columns: readonly string[]
  /** The rows, some at a time; they end with a `QueryError` where the query fails on the way. */
  readonly rows: AsyncIterable<readonly (readonly QueryValue[])[]>
}

/** Throws `QueryError` for what is not one SELECT that the store could run. */
export async function checkQuery(store: Store, sql: string): Promise<void> {
  await prepared(store, sql)
}

/** Runs one SELECT. Throws `QueryError` for anything else and for SQL errors. */
export async function query(store: Store, sql: string): Promise<QueryResult> {
  const stream = await prepared(store, sql)
  const result = await stream().catch(failed)
  return { columns: result.deduplicatedColumnNames(), rows: rowsOf(result) }
}

async function prepared(store: Store, sql: string): Promise<() => Promise<DuckDBResult>> {
  const first = firstWord(sql)
  if (first === '') throw new QueryError('the text holds no SQL')
  // Some PRAGMAs are rewritten to a SELECT, and then look like one.
  if (!READS.has(first)) throw new QueryError(`only SELECT is allowed, not ${first.toUpperCase()}`)
  const { statements, select, stream } = await store.prepare(sql).catch(failed)
  if (statements !== 1) throw new QueryError(`one SELECT a call, not ${statements} statements`)
  if (!select) throw new QueryError('only SELECT is allowed')
  return stream
}

/** What a text that only reads can begin with. */
const READS = new Set(['(', 'select', 'with', 'from', 'values', 'table', 'describe', 'desc', 'show', 'summarize'])

/** The first word or character after blanks and comments. */
function firstWord(sql: string): string {
  let rest = sql
  for (;;) {
    rest = rest.trimStart()
    if (rest.startsWith('--')) rest = rest.includes('\n') ? rest.slice(rest.indexOf('\n')) : ''
    else if (rest.startsWith('/*')) rest = rest.includes('*/') ? rest.slice(rest.indexOf('*/') + 2) : ''
    else return /^(?:[a-z]+|.)?/i.exec(rest)?.[0].toLowerCase() ?? ''
  }
}

async function* rowsOf(result: DuckDBResult): AsyncGenerator<QueryValue[][]> {
  for (;;) {
    const chunk = await result.fetchChunk().catch(failed)
    if (!chunk || chunk.rowCount === 0) return
    yield chunk.getRows().map(row => row.map(plain))
  }
}

function failed(e: unknown): never {
  const text = String((e as Error).message ?? e).replace(/^Failed to (extract|prepare) statements?: /, '')
  const [first = '', ...more] = text.split('\n')
  if (/^Out of Memory|No space left/i.test(text)) throw new QueryTooLarge(first)
  throw new QueryError(first, more.find(l => /^(Did you mean|Candidate) /.test(l))?.replace(/^./, c => c.toLowerCase()) ?? null)
}

function plain(value: unknown): QueryValue {
  if (value === null || value === undefined) return null
  if (typeof value === 'bigint') return value.toString()
  if (typeof value === 'number' || typeof value === 'string' || typeof value === 'boolean') return value
  if (value instanceof DuckDBDecimalValue) return new Digits(value.toString())
  if (value instanceof DuckDBListValue || value instanceof DuckDBArrayValue) return value.items.map(plain)
  if (value instanceof DuckDBStructValue) return Object.fromEntries(Object.entries(value.entries).map(([k, v]) => [k, plain(v)]))
  if (value instanceof DuckDBMapValue) return value.entries.map(e => ({ key: plain(e.key), value: plain(e.value) }))
  if (value instanceof DuckDBUnionValue) return plain(value.value)
  return String(value)
}
