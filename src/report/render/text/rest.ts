/** What stands after the findings: failures, owners, what was not understood or not looked at, and the verdicts. */
import Table from 'cli-table3'
import type { Verdict } from '../../../model/report.js'
import { escapeTerminal } from '../../escape/terminal.js'
import { missingLines } from './finding.js'
import { block, fit, line, type Page, type Paint } from './layout.js'
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
/** Lines of the lists that only help: the JSON has them whole. */
const LISTED = 20

export type Section = readonly [title: string, lines: readonly string[]]

export function failuresSection(page: Page, { report }: Reading): Section {
  const { failures } = report
  if (failures.total === 0) return ['Failures', failures.requests > 0 ? block(page, failuresText(failures), { indent: 2 }) : []]
  const unexplained = failures.list.filter(f => f.cause === UNEXPLAINED)
  return [
    'Failures',
    [
      ...block(page, failuresText(failures), { indent: 2 }),
      ...causesOf(failures.list).flatMap(c => cause(page, c)),
      ...(failures.omitted > 0 ? block(page, `${counted(failures.omitted, 'more failure')} not listed`, { indent: 2 }) : []),
      ...(unexplained.length > 0
        ? block(page, `Unexplained${unexplained.length > UNEXPLAINED_SHOWN ? `, the first ${UNEXPLAINED_SHOWN} of ${thousands(unexplained.length)}` : ''}:`, { indent: 2 })
        : []),
      ...unexplained
        .slice(0, UNEXPLAINED_SHOWN)
        .flatMap(f => [line(page.prefix + failureCitation(f), { indent: 4, paint: page.paint.cyan }), ...block(page, failureText(f), { indent: 6 })]),
    ],
  ]
}

function cause(page: Page, { cause, count, findings }: ReturnType<typeof causesOf>[number]): string[] {
  const [first] = findings
  const of = first === undefined ? '' : `  in ${first}${findings.length > 1 ? ` and ${findings.length - 1} more` : ''}`
  return block(page, `${cause}${of}`, { lead: thousands(count).padStart(9).concat('  ') })
}

export function ownersSection(page: Page, { report }: Reading): Section {
  return [
    'Who had the addresses',
    list(
      page,
      report.owners.map(o => `${o.ip}: ${ownerText(o)}`),
    ),
  ]
}

export function notUnderstoodSection(page: Page, reading: Reading): Section {
  return [
    'Not understood',
    list(
      page,
      problemsOf(reading.report).map(p => `${page.prefix}${problemCitation(reading, p)}: ${problemText(p)}`),
    ),
  ]
}

export function notRecognisedSection(page: Page, { report }: Reading): Section {
  return [
    'Not recognised',
    list(
      page,
      unrecognised(report).map(({ source, says }) => `${page.prefix}${source.path}: ${counted(source.bytes, 'byte')}${says === null ? '' : `, ${says}`}`),
    ),
  ]
}

export function gapsSection(page: Page, reading: Reading): Section {
  const gaps = reading.report.coverage.flatMap(c => c.gaps.map(g => `${page.prefix}${pathOf(reading, c.source)}: ${rangeText(g)}: ${g.why}`))
  return ['Gaps and clocks', [...list(page, gaps), ...list(page, clockTexts(reading))]]
}

export function checkedSection(page: Page, { report }: Reading): Section {
  const judged = report.verdicts.filter(v => v.verdict === 'held' || v.verdict === 'violated')
  return ['Checked', judged.flatMap(v => block(page, `${v.rule} ${v.name}: ${checkedText(v)}`, { indent: 2 }))]
}

export function needsSection(page: Page, { report }: Reading): Section {
  const idle = idleRules(report.verdicts)
  const needs = needsOf(report.verdicts).flatMap(n => missingLines(page, n, 2, n.rules))
  return ['Could not be evaluated', idle.length === 0 ? needs : [...needs, ...block(page, `nothing in this bundle to judge: ${idle.join(', ')}`, { indent: 2 })]]
}

function list(page: Page, lines: readonly string[]): string[] {
  const more = lines.length - LISTED
  const shown = lines.slice(0, LISTED).flatMap(l => block(page, l, { indent: 2 }))
  return more > 0 ? [...shown, `  and ${thousands(more)} more: --format json lists all`] : shown
}

/** Columns of the widest cell. */
const CELL = 60

const BORDERS = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
}

export function verdictsSection(page: Page, { report }: Reading): Section {
  if (report.verdicts.length === 0) return ['Verdicts', ['  none: no rule was run']]
  const table = new Table({
    head: ['rule', 'invariant', 'verdict', 'sure', 'checked', 'findings', 'needs'].map(h => page.paint.dim(h)),
    chars: BORDERS,
    colAligns: ['left', 'left', 'left', 'left', 'right', 'right', 'left'],
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  })
  for (const v of report.verdicts) table.push(verdictRow(page, v))
  return [
    'Verdicts',
    table
      .toString()
      .split('\n')
      .map(l => `  ${l.trimEnd()}`),
  ]
}

function verdictRow(page: Page, v: Verdict): string[] {
  const needs = [...(v.applies || v.verdict !== 'not-evaluable' ? [] : ['nothing to judge']), ...new Set(v.missing.map(m => m.needs))].join(', ')
  const text = (t: string): string => fit(escapeTerminal(t), CELL)
  return [text(v.rule), text(v.name), verdictPaint(page, v)(verdictWord(v)), v.confidence ?? '', thousands(v.checked), thousands(v.findings), text(needs)]
}

function verdictPaint(page: Page, v: Verdict): Paint {
  if (v.verdict === 'held') return page.paint.green
  if (v.verdict === 'error') return page.paint.red.bold
  if (v.verdict === 'not-evaluable') return page.paint.yellow
  return v.confidence === 'possible' ? page.paint.yellow : page.paint.red
}
