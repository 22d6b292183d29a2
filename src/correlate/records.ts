/** Access records, as rules look at them: read from the store with their text. */
import { literal, type SqlRow, type Store } from '../store/store.js'
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

/** Details of an answer that came from the upstream. */
export const OWN_ANSWER = 'via_upstream'

/** Flags of answers that arrived: delayed on purpose, or from the cache. */
const FINE: ReadonlySet<string> = new Set(['DI', 'RFCF'])
/** Details of answers that a proxy is configured to make itself: a redirect or a health check is no failure, a 503 is. */
const OWN_ANSWERS = /^(?:direct_response|admin_filter_response|health_check|lua_response|custom_response|cors|cache)/

/** Whether a record alone says that the request did not end well. */
export function isFailed(r: Pick<RequestRecord, 'status' | 'flags' | 'routerError' | 'details'>): boolean {
  if (r.status !== null && r.status >= 500) return true
  if (r.flags.some(f => !FINE.has(f)) || r.routerError !== null) return true
  if (r.details === null || r.details === OWN_ANSWER) return false
  return r.status === null || r.status >= 400 || !OWN_ANSWERS.test(r.details)
}

/** A record of an answer that took more than one attempt: of the failed ones it tells no more. */
export const isHealed = (r: RequestRecord): boolean => r.kind === 'http' && (r.attempts ?? 1) > 1

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
const RECORD_WORDS = [
  'proxy',
  'kind',
  'method',
  'flags',
  'details',
  'termination_details',
  'transport_failure',
  'upstream_host',
  'upstream_ip',
  'upstream_local_ip',
  'upstream_cluster',
  'downstream_remote_ip',
  'router_error',
  'instance_id',
  'ambiguous',
] as const

/** Finished records that failed, those of the requests named, and the other records of all of these requests. */
export async function failedRecords(store: Store, words: ReadonlyMap<string, number>, requests: readonly string[]): Promise<RequestRecord[]> {
  const ended = `(phase IS NULL OR phase = ${words.get('end') ?? -1})`
  const failed = `(status >= 500 OR flags IS NOT NULL OR router_error IS NOT NULL OR (details IS NOT NULL AND details <> ${words.get(OWN_ANSWER) ?? -1}))`
  const retried = `(kind = ${words.get('http') ?? -1} AND attempts > 1)`
  const asked = `SELECT request_id FROM raw.request WHERE request_id IS NOT NULL AND ${ended} AND ${failed} UNION SELECT request_id FROM raw.proxy_line WHERE request_id IS NOT NULL
    AND template IN (SELECT id FROM raw.dictionary WHERE value = 'backend-endpoint-failed')`
  const found = new Map<bigint, RequestRecord>()
  const read = async (which: string): Promise<void> => {
    for (const r of await readRecords(store, `SELECT ${RECORD} FROM raw.request WHERE ${ended} AND (${which}) ORDER BY source, byte_start, "row"`)) found.set(r.row, r)
  }
  await read(`${failed} OR ${retried} OR request_id IN (${asked})`)
  const named = [...new Set(requests)]
  for (let i = 0; i < named.length; i += 1000)
    await read(
      `request_id IN (${named
        .slice(i, i + 1000)
        .map(literal)
        .join(', ')})`,
    )
  return [...found.values()].sort(
    (a, b) => a.place.source - b.place.source || (a.place.byteStart < b.place.byteStart ? -1 : a.place.byteStart > b.place.byteStart ? 1 : Number(a.row - b.row)),
  )
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
