/** WC104: a request sent upstream gets the upstream's answer. What a stronger rule explains is not judged again. */
import type { Place } from '../../correlate/evidence.js'
import { type Failure, innermost, outermost, placeOfFailure } from '../../correlate/failures.js'
import { endpointText } from '../../model/endpoint.js'
import { groupBy } from '../../model/group.js'
import { MILLISECOND } from '../../model/instant.js'
import type { Confidence, Severity, Subject } from '../../model/report.js'
import type { DraftFinding, Judgement, Rule, RuleContext } from '../rule.js'
import { attemptsOf } from './attempts.sql.js'
import { causeOf, type Suffix } from './cause.js'
import { advice, attemptSays, because, CODES, logSays, recordSays, rivals, title } from './words.js'

/** How long after a pooled connection was picked its FIN still counts as having crossed the request: a few round trips. */
const KEEPALIVE_RACE = 100n * MILLISECOND

export const upstreamFailure: Rule = {
  code: 'WC104',
  name: 'upstream-failure',
  invariant: "a request sent upstream gets the upstream's answer",
  subjects: 'finished requests',
  codes: CODES,
  reads: ['attempt', 'connection', 'evidence'],
  needs: ['requests'],
  helps: ['upstream-connections'],
  references: ['https://www.envoyproxy.io/docs/envoy/latest/configuration/observability/access_log/usage', 'https://github.com/envoyproxy/envoy/issues/8639', 'https://github.com/envoyproxy/envoy/issues/6815'],
  judge,
}

/** What the log knows of the attempt that failed. */
export interface AttemptFacts {
  readonly reused: boolean
  readonly start: bigint | null
  readonly end: bigint | null
  readonly remote: string | null
  readonly connectionId: bigint | null
  readonly closed: string | null
  readonly closedAt: bigint | null
  readonly marks: readonly { role: string; place: Place }[]
}

interface Judged {
  readonly failure: Failure
  readonly suffix: Suffix
  readonly remote: string | null
  readonly attempt: AttemptFacts | null
}

async function judge(context: RuleContext): Promise<Judgement> {
  const open = context.failures.list.filter(f => f.cause === null)
  const attempts = await attemptFacts(context, open)
  const judged: Judged[] = []
  for (const f of open) {
    const cause = causeOf(f)
    if ('harmless' in cause) {
      f.cause = cause.harmless
      continue
    }
    const attempt = attempts.get(f.streams.at(-1)?.attempt ?? -1) ?? null
    const remote = remoteOf(f, attempt)
    judged.push({ failure: f, suffix: refine(cause.code, f, attempt, remote, context), remote, attempt })
  }
  const onlyLogged = context.failures.list.filter(f => f.hops.length === 0).length
  const groups = groupBy(judged, j => `${j.suffix} ${j.remote ?? ''} ${innermost(j.failure)?.cluster ?? ''}`)
  const seen = new Set<string>()
  return { applies: context.failures.requests + onlyLogged > 0, checked: context.failures.requests + onlyLogged, findings: [...groups.values()].map(g => finding(g, context, seen)) }
}

/** The upstream connection's remote address: from the record, else from the log. */
function remoteOf(f: Failure, attempt: AttemptFacts | null): string | null {
  const r = innermost(f)
  if (r?.upstreamIp) return endpointText(r.upstreamIp, r.upstreamPort)
  return attempt?.remote ?? f.backends.at(-1)?.backend ?? null
}

/** What debug log and owners add to the printed reason. */
function refine(suffix: Suffix, f: Failure, attempt: AttemptFacts | null, remote: string | null, context: RuleContext): Suffix {
  if (suffix === 'reset-before-response' && attempt && isRace(attempt)) return 'keepalive-race'
  if ((suffix === 'connect-timeout' || suffix === 'no-route' || suffix === 'connect-refused' || suffix === 'connect-failed') && ownerEnded(f, remote, context)) return 'stale-endpoint'
  return suffix
}

/** Picked from the pool, and closed by the peer's FIN before anything came back. */
const isRace = (a: AttemptFacts): boolean => a.reused && a.closed === 'fin' && a.start !== null && a.closedAt !== null && a.closedAt - a.start <= KEEPALIVE_RACE

/** Somebody had owned the address, had surely ended before the request began, and nobody may have had it since. */
function ownerEnded(f: Failure, remote: string | null, context: RuleContext): boolean {
  const ip = innermost(f)?.upstreamIp ?? null
  const start = innermost(f)?.start ?? f.t
  if (ip === null || remote === null || start === null) return false
  const owners = context.owners.of(ip)
  const ended = owners.some(o => o.to !== null && (o.toLatest ?? o.to) < start)
  return ended && owners.every(o => o.to !== null || (o.from !== null && o.from > start)) && context.owners.maybe(ip, start).length === 0
}

async function attemptFacts({ store }: RuleContext, failures: readonly Failure[]): Promise<Map<number, AttemptFacts>> {
  const rows = [...new Set(failures.flatMap(f => f.streams.map(s => s.attempt)))]
  const out = new Map<number, AttemptFacts>()
  if (rows.length === 0) return out
  const found = await store.rows(attemptsOf(rows))
  const words = await store.words(found.flatMap(r => [r.remote_ip as number, r.closed as number]))
  const ofAttempts = await store.evidence('attempt', rows)
  const ofConnections = await store.evidence('connection', found.map(r => r.connection as bigint | null).filter(c => c !== null))
  for (const r of found) {
    const marks = [...(ofAttempts.get(r.row as bigint) ?? []), ...(ofConnections.get(r.connection as bigint) ?? []).filter(m => m.role !== 'reused' && m.role !== 'connected')]
    out.set(Number(r.row), {
      reused: r.reused === true,
      start: r.t_start as bigint | null,
      end: r.t_end as bigint | null,
      remote: endpointText(words.get(r.remote_ip as number) ?? null, r.remote_port as number | null),
      connectionId: r.connection_id as bigint | null,
      closed: words.get(r.closed as number) ?? null,
      closedAt: r.t_closed as bigint | null,
      marks: marks.sort((a, b) => a.place.source - b.place.source || (a.place.byteStart < b.place.byteStart ? -1 : a.place.byteStart > b.place.byteStart ? 1 : 0)),
    })
  }
  return out
}

const INFO: ReadonlySet<Suffix> = new Set(['rate-limited', 'refused-by-policy', 'fault-injected', 'no-route-match'])
const GRAVE: ReadonlySet<Suffix> = new Set([
  'connect-refused', 'connect-timeout', 'no-route', 'bind-failed', 'connect-failed', 'tls-verify-failed', 'tls-failed', 'keepalive-race', 'reset-before-response', 'reset-mid-response', 'stale-endpoint', 'policy-service-failed',
])
/** The printed reason names the mechanism itself. */
const SHOWN: ReadonlySet<Suffix> = new Set([
  'connect-refused', 'no-route', 'bind-failed', 'tls-verify-failed', 'no-healthy-upstream', 'no-cluster', 'no-route-match', 'overflow', 'dns-failed', 'refused-by-policy', 'rate-limited', 'fault-injected', 'max-duration',
])

function severityOf(suffix: Suffix, confidence: Confidence, group: readonly Judged[]): Severity {
  if (INFO.has(suffix)) return 'info'
  if (confidence === 'possible' || group.every(j => j.failure.probe)) return 'low'
  return GRAVE.has(suffix) && group.some(j => reachedClient(j.failure)) ? 'high' : 'medium'
}

/** A failure in the record nearest to the client, or of a stream that no later attempt healed. */
const reachedClient = (f: Failure): boolean => (f.hops.length > 0 ? true : f.streams.some(s => !s.healed))

function confidenceOf(suffix: Suffix): Confidence {
  if (suffix === 'unknown') return 'possible'
  return SHOWN.has(suffix) ? 'certain' : 'likely'
}

function finding(group: readonly Judged[], context: RuleContext, seen: Set<string>): DraftFinding {
  const [first] = group as readonly [Judged, ...Judged[]]
  const { suffix, remote, attempt } = first
  const record = innermost(first.failure)
  const confidence = confidenceOf(suffix)
  const failures = group.map(j => j.failure)
  const times = failures.map(f => f.t).filter(t => t !== null)
  const identity = [remote ?? record?.cluster ?? '', record?.cluster ?? '', (record?.flags ?? []).join(','), record?.details ?? record?.routerError ?? first.failure.streams.at(-1)?.reason ?? '']
  // Two findings may differ only in what a log adds to the same printed reason.
  if (seen.has(JSON.stringify(identity))) identity.push(String(times[0] ?? ''))
  seen.add(JSON.stringify(identity))
  return {
    code: `WC104.${suffix}`,
    severity: severityOf(suffix, confidence, group),
    confidence: { level: confidence, because: because(suffix, first.failure, attempt) },
    title: title(suffix, group.length, remote, record, context.failures.requests),
    count: group.length,
    subject: subjectOf(group),
    interval: { from: times.reduce<bigint | null>((m, t) => (m === null || t < m ? t : m), null), to: times.reduce<bigint | null>((m, t) => (m === null || t > m ? t : m), null) },
    identity,
    root: remote ?? record?.cluster ?? 'no upstream',
    ongoing: false,
    impact: {
      ...(context.failures.requests > 0 ? { requests: context.failures.requests } : {}),
      failed: group.length,
      reached_client: failures.filter(reachedClient).length,
      ...(failures.some(f => f.probe) ? { probes: failures.filter(f => f.probe).length } : {}),
    },
    claims: claims(group),
    controls: [],
    rivals: rivals(suffix, context.abilities.has('instance-stops')),
    missing: missing(suffix, first, context),
    advice: advice(suffix),
    references: upstreamFailure.references,
    failures,
  }
}

function claims(group: readonly Judged[]): DraftFinding['claims'] {
  const [first] = group as readonly [Judged, ...Judged[]]
  const records = group.flatMap(j => j.failure.hops.map(h => h.place))
  const logs = group.flatMap(j => [...j.failure.streams.map(s => s.place), ...j.failure.backends.map(b => b.place)])
  const out: { says: string; places: Place[] }[] = []
  if (records.length > 0) out.push({ says: recordSays(first.suffix, group.length, innermost(first.failure)), places: records })
  const marks = first.attempt?.marks.map(m => m.place) ?? []
  if (marks.length > 0) out.push({ says: attemptSays(first.suffix, first.attempt as AttemptFacts), places: marks })
  else if (logs.length > 0) out.push({ says: logSays(first.failure), places: logs })
  return out.length > 0 ? out : [{ says: logSays(first.failure), places: [placeOfFailure(first.failure)] }]
}

function missing(suffix: Suffix, first: Judged, context: RuleContext): DraftFinding['missing'] {
  const fill = { from: first.failure.t, to: first.failure.t, ip: innermost(first.failure)?.upstreamIp ?? null }
  const unsettled = suffix === 'reset-before-response' || suffix === 'reset-mid-response' || suffix === 'unknown' || suffix === 'connect-timeout' || suffix === 'connect-failed'
  if (!unsettled) return []
  return (['upstream-connections', 'owner-history'] as const).filter(n => !context.abilities.has(n)).map(n => context.abilities.missing(n, fill))
}

/** What all failures of the group share. */
function subjectOf(group: readonly Judged[]): Subject {
  const of = (pick: (j: Judged) => string | null | undefined): string | undefined => {
    const values = new Set(group.map(j => pick(j) ?? ''))
    const [only] = values
    return values.size === 1 && only ? only : undefined
  }
  const keys: [keyof Subject, (j: Judged) => string | null | undefined][] = [
    ['proxy', j => innermost(j.failure)?.proxy],
    ['connection_id', j => text(j.attempt?.connectionId ?? innermost(j.failure)?.upstreamConnectionId)],
    ['stream_id', j => j.failure.streams.at(-1)?.streamId],
    ['request_id', j => j.failure.requestId],
    ['downstream_connection_id', j => text(j.failure.streams.at(-1)?.downstreamConnectionId ?? outermost(j.failure)?.connectionId)],
    ['local', j => endpointText(innermost(j.failure)?.upstreamLocalIp ?? null, innermost(j.failure)?.upstreamLocalPort ?? null)],
    ['remote', j => j.remote],
    ['downstream_remote', j => endpointText(outermost(j.failure)?.downstreamRemoteIp ?? null, outermost(j.failure)?.downstreamRemotePort ?? null)],
    ['instance', j => innermost(j.failure)?.instanceId],
    ['cluster', j => innermost(j.failure)?.cluster],
  ]
  const out: Record<string, string> = {}
  for (const [key, pick] of keys) {
    const value = of(pick)
    if (value !== undefined) out[key] = value
  }
  return out as Subject
}

const text = (id: bigint | null | undefined): string | null => (id === null || id === undefined ? null : String(id))
