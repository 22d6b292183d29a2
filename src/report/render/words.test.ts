import { describe, expect, it } from 'vitest'
import { quietReport, ztunnelReport } from '../../../test/support/sample-report.js'
import type { Report, Verdict } from '../../model/report.js'
import { causesOf, findingsInOrder, needsOf, quotedClaims, read } from './reading.js'
import { accusation, citation, controlText, durationText, impactText, nothingFoundText, thousands, verdictWord, whenText } from './words.js'

it('a rule is suspected, not violated, while nothing is likely', () => {
  expect(verdictWord({ verdict: 'violated', confidence: 'possible' })).toBe('suspected')
  expect(verdictWord({ verdict: 'violated', confidence: 'likely' })).toBe('violated')
  expect(verdictWord({ verdict: 'not-evaluable', confidence: null })).toBe('not evaluable')
  expect(accusation('low', 'possible')).toBe('suspected')
  expect(accusation('info', 'certain')).toBe('noted')
})

it('numbers are grouped without a locale', () => {
  expect([0, 999, 1000, 4210, 1234567, -1000, 0.5].map(thousands)).toEqual(['0', '999', '1,000', '4,210', '1,234,567', '-1,000', '0.5'])
})

it('durations are told in their two largest units', () => {
  expect([0, 999, 1500, 962_438, 7_200_000, 90_000_000].map(durationText)).toEqual(['0 ms', '999 ms', '1.5 s', '16 min 2 s', '2 h 0 min', '1 d 1 h'])
  expect(durationText(Number.NaN)).toBe('')
  expect(durationText(-1)).toBe('')
})

it('an impact says what is not known', () => {
  expect(impactText({ requests: 4210, failed: 31, reached_client: 3, probes: 12, bytes_lost: 0 })).toBe('31 of 4,210 requests failed, 3 reached a client, 12 probes, no bytes lost')
  expect(impactText({ failed: 1, reached_client: 0 })).toBe('1 request failed, none reached a client')
  expect(impactText({})).toBe('how many reached a client is not known')
})

it('says whether it is still going on', () => {
  const from = '2026-01-01T00:00:00Z'
  expect(whenText({ from, to: null }, true)).toBe(`since ${from}, still going on when the evidence ends`)
  expect(whenText({ from, to: '2026-01-01T00:00:09Z' }, false)).toBe(`from ${from} to 2026-01-01T00:00:09Z (9 s), not seen after that`)
  expect(whenText({ from, to: from }, false)).toBe(`at ${from}, not seen after that`)
  expect(whenText({ from: null, to: null }, false)).toBe('at an unknown time')
})

it('cites a line, a frame, or else bytes', () => {
  const at = { path: 'a/b.log', line: 812, frame: null, bytes: [10, 20] as const }
  expect(citation(at)).toBe('a/b.log:812')
  expect(citation({ ...at, line: null, frame: 7 })).toBe('a/b.log#7')
  expect(citation({ ...at, line: null })).toBe('a/b.log (bytes 10-20)')
})

it('gives the numbers of a control that does not tell them', () => {
  expect(controlText({ says: '12 of 12 were fine', checked: 12, passed: 12 })).toBe('12 of 12 were fine')
  expect(controlText({ says: 'others were fine', checked: 1200, passed: 3 })).toBe('others were fine (3 of 1,200)')
})

it('asks once for what several rules lack, first what can still be had', () => {
  const missing = (needs: string, when: 'now' | 'next-time') => ({ needs, why: 'w', when, collect: `get ${needs}` })
  const verdict = (rule: string, applies: boolean, ...list: ReturnType<typeof missing>[]): Verdict => ({ ...(quietReport().verdicts[0] as Verdict), rule, applies, missing: list })
  const needs = needsOf([
    verdict('WC101', false, missing('flows', 'next-time'), missing('owners', 'now')),
    verdict('WC102', true, missing('owners', 'now'), missing('log', 'next-time')),
  ])
  expect(needs.map(n => [n.needs, n.rules.join()])).toEqual([
    ['owners', 'WC102,WC101'],
    ['log', 'WC102'],
    ['flows', 'WC101'],
  ])
})

it('counts causes, the most frequent first', () => {
  const [one] = ztunnelReport().failures.list as [Report['failures']['list'][number]]
  const causes = causesOf([{ ...one, cause: 'retried', finding: null }, one, one])
  expect(causes.map(c => [c.cause, c.count, c.findings.length])).toEqual([
    ['WC104.reset-before-response', 2, 1],
    ['retried', 1, 0],
  ])
})

it('quotes each record once, and three a claim', () => {
  const [finding] = ztunnelReport().findings as [Report['findings'][number]]
  expect(quotedClaims(finding.claims).map(c => c.evidence.map(e => e.quoted))).toEqual([[true, true], [true], [true, false]])
  const [claim] = finding.claims as [(typeof finding.claims)[number]]
  const many = Array.from({ length: 5 }, (_, i) => ({ ...(claim.evidence[0] as (typeof claim.evidence)[number]), bytes: [i, i + 1] as const }))
  expect(quotedClaims([{ says: '', evidence: many }])[0]?.evidence.filter(e => e.quoted)).toHaveLength(3)
})

it('lists findings by incident, and those of none last', () => {
  const report = ztunnelReport()
  const order = findingsInOrder(read({ ...report, incidents: report.incidents.slice(1) })).map(f => f.rule)
  expect(order).toEqual(['WC104', 'WC102'])
})

describe('a report without findings', () => {
  it('says how much was judged', () => expect(nothingFoundText(quietReport())).toBe('No findings: 2 of 6 rules held, 4 could not be evaluated.'))
  it('says that nothing was recognised', () => {
    const report = quietReport()
    expect(nothingFoundText({ ...report, sources: report.sources.map(s => ({ ...s, format: 'unknown' })) })).toBe(
      'No findings: none of 3 sources was recognised, so nothing was judged.',
    )
    expect(nothingFoundText({ ...report, sources: [] })).toBe('No findings: no source was read.')
  })
  it('says that a rule failed', () => {
    const report = quietReport()
    expect(nothingFoundText({ ...report, verdicts: report.verdicts.map(v => ({ ...v, verdict: 'error' as const })) })).toContain('6 failed to run')
  })
})
