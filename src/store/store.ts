/**
 * The joined event store: a DuckDB file in a private folder, or the case file that the user named. Locked before any
 * evidence or user SQL reaches it: no file, no extension, no setting can be touched from SQL.
 */
import { type DuckDBConnection, DuckDBInstance, type DuckDBResult, StatementType } from '@duckdb/node-api'
import { resolve } from 'node:path'
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
  /** The database file: in the private folder, or a case file. `:memory:` holds it in memory. */
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

/** The stores that are not closed yet. */
const open = new Set<Store>()

export class Store {
  private appenders: Appenders | null = null

  private constructor(
    private readonly instance: DuckDBInstance,
    private readonly connection: DuckDBConnection,
  ) {}

  /** Opens the database and locks it. Throws `StoreError` where the file is locked, foreign or of another version. */
  static async open(options: StoreOptions): Promise<Store> {
    const instance = await opened(options)
    const connection = await instance.connect()
    // After `enable_external_access`, which lets SQL reach the folder for spilled data and no other.
    await connection.run("SET TimeZone='UTC'")
    await connection.run('SET lock_configuration=true')
    const store = new Store(instance, connection)
    open.add(store)
    return store
  }

  /** Ends what any store is at: a process cannot exit while a query runs. */
  static interruptAll(): void {
    for (const store of open) store.connection.interrupt()
  }

  /** Opens a case file, which may be anyone's, for reading. Throws `StoreError` for what is not a case file of this version. */
  static async openCase(file: string, spillFolder: string): Promise<Store> {
    const store = await Store.open({ file, spillFolder, readOnly: true })
    try {
      await store.expectCase(file)
      return store
    } catch (e) {
      store.close()
      throw e
    }
  }

  /**
   * A case file must hold our tables, as tables, and no function of its own; its views are never asked, ours stand before
   * them. Whatever else it holds is out of reach of the names that queries use.
   */
  private async expectCase(file: string): Promise<void> {
    const ours = await this.holdsOurTables().catch(() => false)
    if (!ours || (await this.meta('schema')) !== String(SCHEMA_VERSION))
      throw new StoreError(`${file} is not a case file of this version of wirecase`, 'analyze the bundle again into a new file')
    for (const s of viewStatements()) await this.connection.run(s.replace('VIEW', 'TEMP VIEW'))
  }

  private async holdsOurTables(): Promise<boolean> {
    if ((await this.rows('SELECT 1 FROM duckdb_functions() WHERE NOT internal LIMIT 1')).length > 0) return false
    const tables = await this.rows("SELECT table_name, sql FROM duckdb_tables() WHERE database_name = current_database() AND schema_name = 'raw' ORDER BY table_name")
    const held = new Map(tables.map(t => [t.table_name as string, plainSql(t.sql as string)]))
    return tableStatements().every(s => {
      const name = /^CREATE TABLE raw\.(\w+|"\w+")/.exec(s)?.[1]
      return name === undefined || held.get(name.replaceAll('"', '')) === plainSql(s)
    })
  }

  /** Creates the empty tables of a new store. */
  async create(): Promise<void> {
    for (const s of tableStatements()) await this.connection.run(s)
    await this.connection.run(`INSERT INTO raw.meta VALUES ('schema', '${SCHEMA_VERSION}')`)
    this.appenders = await Appenders.open(this.connection)
  }

  private writing(): Appenders {
    if (!this.appenders) throw new Error('the store was opened for reading')
    return this.appenders
  }

  /** Takes a batch; `settle` makes sure that queries see it. */
  push(batch: Batch): void {
    this.writing().append(batch)
  }

  /** Puts pushed batches into the tables, and new strings into the dictionary. */
  async settle(words: readonly string[], firstId: number): Promise<void> {
    this.writing().flush()
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
  async createViews(): Promise<void> {
    for (const s of viewStatements()) await this.connection.run(s)
  }

  /** Rows of a query of ours; BIGINT as bigint. The SQL ends in a total order. */
  async rows(sql: string): Promise<SqlRow[]> {
    const reader = await this.connection.runAndReadAll(sql)
    return reader.getRowObjects() as SqlRow[]
  }

  /**
   * Rows of a query of ours, one chunk at a time: for what may not fit in memory. It has a connection of its own: the next
   * query on the same one would end the result, silently.
   */
  async *stream(sql: string): AsyncGenerator<SqlRow[]> {
    const connection = await this.instance.connect()
    try {
      const result = await connection.stream(sql)
      const names = result.deduplicatedColumnNames()
      for (;;) {
        const chunk = await result.fetchChunk()
        if (!chunk || chunk.rowCount === 0) return
        yield chunk.getRowObjects(names) as SqlRow[]
      }
    } finally {
      connection.closeSync()
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

  /** Prepares a user's text, for refusing all but one SELECT. */
  async prepare(sql: string): Promise<{ statements: number; select: boolean; stream: () => Promise<DuckDBResult> }> {
    const all = await this.connection.extractStatements(sql)
    if (all.count !== 1) return { statements: all.count, select: false, stream: () => Promise.reject(new Error('not one statement')) }
    const prepared = await all.prepare(0)
    return { statements: 1, select: prepared.statementType === StatementType.SELECT, stream: () => prepared.stream() }
  }

  /** Moves all that was written into the database file itself, so that it can be copied once the store is closed. */
  async checkpoint(): Promise<void> {
    this.appenders?.flush()
    await this.connection.run('CHECKPOINT')
  }

  close(): void {
    open.delete(this)
    this.appenders?.close()
    this.connection.closeSync()
    this.instance.closeSync()
  }
}

/** The settings that decide what a database may do while it is opened are given before it is; a path is never read as the address of a database elsewhere. */
async function opened(options: StoreOptions): Promise<DuckDBInstance> {
  try {
    return await DuckDBInstance.create(options.file === ':memory:' && !options.readOnly ? options.file : resolve(options.file), {
      access_mode: options.readOnly ? 'READ_ONLY' : 'AUTOMATIC',
      threads: '2',
      memory_limit: limits.storeMemory,
      temp_directory: options.spillFolder,
      preserve_insertion_order: 'false',
      autoinstall_known_extensions: 'false',
      autoload_known_extensions: 'false',
      allow_community_extensions: 'false',
      enable_external_access: 'false',
    })
  } catch (e) {
    throw openError(options.file, e)
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

/** A CREATE TABLE as text that does not depend on who prints it. */
const plainSql = (sql: string): string => sql.replace(/[\s";]+/g, '').toLowerCase()

function openError(file: string, e: unknown): StoreError {
  const text = String((e as Error).message ?? e).split('\n', 1)[0] ?? ''
  if (/does not exist/i.test(text)) return new StoreError(`${file}: no such case file`, 'write one with wirecase analyze --case FILE PATH…')
  if (/set lock|conflicting lock/i.test(text)) return new StoreError(`${file} is in use by another process`, 'close the other client, or name another case file')
  if (/not a valid DuckDB database|version|corrupt|serializ/i.test(text))
    return new StoreError(`${file} is not a case file of this version of DuckDB`, 'analyze the bundle again into a new file')
  return new StoreError(`${file} cannot be opened: ${text}`, 'check the path and its permissions')
}
