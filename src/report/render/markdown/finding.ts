/** A finding that says everything about itself. */
import type { Claim, Evidence, Finding, Missing, Rival } from '../../../model/report.js'
import { markdownProse } from '../../escape/markdown.js'
import { type Blocks, code, fact, fence, heading, type Item, item, list, listed, paragraph, type Phrasing, reference, strong } from './nodes.js'
import { quotedClaims, rivalsInOrder, subjectEntries } from '../reading.js'
import { citation, controlText, excerptLines, missingWhen, rangeText, rivalText, sureText, thousands } from '../words.js'

/** Lines of a cited record that are shown; the rest is at the citation. */
const EXCERPT_LINES = 30

export function findingBlocks(finding: Finding): Blocks {
  const times = finding.count === 1 ? '' : `, ${thousands(finding.count)} times`
  return [
    heading(3, finding.title),
    list([
      fact('Code', [code(finding.code), { type: 'text', value: `, ${finding.severity}, ${finding.confidence.level}${times}` }]),
      fact('Fingerprint', [code(finding.fingerprint)]),
      ...(finding.aliases.length > 0 ? [fact('With less evidence', listed(finding.aliases))] : []),
      fact('When', rangeText(finding.interval)),
      fact('Subject', subject(finding.subject)),
      fact('How sure', sureText(finding.confidence)),
    ]),
    ...part('Proof', claims(finding.claims)),
    ...part(
      'Controls',
      finding.controls.map(c => item(controlText(c))),
    ),
    ...part('Rivals', rivalsInOrder(finding).map(rival)),
    ...part(
      'Missing',
      finding.missing.map(m => missing(m)),
    ),
    ...part(
      'Advice',
      finding.advice.map(a => item(a)),
    ),
    ...part(
      'References',
      finding.references.map(r => item([reference(r)])),
    ),
  ]
}

const part = (name: string, items: readonly Item[]): Blocks => (items.length === 0 ? [] : [paragraph([strong(name)]), list(items)])

function subject(of: Finding['subject']): Phrasing[] {
  const entries = subjectEntries(of)
  return entries.length === 0 ? markdownProse('not known') : listed(entries.map(([k, v]) => `${k}=${v}`))
}

const claims = (all: readonly Claim[]): Item[] => quotedClaims(all).map(c => item(c.says, ...(c.evidence.length > 0 ? [list(c.evidence.map(e => evidence(e.at, e.quoted)))] : [])))

function evidence(e: Evidence, quoted: boolean): Item {
  if (!quoted) return item([code(citation(e))])
  const lines = excerptLines(e.text)
  const more = lines.length - EXCERPT_LINES
  const shown = more > 0 ? [...lines.slice(0, EXCERPT_LINES), `… ${more} more lines`] : lines
  return item([code(citation(e)), ...(e.masked ? [{ type: 'text' as const, value: ' (secrets masked)' }] : [])], fence(shown, 'text'))
}

function rival(r: Rival): Item {
  const told = r.status === 'open' && r.separated_by !== '' ? `; told apart by ${r.separated_by}` : ''
  return fact(r.status === 'open' ? 'Still open' : 'Refuted', `${rivalText(r)}${told}`)
}

/** What is lacking, why, and the command that collects it. */
export function missing(m: Missing, rules: readonly string[] = []): Item {
  const whose = rules.length > 0 ? ` (${rules.join(', ')})` : ''
  return item(`${m.needs}${whose}: ${m.why}; ${missingWhen(m.when)}:`, fence([m.collect], 'sh'))
}
