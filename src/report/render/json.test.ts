import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import { describe, expect, it } from 'vitest'
import { emptyReport, gatewayReport, ztunnelReport } from '../../../test/support/sample-report.js'
import { type Report, SUBJECT_KEYS } from '../../model/report.js'
import { formatOfFile } from './index.js'
import { REPORT_SHAPE, renderJson } from './json.js'

interface Schema {
  readonly $ref?: string
  readonly type?: string
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: unknown
  readonly definitions?: Readonly<Record<string, Schema>>
}

const schema = JSON.parse(readFileSync(new URL('../report.schema.json', import.meta.url), 'utf8')) as Schema
const validate = new Ajv({ allErrors: true, strict: true }).compile(schema)
const keys = (json: string): string[] => Object.keys(JSON.parse(json) as object)

describe('keys', () => {
  it('are in the order of the contract', () => {
    expect(keys(renderJson(emptyReport()))).toEqual(['schema', 'tool', 'sources', 'verdicts', 'incidents', 'findings', 'failures', 'owners', 'coverage', 'clocks', 'problems'])
  })

  it('are there and null where nothing is known', () => {
    const report = gatewayReport()
    const [source] = report.sources as [Report['sources'][number]]
    const { from, to, ...less } = source
    expect([from, to]).not.toContain(undefined)
    const rendered = JSON.parse(renderJson({ ...report, sources: [less as typeof source] })) as Report
    expect(rendered.sources[0]).toEqual({ ...source, from: null, to: null })
  })

  it('of a subject and an impact are only those known, in order, and new ones last', () => {
    const report = ztunnelReport()
    const [finding] = report.findings as [Report['findings'][number]]
    const subject = JSON.parse('{"zone":"z","pod":"p","__proto__":"x","proxy":"q"}') as Report['findings'][number]['subject']
    const json = renderJson({ ...report, findings: [{ ...finding, subject }] })
    expect(json).toMatch(/"subject": \{\s+"proxy": "q",\s+"pod": "p",\s+"__proto__": "x",\s+"zone": "z"\s+\}/)
  })

  it('masked is there only where something is masked', () => {
    const evidence = (JSON.parse(renderJson(ztunnelReport())) as Report).findings.flatMap(f => f.claims.flatMap(c => c.evidence))
    expect(evidence.map(e => e.masked)).toEqual([undefined, undefined, undefined, undefined, undefined, true])
  })
})

describe('the schema', () => {
  it('has the keys of the report, in order, all required, and no others', () => {
    const resolve = (s: Schema): Schema => (s.$ref ? (schema.definitions?.[s.$ref.slice('#/definitions/'.length)] as Schema) : s)
    const compare = (shape: unknown, given: Schema, at: string): void => {
      const found = resolve(given)
      const object = found.items ? resolve(found.items) : found
      if (shape === null || shape === 'if-known') return
      const wanted = Array.isArray(shape) ? (shape as string[]) : Object.keys(shape as object)
      expect(Object.keys(object.properties ?? {}), at).toEqual(wanted)
      expect(object.required, at).toEqual(Array.isArray(shape) ? [] : wanted.filter(k => (shape as Record<string, unknown>)[k] !== 'if-known'))
      if (shape !== SUBJECT_KEYS) expect(object.additionalProperties, at).toBe(false)
      if (!Array.isArray(shape)) for (const [k, s] of Object.entries(shape as object)) compare(s, object.properties?.[k] as Schema, `${at}.${k}`)
    }
    compare(REPORT_SHAPE, schema, 'report')
  })

  const change = (make: (report: Record<string, unknown>) => void): boolean => {
    const report = JSON.parse(renderJson(ztunnelReport())) as Record<string, unknown>
    make(report)
    return validate(report)
  }

  it('takes subjects that grow', () => {
    expect(change(r => Object.assign((r.findings as Report['findings'])[0]?.subject as object, { zone: 'z' }))).toBe(true)
    expect(change(r => Object.assign((r.findings as Report['findings'])[0]?.subject as object, { zone: 1 }))).toBe(false)
  })

  it.each<[string, (report: Record<string, unknown>) => void]>([
    ['a key too many', r => Object.assign(r, { more: 1 })],
    ['a key too few', r => delete r.owners],
    ['an unknown verdict', r => Object.assign((r.verdicts as object[])[0] as object, { verdict: 'maybe' })],
    ['a time with an offset', r => Object.assign((r.sources as object[])[0] as object, { from: '2026-01-01T00:00:00+02:00' })],
    ['a code that is none', r => Object.assign((r.findings as object[])[0] as object, { code: 'WC102' })],
    ['a cause that is none', r => Object.assign((r.failures as { list: object[] }).list[0] as object, { cause: 'bad luck' })],
    ['a hash that is none', r => Object.assign((r.sources as object[])[0] as object, { sha256: 'abc' })],
    ['three offsets', r => Object.assign((r.problems as { first: object }[])[0]?.first as object, { bytes: [1, 2, 3] })],
    ['an impact of another kind', r => Object.assign((r.incidents as { impact: object }[])[0]?.impact as object, { euros: 1 })],
  ])('refuses %s', (_, make) => expect(change(make)).toBe(false))

  it('names no host of ours', () => expect(schema).toHaveProperty('$id', 'urn:wirecase:report:1'))
})

it('a file name asks for a format', () => {
  expect(['a.json', 'a.md', 'a.markdown', 'dir.json/a.txt', 'a.LOG'].map(formatOfFile)).toEqual(['json', 'markdown', 'markdown', 'text', 'text'])
  expect(['a', 'a.html', 'json', 'a.json.gz', 'a.constructor', ''].map(formatOfFile)).toEqual([null, null, null, null, null, null])
})
