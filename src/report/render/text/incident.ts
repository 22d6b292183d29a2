/** An incident as the person on call needs it: what, on what, since when, how bad, how sure, what to do. Fits on one screen with the heading. */
import type { Finding, Incident, Severity } from '../../../model/report.js'
import { block, line, type Page, type Paint } from './layout.js'
import { leadOf, type Reading } from '../reading.js'
import { accusation, impactText, rootText, ruleText, sureText, whenText } from '../words.js'

const LABEL = 13
/** Advice and fingerprints that the first screen has room for. */
const ADVICE = 2
const FINGERPRINTS = 2

/** At most 20 lines. */
export function incidentLines(page: Page, reading: Reading, incident: Incident): string[] {
  const lead = leadOf(reading, incident)
  return [
    ...heading(page, reading, incident),
    ...(lead ? block(page, lead.title, { rows: 2, paint: page.paint.bold }) : []),
    ...field(page, 'on', rootText(incident, lead), 1),
    ...field(page, 'when', whenText(incident.interval, incident.ongoing), 2, incident.ongoing ? page.paint.red : undefined),
    ...field(page, 'impact', impactText(incident.impact), 2),
    ...(lead ? doubtAndAction(page, lead) : []),
    ...field(page, 'proof below', fingerprints(incident), 1),
  ]
}

function heading(page: Page, reading: Reading, incident: Incident): string[] {
  const paint = severityPaint(page, incident.severity)
  const times = incident.count === 1 ? '' : `, ${incident.count} times`
  const text = `${incident.severity.toUpperCase()}  ${ruleText(reading, incident.rule)} ${accusation(incident.severity, incident.confidence)}, ${incident.confidence}${times}`
  return block(page, text, { rows: 1, paint })
}

function doubtAndAction(page: Page, lead: Finding): string[] {
  const rival = lead.rivals.find(r => r.status === 'open')
  const told = rival && rival.separated_by !== '' ? `; told apart by ${rival.separated_by}` : ''
  const now = lead.missing.find(m => m.when === 'now')
  return [
    ...field(page, 'how sure', sureText(lead.confidence), 2),
    ...field(page, 'open rival', rival ? `${rival.says}${told}` : 'none', 3),
    ...advice(page, lead.advice),
    ...(now ? [label(page, 'collect now') + line(now.collect, { lead: page.paint.dim('$ ') })] : []),
  ]
}

function advice(page: Page, all: readonly string[]): string[] {
  const more = all.length - ADVICE
  const lines = all.slice(0, ADVICE).flatMap((a, i) => block(page, a, { lead: `${label(null, i === 0 ? 'do now' : '')}${i + 1}. `, rows: 2 }))
  return more > 0 ? [...lines, ...field(page, '', `and ${more} more below`, 1)] : lines
}

function fingerprints({ findings }: Incident): string {
  const more = findings.length - FINGERPRINTS
  const some = findings.slice(0, FINGERPRINTS).join(', ')
  return more > 0 ? `${some} and ${more} more` : some
}

/** A label in the margin, and the text beside it. */
export function field(page: Page, name: string, text: string, rows?: number, paint?: Paint): string[] {
  return block(page, text, { lead: label(null, name), ...(rows === undefined ? {} : { rows }), ...(paint ? { paint } : {}) })
}

function label(page: Page | null, name: string): string {
  const text = `  ${name}`.padEnd(LABEL + 2)
  return page ? page.paint.dim(text) : text
}

/** Red for what hurts, yellow for what may. */
export function severityPaint(page: Page, severity: Severity): Paint {
  if (severity === 'critical' || severity === 'high') return page.paint.red.bold
  return severity === 'medium' ? page.paint.yellow.bold : page.paint.cyan.bold
}
