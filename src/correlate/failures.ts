/**
 * Every request or session that did not end well for its client: from access records, joined across proxies by request
 * id, and from proxy logs where no access record shows them. Rules say why.
 */
import { groupBy } from '../model/group.js'
import { Attempts, type StreamJoin } from './attempts.js'
import { type BackendFailure, backendFailures } from './backends.js'
import type { Tuple } from './captures.js'
import type { Connections, StreamFailure } from './connections.js'
import type { Correlation } from './correlate.js'
import type { Place } from './evidence.js'
import { groupHops, type Hops, type JoinedBy } from './hops.js'
import { constantIds, failedRecords, isFailed, isHealed, OWN_ANSWER, type RequestRecord } from './records.js'

export type { BackendFailure } from './backends.js'
export { constantIds, isFailed, readRecords, recordColumns, type RequestRecord } from './records.js'

export interface Failure {
  /** Position in the list of failures, which is in order of time, source and byte. */
  index: number
  /** When it failed: the end of the innermost record, or the line that says so. */
  readonly t: bigint | null
  readonly requestId: string | null
  /** Access records of the request, the proxy nearest to the client first. Empty where only a log shows it. */
  readonly hops: readonly RequestRecord[]
  /** What proxy logs say of its attempts. */
  readonly streams: readonly StreamFailure[]
  readonly backends: readonly BackendFailure[]
  /** How each part was joined to those before it; the first has no entry. */
  readonly joins: ReadonlyMap<RequestRecord | StreamFailure | BackendFailure, JoinedBy>
  /** A health check's, not a person's. */
  readonly probe: boolean
  /** Code that explains it, set by the rule that does. */
  cause: string | null
  /** Fingerprint of the finding it belongs to. */
  finding: string | null
}

/** The record whose fault it is: the innermost hop that failed by itself. */
export const innermost = (f: Failure): RequestRecord | null => f.hops.findLast(failedByItself) ?? f.hops.at(-1) ?? null
/** The record of the proxy nearest to the client. */
export const outermost = (f: Failure): RequestRecord | null => f.hops[0] ?? null
/** What the client was told, from the record nearest to it, else from the proxy's log. */
export const statusOf = (f: Failure): number | null => (f.hops[0] ? f.hops[0].status : (f.streams.findLast(s => s.status !== null)?.status ?? null))

/** The attempt that the innermost record is about, from its own proxy's log; where no record is, the last attempt. */
export function innerStream(f: Failure): StreamFailure | null {
  const r = innermost(f)
  const open = f.streams.filter(s => !s.healed)
  if (!r || f.hops.length === 1) return open.findLast(s => r !== null && sameAddress(s, r)) ?? open.at(-1) ?? f.streams.at(-1) ?? null
  return open.findLast(s => sameAddress(s, r)) ?? null
}

/** An attempt that failed behind the innermost record: in the log of a proxy that left no record of its own. */
export const streamBehind = (f: Failure): StreamFailure | null => {
  const r = innermost(f)
  return r ? (f.streams.findLast(s => !s.healed && s.remote?.ip && !sameAddress(s, r)) ?? null) : null
}

const sameAddress = (s: StreamFailure, r: RequestRecord): boolean => s.remote?.ip === r.upstreamIp && s.remote?.port === r.upstreamPort

/** The 4-tuple of the upstream connection that the innermost record names. */
export function tupleOf(f: Failure): Tuple | null {
  const r = innermost(f)
  if (!r?.upstreamIp || r.upstreamPort === null || !r.upstreamLocalIp || r.upstreamLocalPort === null) return null
  return { clientIp: r.upstreamLocalIp, clientPort: r.upstreamLocalPort, serverIp: r.upstreamIp, serverPort: r.upstreamPort }
}

/** An inner `client-gone` only follows the outer hop's decision. */
const failedByItself = (r: RequestRecord): boolean => isFailed(r) && !(r.flags.length > 0 && r.flags.every(x => x === 'DC' || x === 'DR'))

export interface Failures {
  readonly list: Failure[]
  /** Finished requests and sessions in the bundle that are no probes. */
  readonly requests: number
  /** Health checks among the finished requests. */
  readonly probes: number
}

/** Builds the list. The order of the list is total. */
export async function buildFailures(c: Correlation, { failures: streams, mixed }: Connections): Promise<Failures> {
  const words = await constantIds(c.store, ['end', 'http', 'upstream', OWN_ANSWER])
  const records = await failedRecords(
    c.store,
    words,
    streams.map(s => s.requestId).filter(id => id !== null),
  )
  const attempts = new Attempts(streams, new Set(mixed.keys()), c.clockError)
  const backends = groupBy(await backendFailures(c.store), b => b.requestId ?? `${b.place.source}:${b.place.byteStart}`)
  const list: Failure[] = []
  for (const hops of groupHops(records, c.clockError)) {
    const f = failureOfHops(hops, attempts, backends)
    if (f) list.push(f)
  }
  for (const group of attempts.rest())
    list.push(
      failure(
        null,
        group.map((stream, i) => ({ stream, by: i === 0 ? null : stream.requestId === null ? 'connection-id' : 'request-id' })),
        [],
      ),
    )
  for (const group of backends.values()) list.push(failure(null, [], group))
  order(list)
  return { list, ...(await finished(c, words)) }
}

/** `Upstream*` records are counted only where nothing else stands for their requests. */
async function finished({ store }: Correlation, words: ReadonlyMap<string, number>): Promise<Pick<Failures, 'requests' | 'probes'>> {
  const router = words.get('upstream') ?? -1
  const [count] = await store.rows(
    `SELECT count(*) FILTER (WHERE kind = ${router}) AS routers, count(*) FILTER (WHERE kind IS NULL OR kind <> ${router}) AS others, count(*) FILTER (WHERE probe AND (kind IS NULL OR kind <> ${router})) AS probes,
      count(*) FILTER (WHERE probe AND kind = ${router}) AS router_probes FROM raw.request WHERE phase = ${words.get('end') ?? -1} OR phase IS NULL`,
  )
  const n = (key: string): number => Number(count?.[key] ?? 0)
  const [all, probes] = n('others') > 0 ? [n('others'), n('probes')] : [n('routers'), n('router_probes')]
  return { requests: all - probes, probes }
}

function failureOfHops(hops: Hops, attempts: Attempts, backends: Map<string, BackendFailure[]>): Failure | null {
  const { records } = hops
  const byId = attempts.take(records)
  const last = records.findLast(failedByItself)
  const own = byId.length > 0 || !last ? byId : attempts.takeNear(last)
  const id = records.find(h => h.requestId !== null)?.requestId ?? null
  const failed = id === null ? [] : (backends.get(id) ?? [])
  if (id !== null) backends.delete(id)
  const shown = records.some(isFailed) || own.length > 0 || failed.length > 0
  if (!shown && !records.some(isHealed)) return null
  return { ...failure(hops, own, failed), cause: shown ? null : 'retried' }
}

function failure(hops: Hops | null, streams: readonly (Omit<StreamJoin, 'by'> & { by: JoinedBy | null })[], backends: readonly BackendFailure[]): Failure {
  const records = hops?.records ?? []
  const last = records.findLast(failedByItself) ?? records.at(-1)
  const own = streams.map(j => j.stream)
  const joins = new Map<RequestRecord | StreamFailure | BackendFailure, JoinedBy>(hops?.joins)
  for (const j of streams) if (j.by !== null) joins.set(j.stream, j.by)
  for (const b of records.length > 0 ? backends : backends.slice(1)) joins.set(b, 'request-id')
  return {
    index: -1,
    t: last?.end ?? last?.start ?? own.at(-1)?.t ?? backends.at(-1)?.t ?? null,
    requestId: records.find(h => h.requestId !== null)?.requestId ?? own.find(s => s.requestId !== null)?.requestId ?? backends[0]?.requestId ?? null,
    hops: records,
    streams: own,
    backends,
    joins,
    probe: records.some(h => h.probe),
    cause: null,
    finding: null,
  }
}

/** The failure of a session whose record looks like that of a normal end: a rule knows better. Goes into the list by `addFailures`. */
export const failureOfRecord = (r: RequestRecord): Failure => failure({ records: [r], joins: new Map() }, [], [])
/** The same for one that only a log shows. A session without streams has no attempt (-1). */
export const failureOfStream = (s: Omit<StreamFailure, StreamDetail> & Partial<Pick<StreamFailure, StreamDetail>>): Failure =>
  failure(null, [{ stream: { responded: false, details: null, status: null, connectionBy: null, ...s }, by: null }], [])
type StreamDetail = 'responded' | 'details' | 'status' | 'connectionBy'

/** Puts failures that rules have found into the list, each once; its order stays total. */
export function addFailures({ list }: Failures, found: readonly Failure[]): void {
  const fresh = new Set(found.filter(f => f.index < 0))
  if (fresh.size === 0) return
  for (const f of fresh) list.push(f)
  order(list)
}

function order(list: Failure[]): void {
  list.sort(byTimeAndPlace)
  list.forEach((f, i) => {
    f.index = i
  })
}

/** Where a failure is cited first. */
export const placeOfFailure = (f: Failure): Place => f.hops[0]?.place ?? f.streams.at(-1)?.place ?? (f.backends.at(-1)?.place as Place)

function byTimeAndPlace(a: Failure, b: Failure): number {
  if (a.t !== b.t) return a.t === null ? 1 : b.t === null ? -1 : a.t < b.t ? -1 : 1
  const p = placeOfFailure(a)
  const q = placeOfFailure(b)
  return p.source - q.source || (p.byteStart < q.byteStart ? -1 : p.byteStart > q.byteStart ? 1 : 0)
}
