/** Reports that are hard on whatever renders them. */
import type { Report } from '../../src/model/report.js'
import { sha256 } from './sample-evidence.js'
import { ztunnelReport } from './sample-report.js'

/** `count` findings, each with its own incident. */
export function largeReport(count: number): Report {
  const base = ztunnelReport()
  const [finding] = base.findings as [Report['findings'][number]]
  const findings = Array.from({ length: count }, (_, i) => ({
    ...finding,
    fingerprint: `WC102-${sha256(String(i)).slice(0, 16)}`,
    title: `Connection ${i} was reset by the new owner of its address`,
  }))
  return {
    ...base,
    findings,
    incidents: findings.map((f, i) => ({ ...(base.incidents[0] as Report['incidents'][number]), root: `10.0.${i >> 8}.${i & 255}`, findings: [f.fingerprint] })),
  }
}

const OURS = new Set([
  'schema',
  'tool',
  'id',
  'sha256',
  'rule',
  'code',
  'fingerprint',
  'findings',
  'finding',
  'aliases',
  'verdict',
  'severity',
  'level',
  'confidence',
  'when',
  'cause',
  'source',
  'from',
  'to',
  't',
  'guessed',
  'a',
  'b',
])

/** `report` with each string that evidence or a rule's sentence can hold replaced by what `hostile` makes of it. */
export function withHostileStrings(report: Report, hostile: (text: string) => string): Report {
  const walk = (value: unknown): unknown => {
    if (typeof value === 'string') return hostile(value)
    if (Array.isArray(value)) return value.map(walk)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, isOurs(k, v) ? v : walk(v)]))
  }
  return walk(report) as Report
}

/** Values that only wirecase chooses. `findings` and `confidence` also name what holds more; a failure's `status` is the proxy's, a rival's is ours. */
function isOurs(key: string, value: unknown): boolean {
  if (key === 'status') return value === 'open' || value === 'refuted'
  if (key === 'findings' && Array.isArray(value)) return typeof value[0] === 'string'
  if (key === 'confidence') return typeof value === 'string'
  return OURS.has(key)
}
