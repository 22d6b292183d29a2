import type { Bundle } from '../bundle/open.js'
import type { RunOptions } from '../index.js'
import type { PipelineOptions } from '../pipeline.js'
import { VERSION } from '../version.js'

/** Options of a run without its places on disk. */
export type Run = Omit<PipelineOptions & RunOptions, 'file' | 'spillFolder' | 'onProgress' | 'signal'>

/** What else than the members decides the report, as text. */
export const runKey = (run: Run, bundle: Bundle): string => JSON.stringify([VERSION, run, bundle.skipped], (_, v: unknown) => (typeof v === 'bigint' ? v.toString() : v))
