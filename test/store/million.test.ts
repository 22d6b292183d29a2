/** More than a million distinct strings at the default limits: every view answers, right, within the memory that the project promises. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { limits } from '../../src/limits.js'
import { tables } from '../../src/model/tables.js'
import { built } from '../cli/run.js'

const FLOWS = 600_000
const OTHERS = 2000

interface Filled {
  readonly views: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>
  readonly wrong: number
  readonly plain: number
  readonly overflowed: number
  readonly peak: number
}

describe('a store with a million distinct strings', () => {
  let filled: Filled
  beforeAll(async () => {
    await built()
    const folder = mkdtempSync(join(tmpdir(), 'wirecase-test-'))
    try {
      const script = join(dirname(fileURLToPath(import.meta.url)), 'fill.mjs')
      const { stdout } = await promisify(execFile)(process.execPath, [script, folder, String(FLOWS), String(OTHERS)])
      filled = JSON.parse(stdout) as Filled
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }, 180_000)

  it('stays under 512 MiB', () => expect(filled.peak).toBeLessThan(512 * 1024 * 1024))

  it('fills the dictionary, and keeps the rest as text, counted', () => {
    expect(filled.plain).toBeGreaterThan(FLOWS - limits.dictionaryEntries)
    expect(filled.plain).toBeLessThan(FLOWS)
    expect(filled.overflowed).toBeGreaterThan(2 * filled.plain - 10)
  })

  it('decodes every string, before and after the limit', () => expect(filled.wrong).toBe(0))

  for (const name of Object.keys(tables))
    it(`answers from ${name}`, () => {
      const rows = filled.views[name] ?? []
      expect(rows).toHaveLength(3)
      const { columns, evidence } = tables[name as keyof typeof tables] as { columns: Readonly<Record<string, { kind: string }>>; evidence: string | null }
      const count = name === 'flow' ? FLOWS : OTHERS
      for (const [k, row] of rows.entries()) {
        // Times run backwards: the first by time was written last.
        const i = evidence || 't' in columns ? count - 1 - k : k
        for (const [column, { kind }] of Object.entries(columns))
          if (kind === 'text') expect(row[column]).toBe(`${column} of ${name} ${i}`)
          else if (kind === 'id') expect([`${column} of ${name} ${i}`, `${column} ${i % 5}`]).toContain(row[column])
        expect(Object.values(row)).not.toContain(undefined)
      }
    })
})
