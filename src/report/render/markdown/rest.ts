/** What stands after the findings. */
import type { Verdict } from '../../../model/report.js'
import { markdownProse } from '../../escape/markdown.js'
import { missing } from './finding.js'
import { type Blocks, code, item, list, listed, paragraph, strong } from './nodes.js'
import { causesOf, idleRules, needsOf, pathOf, problemsOf, type Reading, UNEXPLAINED, unrecognised } from '../reading.js'
import {
  checkedText,
  clockTexts,
  counted,
  failureCitation,
  failuresText,
  failureText,
  ownerText,
  problemCitation,
  problemText,
  rangeText,
  thousands,
  verdictWord,
} from '../words.js'

const UNEXPLAINED_SHOWN = 10
/** Entries of the lists that only help: the JSON has them whole. */
const LISTED = 20

export type Section = readonly [title: string, blocks: Blocks]

export function sections(reading: Reading): Section[] {
  const { report } = reading
  return [
    ['Failures', failures(reading)],
    ['Who had the addresses', entries(report.owners.map(o => [o.ip, ownerText(o)]))],
    ['Not understood', entries(problemsOf(report).map(p => [problemCitation(reading, p), problemText(p)]))],
    ['Not recognised', entries(unrecognised(report).map(({ source, says }) => [source.path, [counted(source.bytes, 'byte'), says].filter(Boolean).join(', ')]))],
    ['Gaps', entries(report.coverage.flatMap(c => c.gaps.map((g): [string, string] => [pathOf(reading, c.source), `${rangeText(g)}: ${g.why}`])))],
    ['Clocks', clockTexts(reading).length === 0 ? [] : [list(clockTexts(reading).map(t => item(t)))]],
    ['Could not be evaluated', needs(reading)],
    ['Verdicts', report.verdicts.length === 0 ? [paragraph('No rule was run.')] : [list(report.verdicts.map(verdict))]],
  ]
}

function failures({ report: { failures } }: Reading): Blocks {
  if (failures.total === 0) return failures.requests > 0 ? [paragraph(failuresText(failures))] : []
  const unexplained = failures.list.filter(f => f.cause === UNEXPLAINED)
  const first = unexplained.slice(0, UNEXPLAINED_SHOWN)
  return [
    paragraph(failuresText(failures)),
    list(
      causesOf(failures.list).map(c =>
        item([code(c.cause), { type: 'text', value: `: ${thousands(c.count)}${c.findings.length > 0 ? ', in ' : ''}` }, ...listed(c.findings.slice(0, LISTED))]),
      ),
    ),
    ...(failures.omitted > 0 ? [paragraph(`${counted(failures.omitted, 'more failure')} not listed.`)] : []),
    ...(first.length > 0
      ? [paragraph(`Unexplained, ${thousands(first.length)} of ${thousands(unexplained.length)}:`), ...entries(first.map(f => [failureCitation(f), failureText(f)]))]
      : []),
  ]
}

function needs({ report }: Reading): Blocks {
  const all = needsOf(report.verdicts)
  const idle = idleRules(report.verdicts)
  const items = [...all.map(n => missing(n, n.rules)), ...(idle.length === 0 ? [] : [item(`nothing in this bundle to judge: ${idle.join(', ')}`)])]
  return items.length === 0 ? [] : [list(items)]
}

function verdict(v: Verdict) {
  const sure = v.confidence === null ? '' : `, ${v.confidence}`
  return item([
    code(v.rule),
    { type: 'text', value: ' ' },
    code(v.name),
    { type: 'text', value: ': ' },
    strong(verdictWord(v)),
    { type: 'text', value: `${sure}; ${checkedText(v)}` },
  ])
}

/** `path: what of it` */
function entries(all: readonly (readonly [string, string])[]): Blocks {
  if (all.length === 0) return []
  const more = all.length - LISTED
  const shown = list(all.slice(0, LISTED).map(([path, text]) => item([code(path), { type: 'text', value: ': ' }, ...markdownProse(text)])))
  return more > 0 ? [shown, paragraph(`And ${thousands(more)} more.`)] : [shown]
}
