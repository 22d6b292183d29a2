/** Column writers, generated from the table definitions: one setter a column, typed arrays behind it. */
import type { Batch, ColumnBatch } from '../model/batch.js'
import { BATCH_ROWS } from '../model/batch.js'
import type { Instant } from '../model/instant.js'
import type { EvidenceWriter, Setters } from '../model/sink.js'
import type { SourceSpan } from '../model/span.js'
import { type EvidenceTable, type PhysicalColumn, physicalColumns, type TableName, tables } from '../model/tables.js'
import type { Interner } from './interner.js'

type Data = ColumnBatch['data']

const make: Record<PhysicalColumn['kind'], () => Data> = {
  id: () => new Int32Array(BATCH_ROWS),
  int: () => new Int32Array(BATCH_ROWS),
  bool: () => new Uint8Array(BATCH_ROWS),
  double: () => new Float64Array(BATCH_ROWS),
  big: () => new BigInt64Array(BATCH_ROWS),
  time: () => new BigInt64Array(BATCH_ROWS),
  text: () => [],
}

/** Writes rows of a derived table: `begin` answers the row's number. */
export type DerivedWriter<T extends TableName> = Setters<T> & { begin(): number }

const INT_MAX = 2_147_483_647
const BIG_MAX = 9_223_372_036_854_775_807n

/** The rows of one table on their way into the store. Setters are made once, from the definition. */
export class TableWriter {
  readonly setters: Record<string, (value: never) => void> = {}
  private readonly physical: PhysicalColumn[]
  private data: Data[] = []
  private valid: Uint8Array[] = []
  private at = -1
  private total = 0
  private overflow: Record<string, string> | null = null

  constructor(
    readonly table: TableName,
    private readonly interner: Interner,
    private readonly full: (batch: Batch) => void,
  ) {
    this.physical = physicalColumns(table)
    this.reset()
    this.physical.forEach((c, i) => {
      this.setters[c.name] = this.setter(c, i)
    })
  }

  private reset(): void {
    this.data = this.physical.map(c => make[c.kind]())
    this.valid = this.physical.map(() => new Uint8Array(BATCH_ROWS / 8))
    this.at = -1
  }

  private setter(c: PhysicalColumn, i: number): (value: never) => void {
    const set = (value: unknown) => {
      const row = this.at
      const mask = this.valid[i] as Uint8Array
      const bit = 1 << (row & 7)
      // Setting a column twice keeps the last value.
      if (this.overflow?.[c.name] !== undefined) delete this.overflow[c.name]
      const stored = value !== null && value !== undefined && this.store(c, this.data[i] as Data, row, value)
      mask[row >> 3] = stored ? (mask[row >> 3] as number) | bit : (mask[row >> 3] as number) & ~bit
    }
    return set as (value: never) => void
  }

  /** Puts a value into a column and answers whether the column can hold it; interned text without an id goes into the overflow. */
  private store(c: PhysicalColumn, data: Data, row: number, value: unknown): boolean {
    switch (c.kind) {
      case 'id': {
        const id = this.interner.id(value as string)
        ;(data as Int32Array)[row] = id
        if (id === 0) {
          this.overflow ??= {}
          this.overflow[c.name] = value as string
        }
        return id !== 0
      }
      case 'text':
        ;(data as (string | null)[])[row] = value as string
        return true
      case 'int':
        ;(data as Int32Array)[row] = value as number
        return Number.isInteger(value) && Math.abs(value as number) <= INT_MAX
      case 'bool':
        ;(data as Uint8Array)[row] = value ? 1 : 0
        return true
      case 'double':
        ;(data as Float64Array)[row] = value as number
        return Number.isFinite(value)
      default:
        ;(data as BigInt64Array)[row] = value as bigint
        return (value as bigint) <= BIG_MAX && (value as bigint) >= -BIG_MAX
    }
  }

  private set(column: string, value: unknown): void {
    ;(this.setters[column] as (v: unknown) => void)(value)
  }

  /** Starts a row, all NULL but its number, and answers the number. */
  begin(): number {
    this.commit()
    if (this.at + 1 === BATCH_ROWS) this.flush()
    this.at++
    const row = this.total++
    this.set('row', BigInt(row))
    return row
  }

  beginEvidence(span: SourceSpan, at: Instant | null): number {
    const row = this.begin()
    this.set('source', span.source)
    if (tables[this.table].evidence === 'frame') this.set('frame', span.frame === null ? null : BigInt(span.frame))
    this.set('line', span.line === null ? null : BigInt(span.line))
    this.set('byte_start', BigInt(span.byteStart))
    this.set('byte_end', BigInt(span.byteEnd))
    this.set('t', at?.ns ?? null)
    this.set('t_guess', at?.guess ?? null)
    return row
  }

  /** Text that was not interned goes into the row as JSON, under the column's name. */
  private commit(): void {
    const overflow = this.overflow
    this.overflow = null
    if (overflow && Object.keys(overflow).length > 0) this.set('overflow', JSON.stringify(overflow))
  }

  flush(): void {
    this.commit()
    const rows = this.at + 1
    if (rows === 0) return
    this.full({ table: this.table, rows, columns: this.physical.map((column, i) => ({ column, data: this.data[i] as Data, valid: this.valid[i] as Uint8Array })) })
    this.reset()
  }
}

/** All writers of one ingestion, made when first used. */
export class Writers {
  private readonly made = new Map<TableName, TableWriter>()
  /** The span that evidence rows get. */
  span: SourceSpan = { source: 0, byteStart: 0, byteEnd: 0, line: 1, frame: null }

  constructor(
    readonly interner: Interner,
    private readonly full: (batch: Batch) => void,
  ) {}

  private writer(table: TableName): TableWriter {
    let w = this.made.get(table)
    if (!w) {
      w = new TableWriter(table, this.interner, this.full)
      this.made.set(table, w)
    }
    return w
  }

  evidence<T extends EvidenceTable>(table: T): EvidenceWriter<T> {
    const w = this.writer(table)
    return Object.assign(w.setters, { begin: (at: Instant | null) => w.beginEvidence(this.span, at) }) as unknown as EvidenceWriter<T>
  }

  derived<T extends TableName>(table: T): DerivedWriter<T> {
    const w = this.writer(table)
    return Object.assign(w.setters, { begin: () => w.begin() }) as unknown as DerivedWriter<T>
  }

  flush(): void {
    for (const w of this.made.values()) w.flush()
  }
}
