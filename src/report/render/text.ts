/**
 * The report for a person at 3 a.m. Incidents come first, each on one screen; then the proof; then what was not explained, not understood,
 * not recognised and not settled; the verdicts last. Nothing but newlines and our own colours controls the terminal.
 */
import type { Report } from '../../model/report.js'
import { findingLines } from './text/finding.js'
import { incidentLines } from './text/incident.js'
import { block, type Page, pageOf, type TextOptions } from './text/layout.js'
import {
  checkedSection,
  failuresSection,
  gapsSection,
  needsSection,
  notRecognisedSection,
  notUnderstoodSection,
  ownersSection,
  type Section,
  verdictsSection,
} from './text/rest.js'
import { findingsInOrder, read, type Reading } from './reading.js'
import { nothingFoundText, overviewText } from './words.js'

export type { TextOptions } from './text/layout.js'

export function renderText(report: Report, options: TextOptions): string {
  const page = pageOf(options)
  const reading = read(report)
  const parts = [
    overview(page, report),
    ...report.incidents.map(i => incidentLines(page, reading, i)),
    ...findingsInOrder(reading).map((f, i) => [...(i === 0 ? [title(page, 'Proof'), ''] : []), ...findingLines(page, f)]),
    ...sections(page, reading).flatMap(([name, lines]) => (lines.length === 0 ? [] : [[title(page, name), ...lines]])),
  ]
  return `${parts.map(lines => lines.join('\n')).join('\n\n')}\n`
}

function overview(page: Page, report: Report): string[] {
  const broken = report.verdicts.filter(v => v.verdict === 'error').length
  const lines = report.findings.length > 0 ? block(page, `${overviewText(report)}; times are UTC`, { rows: 2 }) : block(page, nothingFoundText(report), { paint: page.paint.bold })
  return broken === 0 ? lines : [...lines, ...block(page, `${broken} of ${report.verdicts.length} rules failed to run: see the verdicts`, { rows: 1, paint: page.paint.red.bold })]
}

function sections(page: Page, reading: Reading): Section[] {
  const quiet = reading.report.incidents.length === 0
  return [
    ...(quiet ? [checkedSection(page, reading), needsSection(page, reading)] : []),
    failuresSection(page, reading),
    ownersSection(page, reading),
    notUnderstoodSection(page, reading),
    notRecognisedSection(page, reading),
    gapsSection(page, reading),
    ...(quiet ? [] : [needsSection(page, reading)]),
    verdictsSection(page, reading),
  ]
}

const title = (page: Page, name: string): string => page.paint.bold.underline(name)
