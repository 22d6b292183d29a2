/** Findings of WC102: one for each connection, and one for each cluster that a new owner answers. */
import type { Place } from '../../correlate/evidence.js'
import { endpointText } from '../../model/endpoint.js'
import { iso, SECOND } from '../../model/instant.js'
import type { DraftClaim, DraftFinding, RuleContext } from '../rule.js'
import type { Answered } from './answered.js'
import { failuresOn } from './failures.js'
import { staleConnectionReuse } from './rule.js'
import type { Stale } from './stale.js'
import type { Upstream } from './upstreams.js'
import { advice, answeredWords, because, capturedSays, controls, opened, owns, requestsSay, resetSays, rivals, title, used } from './words.js'

type Marks = readonly { role: string; place: Place }[]

export async function staleFindings(stale: readonly Stale[], context: RuleContext, judged: readonly Upstream[]): Promise<DraftFinding[]> {
  const evidence = await context.store.evidence(
    'connection',
    stale.map(s => s.upstream.log?.row).filter(r => r !== undefined),
  )
  return stale.map(s => finding(s, context, judged, s.upstream.log ? (evidence.get(s.upstream.log.row) ?? []) : []))
}

const whole = (t: bigint): string => iso(t - (t % SECOND))
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

function finding(s: Stale, context: RuleContext, judged: readonly Upstream[], marks: Marks): DraftFinding {
  const { upstream: u, before, after } = s
  const remote = endpointText(u.ip, u.port) ?? u.ip
  const failures = failuresOn(s, context.failures.list, context.clockError)
  const people = failures.filter(f => !f.probe)
  const reached = people.filter(f => f.hops.length > 0 || !f.streams.some(x => x.healed)).length
  const identity = (t: bigint): string[] => [u.ip, before.uid ?? before.name, after.uid ?? after.name, whole(t)]
  const local = u.session ? endpointText(u.session.clientIp, u.session.clientPort) : u.log?.local ? endpointText(u.log.local.ip, u.log.local.port) : localOf(failures)
  return {
    code: `WC102.${s.code}`,
    severity: s.confidence === 'possible' || (failures.length > 0 && people.length === 0) ? 'low' : people.length > 0 && reached === 0 ? 'medium' : 'high',
    confidence: { level: s.confidence, because: because(s) },
    title: title(s, remote),
    count: Math.max(1, u.log?.pending ?? 0, failures.length),
    subject: {
      ...(u.log ? { connection_id: String(u.log.id) } : {}),
      ...(local ? { local } : {}),
      remote,
      ip: u.ip,
      pod: after.name,
      ...(after.uid ? { pod_uid: after.uid } : {}),
      previous_pod: before.name,
      ...(before.uid ? { previous_pod_uid: before.uid } : {}),
    },
    interval: { from: s.opened, to: s.ended },
    identity: identity(s.used),
    aliases: s.alsoUsed.filter(t => whole(t) !== whole(s.used)).map(identity),
    root: u.ip,
    ongoing: false,
    impact: {
      ...(context.failures.requests > 0 ? { requests: context.failures.requests } : {}),
      ...(failures.length > 0 ? { failed: people.length, reached_client: reached } : {}),
      ...(failures.length > people.length ? { probes: failures.length - people.length } : {}),
    },
    claims: claimsOf(
      s,
      remote,
      marks,
      failures.flatMap(f => f.hops.slice(0, 1).map(h => h.place)),
    ),
    controls: controlsOf(s, judged),
    rivals: rivals(s),
    missing: u.session || context.abilities.has('upstream-capture') ? [] : [context.abilities.missing('upstream-capture', { ip: u.ip, from: s.opened, to: s.ended })],
    advice: advice(
      s,
      failures.some(f => f.hops.some(h => h.method !== null && !SAFE.has(h.method))),
    ),
    references: staleConnectionReuse.references,
    failures,
  }
}

const localOf = (failures: ReturnType<typeof failuresOn>): string | null => {
  const ends = new Set(failures.flatMap(f => f.hops.slice(-1).map(h => endpointText(h.upstreamLocalIp, h.upstreamLocalPort) ?? '')))
  const [only] = ends
  return ends.size === 1 && only ? only : null
}

function claimsOf(s: Stale, remote: string, marks: Marks, records: readonly Place[]): DraftClaim[] {
  const { session } = s.upstream
  const of = (roles: readonly string[], without = false): Place[] => marks.filter(m => roles.includes(m.role) !== without).map(m => m.place)
  const openings = [...of(['opened', 'connected']), ...(session ? [session.place] : [])]
  const ends = of(['opened', 'connected', 'reused'], true)
  const reuses = of(['reused']).slice(-1)
  const deaths = session
    ? session.packets
        .filter(p => (p.fromServer && p.kind === 'rst') || (s.code === 'silent-after-reuse' && !p.fromServer && (p.kind === 'retransmission' || p.kind === 'last')))
        .map(p => p.place)
    : []
  return [
    { says: opened(s, remote), places: openings.length > 0 ? openings : marks.slice(0, 1).map(m => m.place) },
    ...s.before.places.slice(0, 1).map(p => ({ says: owns(s.before), places: [p.place] })),
    ...s.after.places.slice(0, 1).map(p => ({ says: owns(s.after), places: [p.place] })),
    ...(reuses.length > 0 ? [{ says: used(s), places: reuses }] : []),
    ...(ends.length > 0 ? [{ says: resetSays(s, remote), places: ends }] : []),
    ...(deaths.length > 0 ? [{ says: capturedSays(s, remote), places: deaths }] : []),
    ...(records.length > 0 ? [{ says: requestsSay(records.length), places: records }] : []),
  ]
}

/** Connections that were opened to the same address after the change. */
function controlsOf(s: Stale, judged: readonly Upstream[]): DraftFinding['controls'] {
  const fine = judged.filter(o => o.ip === s.upstream.ip && o.opened !== null && s.after.from !== null && o.opened > s.after.from)
  const died = (u: Upstream): boolean => u.log?.how === 'rst' || u.log?.how === 'timeout' || (u.session?.ended === 'rst' && u.session.endedBy === 'server')
  return controls(fine.length, fine.filter(u => !died(u)).length)
}

export function answeredFinding(a: Answered, context: RuleContext): DraftFinding {
  const remote = endpointText(a.ip, a.port) ?? a.ip
  const rows = new Set(a.records.map(r => r.row))
  const failures = context.failures.list.filter(f => f.finding === null && f.hops.some(h => rows.has(h.row)))
  return {
    code: 'WC102.answered-by-new-owner',
    severity: 'high',
    confidence: { level: 'likely', because: answeredWords.because(a) },
    title: answeredWords.title(a, remote),
    count: a.count,
    subject: {
      remote,
      ip: a.ip,
      pod: a.after.name,
      ...(a.after.uid ? { pod_uid: a.after.uid } : {}),
      previous_pod: a.before.name,
      ...(a.before.uid ? { previous_pod_uid: a.before.uid } : {}),
      cluster: a.cluster,
    },
    interval: { from: a.from, to: a.to },
    identity: [a.ip, a.before.uid ?? a.before.name, a.after.uid ?? a.after.name, a.cluster],
    root: a.ip,
    ongoing: false,
    impact: {
      ...(context.failures.requests > 0 ? { requests: context.failures.requests } : {}),
      ...(failures.length > 0 ? { failed: failures.length, reached_client: failures.length } : {}),
    },
    claims: [
      { says: answeredWords.earlier(a), places: [a.earlier.place] },
      { says: answeredWords.says(a), places: a.records.map(r => r.place) },
      ...a.before.places.slice(0, 1).map(p => ({ says: owns(a.before), places: [p.place] })),
      ...a.after.places.slice(0, 1).map(p => ({ says: owns(a.after), places: [p.place] })),
      ...(a.listed.length > 0 ? [{ says: answeredWords.listed(a), places: a.listed }] : []),
    ],
    controls: [],
    rivals: answeredWords.rivals(a),
    missing: [],
    advice: answeredWords.advice,
    references: ['https://github.com/aws/amazon-vpc-cni-k8s/issues/3634', 'https://github.com/envoyproxy/gateway/issues/3740'],
    failures,
  }
}
