/** Records of several proxies that are one request: its hops, the proxy nearest to the client first. */
import { isFailed, type RequestRecord } from './records.js'

/** How a part of a failure was joined to what was known of it before. */
export type JoinedBy = 'request-id' | 'connection-id' | 'tuple' | 'address' | 'time'

export interface Hops {
  readonly records: readonly RequestRecord[]
  /** How each record but the first was joined. */
  readonly joins: ReadonlyMap<RequestRecord, JoinedBy>
}

/** Groups by request id and overlap in time, then what has no id by the 4-tuple between two proxies. */
export function groupHops(records: readonly RequestRecord[], clockError: bigint): Hops[] {
  const groups = byRequestId(withoutRouterRecords(records), clockError)
  return mergeByTuple(groups, clockError).map(g => ({ ...g, records: ordered(g.records) }))
}

/** `Upstream*` records are the router's own about the attempts of a request whose record stands beside them in the same log. */
function withoutRouterRecords(records: readonly RequestRecord[]): readonly RequestRecord[] {
  const told = new Set(records.filter(r => r.kind !== 'upstream' && r.requestId !== null).map(r => `${r.place.source} ${r.requestId}`))
  return records.filter(r => r.kind !== 'upstream' || !told.has(`${r.place.source} ${r.requestId}`))
}

function byRequestId(records: readonly RequestRecord[], clockError: bigint): Hops[] {
  const groups: Hops[] = []
  const byId = new Map<string, RequestRecord[]>()
  for (const r of records) {
    if (r.requestId === null) groups.push({ records: [r], joins: new Map() })
    else {
      const list = byId.get(r.requestId)
      if (list) list.push(r)
      else byId.set(r.requestId, [r])
    }
  }
  for (const list of byId.values())
    for (const hops of overlapping(list.sort(byTime), clockError)) groups.push({ records: hops, joins: new Map(hops.slice(1).map(r => [r, 'request-id'])) })
  return groups
}

/** One log's records of an id are one request only while they overlap; between logs the clocks may differ. */
function overlapping(list: readonly RequestRecord[], clockError: bigint): RequestRecord[][] {
  const groups: RequestRecord[][] = []
  let open: RequestRecord[] = []
  let sources = new Set<number>()
  let until: bigint | null = null
  for (const r of list) {
    const slack = sources.size > 1 || !sources.has(r.place.source) ? clockError : 0n
    if (open.length > 0 && (until === null || r.start === null || r.start <= until + slack)) open.push(r)
    else {
      open = [r]
      sources = new Set()
      until = null
      groups.push(open)
    }
    sources.add(r.place.source)
    if (r.end !== null && (until === null || r.end > until)) until = r.end
  }
  return groups
}

const tupleOf = (ip: string | null, port: number | null): string | null => (ip === null || port === null ? null : `${ip} ${port}`)
/** The connection between two proxies, named by its client end: what the outer one logs as its own address the inner one logs as its client's. */
const towardsUpstream = (r: RequestRecord): string | null => tupleOf(r.upstreamLocalIp, r.upstreamLocalPort)
const fromDownstream = (r: RequestRecord): string | null => tupleOf(r.downstreamRemoteIp, r.downstreamRemotePort)

/** Joins a group whose records lack a request id to the one failure that went out on the connection on which it came in. */
function mergeByTuple(groups: readonly Hops[], clockError: bigint): Hops[] {
  const outer = new Map<string, Hops[]>()
  for (const g of groups) {
    const key = g.records.length === 1 ? towardsUpstream(g.records[0] as RequestRecord) : null
    if (key !== null) outer.set(key, [...(outer.get(key) ?? []), g].slice(0, CONNECTION_MOST))
  }
  const merged = new Map<Hops, Hops>()
  const gone = new Set<Hops>()
  for (const g of groups) {
    const [inner] = g.records
    const key = g.records.length === 1 && inner ? fromDownstream(inner) : null
    if (!inner || key === null) continue
    const fits = (outer.get(key) ?? []).filter(o => o !== g && !gone.has(o) && !merged.has(o) && mayHold(o.records[0] as RequestRecord, inner, clockError))
    const [only] = fits
    if (fits.length !== 1 || !only || gone.has(g) || merged.has(g)) continue
    merged.set(only, { records: [...only.records, inner], joins: new Map([[inner, 'tuple']]) })
    gone.add(g)
  }
  return groups.filter(g => !gone.has(g)).map(g => merged.get(g) ?? g)
}

/** More failures on one connection than this are not told apart by time. */
const CONNECTION_MOST = 8

/** Whether one request may have been both: only where not both have an id, both failed, and the inner one lies inside the outer. */
function mayHold(outer: RequestRecord, inner: RequestRecord, clockError: bigint): boolean {
  if (outer.place.source === inner.place.source || (outer.requestId !== null && inner.requestId !== null)) return false
  if (!isFailed(outer) || !isFailed(inner) || outer.start === null || outer.end === null || inner.start === null || inner.end === null) return false
  return inner.start >= outer.start - clockError && inner.end <= outer.end + clockError
}

/** By time of their start, but a record that came in on another's connection after that one: the clocks of two proxies may differ. */
function ordered(records: readonly RequestRecord[]): RequestRecord[] {
  const byStart = [...records].sort(byTime)
  const sent = new Map<string, RequestRecord>()
  for (const r of byStart) {
    const key = towardsUpstream(r)
    if (key !== null && !sent.has(key)) sent.set(key, r)
  }
  const inside = new Map<RequestRecord, RequestRecord[]>()
  const roots: RequestRecord[] = []
  for (const r of byStart) {
    const key = fromDownstream(r)
    const parent = key === null ? undefined : sent.get(key)
    if (parent && parent !== r) inside.set(parent, [...(inside.get(parent) ?? []), r])
    else roots.push(r)
  }
  const out: RequestRecord[] = []
  const seen = new Set<RequestRecord>()
  const stack = roots.reverse()
  for (let r = stack.pop(); r; r = stack.pop()) {
    if (seen.has(r)) continue
    seen.add(r)
    out.push(r)
    stack.push(...(inside.get(r) ?? []).reverse())
  }
  // Records that name each other as their clients hang on no root.
  return out.length === byStart.length ? out : [...out, ...byStart.filter(r => !seen.has(r))]
}

const byTime = (a: RequestRecord, b: RequestRecord): number =>
  compareTime(a.start, b.start) || compareTime(b.end, a.end) || a.place.source - b.place.source || compareTime(a.place.byteStart, b.place.byteStart)

const compareTime = (a: bigint | null, b: bigint | null): number => (a === b ? 0 : a === null ? 1 : b === null ? -1 : a < b ? -1 : 1)
