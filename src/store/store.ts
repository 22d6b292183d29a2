/**
 * The joined event store: a DuckDB file in a private folder, or the case file that the user named. Locked before any
 * evidence or user SQL reaches it: no file, no extension, no setting can be touched from SQL.
 */
import { type DuckDBConnection, DuckDBInstance, type DuckDBResultReader } from '@duckdb/node-api'
import { limits } from '../limits.js'
import type { Batch } from '../model/batch.js'
import { Appenders } from './append.js'
import { SCHEMA_VERSION, tableStatements, viewStatements } from './schema.js'

export type SqlValue = string | number | bigint | boolean | null
export type SqlRow = Record<string, SqlValue>

/** A store that cannot be used, with what to do about it. */
export class StoreError extends Error {
  constructor(
    message: string,
    readonly hint: string,
  ) {
    super(message)
  }
}

export interface StoreOptions {
  /** The database file: in the private folder, or a case file being written or reused. */
  readonly file: string
  /** An existing private folder for what does not fit in memory. */
  readonly spillFolder: string
  readonly readOnly?: boolean
}

export interface SourceRow {
  readonly id: number
  readonly path: string
  readonly format: string
  readonly bytes: number
  readonly sha256: string
  readonly records: number
  readonly problems: number
  readonly node: string | null
  readonly namespace: string | null
  readonly pod: string | null
  readonly container: string | null
  readonly proxy: string | null
  readonly zone: string
  readonly first: bigint | null
  readonly last: bigint | null
}

export class Store {
  private readonly appenders: Appenders

  private constructor(
    private readonly instance: DuckDBInstance,
    private readonly connection: DuckDBConnection,
  ) {
    this.appenders = new Appenders(connection)
  }

  /** Opens the database and locks it. Throws `StoreError` where the file is locked, foreign or of another version. */
  static async open(options: StoreOptions): Promise<Store> {
    let instance: DuckDBInstance
    try {
      instance = await DuckDBInstance.create(options.file, {
        threads: '2',
        memory_limit: limits.storeMemory,
        ...(options.readOnly ? { access_mode: 'READ_ONLY' } : {}),
      })
    } catch (e) {
      throw openError(options.file, e)
    }
    const connection = await instance.connect()
    for (const statement of [
      `SET temp_directory=${literal(options.spillFolder)}`,
      'SET preserve_insertion_order=false',
      "SET TimeZone='UTC'",
      'SET autoinstall_known_extensions=false',
      'SET autoload_known_extensions=false',
      'SET enable_external_access=false',
      'SET lock_configuration=true',
    ])
      await connection.run(statement)
    return new Store(instance, connection)
  }

  /** Creates the empty tables of a new store. */
  async create(): Promise<void> {
    for (const s of tableStatements()) await this.connection.run(s)
    await this.connection.run(`INSERT INTO raw.meta VALUES ('schema', '${SCHEMA_VERSION}')`)
  }

  /** Takes a batch; `settle` makes sure that it is in. */
  push(batch: Batch): void {
    this.appenders.push(batch)
  }

  /** Waits for pushed batches and stores new strings of the dictionary. */
  async settle(words: readonly string[], firstId: number): Promise<void> {
    await this.appenders.drain()
    this.appenders.close()
    if (words.length === 0) return
    const appender = await this.connection.createAppender('dictionary', 'raw')
    words.forEach((w, i) => {
      appender.appendInteger(firstId + i)
      appender.appendVarchar(w)
      appender.endRow()
    })
    appender.flushSync()
    appender.closeSync()
  }

  async addSources(sources: readonly SourceRow[]): Promise<void> {
    const insert = await this.connection.prepare(`INSERT INTO raw.source VALUES (${Array(15).fill('?').join(', ')})`)
    for (const s of sources) {
      const values = [
        s.id,
        s.path,
        s.format,
        BigInt(s.bytes),
        s.sha256,
        BigInt(s.records),
        BigInt(s.problems),
        s.node,
        s.namespace,
        s.pod,
        s.container,
        s.proxy,
        s.zone,
        s.first,
        s.last,
      ]
      values.forEach((v, i) => bind(insert, i + 1, v))
      await insert.run()
    }
  }

  /** Names the evidence set, so that a case file can be recognised. */
  async setMeta(name: string, value: string): Promise<void> {
    const insert = await this.connection.prepare('INSERT INTO raw.meta VALUES (?, ?)')
    insert.bindVarchar(1, name)
    insert.bindVarchar(2, value)
    await insert.run()
  }

  async meta(name: string): Promise<string | null> {
    try {
      const [row] = await this.rows(`SELECT value FROM raw.meta WHERE name = ${literal(name)}`)
      return (row?.value as string | undefined) ?? null
    } catch {
      return null
    }
  }

  /** Creates the public views. */
  async createViews(overflowed: boolean): Promise<void> {
    for (const s of viewStatements(overflowed)) await this.connection.run(s)
  }

  /** Rows of a query of ours; BIGINT as bigint. The SQL ends in a total order. */
  async rows(sql: string): Promise<SqlRow[]> {
    const reader = await this.connection.runAndReadAll(sql)
    return reader.getRowObjects() as SqlRow[]
  }

  /** Rows of a query of ours, one chunk at a time: for what may not fit in memory. */
  async *stream(sql: string): AsyncGenerator<SqlRow[]> {
    const result = await this.connection.stream(sql)
    const names = result.deduplicatedColumnNames()
    for (;;) {
      const chunk = await result.fetchChunk()
      if (!chunk || chunk.rowCount === 0) return
      yield chunk.getRowObjects(names) as SqlRow[]
    }
  }

  /** The texts of interned ids. */
  async words(ids: Iterable<number>): Promise<Map<number, string>> {
    const wanted = [...new Set(ids)].filter(i => i > 0)
    const out = new Map<number, string>()
    for (let i = 0; i < wanted.length; i += 10_000) {
      const some = wanted.slice(i, i + 10_000)
      for (const r of await this.rows(`SELECT id, value FROM raw.dictionary WHERE id IN (${some.join(',')})`)) out.set(r.id as number, r.value as string)
    }
    return out
  }

  /** The statements of a text, for refusing all but one SELECT. */
  async extract(sql: string) {
    return this.connection.extractStatements(sql)
  }

  /** Runs one user query. At most `limit` rows are read. */
  async read(sql: string, limit: number): Promise<DuckDBResultReader> {
    return this.connection.streamAndReadUntil(sql, limit)
  }

  close(): void {
    this.appenders.close()
    this.connection.closeSync()
    this.instance.closeSync()
  }
}

function bind(statement: Awaited<ReturnType<DuckDBConnection['prepare']>>, at: number, value: SqlValue): void {
  if (value === null) statement.bindNull(at)
  else if (typeof value === 'string') statement.bindVarchar(at, value)
  else if (typeof value === 'bigint') statement.bindBigInt(at, value)
  else statement.bindInteger(at, Number(value))
}

/** A string as an SQL literal. */
export const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

function openError(file: string, e: unknown): StoreError {
  const text = String((e as Error).message ?? e).split('\n', 1)[0] ?? ''
  if (/lock/i.test(text)) return new StoreError(`${file} is in use by another process`, 'close the other client, or name another case file')
  if (/not a valid DuckDB database|version/i.test(text)) return new StoreError(`${file} is not a case file of this version of DuckDB`, 'analyze the bundle again into a new file')
  return new StoreError(`${file} cannot be opened: ${text}`, 'check the path and its permissions')
}
