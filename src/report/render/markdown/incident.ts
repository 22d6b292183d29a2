/** An incident: what, on what, since when, how bad, how sure, what to do. */
import type { Finding, Incident } from '../../../model/report.js'
import { type Blocks, fact, fence, heading, type Item, item, list, listed, paragraph, strong } from './nodes.js'
import { leadOf, type Reading } from '../reading.js'
import { accusation, impactText, rootText, ruleText, sureText, thousands, whenText } from '../words.js'

export function incidentBlocks(reading: Reading, incident: Incident): Blocks {
  const lead = leadOf(reading, incident)
  const times = incident.count === 1 ? '' : `, ${thousands(incident.count)} times`
  return [
    heading(2, `${incident.severity.toUpperCase()}: ${ruleText(reading, incident.rule)} ${accusation(incident.severity, incident.confidence)}, ${incident.confidence}${times}`),
    ...(lead ? [paragraph([strong(lead.title)])] : []),
    list([
      fact('On', rootText(incident, lead)),
      fact('When', whenText(incident.interval, incident.ongoing)),
      fact('Impact', impactText(incident.impact)),
      ...(lead ? doubtAndAction(lead) : []),
      fact('Findings', listed(incident.findings)),
    ]),
  ]
}

function doubtAndAction(lead: Finding): Item[] {
  const rival = lead.rivals.find(r => r.status === 'open')
  const told = rival && rival.separated_by !== '' ? `; told apart by ${rival.separated_by}` : ''
  const now = lead.missing.find(m => m.when === 'now')
  return [
    fact('How sure', sureText(lead.confidence)),
    fact('Open rival', rival ? `${rival.says}${told}` : 'none'),
    ...(lead.advice.length > 0 ? [fact('Do now', '', list(lead.advice.map(a => item(a))))] : []),
    ...(now ? [fact('Collect now', '', fence([now.collect], 'sh'))] : []),
  ]
}
