/** WC105: an instance that stops finishes or refuses its requests in order. */
import type { Judgement, Rule, RuleContext } from '../rule.js'
import { findingsOf, REFERENCES } from './findings.js'
import { judgeStops } from './judge.js'
import { CODES, unnamedSays } from './words.js'

export const cutOffOnStop: Rule = {
  code: 'WC105',
  name: 'cut-off-on-stop',
  invariant: 'an instance that stops finishes or refuses its requests in order',
  subjects: 'stops and exits whose time is known, with requests near them',
  codes: CODES,
  reads: ['pod_fact', 'event', 'request', 'connection', 'evidence'],
  needs: ['http-requests', 'instance-stops'],
  helps: ['route-changes'],
  references: REFERENCES,
  judge,
}

async function judge(context: RuleContext): Promise<Judgement> {
  const { endings, stops, applies, unnamed, removals } = await judgeStops(context)
  const findings = await findingsOf(context, endings, removals)
  const judged = endings.reduce((n, e) => n + e.judged.length, 0)
  return {
    applies,
    checked: stops + judged,
    findings,
    missing: unnamed > 0 && !context.abilities.has('route-changes') ? [{ ...context.abilities.missing('route-changes'), why: unnamedSays(unnamed) }] : [],
  }
}
