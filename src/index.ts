/** The library: analyze evidence and get the report object. */
import type { Bundle } from './bundle/open.js'
import type { Report } from './model/report.js'
import { type Loaded, load, type PipelineOptions, publish } from './pipeline.js'
import { buildReport } from './report/build.js'
import { rules } from './rules/index.js'
import { type Outcome, type RunOptions, runRules } from './rules/run.js'

export { type Bundle, openBundle } from './bundle/open.js'
export type { Member } from './bundle/member.js'
export type * from './model/report.js'
export type { PipelineOptions } from './pipeline.js'
export type { RunOptions } from './rules/run.js'

/** A store that is read, joined and judged. */
export interface Judged extends Loaded {
  readonly outcome: Outcome
}

export interface Analysis extends Judged {
  readonly report: Report
}

/**
 * Reads, joins and judges a bundle. The caller closes `store`. Throws only for a store that cannot be written; evidence
 * that cannot be read is a problem in the report.
 */
export async function analyze(bundle: Bundle, options: PipelineOptions & RunOptions): Promise<Analysis> {
  const judged = await judge(bundle, options)
  try {
    const { ingested, joined, outcome } = judged
    const report = await buildReport({ members: bundle.members, skipped: bundle.skipped, ingested, joined, outcome, overflowed: judged.overflowed() })
    return { ...judged, report }
  } catch (e) {
    judged.store.close()
    throw e
  }
}

/** The same without a report: for queries, whose views of failures hold what the rules said of them. */
export async function judge(bundle: Bundle, options: PipelineOptions & RunOptions): Promise<Judged> {
  const loaded = await load(bundle, options)
  try {
    const outcome = await runRules(rules, loaded.store, loaded.joined, loaded.ingested.sources, options)
    await publish(loaded)
    return { ...loaded, outcome }
  } catch (e) {
    loaded.store.close()
    throw e
  }
}
