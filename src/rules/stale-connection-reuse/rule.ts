/** WC102: a pooled connection is used only while its remote address has the owner that it was opened to. */
import type { Place } from '../../correlate/evidence.js'
import type { Failure } from '../../correlate/failures.js'
import type { Owner, Ownership } from '../../correlate/owners.js'
import { endpointText } from '../../model/endpoint.js'
import { iso } from '../../model/instant.js'
import type { Confidence } from '../../model/report.js'
import type { DraftFinding, Judgement, Rule, RuleContext } from '../rule.js'
import { connectionsTo, ownedAddresses, unanswered } from './connections.sql.js'
import { advice, because, controls, opened, owns, resetSays, rivals, title, used } from './words.js'

export interface Pooled {
  readonly row: bigint
  readonly source: number
  readonly id: bigint
  readonly ip: string
  readonly port: number | null
  readonly opened: bigint | null
  readonly lastUse: bigint | null
  readonly closed: bigint | null
  readonly how: string
  readonly errno: number | null
  readonly pending: number
  /** When the last request on it ended without an answer. */
  readonly unanswered: bigint | null
}

/** A connection that outlived the owner of its address. */
export interface Stale {
  readonly connection: Pooled
  readonly before: Owner
  readonly after: Owner
  /** When it was written to or ended, under the new owner. */
  readonly used: bigint
  readonly code: 'reset-by-new-owner' | 'reset-by-new-sandbox' | 'silent-after-reuse'
  readonly confidence: Confidence
  readonly overlapping: boolean
}

export const staleConnectionReuse: Rule = {
  code: 'WC102',
  name: 'stale-connection-reuse',
  invariant: 'a connection is used only while its remote address has the owner it was opened to',
  subjects: 'upstream connections to an address whose owners are known',
  codes: {
    'reset-by-new-owner': 'a pooled connection older than the pod that now owns its remote address is written to and reset',
    'reset-by-new-sandbox': 'the same pod with a new sandbox',
    'silent-after-reuse': 'a connection older than the new owner is written to, and nothing comes back',
    'answered-by-new-owner': 'a connection opened after the change, to an address that the sender still holds for the previous owner, is answered by the new one',
  },
  reads: ['connection', 'attempt', 'owner', 'evidence'],
  needs: ['owner-history', 'upstream-connections'],
  helps: ['upstream-capture'],
  references: ['https://github.com/istio/ztunnel/issues/1637', 'https://github.com/istio/ztunnel/issues/1662', 'https://github.com/istio/istio/pull/58389', 'https://github.com/istio/ztunnel/issues/1191'],
  judge,
}

async function judge(context: RuleContext): Promise<Judgement> {
  const pool = await connections(context)
  const judged = pool.filter(c => !context.connections.mixed.has(c.source) && c.opened !== null && context.owners.of(c.ip).length > 0)
  const stale = judged.map(c => staleOf(c, context.owners)).filter(s => s !== null)
  const evidence = await context.store.evidence('connection', stale.map(s => s.connection.row))
  const findings = stale.map(s => finding(s, context, judged, evidence.get(s.connection.row) ?? []))
  const mixed = pool.filter(c => context.connections.mixed.has(c.source))
  return {
    applies: pool.length > 0,
    checked: judged.length,
    findings,
    missing: mixed.length > 0 ? [{ needs: 'one log per proxy', why: `${mixed.length} connections are in a log that mixes two processes: their ids cannot be told apart`, when: 'next-time', collect: 'kubectl logs <pod> -c <container> > <pod>.log, one file a pod (or --prefix)' }] : [],
  }
}

async function connections({ store }: RuleContext): Promise<Pooled[]> {
  const ips = (await store.rows(ownedAddresses)).map(r => r.ip as number | null).filter(ip => ip !== null)
  const upstream = (await store.ids(['upstream'])).get('upstream')
  if (ips.length === 0 || upstream === undefined) return []
  const rows = await store.rows(connectionsTo(ips, upstream))
  const reset = (await store.ids(['reset'])).get('reset')
  const silent = new Map<bigint, bigint | null>()
  if (rows.length > 0 && reset !== undefined) for (const r of await store.rows(unanswered(rows.map(r => r.row as bigint), reset))) silent.set(r.connection as bigint, r.t_end as bigint | null)
  const words = await store.words(rows.flatMap(r => [r.remote_ip as number, r.closed as number]))
  return rows.map(r => ({
    row: r.row as bigint,
    source: r.source as number,
    id: r.connection_id as bigint,
    ip: words.get(r.remote_ip as number) ?? '',
    port: r.remote_port as number | null,
    opened: r.t_connecting as bigint | null,
    lastUse: r.t_last_use as bigint | null,
    closed: r.t_closed as bigint | null,
    how: words.get(r.closed as number) ?? 'open',
    errno: r.errno as number | null,
    pending: (r.pending as number | null) ?? 0,
    unanswered: silent.get(r.row as bigint) ?? null,
  }))
}

/**
 * The connection was opened to one owner and written to, reset or silent under another. The safe side of every bound
 * counts: `certain` needs the birth inside the old owner's certain interval and the use inside the new one's.
 */
function staleOf(c: Pooled, owners: Ownership): Stale | null {
  if (c.opened === null) return null
  const died = c.closed !== null && (c.how === 'rst' || c.how === 'timeout') ? c.closed : c.unanswered
  if (died === null) return null
  const before = owners.at(c.ip, c.opened)
  const after = owners.at(c.ip, died)
  if (!before || !after || before === after || sameOwner(before, after)) return null
  // The new owner must have begun after the birth, and the old one ended before the use.
  if (after.from === null || after.from <= c.opened) return null
  const overlapping = before.to === null || before.to > after.from
  const sure = owners.surely(before, c.opened) && owners.surely(after, died) && before.certain && after.certain && !overlapping
  const oneMayHoldBoth = owners.maybe(c.ip, c.opened).some(o => owners.maybe(c.ip, died).includes(o))
  const sandbox = before.uid !== null && before.uid === after.uid
  return {
    connection: c,
    before,
    after,
    used: died,
    code: c.how !== 'rst' ? 'silent-after-reuse' : sandbox ? 'reset-by-new-sandbox' : 'reset-by-new-owner',
    confidence: sure ? 'certain' : overlapping || oneMayHoldBoth ? 'possible' : 'likely',
    overlapping,
  }
}

const sameOwner = (a: Owner, b: Owner): boolean => (a.uid !== null && b.uid !== null ? a.uid === b.uid && a.sandbox === b.sandbox : a.name === b.name)

function finding(s: Stale, context: RuleContext, judged: readonly Pooled[], evidence: readonly { role: string; place: Place }[]): DraftFinding {
  const c = s.connection
  const remote = endpointText(c.ip, c.port) ?? c.ip
  const failures = failuresOn(c, context.failures.list)
  const openings = evidence.filter(e => e.role === 'opened' || e.role === 'connected').map(e => e.place)
  const ends = evidence.filter(e => e.role !== 'opened' && e.role !== 'connected' && e.role !== 'reused').map(e => e.place)
  const uses = evidence.filter(e => e.role === 'reused').map(e => e.place)
  const fine = judged.filter(o => o.ip === c.ip && o.opened !== null && s.after.from !== null && o.opened > s.after.from)
  const reached = failures.filter(f => !f.streams.some(x => x.healed)).length
  return {
    code: `WC102.${s.code}`,
    severity: s.confidence === 'possible' ? 'low' : failures.length > 0 && reached === 0 ? 'medium' : 'high',
    confidence: { level: s.confidence, because: because(s) },
    title: title(s, remote),
    count: Math.max(1, c.pending, failures.length),
    subject: {
      connection_id: String(c.id),
      remote,
      ip: c.ip,
      pod: s.after.name,
      ...(s.after.uid ? { pod_uid: s.after.uid } : {}),
      previous_pod: s.before.name,
      ...(s.before.uid ? { previous_pod_uid: s.before.uid } : {}),
    },
    interval: { from: c.opened, to: s.used },
    identity: [c.ip, s.before.uid ?? s.before.name, s.after.uid ?? s.after.name, iso(s.used - (s.used % 1_000_000_000n))],
    root: c.ip,
    ongoing: false,
    impact: { ...(context.failures.requests > 0 ? { requests: context.failures.requests } : {}), ...(failures.length > 0 ? { failed: failures.length, reached_client: reached } : {}) },
    claims: [
      { says: opened(s, remote), places: openings.length > 0 ? openings : evidence.slice(0, 1).map(e => e.place) },
      ...s.before.places.slice(0, 1).map(p => ({ says: owns(s.before, c.ip), places: [p.place] })),
      ...s.after.places.slice(0, 1).map(p => ({ says: owns(s.after, c.ip), places: [p.place] })),
      ...(uses.length > 0 ? [{ says: used(s), places: uses.slice(-1) }] : []),
      ...(ends.length > 0 ? [{ says: resetSays(s, remote), places: ends }] : []),
    ],
    controls: controls(fine.length, fine.filter(o => o.how !== 'rst' && o.how !== 'timeout').length),
    rivals: rivals(s),
    missing: context.abilities.has('upstream-capture') ? [] : [context.abilities.missing('upstream-capture', { ip: c.ip, from: c.opened, to: s.used })],
    advice: advice(s, failures.some(f => f.hops.some(h => h.method !== null && !['GET', 'HEAD', 'OPTIONS', 'TRACE'].includes(h.method)))),
    references: staleConnectionReuse.references,
    failures,
  }
}

/** Failures of requests that a log or an access record puts on this connection. */
function failuresOn(c: Pooled, list: readonly Failure[]): Failure[] {
  return list.filter(f => f.streams.some(s => s.connection !== null && BigInt(s.connection) === c.row) || f.hops.some(h => h.place.source === c.source && h.upstreamConnectionId === c.id && h.upstreamIp === c.ip))
}
