/** What every rule must have, whoever wrote it. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { openBundle } from '../../src/index.js'
import { rules } from '../../src/rules/index.js'
import { analyzeBundle, bundleOf } from '../support/analyze.js'

const here = dirname(fileURLToPath(import.meta.url))
const root = join(here, '../../src/rules')
const bundles = [
  ...readdirSync(join(here, '../cases'))
    .filter(n => existsSync(join(here, '../cases', n, 'input')))
    .map(n => join(here, '../cases', n, 'input')),
  ...readdirSync(join(here, '../../fixtures/reports')).map(n => join(here, '../../fixtures/reports', n)),
]

/** A request on a pooled connection that gets no answer once the address has another owner: no bundle of a report shows one. */
const line = (time: string, logger: string, ids: string, message: string): string => `[2025-10-22 ${time}][22][debug][${logger}] [x.cc:1] [Tags: ${ids}] ${message}`
const STREAM = '"ConnectionId":"3","StreamId":"11"'
const silent = bundleOf({
  'envoy.log': `${[
    line('09:25:18.622', 'connection', '"ConnectionId":"7"', 'connecting to 10.0.0.9:8080'),
    line('09:25:18.623', 'connection', '"ConnectionId":"7"', 'connected'),
    line('09:40:00.000', 'pool', '"ConnectionId":"7"', 'using existing fully connected connection'),
    line('09:40:00.000', 'pool', '"ConnectionId":"7"', 'creating stream'),
    line('09:40:00.001', 'router', STREAM, 'pool ready'),
    line('09:40:15.000', 'router', STREAM, 'upstream timeout'),
  ].join('\n')}\n`,
  'pods.jsonl': '{"ip":"10.0.0.9","pod":"old","from":"2025-10-22T09:00:00Z","to":"2025-10-22T09:33:00Z"}\n{"ip":"10.0.0.9","pod":"new","from":"2025-10-22T09:34:30Z","to":null}\n',
})

describe('the registry', () => {
  it('knows each code once, in order', () => {
    const codes = rules.map(r => r.code)
    expect([...new Set(codes)].sort()).toEqual(codes)
  })
  it('has a rule for each folder', () => {
    const folders = readdirSync(root, { withFileTypes: true })
      .filter(e => e.isDirectory())
      .map(e => e.name)
    expect(folders.sort()).toEqual(rules.map(r => r.name).sort())
  })
})

describe.each(rules.map(r => [r.code, r] as const))('%s', (_, rule) => {
  it('has a README, a test, codes and references', () => {
    const readme = readFileSync(join(root, rule.name, 'README.md'), 'utf8')
    for (const code of Object.keys(rule.codes)) expect(readme).toContain(code)
    expect(existsSync(join(root, rule.name, 'rule.test.ts'))).toBe(true)
    expect(rule.references.every(r => /^https:\/\/\S+$/.test(r))).toBe(true)
    expect(rule.references.length).toBeGreaterThan(0)
    expect(rule.invariant.length).toBeGreaterThan(20)
  })
})

describe('over all bundles that ship with the project', () => {
  const used = new Map<string, Set<string>>()
  const wrong: string[] = []

  beforeAll(async () => {
    for (const path of [...bundles, 'a silent connection']) {
      const { outcome, report } = await analyzeBundle(path.startsWith('/') ? await openBundle([path], null) : silent)
      for (const [code, error] of outcome.errors) wrong.push(`${path}: ${code}: ${error}`)
      for (const [code, tables] of outcome.reads) for (const t of tables) (used.get(code) ?? used.set(code, new Set()).get(code))?.add(t)
      for (const f of report.findings) {
        const rule = rules.find(r => r.code === f.rule)
        if (!rule || !(f.code.replace(`${f.rule}.`, '') in rule.codes)) wrong.push(`${path}: ${f.code} is not declared`)
        if (f.claims.length === 0 || f.claims.some(c => c.evidence.length === 0)) wrong.push(`${path}: ${f.code} has a claim without evidence`)
        if (f.confidence.level === 'possible' && !['info', 'low'].includes(f.severity)) wrong.push(`${path}: ${f.code} is possible and ${f.severity}`)
        if (f.confidence.level === 'certain' && f.rivals.some(r => r.status === 'open') && f.severity !== 'info')
          wrong.push(`${path}: ${f.code} is certain with an open rival: ${f.rivals.find(r => r.status === 'open')?.says}`)
      }
      for (const v of report.verdicts) if (v.verdict === 'held' && v.checked === 0) wrong.push(`${path}: ${v.rule} held without a subject`)
    }
  }, 300_000)

  it('no rule fails, finds what it does not declare, or claims without evidence', () => expect(wrong).toEqual([]))
  it.each(rules.map(r => [r.code, r] as const))('%s reads every table that it declares', (code, rule) => {
    expect([...(used.get(code) ?? [])].sort()).toEqual([...rule.reads].sort())
  })
})
