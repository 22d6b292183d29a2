/** Runs the whole pipeline in process on files given as text, and answers the report. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { analyze, type Bundle, type Report } from '../../src/index.js'
import type { Outcome } from '../../src/rules/run.js'

export interface Asked {
  readonly only?: readonly string[]
  readonly clockError?: bigint
  readonly zones?: readonly (readonly [string, number])[]
  readonly accessLogFormats?: readonly { pattern: string | null; format: string }[]
}

/** The files of a bundle that exists only in memory. */
export const bundleOf = (files: Readonly<Record<string, string | Buffer>>): Bundle => ({
  members: Object.entries(files)
    .map(([path, content]) => ({
      path,
      bytes: async function* () {
        yield Buffer.from(content)
      },
    }))
    .sort((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path))),
  skipped: [],
  base: '',
})

export async function analyzeBundle(bundle: Bundle, asked: Asked = {}): Promise<{ report: Report; outcome: Outcome }> {
  const folder = mkdtempSync(join(tmpdir(), 'wirecase-test-'))
  try {
    const { store, report, outcome } = await analyze(bundle, {
      file: join(folder, 'store.duckdb'),
      spillFolder: folder,
      clockError: asked.clockError ?? 2_000_000_000n,
      zones: asked.zones ?? [],
      accessLogFormats: asked.accessLogFormats ?? [],
      only: asked.only ?? null,
      from: null,
      to: null,
    })
    store.close()
    return { report, outcome }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export const analyzeFiles = async (files: Readonly<Record<string, string | Buffer>>, asked: Asked = {}): Promise<Report> => (await analyzeBundle(bundleOf(files), asked)).report
