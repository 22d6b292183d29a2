/** Joins the evidence in the store: owners, connections, attempts, failures, chains, clocks and coverage. */
import type { Ingested } from '../ingest/ingest.js'
import type { Writers } from '../ingest/writers.js'
import type { Store } from '../store/store.js'
import { writeProblems } from './coverage.js'

export interface Correlation {
  readonly store: Store
  readonly writers: Writers
  /** Makes what was written so far visible to queries. */
  settle(): Promise<void>
  readonly ingested: Ingested
  /** Nanoseconds. */
  readonly clockError: bigint
}

export async function correlate(c: Correlation): Promise<void> {
  writeProblems(c)
  c.writers.flush()
  await c.settle()
}
