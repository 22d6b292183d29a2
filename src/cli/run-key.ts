import type { RunOptions } from '../index.js'
import type { PipelineOptions } from '../pipeline.js'

/** Options of a run without its places on disk. */
export type Run = Omit<PipelineOptions & RunOptions, 'file' | 'spillFolder' | 'onProgress'>

/** What else than the evidence decides the report, as text. */
export const runKey = (run: Run): string => JSON.stringify(run, (_, v: unknown) => (typeof v === 'bigint' ? v.toString() : v))
