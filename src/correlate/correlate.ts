/** Joins the evidence in the store: owners, connections, attempts, failures, coverage. */
import type { Ingested, Source } from '../ingest/ingest.js'
import type { Writers } from '../ingest/writers.js'
import type { Store } from '../store/store.js'
import { type Abilities, abilities } from './capabilities.js'
import { type ClockOffset, measureClocks } from './clocks.js'
import { type Connections, replayConnections } from './connections.js'
import { writeClocks, writeProblems } from './coverage.js'
import { buildFailures, type Failures } from './failures.js'
import { buildOwners, Ownership } from './owners.js'

export interface Correlation {
  readonly store: Store
  readonly writers: Writers
  /** Makes what was written so far visible to queries. */
  settle(): Promise<void>
  readonly ingested: Ingested
  /** How far apart the clocks of two sources may be unless measured, in nanoseconds. */
  readonly clockError: bigint
}

/** What rules work with besides the store. */
export interface Joined {
  readonly owners: Ownership
  readonly connections: Connections
  readonly failures: Failures
  readonly abilities: Abilities
  /** The interval of all dated evidence. */
  readonly window: { readonly from: bigint | null; readonly to: bigint | null }
  /** Offsets measured between pairs of sources. */
  readonly clocks: readonly ClockOffset[]
  /** Nanoseconds. */
  readonly clockError: bigint
}

/** Writes the derived tables and answers what the rules need. */
export async function correlate(c: Correlation): Promise<Joined> {
  writeProblems(c)
  const owners = new Ownership(await buildOwners(c))
  const connections = await replayConnections(c, owners)
  c.writers.flush()
  await c.settle()
  const clocks = await measureClocks(c.store)
  writeClocks(c, clocks)
  const failures = await buildFailures(c, connections)
  c.writers.flush()
  await c.settle()
  const window = windowOf(c.ingested.sources)
  return { owners, connections, failures, abilities: await abilities(c.store, window), window, clocks, clockError: c.clockError }
}

function windowOf(sources: readonly Source[]): Joined['window'] {
  let from: bigint | null = null
  let to: bigint | null = null
  for (const s of sources) {
    if (s.first !== null && (from === null || s.first < from)) from = s.first
    if (s.last !== null && (to === null || s.last > to)) to = s.last
  }
  return { from, to }
}
