/** From members to a filled, joined store: everything before the rules. */
import type { Bundle } from './bundle/open.js'
import { correlate, type Joined } from './correlate/correlate.js'
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
}

export interface Loaded {
  readonly store: Store
  readonly ingested: Ingested
  readonly joined: Joined
  /** Strings that the dictionary had no room for. */
  readonly overflowed: number
}

/** Reads a bundle into a new store, joins it and creates the views. The caller closes the store. */
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
    const ingested = await ingest(bundle.members, interner, batch => store.push(batch), options)
    await settle()
    await store.addSources(ingested.sources.map(s => ({ ...s, node: null, namespace: null, pod: null, container: null })))
    const writers = new Writers(interner, batch => store.push(batch))
    const joined = await correlate({ store, writers, settle, ingested, clockError: options.clockError })
    await store.createViews(interner.overflowed > 0)
    return { store, ingested, joined, overflowed: interner.overflowed }
  } catch (e) {
    store.close()
    throw e
  }
}
