/** Absence of evidence never becomes a clean bill: with a source removed, what was violated is still violated or not evaluable. */
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { openBundle } from '../../src/index.js'
import type { Report } from '../../src/model/report.js'
import { analyzeBundle } from '../support/analyze.js'

const root = join(dirname(fileURLToPath(import.meta.url)), '../..')
const cases = join(root, 'test/cases')
const reports = join(root, 'fixtures/reports')
const bundles = [
  ...readdirSync(reports).map(n => join(reports, n)),
  ...readdirSync(cases)
    .filter(n => /^\d/.test(n) && existsSync(join(cases, n, 'input')))
    .map(n => join(cases, n, 'input')),
]

const verdicts = (r: Report) => new Map(r.verdicts.map(v => [v.rule, v]))

describe('with each source removed', () => {
  for (const path of bundles)
    it(path.slice(root.length + 1), async () => {
      const bundle = await openBundle([path], null)
      const whole = verdicts((await analyzeBundle(bundle)).report)
      const wrong: string[] = []
      for (const gone of bundle.members) {
        const rest = bundle.members.filter(m => m !== gone)
        if (rest.length === 0) continue
        for (const [rule, v] of verdicts((await analyzeBundle({ ...bundle, members: rest })).report)) {
          if (whole.get(rule)?.verdict === 'violated' && v.verdict === 'held') wrong.push(`${rule} held without ${gone.path}`)
          if (v.verdict === 'not-evaluable' && v.missing.length === 0) wrong.push(`${rule} not evaluable without ${gone.path}, and nothing is said to be missing`)
        }
      }
      expect(wrong).toEqual([])
    }, 60_000)
})
