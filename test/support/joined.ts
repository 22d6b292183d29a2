/** Runs reading, joining and judging in process, and answers what was joined and what the views hold. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Joined } from '../../src/correlate/correlate.js'
import { judge } from '../../src/index.js'
import type { SqlRow } from '../../src/store/store.js'
import { bundleOf } from './analyze.js'

/** `queries` run on the public views, after all rules. Times in them are bigint. */
export async function joinFiles(
  files: Readonly<Record<string, string | Buffer>>,
  queries: readonly string[] = [],
  clockError = 2_000_000_000n,
): Promise<{ joined: Joined; rows: SqlRow[][] }> {
  const folder = mkdtempSync(join(tmpdir(), 'wirecase-test-'))
  try {
    const { store, joined } = await judge(bundleOf(files), {
      file: join(folder, 'store.duckdb'),
      spillFolder: folder,
      clockError,
      zones: [],
      accessLogFormats: [],
      only: null,
      from: null,
      to: null,
    })
    const rows: SqlRow[][] = []
    for (const sql of queries) rows.push(await store.rows(sql))
    store.close()
    return { joined, rows }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
