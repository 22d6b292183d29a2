/** A finding in full: claims with the lines that prove them, controls, rivals, what is missing, advice. */
import type { Claim, Evidence, Finding, Missing, Rival } from '../../../model/report.js'
import { field, severityPaint } from './incident.js'
import { block, excerpt, line, type Page } from './layout.js'
import { quotedClaims, rivalsInOrder, subjectEntries } from '../reading.js'
import { citation, controlText, folded, missingWhen, rangeText, rivalText, sureText, thousands } from '../words.js'

/** Lines of a cited record that are shown; the record is at the citation. */
const EXCERPT_ROWS = 4

export function findingLines(page: Page, finding: Finding): string[] {
  const times = finding.count === 1 ? '' : `, ${thousands(finding.count)} times`
  return [
    ...block(page, `${finding.fingerprint}  ${finding.code}  ${finding.severity}, ${finding.confidence.level}${times}`, { paint: severityPaint(page, finding.severity) }),
    ...block(page, finding.title, { paint: page.paint.bold }),
    ...field(page, 'subject', subjectText(finding.subject)),
    ...field(page, 'when', rangeText(finding.interval)),
    ...field(page, 'how sure', sureText(finding.confidence)),
    ...(finding.aliases.length > 0 ? field(page, 'before', `called ${finding.aliases.join(', ')} with less evidence`) : []),
    ...part(page, 'proof', claims(page, finding.claims)),
    ...part(
      page,
      'controls',
      finding.controls.flatMap(c => block(page, controlText(c), { indent: 4, lead: '- ' })),
    ),
    ...part(
      page,
      'rivals',
      rivalsInOrder(finding).flatMap(r => rival(page, r)),
    ),
    ...part(
      page,
      'missing',
      finding.missing.flatMap(m => missingLines(page, m, 4)),
    ),
    ...part(
      page,
      'advice',
      finding.advice.flatMap(a => block(page, a, { indent: 4, lead: '- ' })),
    ),
    ...part(
      page,
      'references',
      finding.references.map(r => line(r, { indent: 4 })),
    ),
  ]
}

const part = (page: Page, name: string, lines: readonly string[]): string[] => (lines.length === 0 ? [] : [`  ${page.paint.underline(name)}`, ...lines])

const subjectText = (subject: Finding['subject']): string =>
  subjectEntries(subject)
    .map(([k, v]) => `${k.replaceAll('_', ' ')} ${v}`)
    .join(', ') || 'not known'

function claims(page: Page, all: readonly Claim[]): string[] {
  return quotedClaims(all).flatMap((c, i) => [...block(page, c.says, { indent: 4, lead: `${i + 1}. ` }), ...c.evidence.flatMap(e => evidence(page, e.at, e.quoted))])
}

function evidence(page: Page, e: Evidence, quoted: boolean): string[] {
  const at = line(page.prefix + citation(e), { indent: 7, paint: page.paint.cyan })
  if (!quoted) return [at]
  return [e.masked ? at + page.paint.dim(' (secrets masked)') : at, ...excerpt(page, folded(e.text), 9, EXCERPT_ROWS)]
}

function rival(page: Page, r: Rival): string[] {
  const told = r.status === 'open' && r.separated_by !== '' ? block(page, r.separated_by, { indent: 6, lead: 'told apart by: ' }) : []
  const lead = r.status === 'open' ? 'still open: ' : 'refuted: '
  return [...block(page, rivalText(r), { indent: 4, lead, ...(r.status === 'open' ? { paint: page.paint.yellow } : {}) }), ...told]
}

/** What is lacking, why, and the command, whole. */
export function missingLines(page: Page, m: Missing, indent: number, rules: readonly string[] = []): string[] {
  const whose = rules.length > 0 ? ` (${rules.join(', ')})` : ''
  return [
    ...block(page, `${m.needs}${whose}: ${m.why}; ${missingWhen(m.when)}:`, { indent }),
    line(m.collect, { indent: indent + 2, lead: page.paint.dim('$ '), paint: page.paint.green }),
  ]
}
