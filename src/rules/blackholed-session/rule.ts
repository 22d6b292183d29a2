/** WC103: bytes sent on an established session are acknowledged or the session ends. */
import type { Place } from '../../correlate/evidence.js'
import { placeOf } from '../../correlate/owners.js'
import type { Missing } from '../../model/report.js'
import type { Judgement, Rule, RuleContext } from '../rule.js'
import { aroundOf, type Mortal } from './around.js'
import { deathsOf } from './deaths.js'
import { finding, type Proof } from './finding.js'
import { type Limits, limitsOf } from './kernel.js'
import { framesOf, otherCounts, sessionCounts, sourcesOf } from './sessions.sql.js'
import { chunks, type Ids, idsOf, type Session, sessionsOf } from './sessions.js'
import { type Suspect, trafficOf } from './traffic.js'
import { type Case, deathOf, oneAddressAPod, verdictOf } from './verdict.js'
import { REFERENCES } from './words.js'

export const blackholedSession: Rule = {
  code: 'WC103',
  name: 'blackholed-session',
  invariant: 'bytes sent on an established session are acknowledged or the session ends',
  subjects: 'TCP sessions and upstream connections',
  codes: {
    'ended-by-timeout': 'an established session ended only because retransmissions ran out',
    'still-open': 'unacknowledged data and backed-off retransmissions when the evidence ends',
    'ended-by-keepalive': 'the peer vanished with nothing in flight, and TCP keep-alive probes noticed',
    'at-risk': 'established to an address whose pod is gone, nothing in flight',
  },
  reads: ['request', 'connection', 'attempt', 'proxy_line', 'packet', 'session', 'pod_fact', 'setting', 'event', 'evidence'],
  // A log or a capture shows how a session ended; without them, when its pod did is needed, too: `judge` says so.
  needs: ['tcp-sessions'],
  helps: ['pod-ends', 'upstream-connections', 'upstream-capture'],
  references: REFERENCES,
  judge,
}

async function judge(context: RuleContext): Promise<Judgement> {
  const limits = await limitsOf(context.store)
  const ids = await idsOf(context)
  const counts = await count(context, ids, limits)
  if (counts.subjects === 0) return { applies: false, checked: 0, findings: [] }
  const deaths = await deathsOf(context)
  const sessions = await sessionsOf(context, deaths.all, limits, ids)
  const suspects = sessions.map((session): Suspect => ({ session, ...deathOf(session, deaths, limits, context) })).filter(isSuspect)
  const cases = await casesOf(context, suspects, limits, ids)
  const proofs = await proofsOf(context, cases)
  const failed = new Map(context.failures.list.flatMap(f => f.hops.map(h => [h.row, f] as const)))
  const proofOf = (s: Session): Proof => ({
    log: proofs.log.get(s.log?.row ?? -1n) ?? [],
    capture: proofs.capture.get(s.n) ?? [],
    failure: failed.get(s.record?.row ?? -1n) ?? null,
  })
  const findings = cases.map(c => finding(c, proofOf(c.session), limits, context))
  const alone = cases.filter(c => c.session.record && !c.session.log && !c.session.capture).length
  return { applies: true, checked: Math.max(counts.judged, cases.length), findings, missing: lacking(context, { ...counts, unknown: counts.unknown - alone }) }
}

const isSuspect = ({ session: s, death }: Suspect): boolean =>
  death !== null || s.log?.how === 'timeout' || (s.capture !== null && (s.capture.unacked !== null || s.capture.probes > 0))

async function casesOf(context: RuleContext, suspects: readonly Suspect[], limits: Limits, ids: Ids): Promise<Case[]> {
  const traffic = await trafficOf(context, suspects)
  const around = await aroundOf(
    context,
    suspects.filter((s): s is Suspect & Mortal => s.death !== null),
    ids,
    limits.low,
  )
  const misc = (await context.store.ids(['misc'])).get('misc') ?? -1
  const logged = new Set(suspects.length === 0 ? [] : (await context.store.rows(sourcesOf('logger', misc))).map(r => r.source as number))
  return oneAddressAPod(suspects.flatMap(s => verdictOf(s, { traffic: traffic.get(s.session.n), around: around.get(s.session.n) }, limits, context, logged) ?? []))
}

interface Counts {
  readonly subjects: number
  readonly judged: number
  /** Sessions of which only the access log tells. */
  readonly unseen: number
  /** Of these, the ones that were long enough, and of whose address nothing tells whether it lived to the end. */
  readonly unknown: number
}

/** Formats that go on telling who has an address: an owner without an end in them had it all the while. A listing tells of one moment. */
const CONTINUOUS: ReadonlySet<string> = new Set(['k8s-watch', 'pod-ip-timeline'])

async function count({ store, abilities, owners, sources }: RuleContext, ids: Ids, limits: Limits): Promise<Counts> {
  const watched = new Set(sources.filter(s => CONTINUOUS.has(s.format)).map(s => s.id))
  const known = await store.ids([...new Set(owners.all.filter(o => o.to !== null || o.places.some(p => watched.has(p.place.source))).map(o => o.ip))])
  const [s] = await store.rows(sessionCounts(ids.kinds, ids.upstream, limits.low, [...known.values()]))
  const [o] = await store.rows(otherCounts(ids.upstream))
  const sessions = Number(s?.sessions ?? 0)
  const unseen = Number(s?.unseen ?? 0)
  const unknown = Number(s?.unknown ?? 0)
  // One session may be in the log and in a capture.
  const seen = Math.max(Number(o?.connections ?? 0), Number(o?.captured ?? 0), sessions - unseen)
  return { subjects: seen + unseen, judged: seen + (abilities.has('pod-ends') ? unseen - unknown : 0), unseen, unknown }
}

function lacking({ abilities }: RuleContext, counts: Counts): Missing[] {
  if (counts.unseen > 0 && !abilities.has('pod-ends')) return [abilities.missing('pod-ends')]
  return counts.unknown > 0
    ? [
        {
          ...abilities.missing('owner-history'),
          why: `${counts.unknown} long session${counts.unknown === 1 ? '' : 's'} outlasted what the bundle knows of the pod behind it: whether the address lived to its end is not known`,
        },
      ]
    : []
}

interface Proofs {
  readonly log: ReadonlyMap<bigint, readonly { role: string; place: Place }[]>
  readonly capture: ReadonlyMap<number, readonly Place[]>
}

async function proofsOf({ store }: RuleContext, cases: readonly Case[]): Promise<Proofs> {
  const log = await store.evidence(
    'connection',
    cases.flatMap(c => (c.session.log ? [c.session.log.row] : [])),
  )
  const capture = new Map<number, readonly Place[]>()
  const captured = cases.map(c => c.session).filter((s): s is Session & { capture: NonNullable<Session['capture']> } => s.capture !== null)
  for (const part of chunks(captured, 200)) {
    const asked = part.map(({ n, capture: c }) => ({
      n,
      source: c.capture,
      from: c.sockets.client,
      to: c.sockets.server,
      first: c.unacked ?? c.clientLast ?? 0n,
      last: c.clientLast ?? 0n,
    }))
    const frames = await store.rows(framesOf(asked))
    for (const s of part) {
      const own = frames.filter(f => f.n === s.n).map(placeOf)
      // The first that was never acknowledged, and the last that repeated it.
      const ends = own.length > 1 ? [own[0] as Place, own.at(-1) as Place] : own
      capture.set(s.n, ends.length > 0 ? ends : [s.capture.place])
    }
  }
  return { log, capture }
}
