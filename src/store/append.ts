/** Appends batches of typed columns to DuckDB: one copy of each column's memory, no value goes through JavaScript again. */
import duckdb from '@duckdb/node-bindings'
import { BIGINT, BOOLEAN, DOUBLE, type DuckDBAppender, type DuckDBConnection, DuckDBDataChunk, type DuckDBType, INTEGER, VARCHAR } from '@duckdb/node-api'
import type { Batch, ColumnBatch } from '../model/batch.js'
import { type ColumnKind, physicalColumns, type TableName, tables } from '../model/tables.js'

const TYPE: Record<ColumnKind, DuckDBType> = { id: INTEGER, int: INTEGER, big: BIGINT, time: BIGINT, double: DOUBLE, bool: BOOLEAN, text: VARCHAR }

/** One appender a table. All are opened first: writers hand batches over synchronously, and none may wait in memory. */
export class Appenders {
  private constructor(private readonly open: ReadonlyMap<TableName, { appender: DuckDBAppender; chunk: DuckDBDataChunk }>) {}

  static async open(connection: DuckDBConnection): Promise<Appenders> {
    const open = new Map<TableName, { appender: DuckDBAppender; chunk: DuckDBDataChunk }>()
    for (const table of Object.keys(tables) as TableName[])
      open.set(table, { appender: await connection.createAppender(table, 'raw'), chunk: DuckDBDataChunk.create(physicalColumns(table).map(c => TYPE[c.kind])) })
    return new Appenders(open)
  }

  append(batch: Batch): void {
    const to = this.open.get(batch.table)
    if (!to) throw new Error(`no appender for ${batch.table}`)
    to.chunk.reset()
    to.chunk.rowCount = batch.rows
    batch.columns.forEach((c, i) => fill(duckdb.data_chunk_get_vector(to.chunk.chunk, i), c, batch.rows))
    to.appender.appendDataChunk(to.chunk)
  }

  /** Puts what was appended into the tables. */
  flush(): void {
    for (const { appender } of this.open.values()) appender.flushSync()
  }

  close(): void {
    for (const { appender } of this.open.values()) appender.closeSync()
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
