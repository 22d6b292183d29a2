import type { PhysicalColumn, TableName } from './tables.js'

/** Rows of a batch: the size of a DuckDB vector. */
export const BATCH_ROWS = 2048

/** Values of one column of a batch. `valid` has one bit a row, least significant first. */
export interface ColumnBatch {
  readonly column: PhysicalColumn
  readonly data: Int32Array | BigInt64Array | Float64Array | Uint8Array | (string | null)[]
  readonly valid: Uint8Array
}

/** Up to `BATCH_ROWS` rows of one table, column by column, ready to be appended. */
export interface Batch {
  readonly table: TableName
  readonly rows: number
  readonly columns: readonly ColumnBatch[]
}
