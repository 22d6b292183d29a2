/** WC100: sources do not contradict each other. Info only: a conflict lowers what rests on it, and is said. */
import { placeOf } from '../../correlate/owners.js'
import { groupBy } from '../../model/group.js'
import { iso } from '../../model/instant.js'
import type { DraftFinding, Judgement, Rule, RuleContext } from '../rule.js'
import { ambiguousRecords, sharedBy, statements } from './conflicts.sql.js'
import { clockConflict, type Conflict, differ, idConflicts, mixedLogs, ownerConflicts, type Statement } from './conflicts.js'
import { words } from './words.js'

export const evidenceConflict: Rule = {
  code: 'WC100',
  name: 'evidence-conflict',
  invariant: 'sources do not contradict each other',
  subjects: 'addresses with an owner, logs with connection ids, statements about connections, and access records',
  codes: {
    'owner-conflict': 'two sources name different owners of one address for the same time',
    'id-conflict': "two sources, or one log of two processes, cannot both be true about one connection id's life",
    'clock-conflict': 'two sources cannot both be true about the order or the zone of times',
    'ambiguous-record': 'records that a client could have written (forged log fields), counted',
  },
  reads: ['event', 'request', 'connection'],
  needs: [],
  helps: [],
  references: ['https://github.com/istio/ztunnel/issues/1637'],
  judge,
}

async function judge(context: RuleContext): Promise<Judgement> {
  const said = await statementsOf(context)
  const [ambiguous] = await context.store.rows(ambiguousRecords)
  const logs = await context.store.rows('SELECT DISTINCT source FROM raw.connection WHERE source IS NOT NULL ORDER BY source')
  const addresses = new Set(context.owners.all.map(o => o.ip))
  const requests = Number(ambiguous?.all_records ?? 0)
  const conflicts: Conflict[] = [...ownerConflicts(context.owners), ...mixedLogs(context.connections.mixed), ...idConflicts(said), ...(await clockConflicts(context))]
  const findings = conflicts.map(finding)
  const forged = Number(ambiguous?.ambiguous ?? 0)
  if (forged > 0) findings.push(finding(await ambiguousConflict(context, forged)))
  const checked = addresses.size + logs.length + groupBy(said, s => s.peer).size + requests
  return { applies: checked > 0, checked, findings }
}

async function statementsOf({ store }: RuleContext): Promise<Statement[]> {
  const kind = (await store.ids(['statement'])).get('statement')
  if (kind === undefined) return []
  const rows = await store.rows(statements(kind))
  const text = await store.words(rows.flatMap(r => [r.subject as number, r.reason as number]))
  return rows.map(r => ({ peer: text.get(r.subject as number) ?? '', id: (text.get(r.reason as number) ?? '').replace('connection ', ''), place: placeOf(r) }))
}

async function clockConflicts({ store, clocks, clockError }: RuleContext): Promise<Conflict[]> {
  const out: Conflict[] = []
  for (const c of clocks.filter(c => differ(c, clockError))) {
    const rows = await store.rows(sharedBy(c.a, c.b))
    if (rows.length > 0) out.push(clockConflict(c, { identity: [String(rows[0]?.request_id), ...rows.map(r => iso(r.t_start as bigint))], places: rows.map(placeOf) }))
  }
  return out
}

async function ambiguousConflict({ store }: RuleContext, count: number): Promise<Conflict> {
  const rows = await store.rows('SELECT source, line, byte_start, byte_end FROM raw.request WHERE ambiguous IS NOT NULL ORDER BY source, byte_start, "row" LIMIT 20')
  return {
    code: 'ambiguous-record',
    subject: {},
    root: 'ambiguous records',
    identity: ['ambiguous'],
    count,
    title: words.ambiguous(count),
    says: words.ambiguousSays,
    places: rows.map(placeOf),
    from: null,
    to: null,
  }
}

function finding(c: Conflict): DraftFinding {
  return {
    code: `WC100.${c.code}`,
    severity: 'info',
    confidence: { level: 'certain', because: [c.says] },
    title: c.title,
    count: c.count,
    subject: c.subject,
    interval: { from: c.from, to: c.to },
    identity: c.identity,
    root: c.root,
    ongoing: false,
    impact: {},
    claims: [{ says: c.says, places: c.places }],
    controls: [],
    rivals: [],
    missing: [],
    advice: words.advice[c.code],
    references: [],
    failures: [],
  }
}
