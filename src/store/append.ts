/** Appends batches of typed columns to DuckDB: one copy of each column's memory, no value goes through JavaScript again. */
import duckdb from '@duckdb/node-bindings'
import { BIGINT, BOOLEAN, DOUBLE, type DuckDBAppender, type DuckDBConnection, DuckDBDataChunk, type DuckDBType, INTEGER, VARCHAR } from '@duckdb/node-api'
import type { Batch, ColumnBatch } from '../model/batch.js'
import { type ColumnKind, physicalColumns, type TableName } from '../model/tables.js'

const TYPE: Record<ColumnKind, DuckDBType> = { id: INTEGER, int: INTEGER, big: BIGINT, time: BIGINT, double: DOUBLE, bool: BOOLEAN, text: VARCHAR }

/** One appender a table, opened when first needed. */
export class Appenders {
  private readonly open = new Map<TableName, { appender: DuckDBAppender; chunk: DuckDBDataChunk }>()
  private readonly waiting: Batch[] = []

  constructor(private readonly connection: DuckDBConnection) {}

  /** Opens what a batch needs, then appends it. */
  async append(batch: Batch): Promise<void> {
    await this.ready(batch.table)
    this.appendNow(batch)
  }

  /** Keeps a batch until `drain`: writers hand batches over synchronously. */
  push(batch: Batch): void {
    if (this.open.has(batch.table)) this.appendNow(batch)
    else this.waiting.push(batch)
  }

  async drain(): Promise<void> {
    for (const batch of this.waiting.splice(0)) await this.append(batch)
  }

  private async ready(table: TableName): Promise<void> {
    if (this.open.has(table)) return
    const appender = await this.connection.createAppender(table, 'raw')
    this.open.set(table, { appender, chunk: DuckDBDataChunk.create(physicalColumns(table).map(c => TYPE[c.kind])) })
  }

  private appendNow(batch: Batch): void {
    const to = this.open.get(batch.table)
    if (!to) throw new Error(`no appender for ${batch.table}`)
    to.chunk.reset()
    to.chunk.rowCount = batch.rows
    batch.columns.forEach((c, i) => fill(duckdb.data_chunk_get_vector(to.chunk.chunk, i), c, batch.rows))
    to.appender.appendDataChunk(to.chunk)
  }

  close(): void {
    for (const { appender } of this.open.values()) {
      appender.flushSync()
      appender.closeSync()
    }
    this.open.clear()
  }
}

function fill(vector: ReturnType<typeof duckdb.data_chunk_get_vector>, c: ColumnBatch, rows: number): void {
  if (Array.isArray(c.data)) {
    for (let i = 0; i < rows; i++) {
      const value = c.data[i]
      if (value !== null && value !== undefined && ((c.valid[i >> 3] as number) >> (i & 7)) & 1) duckdb.vector_assign_string_element_len(vector, i, Buffer.from(value))
    }
  } else duckdb.copy_data_to_vector(vector, 0, c.data.buffer as ArrayBuffer, c.data.byteOffset, rows * c.data.BYTES_PER_ELEMENT)
  duckdb.vector_ensure_validity_writable(vector)
  duckdb.copy_data_to_vector_validity(vector, 0, c.valid.buffer as ArrayBuffer, c.valid.byteOffset, Math.ceil(rows / 64) * 8)
}
