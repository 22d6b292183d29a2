/** How the values of a report are put into words, once for all renderings. Nothing here is escaped: each medium does that last. */
import type { Confidence, Control, Evidence, FailureReport, Finding, Impact, Incident, Interval, Missing, Report, Rival, Severity, Verdict } from '../../model/report.js'
import { pathOf, type Reading } from './reading.js'

/** `4,210` */
export function thousands(n: number): string {
  const digits = String(Math.abs(n))
  if (!/^\d+$/.test(digits)) return String(n)
  const groups: string[] = []
  for (let end = digits.length; end > 0; end -= 3) groups.unshift(digits.slice(Math.max(0, end - 3), end))
  return `${n < 0 ? '-' : ''}${groups.join(',')}`
}

/** `1 request`, `2 requests`. */
export const counted = (n: number, noun: string): string => `${thousands(n)} ${n === 1 ? noun : `${noun}s`}`

/** A rule is only suspected to be violated while its surest finding is below likely. */
export function verdictWord(verdict: Pick<Verdict, 'verdict' | 'confidence'>): string {
  if (verdict.verdict === 'violated' && verdict.confidence === 'possible') return 'suspected'
  return verdict.verdict === 'not-evaluable' ? 'not evaluable' : verdict.verdict
}

/** The same for an incident or a finding; what is info violates nothing. */
export function accusation(severity: Severity, confidence: Confidence): string {
  if (severity === 'info') return 'noted'
  return confidence === 'possible' ? 'suspected' : 'violated'
}

/** `path:812`, `path#7` for a frame, and the bytes where there is neither. */
export function citation(at: Pick<Evidence, 'path' | 'line' | 'frame' | 'bytes'>): string {
  if (at.line !== null) return `${at.path}:${at.line}`
  return at.frame === null ? `${at.path} (bytes ${at.bytes[0]}-${at.bytes[1]})` : `${at.path}#${at.frame}`
}

/** Where a failure was logged. */
export const failureCitation = (f: FailureReport): string => (f.line === null ? f.path : `${f.path}:${f.line}`)

/** What one failure was: `503 UC upstream_reset… to 10.0.0.1:80, request 84bb…`, as far as known. */
export function failureText(f: FailureReport): string {
  const parts = [f.t ?? 'at an unknown time', f.status, f.flags.join(','), f.details]
  const tail = [f.upstream && `to ${f.upstream}`, f.request_id && `request ${f.request_id}`, f.probe && 'a probe']
  return [parts.filter(Boolean).join(' '), ...tail].filter(Boolean).join(', ')
}

/** How many of how many, and how many a client felt. */
export function impactText(impact: Impact): string {
  const { requests, failed, reached_client: reached, probes, bytes_lost: lost } = impact
  const parts: string[] = []
  if (failed !== undefined) parts.push(requests === undefined ? `${counted(failed, 'request')} failed` : `${thousands(failed)} of ${counted(requests, 'request')} failed`)
  else if (requests !== undefined) parts.push(`${counted(requests, 'request')} seen`)
  if (reached !== undefined) parts.push(reached === 0 ? 'none reached a client' : `${thousands(reached)} reached a client`)
  else parts.push('how many reached a client is not known')
  if (probes !== undefined && probes > 0) parts.push(counted(probes, 'probe'))
  if (lost !== undefined) parts.push(lost === 0 ? 'no bytes lost' : `${counted(lost, 'byte')} lost`)
  return parts.join(', ')
}

/** Since when, until when, and whether it goes on. */
export function whenText(interval: Interval, ongoing: boolean): string {
  const { from, to } = interval
  if (ongoing) return `since ${from ?? 'before the evidence begins'}, still going on when the evidence ends`
  if (from === null && to === null) return 'at an unknown time'
  return `${from === to ? 'at' : 'from'} ${rangeText(interval)}, not seen after that`
}

/** `from to to (how long)`; a bound that is not known is said. */
export function rangeText({ from, to }: Interval): string {
  if (from === null && to === null) return 'at an unknown time'
  if (from === to) return `${from}`
  const long = from !== null && to !== null ? durationText(Date.parse(to) - Date.parse(from)) : ''
  return `${from ?? 'unknown'} to ${to ?? 'unknown'}${long && ` (${long})`}`
}

/** Milliseconds in the two largest units; empty for what is no duration. */
export function durationText(ms: number): string {
  if (!Number.isFinite(ms) || ms < 0) return ''
  if (ms < 1000) return `${ms} ms`
  const s = Math.floor(ms / 1000)
  if (s < 60) return `${ms / 1000} s`
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`
  if (s < 86_400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`
  return `${Math.floor(s / 86_400)} d ${Math.floor((s % 86_400) / 3600)} h`
}

/** `certain: because …; …` */
export const sureText = (confidence: Finding['confidence']): string => [confidence.level, confidence.because.join('; ')].filter(Boolean).join(': ')

/** Lines of an excerpt. Tabs are blanks, as on a terminal: most proxies put them between the fields of a line. */
export const excerptLines = (text: string): string[] =>
  text
    .replaceAll('\t', ' ')
    .split('\n')
    .map(l => l.trimEnd())

/** An excerpt in one line. */
export const folded = (text: string): string =>
  excerptLines(text)
    .map(l => l.trimStart())
    .join(' ')

/** Whether it can still be had. */
export const missingWhen = (when: Missing['when']): string => (when === 'now' ? 'can still be collected' : 'collect it while it happens')

/** `WC102 stale-connection-reuse`, or the rule alone. */
export const ruleText = (reading: Reading, rule: string): string => [rule, reading.ruleNames.get(rule)].filter(Boolean).join(' ')

/** What the incident is about: its root, and whom its leading finding names. */
export function rootText(incident: Incident, lead: Finding | undefined): string {
  const { pod, previous_pod: previous, instance, proxy, node, cluster } = lead?.subject ?? {}
  const others = Object.entries({ 'pod ': pod, 'previously pod ': previous, 'instance ': instance, 'proxy ': proxy, 'node ': node, 'cluster ': cluster })
  const named = others.flatMap(([what, name]) => (name === undefined || name === incident.root ? [] : [what + name]))
  return named.length === 0 ? incident.root : `${incident.root} (${named.join(', ')})`
}

/** A control that gives its numbers itself is taken at its word. */
export function controlText({ says, checked, passed }: Control): string {
  const told = [checked, passed].every(n => says.includes(String(n)) || says.includes(thousands(n)))
  return told ? says : `${says} (${thousands(passed)} of ${thousands(checked)})`
}

/** What was thought of instead, and why it is refuted or still open. */
export const rivalText = (r: Rival): string => (r.because === '' ? r.says : `${r.says}, because ${r.because}`)

/** Where a problem was met first. */
export function problemCitation(reading: Reading, p: Report['problems'][number]): string {
  const path = p.source === '' ? 'the bundle' : pathOf(reading, p.source)
  return p.first.line === null ? path : `${path}:${p.first.line}`
}

/** `bad-record (12): a line that is cut short` */
export const problemText = (p: Report['problems'][number]): string => `${p.kind} (${thousands(p.count)}): ${p.says}`

/** Who had an address, and from when to when. */
export function ownerText(o: Report['owners'][number]): string {
  const bounds = `${o.from ?? 'before the evidence begins'} to ${o.to ?? 'the end of the evidence'}`
  return `${o.kind} ${o.owner}${o.uid === null ? '' : ` (${o.uid})`}, ${bounds}${o.certain ? '' : ', bounds uncertain'}`
}

/** How many did not end well. */
export function failuresText({ total, explained, unexplained, requests }: Report['failures']): string {
  if (total === 0) return `None among ${counted(requests, 'request')}.`
  const of = requests > 0 ? ` of ${counted(requests, 'request')}` : ''
  return `${thousands(total)}${of} did not end well for the client: ${thousands(explained)} explained, ${thousands(unexplained)} unexplained.`
}

/** How the clocks of two sources stand to each other, measured pairs one by one and the rest together. */
export function clockTexts(reading: Reading): string[] {
  const { clocks } = reading.report
  const measured = clocks.filter(c => c.anchors > 0)
  const assumed = clocks.filter(c => c.anchors === 0)
  const texts = measured.map(
    c => `${pathOf(reading, c.a)} and ${pathOf(reading, c.b)}: offset ${c.offset_ms} ms ± ${c.error_ms} ms, measured on ${counted(c.anchors, 'common event')}`,
  )
  const worst = Math.max(...assumed.map(c => c.error_ms))
  if (assumed.length > 0) texts.push(`${counted(assumed.length, 'pair')} of sources without a common event: taken as synchronised within ${worst} ms`)
  return texts
}

/** What was read, in one line. */
export function overviewText(report: Report): string {
  const what = report.incidents.length > 0 ? [counted(report.incidents.length, 'incident')] : []
  return [...what, counted(report.findings.length, 'finding'), sourcesText(report)].join(', ')
}

function sourcesText(report: Report): string {
  const known = report.sources.filter(s => s.format !== 'unknown')
  const bounds = known
    .flatMap(s => [s.from, s.to])
    .filter(t => t !== null)
    .sort((a, b) => Date.parse(a) - Date.parse(b))
  const span = bounds.length > 0 ? ` from ${bounds[0]} to ${bounds.at(-1)}` : ''
  if (report.sources.length === 0) return 'no source'
  return known.length === report.sources.length
    ? `${counted(known.length, 'source')}${span}`
    : `${thousands(known.length)} of ${counted(report.sources.length, 'source')} recognised${span}`
}

/** What a report without findings amounts to, said so that nobody takes silence for health. */
export function nothingFoundText(report: Report): string {
  const { sources, verdicts } = report
  const number = (name: Verdict['verdict']): number => verdicts.filter(v => v.verdict === name).length
  if (sources.length === 0) return 'No findings: no source was read.'
  if (sources.every(s => s.format === 'unknown')) return `No findings: none of ${counted(sources.length, 'source')} was recognised, so nothing was judged.`
  const held = number('held')
  const failed = number('error') > 0 ? `, ${thousands(number('error'))} failed to run` : ''
  return `No findings: ${thousands(held)} of ${counted(verdicts.length, 'rule')} held, ${thousands(number('not-evaluable'))} could not be evaluated${failed}.`
}

/** What a rule judged, and how that went. */
export function checkedText(v: Verdict): string {
  const checked = `${thousands(v.checked)} checked`
  if (v.verdict === 'held') return `${checked}, none violated it`
  return `${checked}, ${counted(v.findings, 'finding')}`
}
