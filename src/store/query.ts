/** User SQL: one SELECT a call, against the public views. */
import { StatementType } from '@duckdb/node-api'
import { limits } from '../limits.js'
import type { Store } from './store.js'

/** A query that is refused or fails: the user's mistake, one line. */
export class QueryError extends Error {}

export interface QueryResult {
  readonly columns: readonly string[]
  /** Values as JSON has them: BIGINT, HUGEINT, decimals and times as strings; NULL as null. */
  readonly rows: readonly (readonly unknown[])[]
  /** More rows exist than were read. */
  readonly truncated: boolean
}

/** Runs one SELECT. Throws `QueryError` for anything else and for SQL errors. */
export async function query(store: Store, sql: string): Promise<QueryResult> {
  try {
    const statements = await store.extract(sql)
    if (statements.count !== 1) throw new QueryError(`one SELECT a call, not ${statements.count} statements`)
    const prepared = await statements.prepare(0)
    if (prepared.statementType !== StatementType.SELECT) throw new QueryError('only SELECT is allowed')
    const reader = await store.read(sql, limits.queryRows + 1)
    const rows = reader.getRows().slice(0, limits.queryRows)
    return { columns: reader.deduplicatedColumnNames(), rows: rows.map(r => r.map(plain)), truncated: reader.currentRowCount > limits.queryRows }
  } catch (e) {
    if (e instanceof QueryError) throw e
    throw new QueryError(String((e as Error).message ?? e).split('\n', 1)[0])
  }
}

function plain(value: unknown): unknown {
  if (value === null || value === undefined) return null
  if (typeof value === 'bigint') return value.toString()
  if (typeof value === 'number' || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'object' && 'items' in value && Array.isArray(value.items)) return value.items.map(plain)
  return String(value)
}
