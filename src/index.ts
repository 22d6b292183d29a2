/** The library: analyze evidence and get the report object. */
import type { Bundle } from './bundle/open.js'
import type { Report } from './model/report.js'
import { type Loaded, load, type PipelineOptions } from './pipeline.js'
import { buildReport } from './report/build.js'
import { rules } from './rules/index.js'
import { type Outcome, type RunOptions, runRules } from './rules/run.js'

export { type Bundle, openBundle } from './bundle/open.js'
export type { Member } from './bundle/member.js'
export type * from './model/report.js'
export type { PipelineOptions } from './pipeline.js'
export type { RunOptions } from './rules/run.js'

export interface Analysis extends Loaded {
  readonly report: Report
  readonly outcome: Outcome
}

/**
 * Reads, joins and judges a bundle. The caller closes `store`. Throws only for a store that cannot be written; evidence
 * that cannot be read is a problem in the report.
 */
export async function analyze(bundle: Bundle, options: PipelineOptions & RunOptions): Promise<Analysis> {
  const loaded = await load(bundle, options)
  try {
    const outcome = await runRules(rules, loaded.store, loaded.joined, loaded.ingested.sources, options)
    const report = await buildReport({ members: bundle.members, skipped: bundle.skipped, ingested: loaded.ingested, joined: loaded.joined, outcome, overflowed: loaded.overflowed })
    return { ...loaded, outcome, report }
  } catch (e) {
    loaded.store.close()
    throw e
  }
}
