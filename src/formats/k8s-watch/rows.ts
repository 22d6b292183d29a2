/** Rows held back, so that a watch can leave out what it has said before. */
import type { Instant } from '../../model/instant.js'
import type { Sink } from '../../model/sink.js'
import { tables } from '../../model/tables.js'

/** What objects are written to. */
const TABLES = ['pod_fact', 'event'] as const

export interface Row {
  readonly table: (typeof TABLES)[number]
  readonly at: Instant | null
  readonly values: Readonly<Record<string, unknown>>
}

type Setter = (value: unknown) => void
const columnsOf = (table: Row['table']): string[] => Object.keys(tables[table].columns)

/** The rows that `write` begins, in the order of their beginning. */
export function rowsOf(write: (sink: Sink) => void): Row[] {
  const rows: Row[] = []
  const sink: Record<string, unknown> = {}
  for (const table of TABLES) {
    let values: Record<string, unknown> = {}
    const writer: Record<string, unknown> = {
      begin: (at: Instant | null) => {
        values = {}
        return rows.push({ table, at, values }) - 1
      },
    }
    for (const column of columnsOf(table))
      writer[column] = (value: unknown) => {
        values[column] = value
      }
    sink[table] = writer
  }
  write(sink as unknown as Sink)
  return rows
}

export function writeRow(row: Row, sink: Sink): void {
  const writer = sink[row.table] as unknown as Record<string, Setter> & { begin(at: Instant | null): number }
  writer.begin(row.at)
  for (const column of columnsOf(row.table)) (writer[column] as Setter)(row.values[column] ?? null)
}

/** How much of the past is kept. A watch of 2,000 pods says 40,000 different things. */
const KEPT = 65_536

/** The keys that were set last, and their values: the oldest go first. */
class Recent {
  private readonly map = new Map<string, string>()

  get(key: string): string | undefined {
    return this.map.get(key)
  }

  set(key: string, value: string): void {
    this.map.delete(key)
    this.map.set(key, value)
    if (this.map.size > KEPT) this.map.delete(this.map.keys().next().value as string)
  }
}

/** Tells rows that say something new from repeated ones. */
export class Said {
  private readonly timed = new Recent()
  private readonly states = new Recent()

  /** A statement with a time is new once; one without whenever it differs from the last about the same. */
  isNew(row: Row): boolean {
    const { at, values } = row
    const subject = [row.table, values.kind, values.subject, values.uid, values.ip]
    const what = row.table === 'event' ? [values.reason, values.text] : [values.sandbox, values.node, values.reason]
    if (at !== null || values.t_earliest)
      return fresh(this.timed, JSON.stringify([...subject, values.what, what, at && String(at.ns), String(values.t_earliest), String(values.t_latest)]), '')
    return fresh(this.states, JSON.stringify([...subject, topicOf(row)]), JSON.stringify([values.what, what]))
  }
}

/** What a state is a state of: an endpoint is there or gone. */
const topicOf = ({ table, values }: Row): unknown => (table === 'event' ? values.reason : values.what === 'endpoint-gone' ? 'endpoint' : values.what)

function fresh(seen: Recent, key: string, value: string): boolean {
  if (seen.get(key) === value) return false
  seen.set(key, value)
  return true
}
