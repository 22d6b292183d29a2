/** One finding for each cause, upstream address and cluster. */
import type { Place } from '../../correlate/evidence.js'
import { type Failure, innermost, innerStream, outermost, placeOfFailure, type RequestRecord } from '../../correlate/failures.js'
import { endpointText } from '../../model/endpoint.js'
import type { Confidence, Severity, Subject } from '../../model/report.js'
import type { DraftFinding, RuleContext } from '../rule.js'
import type { Suffix } from './cause.js'
import { type Holder, holderOf, listedInstead } from './holder.js'
import type { Judged } from './rule.js'
import { advice, attemptSays, because, endingSays, listingSays, logSays, recordSays, rivals, title } from './words.js'

/** What happened as configured. */
const INFO: ReadonlySet<Suffix> = new Set(['rate-limited', 'refused-by-policy', 'fault-injected', 'no-route-match'])
/** UC, UF and failed policy services: what a client should never see. */
const GRAVE: ReadonlySet<Suffix> = new Set([
  'connect-refused',
  'connect-timeout',
  'no-route',
  'bind-failed',
  'connect-failed',
  'tls-verify-failed',
  'tls-failed',
  'keepalive-race',
  'reset-before-response',
  'reset-mid-response',
  'stale-endpoint',
  'policy-service-failed',
])
/** The printed reason names the mechanism itself. */
const SHOWN: ReadonlySet<Suffix> = new Set([
  'connect-refused',
  'no-route',
  'bind-failed',
  'tls-verify-failed',
  'no-healthy-upstream',
  'no-cluster',
  'no-route-match',
  'overflow',
  'dns-failed',
  'refused-by-policy',
  'rate-limited',
  'fault-injected',
  'max-duration',
])
/** What more evidence may change. */
const UNSETTLED: ReadonlySet<Suffix> = new Set(['reset-before-response', 'reset-mid-response', 'unknown', 'connect-timeout', 'connect-failed'])

type Group = readonly [Judged, ...Judged[]]

export function drafted(groups: readonly (readonly Judged[])[], context: RuleContext, references: readonly string[]): DraftFinding[] {
  const seen = new Set<string>()
  return groups.map(g => finding(g as Group, context, references, seen))
}

function severityOf(suffix: Suffix, confidence: Confidence, group: Group): Severity {
  if (INFO.has(suffix)) return 'info'
  const people = group.filter(j => !j.failure.probe)
  if (confidence === 'possible' || people.length === 0) return 'low'
  return GRAVE.has(suffix) && people.some(j => reachedClient(j.failure)) ? 'high' : 'medium'
}

/** A failure in the record nearest to the client, or of a stream that no later attempt healed. */
const reachedClient = (f: Failure): boolean => (f.hops.length > 0 ? true : f.streams.some(s => !s.healed) || f.backends.length > 0)

/** A race is shown by the packets themselves, once the instance is known to have lived on. */
function confidenceOf({ suffix, ending }: Judged, { lasting }: Holder): Confidence {
  if (suffix === 'unknown') return 'possible'
  if (suffix === 'keepalive-race' && ending?.acknowledged === false && lasting !== null) return 'certain'
  return SHOWN.has(suffix) ? 'certain' : 'likely'
}

function finding(group: Group, context: RuleContext, references: readonly string[], seen: Set<string>): DraftFinding {
  const [first] = group
  const { suffix, remote, attempt } = first
  const record = innermost(first.failure)
  const failures = group.map(j => j.failure)
  const people = failures.filter(f => !f.probe)
  const probes = failures.length - people.length
  const times = failures.map(f => f.t).filter(t => t !== null)
  const holder = holderOf(first.failure, context)
  const names = identities(first, record)
  // Two findings may differ only in what a log adds to the same printed reason.
  const identity = seen.has(JSON.stringify(names[0])) ? [...(names[0] as string[]), String(times[0] ?? '')] : (names[0] as string[])
  seen.add(JSON.stringify(identity))
  const level = confidenceOf(first, holder)
  return {
    code: `WC104.${suffix}`,
    severity: severityOf(suffix, level, group),
    confidence: { level, because: because(first) },
    title: title({ suffix, failed: people.length, probes, of: context.failures, remote: remote ?? record?.cluster ?? attempt?.cluster ?? null, record }),
    count: group.length,
    subject: subjectOf(group),
    interval: { from: times.reduce<bigint | null>((m, t) => (m === null || t < m ? t : m), null), to: times.reduce<bigint | null>((m, t) => (m === null || t > m ? t : m), null) },
    identity,
    aliases: names.slice(1),
    root: remote ?? record?.cluster ?? attempt?.cluster ?? 'no upstream',
    ongoing: false,
    impact: {
      ...(context.failures.requests > 0 ? { requests: context.failures.requests } : {}),
      failed: people.length,
      reached_client: people.filter(reachedClient).length,
      ...(probes > 0 ? { probes } : {}),
    },
    claims: claims(group, context, holder),
    controls: [],
    rivals: rivals(first, holder),
    missing: UNSETTLED.has(suffix) ? missing(first, context) : [],
    advice: advice(suffix),
    references,
    failures,
  }
}

/** By the record, where there is one; by the log alone it was called otherwise. */
function identities({ remote, attempt, failure }: Judged, record: RequestRecord | null): string[][] {
  const stream = innerStream(failure)
  const byLog = [remote ?? attempt?.cluster ?? '', '', '', stream?.reason ?? failure.backends.at(-1)?.error ?? '']
  if (!record) return [byLog]
  const byRecord = [remote ?? record.cluster ?? '', record.cluster ?? '', record.flags.join(','), record.details ?? record.routerError ?? stream?.reason ?? '']
  return stream || failure.backends.length > 0 ? [byRecord, byLog] : [byRecord]
}

function claims(group: Group, context: RuleContext, holder: Holder): DraftFinding['claims'] {
  const [first] = group
  const records = group.flatMap(j => j.failure.hops.map(h => h.place))
  const logs = group.flatMap(j => [...j.failure.streams.map(s => s.place), ...j.failure.backends.map(b => b.place)])
  const out: { says: string; places: Place[] }[] = []
  if (records.length > 0) out.push({ says: recordSays(first.suffix, group.length, innermost(first.failure)), places: records })
  const marks = first.attempt?.marks.map(m => m.place) ?? []
  if (first.attempt && marks.length > 0) out.push({ says: attemptSays(first.suffix, first.attempt), places: marks })
  else if (logs.length > 0) out.push({ says: logSays(first.failure), places: logs })
  if (out.length === 0) out.push({ says: logSays(first.failure), places: [placeOfFailure(first.failure)] })
  const captured = group.flatMap(j => j.ending?.places ?? [])
  if (first.ending && captured.length > 0) out.push({ says: endingSays(first.ending), places: captured })
  const listed = holder.ip !== null && UNSETTLED.has(first.suffix) ? listedInstead(holder.ip, context) : []
  if (listed.length > 0 && holder.ip !== null)
    out.push({
      says: listingSays(
        holder.ip,
        listed.map(o => o.name),
      ),
      places: listed.flatMap(o => o.places.slice(0, 1).map(p => p.place)),
    })
  return out
}

function missing(first: Judged, context: RuleContext): DraftFinding['missing'] {
  const fill = { from: first.failure.t, to: first.failure.t, ip: innermost(first.failure)?.upstreamIp ?? null }
  return (['upstream-connections', 'owner-history'] as const).filter(n => !context.abilities.has(n)).map(n => context.abilities.missing(n, fill))
}

/** What all failures of the group share. */
function subjectOf(group: Group): Subject {
  const of = (pick: (j: Judged) => string | null | undefined): string | undefined => {
    const values = new Set(group.map(j => pick(j) ?? ''))
    const [only] = values
    return values.size === 1 && only ? only : undefined
  }
  const keys: [keyof Subject, (j: Judged) => string | null | undefined][] = [
    ['proxy', j => innermost(j.failure)?.proxy],
    ['connection_id', j => text(j.attempt?.connectionId ?? innermost(j.failure)?.upstreamConnectionId)],
    ['stream_id', j => innerStream(j.failure)?.streamId],
    ['request_id', j => j.failure.requestId],
    ['downstream_connection_id', j => text(innerStream(j.failure)?.downstreamConnectionId ?? outermost(j.failure)?.connectionId)],
    ['local', j => endpointText(innermost(j.failure)?.upstreamLocalIp ?? null, innermost(j.failure)?.upstreamLocalPort ?? null)],
    ['remote', j => j.remote],
    ['downstream_remote', j => endpointText(outermost(j.failure)?.downstreamRemoteIp ?? null, outermost(j.failure)?.downstreamRemotePort ?? null)],
    ['instance', j => innermost(j.failure)?.instanceId],
    ['cluster', j => innermost(j.failure)?.cluster ?? j.attempt?.cluster],
  ]
  const out: Record<string, string> = {}
  for (const [key, pick] of keys) {
    const value = of(pick)
    if (value !== undefined) out[key] = value
  }
  return out as Subject
}

const text = (id: bigint | null | undefined): string | null => (id === null || id === undefined ? null : String(id))
