/** What renderings look up, group and order in a report. */
import {
  type Claim,
  type Evidence,
  type FailureReport,
  type Finding,
  type Incident,
  type Missing,
  type Report,
  type SourceReport,
  SUBJECT_KEYS,
  type Verdict,
} from '../../model/report.js'

/** A report with what renderers look up in it. */
export interface Reading {
  readonly report: Report
  readonly ruleNames: ReadonlyMap<string, string>
  readonly findings: ReadonlyMap<string, Finding>
  readonly paths: ReadonlyMap<string, string>
}

export const read = (report: Report): Reading => ({
  report,
  ruleNames: new Map(report.verdicts.map(v => [v.rule, v.name])),
  findings: new Map(report.findings.map(f => [f.fingerprint, f])),
  paths: new Map(report.sources.map(s => [s.id, s.path])),
})

export const pathOf = (reading: Reading, source: string): string => reading.paths.get(source) ?? source

/** The finding that speaks for an incident: the first that is as severe and as sure as the incident. */
export function leadOf(reading: Reading, incident: Incident): Finding | undefined {
  const all = incident.findings.flatMap(f => reading.findings.get(f) ?? [])
  return all.find(f => f.severity === incident.severity && f.confidence.level === incident.confidence) ?? all[0]
}

/** Findings in the order of the incidents they belong to, then the rest. */
export function findingsInOrder(reading: Reading): Finding[] {
  const order = new Set(reading.report.incidents.flatMap(i => i.findings.flatMap(f => reading.findings.get(f) ?? [])))
  for (const f of reading.report.findings) order.add(f)
  return [...order]
}

/** What is known of a subject: the keys of the contract in their order, then what later versions add. */
export function subjectEntries(subject: Finding['subject']): [key: string, value: string][] {
  const known: readonly string[] = SUBJECT_KEYS
  const others = Object.keys(subject).filter(k => !known.includes(k))
  const values: Readonly<Record<string, string | undefined>> = subject
  return [...known, ...others.sort()].flatMap((k): [string, string][] => (Object.hasOwn(values, k) && typeof values[k] === 'string' ? [[k, values[k]]] : []))
}

/** Records of one claim whose text is shown; the others are only cited. */
const QUOTED = 3

export interface QuotedClaim {
  readonly says: string
  readonly evidence: readonly { readonly at: Evidence; readonly quoted: boolean }[]
}

/** Which records show their text: the first of each claim, and each record once. */
export function quotedClaims(claims: readonly Claim[]): QuotedClaim[] {
  const seen = new Set<string>()
  return claims.map(({ says, evidence }) => {
    let quoted = 0
    const quote = (e: Evidence): boolean => {
      const record = `${e.source} ${e.bytes[0]}-${e.bytes[1]}`
      if (quoted >= QUOTED || seen.has(record)) return false
      seen.add(record)
      quoted++
      return true
    }
    return { says, evidence: evidence.map(at => ({ at, quoted: quote(at) })) }
  })
}

/** The rivals of a finding: those still open first. */
export const rivalsInOrder = (finding: Finding): Finding['rivals'] => [...finding.rivals.filter(r => r.status === 'open'), ...finding.rivals.filter(r => r.status !== 'open')]

/** Evidence that several rules lack is asked for once. */
export interface Need extends Missing {
  readonly rules: readonly string[]
}

/** What the rules lack: what can still be collected first, then what rules with something to judge lack. */
export function needsOf(verdicts: readonly Verdict[]): Need[] {
  const needs = new Map<string, { need: Missing; rules: string[] }>()
  for (const v of [...verdicts.filter(v => v.applies), ...verdicts.filter(v => !v.applies)]) {
    for (const m of v.missing) {
      const key = JSON.stringify([m.needs, m.why, m.when, m.collect])
      const known = needs.get(key)
      if (known) known.rules.push(v.rule)
      else needs.set(key, { need: m, rules: [v.rule] })
    }
  }
  const all = [...needs.values()].map(n => ({ ...n.need, rules: n.rules }))
  return [...all.filter(n => n.when === 'now'), ...all.filter(n => n.when !== 'now')]
}

/** Rules that judged nothing, and lack nothing that could be collected. */
export const idleRules = (verdicts: readonly Verdict[]): string[] => verdicts.filter(v => v.verdict === 'not-evaluable' && v.missing.length === 0).map(v => `${v.rule} ${v.name}`)

export interface CauseCount {
  readonly cause: string
  readonly count: number
  /** Findings that these failures belong to. */
  readonly findings: readonly string[]
}

export const UNEXPLAINED = 'WC104.unknown'

/** Listed failures by cause: the most frequent first, then by name. */
export function causesOf(failures: readonly FailureReport[]): CauseCount[] {
  const causes = new Map<string, { count: number; findings: Set<string> }>()
  for (const f of failures) {
    const known = causes.get(f.cause) ?? { count: 0, findings: new Set<string>() }
    known.count++
    if (f.finding !== null) known.findings.add(f.finding)
    causes.set(f.cause, known)
  }
  const all = [...causes].map(([cause, c]) => ({ cause, count: c.count, findings: [...c.findings] }))
  return all.sort((a, b) => b.count - a.count || (a.cause < b.cause ? -1 : 1))
}

const NOT_RECOGNISED: ReadonlySet<string> = new Set(['unknown-format', 'not-recognised'])

/** Sources that nothing recognised, each with what its problem says of it. */
export function unrecognised(report: Report): { source: SourceReport; says: string | null }[] {
  const says = new Map(report.problems.filter(p => NOT_RECOGNISED.has(p.kind)).map(p => [p.source, p.says]))
  return report.sources.filter(s => s.format === 'unknown').map(source => ({ source, says: says.get(source.id) ?? null }))
}

/** Problems but for those that `unrecognised` tells. */
export function problemsOf(report: Report): Report['problems'] {
  const unknown = new Set(unrecognised(report).map(u => u.source.id))
  return report.problems.filter(p => !(NOT_RECOGNISED.has(p.kind) && unknown.has(p.source)))
}
