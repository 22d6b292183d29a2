/** From members to a filled, joined store: everything before the rules, and what is written after them. */
import { BundleProblem, type Member } from './bundle/member.js'
import type { Bundle } from './bundle/open.js'
import { writeFailures } from './correlate/chains.js'
import { type Correlation, correlate, type Joined } from './correlate/correlate.js'
import { type Ingested, ingest, type IngestOptions } from './ingest/ingest.js'
import { Interner } from './ingest/interner.js'
import { Writers } from './ingest/writers.js'
import { Store } from './store/store.js'

export interface PipelineOptions extends IngestOptions {
  /** The database file to create. */
  readonly file: string
  readonly spillFolder: string
  /** How far apart the clocks of two sources may be unless measured, in nanoseconds. */
  readonly clockError: bigint
  /** Stops the reading where it is; what was read is joined and judged. */
  readonly signal?: AbortSignal | undefined
}

export interface Loaded {
  readonly store: Store
  readonly ingested: Ingested
  readonly joined: Joined
  readonly correlation: Correlation
  /** Strings that the dictionary has had no room for so far. */
  overflowed(): number
}

/** Reads a bundle into a new store and joins it. The caller has it judged, then published, and closes the store. */
export async function load(bundle: Bundle, options: PipelineOptions): Promise<Loaded> {
  const store = await Store.open({ file: options.file, spillFolder: options.spillFolder })
  try {
    await store.create()
    const interner = new Interner()
    let words = 0
    const settle = async () => {
      const fresh = interner.take()
      await store.settle(fresh, words + 1)
      words += fresh.length
    }
    const ingested = await ingest(options.signal ? bundle.members.map(m => until(m, options.signal as AbortSignal)) : bundle.members, interner, batch => store.push(batch), options)
    await settle()
    await store.addSources(ingested.sources.map(s => ({ ...s, node: null, namespace: null, pod: null, container: null })))
    const correlation: Correlation = { store, writers: new Writers(interner, batch => store.push(batch)), settle, ingested, clockError: options.clockError }
    const joined = await correlate(correlation)
    return { store, ingested, joined, correlation, overflowed: () => interner.overflowed }
  } catch (e) {
    store.close()
    throw e
  }
}

/** Writes what the rules made of the failures, and creates the public views. */
export async function publish({ store, joined, correlation }: Loaded): Promise<void> {
  await writeFailures(correlation, joined)
  correlation.writers.flush()
  await correlation.settle()
  await store.createViews()
}

/** A member that ends where the signal comes. */
const until = (member: Member, signal: AbortSignal): Member => ({
  path: member.path,
  bytes: async function* () {
    for await (const chunk of member.bytes()) {
      // What is held in memory comes without a pause, in which a signal could be told.
      await new Promise(done => setImmediate(done))
      if (signal.aborted) throw new BundleProblem('truncated', 'the reading was interrupted')
      yield chunk
    }
  },
})
