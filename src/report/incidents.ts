/** Findings with one root are one incident: what a person reads first. */
import { groupBy } from '../model/group.js'
import { isoOrNull } from '../model/instant.js'
import { CONFIDENCES, type Impact, type Incident, SEVERITIES } from '../model/report.js'
import type { Found } from '../rules/run.js'

/** Groups findings above info by rule and root; the gravest first, then the most numerous, then by time. */
export function incidents(findings: readonly Found[]): Incident[] {
  const groups = groupBy(
    findings.filter(f => f.severity !== 'info'),
    f => `${f.rule} ${f.root}`,
  )
  return [...groups.values()].map(incident).sort(gravest)
}

function incident(group: Found[]): Incident {
  const [first] = group as [Found, ...Found[]]
  const froms = group.map(f => f.interval.from).filter(t => t !== null)
  const tos = group.map(f => f.interval.to).filter(t => t !== null)
  return {
    rule: first.rule,
    root: first.root,
    findings: group.map(f => f.fingerprint),
    count: group.reduce((n, f) => n + f.count, 0),
    severity: worst(group, f => f.severity, SEVERITIES),
    confidence: worst(group, f => f.confidence.level, CONFIDENCES),
    interval: { from: isoOrNull(least(froms)), to: isoOrNull(most(tos)) },
    ongoing: group.some(f => f.ongoing),
    impact: total(group.map(f => f.impact)),
  }
}

const least = (list: readonly bigint[]): bigint | null => list.reduce<bigint | null>((m, t) => (m === null || t < m ? t : m), null)
const most = (list: readonly bigint[]): bigint | null => list.reduce<bigint | null>((m, t) => (m === null || t > m ? t : m), null)

function worst<T>(group: readonly Found[], of: (f: Found) => T, order: readonly T[]): T {
  return order[Math.max(...group.map(f => order.indexOf(of(f))))] as T
}

/** Adds up what is known; `requests` is the same denominator for all. */
function total(list: readonly Impact[]): Impact {
  const out: Record<string, number> = {}
  for (const i of list) for (const [k, v] of Object.entries(i)) out[k] = k === 'requests' ? Math.max(out[k] ?? 0, v) : (out[k] ?? 0) + v
  return Object.fromEntries(['requests', 'failed', 'reached_client', 'probes', 'bytes_lost'].filter(k => k in out).map(k => [k, out[k]]))
}

function gravest(a: Incident, b: Incident): number {
  const severity = SEVERITIES.indexOf(b.severity) - SEVERITIES.indexOf(a.severity)
  const sure = CONFIDENCES.indexOf(b.confidence) - CONFIDENCES.indexOf(a.confidence)
  return severity || sure || b.count - a.count || compare(a.interval.from ?? '~', b.interval.from ?? '~') || compare(a.rule, b.rule) || compare(a.root, b.root)
}
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
