/**
 * The report to paste into a ticket: incidents, then findings that can each be pasted alone, then what was not explained, understood or settled.
 * Built as an mdast tree; evidence is in code or escaped prose, so that nothing in it links, mentions or formats.
 */
import { toMarkdown } from 'mdast-util-to-markdown'
import type { Report } from '../../model/report.js'
import { findingBlocks } from './markdown/finding.js'
import { incidentBlocks } from './markdown/incident.js'
import { type Blocks, heading, paragraph } from './markdown/nodes.js'
import { sections } from './markdown/rest.js'
import { findingsInOrder, read } from './reading.js'
import { nothingFoundText, overviewText } from './words.js'

export function renderMarkdown(report: Report): string {
  const reading = read(report)
  const children: Blocks = [
    heading(1, 'Network evidence'),
    paragraph(`${report.findings.length > 0 ? `${overviewText(report)}.` : nothingFoundText(report)} Read by ${report.tool.name} ${report.tool.version}; times are UTC.`),
    ...report.incidents.flatMap(i => incidentBlocks(reading, i)),
    ...findingsInOrder(reading).flatMap((f, i) => [...(i === 0 ? [heading(2, 'Findings')] : []), ...findingBlocks(f)]),
    ...sections(reading).flatMap(([name, blocks]) => (blocks.length === 0 ? [] : [heading(2, name), ...blocks])),
  ]
  return toMarkdown({ type: 'root', children }, { bullet: '-', fences: true, rule: '-' })
}
