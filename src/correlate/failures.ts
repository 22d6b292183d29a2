/**
 * Every request or session that did not end well for its client: from access records, joined across proxies by request
 * id, and from proxy logs where no access record shows them. Rules say why.
 */
import { groupBy } from '../model/group.js'
import { MILLISECOND } from '../model/instant.js'
import type { SqlRow, Store } from '../store/store.js'
import type { StreamFailure } from './connections.js'
import type { Correlation } from './correlate.js'
import type { Place } from './evidence.js'
import { placeOf } from './owners.js'

/** One access record, as rules look at it. */
export interface RequestRecord {
  readonly row: bigint
  readonly place: Place
  readonly proxy: string | null
  readonly kind: string
  readonly start: bigint | null
  readonly end: bigint | null
  readonly durationMs: number | null
  readonly method: string | null
  readonly status: number | null
  readonly flags: readonly string[]
  readonly details: string | null
  readonly termination: string | null
  readonly transport: string | null
  readonly bytesReceived: bigint | null
  readonly bytesSent: bigint | null
  readonly upstreamHost: string | null
  readonly upstreamIp: string | null
  readonly upstreamPort: number | null
  readonly upstreamLocalIp: string | null
  readonly upstreamLocalPort: number | null
  readonly cluster: string | null
  readonly downstreamRemoteIp: string | null
  readonly downstreamRemotePort: number | null
  readonly requestId: string | null
  readonly connectionId: bigint | null
  readonly upstreamConnectionId: bigint | null
  readonly attempts: number | null
  readonly routerError: string | null
  readonly instanceId: string | null
  readonly probe: boolean
  readonly ambiguous: readonly string[]
}

/** A line of a gorouter's log about a backend that failed a request. */
export interface BackendFailure {
  readonly place: Place
  readonly t: bigint | null
  readonly requestId: string | null
  readonly backend: string | null
  readonly error: string
  readonly attempt: number | null
  readonly retriable: boolean | null
  readonly gotConnection: boolean | null
  readonly wroteHeaders: boolean | null
  readonly reused: boolean | null
}

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

/** An inner `client-gone` only follows the outer hop's decision. */
const failedByItself = (r: RequestRecord): boolean => isFailed(r) && !(r.flags.length > 0 && r.flags.every(x => x === 'DC' || x === 'DR'))

const OWN_ANSWER = 'via_upstream'

/** Whether a record alone says that the request did not end well. */
export function isFailed(r: RequestRecord): boolean {
  if (r.status !== null && r.status >= 500) return true
  if (r.flags.length > 0 || r.routerError !== null) return true
  return r.details !== null && r.details !== OWN_ANSWER
}

/** A record of an answer that took more than one attempt: of the failed ones it tells no more. */
const isHealed = (r: RequestRecord): boolean => r.kind === 'http' && (r.attempts ?? 1) > 1

export interface Failures {
  readonly list: Failure[]
  /** Finished requests and sessions in the bundle, probes included. */
  readonly requests: number
  readonly probes: number
}

/** Builds the list. The order of the list is total. */
export async function buildFailures(c: Correlation, streams: readonly StreamFailure[]): Promise<Failures> {
  const words = await constantIds(c.store, ['end', 'http', OWN_ANSWER])
  const [count] = await c.store.rows(`SELECT count(*) AS n, count(*) FILTER (WHERE probe) AS probes FROM raw.request WHERE phase = ${words.get('end') ?? -1} OR phase IS NULL`)
  const records = await failedRecords(c.store, words)
  const backends = await backendFailures(c.store)
  const groups = groupHops(records, c.clockError)
  const list: Failure[] = []
  const leftStreams = new Set(streams)
  const index = indexStreams(streams)
  const leftBackends = groupBy(backends, b => b.requestId ?? `${b.place.source}:${b.place.byteStart}`)
  for (const hops of groups) {
    const byId = hops.flatMap(h => streamsOf(h, index)).filter(s => leftStreams.has(s))
    const own = byId.length > 0 ? byId : streamsByAddress(hops.findLast(failedByItself) ?? null, leftStreams)
    for (const s of own) leftStreams.delete(s)
    const id = hops.find(h => h.requestId !== null)?.requestId ?? null
    const failed = id === null ? [] : (leftBackends.get(id) ?? [])
    if (id !== null) leftBackends.delete(id)
    const shown = hops.some(isFailed) || own.length > 0 || failed.length > 0
    if (!shown && !hops.some(isHealed)) continue
    list.push({ ...failure(hops, own, failed), cause: shown ? null : 'retried' })
  }
  // What only a log shows: unless access records of the time say that the client never noticed.
  for (const group of byStream(leftStreams)) list.push(failure([], group, []))
  for (const group of leftBackends.values()) list.push(failure([], [], group))
  order(list)
  return { list, requests: Number(count?.n ?? 0), probes: Number(count?.probes ?? 0) }
}

function failure(hops: readonly RequestRecord[], streams: readonly StreamFailure[], backends: readonly BackendFailure[]): Failure {
  const last = hops.findLast(failedByItself) ?? hops.at(-1)
  return {
    index: -1,
    t: last?.end ?? last?.start ?? streams.at(-1)?.t ?? backends.at(-1)?.t ?? null,
    requestId: hops.find(h => h.requestId !== null)?.requestId ?? streams.find(s => s.requestId !== null)?.requestId ?? backends[0]?.requestId ?? null,
    hops,
    streams,
    backends,
    probe: hops.some(h => h.probe),
    cause: null,
    finding: null,
  }
}

/** The failure of a session whose record looks like that of a normal end: a rule knows better. Goes into the list by `addFailures`. */
export const failureOfRecord = (r: RequestRecord): Failure => failure([r], [], [])
/** The same for one that only a log shows. */
export const failureOfStream = (s: StreamFailure): Failure => failure([], [s], [])

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

/** Ids of constants, before a scan: -1 stands for one that the bundle does not hold. */
export async function constantIds(store: Store, values: readonly string[]): Promise<Map<string, number>> {
  const out = new Map<string, number>()
  if (values.length === 0) return out
  const list = values.map(v => `'${v.replaceAll("'", "''")}'`).join(', ')
  for (const r of await store.rows(`SELECT id, value FROM raw.dictionary WHERE value IN (${list}) ORDER BY id`)) out.set(r.value as string, r.id as number)
  return out
}

const RECORD = `"row", source, line, byte_start, byte_end, proxy, kind, t_start, t_end, duration_ms, method, status, flags, details, termination_details, transport_failure, bytes_received, bytes_sent,
  upstream_host, upstream_ip, upstream_port, upstream_local_ip, upstream_local_port, upstream_cluster, downstream_remote_ip, downstream_remote_port, request_id, connection_id,
  upstream_connection_id, attempts, router_error, instance_id, probe, ambiguous`
const RECORD_WORDS = ['proxy', 'kind', 'method', 'flags', 'details', 'termination_details', 'transport_failure', 'upstream_host', 'upstream_ip', 'upstream_local_ip', 'upstream_cluster', 'downstream_remote_ip', 'router_error', 'instance_id', 'ambiguous'] as const

/** Finished records that failed, and the other records of the same requests. */
async function failedRecords(store: Store, words: ReadonlyMap<string, number>): Promise<RequestRecord[]> {
  const ended = `(phase IS NULL OR phase = ${words.get('end') ?? -1})`
  const failed = `(status >= 500 OR flags IS NOT NULL OR router_error IS NOT NULL OR (details IS NOT NULL AND details <> ${words.get(OWN_ANSWER) ?? -1}))`
  const retried = `(kind = ${words.get('http') ?? -1} AND attempts > 1)`
  const asked = `SELECT request_id FROM raw.request WHERE request_id IS NOT NULL AND ${ended} AND ${failed} UNION SELECT request_id FROM raw.proxy_line WHERE request_id IS NOT NULL
    AND template IN (SELECT id FROM raw.dictionary WHERE value = 'backend-endpoint-failed')`
  return readRecords(store, `SELECT ${RECORD} FROM raw.request WHERE ${ended} AND (${failed} OR ${retried} OR request_id IN (${asked})) ORDER BY source, byte_start, "row"`)
}

/** Access records of a query on `raw.request` that selects all of their columns (`recordColumns`). */
export async function readRecords(store: Pick<Store, 'rows' | 'words'>, sql: string): Promise<RequestRecord[]> {
  const rows = await store.rows(sql)
  const words = await store.words(rows.flatMap(r => RECORD_WORDS.map(c => r[c])).filter((v): v is number => typeof v === 'number'))
  return rows.map(r => recordOf(r, words))
}
export const recordColumns = RECORD

function recordOf(r: SqlRow, words: ReadonlyMap<number, string>): RequestRecord {
  const text = (c: (typeof RECORD_WORDS)[number]): string | null => words.get(r[c] as number) ?? null
  const list = (v: string | null): string[] => (v === null ? [] : v.split(','))
  return {
    row: r.row as bigint,
    place: placeOf(r),
    proxy: text('proxy'),
    kind: text('kind') ?? 'http',
    start: r.t_start as bigint | null,
    end: r.t_end as bigint | null,
    durationMs: r.duration_ms as number | null,
    method: text('method'),
    status: r.status as number | null,
    flags: list(text('flags')),
    details: text('details'),
    termination: text('termination_details'),
    transport: text('transport_failure'),
    bytesReceived: r.bytes_received as bigint | null,
    bytesSent: r.bytes_sent as bigint | null,
    upstreamHost: text('upstream_host'),
    upstreamIp: text('upstream_ip'),
    upstreamPort: r.upstream_port as number | null,
    upstreamLocalIp: text('upstream_local_ip'),
    upstreamLocalPort: r.upstream_local_port as number | null,
    cluster: text('upstream_cluster'),
    downstreamRemoteIp: text('downstream_remote_ip'),
    downstreamRemotePort: r.downstream_remote_port as number | null,
    requestId: r.request_id as string | null,
    connectionId: r.connection_id as bigint | null,
    upstreamConnectionId: r.upstream_connection_id as bigint | null,
    attempts: r.attempts as number | null,
    routerError: text('router_error'),
    instanceId: text('instance_id'),
    probe: r.probe === true,
    ambiguous: list(text('ambiguous')),
  }
}

/** Records of one request id whose times overlap are hops of one request, the one that began first nearest to the client. */
function groupHops(records: readonly RequestRecord[], clockError: bigint): RequestRecord[][] {
  const groups: RequestRecord[][] = []
  const byId = new Map<string, RequestRecord[]>()
  for (const r of records) {
    if (r.requestId === null) groups.push([r])
    else {
      const list = byId.get(r.requestId)
      if (list) list.push(r)
      else byId.set(r.requestId, [r])
    }
  }
  for (const list of byId.values()) {
    list.sort((a, b) => compareTime(a.start, b.start) || compareTime(b.end, a.end) || a.place.source - b.place.source || compareTime(a.place.byteStart, b.place.byteStart))
    let open: RequestRecord[] = []
    let until: bigint | null = null
    for (const r of list) {
      if (open.length > 0 && (until === null || r.start === null || r.start <= until + (open.some(o => o.place.source !== r.place.source) ? clockError : 0n))) open.push(r)
      else {
        open = [r]
        groups.push(open)
        until = null
      }
      if (r.end !== null && (until === null || r.end > until)) until = r.end
    }
  }
  return groups
}

const compareTime = (a: bigint | null, b: bigint | null): number => (a === b ? 0 : a === null ? 1 : b === null ? -1 : a < b ? -1 : 1)

interface StreamIndex {
  readonly byRequest: ReadonlyMap<string, StreamFailure[]>
  readonly byConnection: ReadonlyMap<bigint, StreamFailure[]>
}

function indexStreams(streams: readonly StreamFailure[]): StreamIndex {
  const byRequest = new Map<string, StreamFailure[]>()
  const byConnection = new Map<bigint, StreamFailure[]>()
  const add = <K>(map: Map<K, StreamFailure[]>, key: K | null, s: StreamFailure) => {
    if (key === null) return
    const list = map.get(key)
    if (list) list.push(s)
    else map.set(key, [s])
  }
  for (const s of streams) {
    add(byRequest, s.requestId, s)
    add(byConnection, s.downstreamConnectionId, s)
  }
  return { byRequest, byConnection }
}

/** Log attempts of a record: by request id, else by the client's connection and the time. */
function streamsOf(r: RequestRecord, index: StreamIndex): StreamFailure[] {
  const same = r.requestId === null ? undefined : index.byRequest.get(r.requestId)
  if (same) return same
  const { start, end, connectionId } = r
  if (connectionId === null || start === null || end === null) return []
  return (index.byConnection.get(connectionId) ?? []).filter(s => s.t !== null && s.t >= start - MILLISECOND && s.t <= end + MILLISECOND)
}

/** Records and log agree to a few milliseconds: both are written by one process, and the record prints whole ones. */
const SAME_END = 5n * MILLISECOND

/** Without ids: the stream that was reset when the record ended, on its way to the same address. Marked by nothing else, so the nearest is taken. */
function streamsByAddress(r: RequestRecord | null, streams: Iterable<StreamFailure>): StreamFailure[] {
  if (r === null || r.end === null || r.kind !== 'http') return []
  const { end } = r
  let best: StreamFailure | null = null
  let least: bigint | null = null
  for (const s of streams) {
    if (s.t === null || s.healed || s.requestId !== null || !sameReason(r, s)) continue
    if (s.remote?.ip && (s.remote.ip !== r.upstreamIp || s.remote.port !== r.upstreamPort)) continue
    const distance = s.t > end ? s.t - end : end - s.t
    if (distance <= SAME_END && (least === null || distance < least)) {
      best = s
      least = distance
    }
  }
  return best ? [best] : []
}

const sameReason = (r: RequestRecord, s: StreamFailure): boolean => r.details === null || r.details.replaceAll('_', ' ').includes(s.reason) || (s.reason === 'upstream timeout' && r.flags.includes('UT'))

const byStream = (streams: Iterable<StreamFailure>): StreamFailure[][] => [...groupBy(streams, s => `${s.source} ${s.downstreamConnectionId} ${s.streamId}`).values()]

async function backendFailures(store: Store): Promise<BackendFailure[]> {
  const rows = await store.rows(
    `SELECT source, line, byte_start, byte_end, t, request_id, args FROM raw.proxy_line
     WHERE template IN (SELECT id FROM raw.dictionary WHERE value = 'backend-endpoint-failed') ORDER BY source, byte_start, "row"`,
  )
  return rows.map(r => {
    const data = dataOf(r.args as string | null)
    const endpoint = data['route-endpoint']
    const flag = (v: unknown): boolean | null => (typeof v === 'boolean' ? v : null)
    const address = typeof endpoint === 'object' && endpoint !== null && 'Addr' in endpoint ? endpoint.Addr : null
    return {
      place: placeOf(r),
      t: r.t as bigint | null,
      requestId: r.request_id as string | null,
      backend: typeof address === 'string' ? address : null,
      error: typeof data.error === 'string' ? data.error : '',
      attempt: typeof data.attempt === 'number' ? data.attempt : null,
      retriable: flag(data.retriable),
      gotConnection: flag(data['got-connection']),
      wroteHeaders: flag(data['wrote-headers']),
      reused: flag(data['conn-reused']),
    }
  })
}

/** `args` of a gorouter line is a JSON array of one string: the line's `data`. */
function dataOf(args: string | null): Record<string, unknown> {
  try {
    const [text] = JSON.parse(args ?? '[]') as unknown[]
    const data: unknown = typeof text === 'string' ? JSON.parse(text) : null
    return typeof data === 'object' && data !== null ? (data as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
