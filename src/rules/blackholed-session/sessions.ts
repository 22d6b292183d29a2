/** Sessions that may have been blackholed, each with what the access log, the proxy's own log and a capture tell of it. */
import type { Place } from '../../correlate/evidence.js'
import { readRecords, type RequestRecord } from '../../correlate/failures.js'
import { placeOf } from '../../correlate/owners.js'
import { endpointText } from '../../model/endpoint.js'
import { groupBy } from '../../model/group.js'
import { MILLISECOND, SECOND } from '../../model/instant.js'
import type { SqlRow } from '../../store/store.js'
import type { RuleContext } from '../rule.js'
import type { Death } from './deaths.js'
import { compare, distance } from './instants.js'
import type { Limits } from './kernel.js'
import {
  capturedSessions,
  downstreamConnections,
  type Gone,
  type Kinds,
  lastProcesses,
  linesWithin,
  outlivedRecords,
  recordsEnding,
  recordsOver,
  upstreamConnections,
} from './sessions.sql.js'

/** The upstream connection in the proxy's log. */
export interface Logged {
  readonly row: bigint
  readonly source: number
  readonly process: number
  readonly id: bigint
  readonly ip: string
  readonly port: number | null
  readonly opened: bigint
  readonly closed: bigint | null
  /** `timeout`, `fin`, `rst`, `local`, `idle`; `open`: not ended when the log does. */
  readonly how: string
  readonly errno: number | null
  /** It carried HTTP streams: what was written is requests, of any number of clients. */
  readonly pooled: boolean
  /** The client's connection of a TCP session; null where the log does not say. */
  readonly client: { readonly id: bigint; readonly ip: string | null; readonly port: number | null } | null
}

/** The upstream connection in a capture on its way to the pod. */
export interface Captured {
  readonly row: bigint
  readonly place: Place
  readonly capture: number
  /** Ids of the addresses, with the ports: what frames are found by. */
  readonly sockets: { readonly client: readonly [number, number]; readonly server: readonly [number, number] }
  readonly clientIp: string | null
  readonly clientPort: number | null
  readonly serverIp: string
  readonly serverPort: number | null
  readonly first: bigint | null
  /** Last packet of the opener, and of the one that it was opened to. */
  readonly clientLast: bigint | null
  readonly serverLast: bigint | null
  readonly unacked: bigint | null
  readonly retransmissions: number
  readonly probes: number
  readonly ended: string
  readonly endedBy: string | null
  /** Packets of both directions were captured. */
  readonly bothWays: boolean
  /** It was captured from its first packet on, and the pod sent no FIN. */
  readonly noFin: boolean
}

export interface Session {
  readonly n: number
  readonly record: RequestRecord | null
  readonly log: Logged | null
  readonly capture: Captured | null
  readonly ip: string
  readonly port: number | null
  readonly local: string | null
  readonly start: bigint
  /** null: not ended, or not seen to end. */
  readonly end: bigint | null
}

const SAME_END = 5n * MILLISECOND
/** A capture has its own clock, unless it was made where the proxy runs. */
const SAME_CLOCK = 2n * SECOND
/** Deaths without an address: of more than a few nobody can say which session is whose. */
const UNNAMED_MOST = 100
/** An upstream connection may be opened only when the client has spoken. */
const SAME_START = 50n * MILLISECOND

export interface Ids {
  readonly kinds: Kinds
  readonly upstream: number
  readonly timeout: number
}

export async function idsOf({ store }: RuleContext): Promise<Ids> {
  const ids = await store.ids(['tcp', 'end', 'upstream', 'timeout'])
  const id = (word: string): number => ids.get(word) ?? -1
  return { kinds: { tcp: id('tcp'), end: id('end') }, upstream: id('upstream'), timeout: id('timeout') }
}

export async function sessionsOf(context: RuleContext, deaths: readonly Death[], limits: Limits, ids: Ids): Promise<Session[]> {
  const gone = await context.store.ids([...new Set(deaths.map(d => d.ip).filter(ip => ip !== null))])
  const outlived = await recordsOf(context, deaths, gone, limits, ids)
  const hosts = await context.store.ids([...new Set(outlived.map(r => r.upstreamIp as string))])
  const ips = [...new Set([...gone.values(), ...hosts.values()])]
  const logged = await loggedOf(context, ids, ips, deaths)
  const timedOut = logged.filter(l => l.how === 'timeout')
  const captured = await capturedOf(context, [...ips, ...(await context.store.ids(timedOut.map(l => l.ip))).values()])
  const records = new Map([...outlived, ...(await endingWith(context, timedOut, ids)), ...(await overSockets(context, captured, ids))].map(r => [r.row, r]))
  return joined([...records.values()].sort(byPlace), logged, captured)
}

async function recordsOf(context: RuleContext, deaths: readonly Death[], gone: ReadonlyMap<string, number>, limits: Limits, ids: Ids): Promise<RequestRecord[]> {
  const error = context.clockError
  const unnamed = deaths.filter(d => d.ip === null).length
  const list = deaths
    .filter(d => d.ip !== null || unnamed <= UNNAMED_MOST)
    .map((d): Gone => {
      const ip = d.ip === null ? null : (gone.get(d.ip) ?? -1)
      // With the address known, a write may have come later than the window allows for: only what is known of it decides.
      return { ip, opened: d.ip === null ? d.lo : d.hi, from: d.lo + limits.low - error, to: d.ip === null ? d.hi + limits.high + error : d.hi + 86_400n * SECOND }
    })
  const out = new Map<bigint, RequestRecord>()
  for (const part of chunks(list)) for (const r of await readRecords(context.store, outlivedRecords(ids.kinds, part))) out.set(r.row, r)
  return [...out.values()].sort(byPlace)
}

async function loggedOf(context: RuleContext, ids: Ids, ips: readonly number[], deaths: readonly Death[]): Promise<Logged[]> {
  const { store } = context
  const since = deaths.reduce<bigint | null>((m, d) => (m === null || d.lo < m ? d.lo : m), null) ?? 0n
  const rows = (await store.rows(upstreamConnections(ids.upstream, ids.timeout, ips, since))).filter(r => !context.connections.mixed.has(r.source as number))
  if (rows.length === 0) return []
  const last = new Map((await store.rows(lastProcesses)).map(r => [r.source as number, r.process as number]))
  const words = await store.words(rows.flatMap(r => [r.remote_ip, r.closed]).filter((v): v is number => typeof v === 'number'))
  const found = rows.map(
    (r): Omit<Logged, 'client'> => ({
      row: r.row as bigint,
      source: r.source as number,
      process: r.process as number,
      id: r.connection_id as bigint,
      ip: words.get(r.remote_ip as number) ?? '',
      port: r.remote_port as number | null,
      opened: (r.t_connecting ?? r.t_connected ?? r.t_first_use) as bigint,
      closed: r.t_closed as bigint | null,
      how: words.get(r.closed as number) ?? 'open',
      errno: r.errno as number | null,
      pooled: ((r.streams as number | null) ?? 0) > 0,
    }),
  )
  const live = found.filter(l => l.ip !== '' && (l.how !== 'open' || l.process === last.get(l.source)))
  return withClients(context, live)
}

const ATTACHED = 'Attached upstream connection [C{}] to downstream connection [C{}]'

/** A session's two connections are attached as soon as the upstream one is established. */
async function withClients({ store }: RuleContext, list: readonly Omit<Logged, 'client'>[]): Promise<Logged[]> {
  const ids = await store.ids([ATTACHED, 'downstream'])
  const [attached, downstream] = [ids.get(ATTACHED), ids.get('downstream')]
  if (attached === undefined || downstream === undefined) return list.map(l => ({ ...l, client: null }))
  const clients = new Map<number, bigint>()
  for (const part of chunks(list.flatMap((l, n) => (l.pooled ? [] : [{ n, source: l.source, from: l.opened, to: l.opened + 60n * SECOND }]))))
    for (const r of await store.rows(linesWithin(attached, part))) {
      const [up, down] = argsOf(r.args)
      if (up !== String(list[r.n as number]?.id) || down === undefined || !/^\d{1,18}$/.test(down)) continue
      clients.set(r.n as number, BigInt(down))
    }
  const known = new Map<string, { ip: string | null; port: number | null }>()
  const asked = [...clients].map(([n, id]) => ({ source: (list[n] as Logged).source, id }))
  for (const part of chunks(asked)) {
    const rows = await store.rows(downstreamConnections(downstream, part))
    const words = await store.words(rows.map(r => r.remote_ip).filter((v): v is number => typeof v === 'number'))
    for (const r of rows) known.set(`${r.source} ${r.process} ${r.connection_id}`, { ip: words.get(r.remote_ip as number) ?? null, port: r.remote_port as number | null })
  }
  return list.map((l, n) => {
    const id = clients.get(n) ?? null
    return { ...l, client: id === null ? null : { id, ...(known.get(`${l.source} ${l.process} ${id}`) ?? { ip: null, port: null }) } }
  })
}

async function endingWith({ store }: RuleContext, list: readonly Logged[], ids: Ids): Promise<RequestRecord[]> {
  const ips = await store.ids([...new Set(list.map(l => l.ip))])
  const asked = list.flatMap(l => (l.closed === null || l.port === null ? [] : [{ ip: ips.get(l.ip) ?? -1, port: l.port, t: l.closed }]))
  const out: RequestRecord[] = []
  for (const part of chunks(asked)) out.push(...(await readRecords(store, recordsEnding(ids.kinds, part))))
  return out
}

async function overSockets({ store }: RuleContext, list: readonly Captured[], ids: Ids): Promise<RequestRecord[]> {
  const asked = list.flatMap(c => (c.first !== null && (c.unacked !== null || c.probes > 0) ? [{ local: c.sockets.client, remote: c.sockets.server, t: c.first }] : []))
  const out: RequestRecord[] = []
  for (const part of chunks(asked)) out.push(...(await readRecords(store, recordsOver(ids.kinds, part))))
  return out
}

async function capturedOf({ store }: RuleContext, ips: readonly number[]): Promise<Captured[]> {
  const rows = await store.rows(capturedSessions([...new Set(ips)]))
  const words = await store.words(rows.flatMap(r => [r.client_ip, r.server_ip, r.ended, r.ended_by, r.history]).filter((v): v is number => typeof v === 'number'))
  const text = (v: unknown): string | null => words.get(v as number) ?? null
  const count = (v: unknown): number => (typeof v === 'number' ? v : 0)
  return rows.map(r => ({
    row: r.row as bigint,
    place: placeOf(r),
    capture: r.source as number,
    sockets: { client: [r.client_ip as number, (r.client_port as number | null) ?? -1], server: [r.server_ip as number, (r.server_port as number | null) ?? -1] },
    clientIp: text(r.client_ip),
    clientPort: r.client_port as number | null,
    serverIp: text(r.server_ip) ?? '',
    serverPort: r.server_port as number | null,
    first: (r.t_syn ?? r.t_first) as bigint | null,
    clientLast: r.t_client_last as bigint | null,
    serverLast: r.t_server_last as bigint | null,
    unacked: r.t_client_unacked as bigint | null,
    retransmissions: count(r.client_retransmissions),
    probes: count(r.keepalive_probes),
    ended: text(r.ended) ?? 'none',
    endedBy: text(r.ended_by),
    bothWays: count(r.server_packets) > 0,
    noFin: r.t_syn !== null && !(text(r.history) ?? 'f').includes('f'),
  }))
}

const addressOf = (ip: string | null, port: number | null): string => `${ip} ${port}`

function joined(records: readonly RequestRecord[], logged: readonly Logged[], all: readonly Captured[]): Session[] {
  const logs = new Set(logged)
  const captures = new Set(all)
  const byAddress = groupBy(logged, l => addressOf(l.ip, l.port))
  const captured = groupBy(all, c => addressOf(c.serverIp, c.serverPort))
  const out: Omit<Session, 'n'>[] = []
  for (const record of records) {
    const log = nearest(
      (byAddress.get(addressOf(record.upstreamIp, record.upstreamPort)) ?? []).filter(l => logs.has(l) && isOf(record, l)),
      l => l.opened,
      record.start as bigint,
    )
    const capture = nearest(
      (captured.get(addressOf(record.upstreamIp, record.upstreamPort)) ?? []).filter(c => captures.has(c) && isLeg(c, record)),
      c => c.first,
      record.start as bigint,
    )
    if (log) logs.delete(log)
    if (capture) captures.delete(capture)
    out.push(session(record, log, capture))
  }
  for (const log of logs) {
    const near = (captured.get(addressOf(log.ip, log.port)) ?? []).filter(c => captures.has(c) && c.first !== null && distance(c.first, log.opened) <= SAME_END)
    const capture = near.length === 1 ? (near[0] as Captured) : null
    if (capture) captures.delete(capture)
    out.push(session(null, log, capture))
  }
  for (const c of captures) if (c.first !== null) out.push(session(null, null, c))
  return out.map((s, n) => ({ ...s, n }))
}

function session(record: RequestRecord | null, log: Logged | null, capture: Captured | null): Omit<Session, 'n'> {
  return {
    record,
    log,
    capture,
    ip: record?.upstreamIp ?? log?.ip ?? capture?.serverIp ?? '',
    port: record?.upstreamPort ?? log?.port ?? capture?.serverPort ?? null,
    local: endpointText(record?.upstreamLocalIp ?? null, record?.upstreamLocalPort ?? null) ?? endpointText(capture?.clientIp ?? null, capture?.clientPort ?? null),
    start: (record?.start ?? log?.opened ?? capture?.first) as bigint,
    end: record?.end ?? log?.closed ?? null,
  }
}

/** One session in the record and in the log: the same address, and the same end; an idle one may have waited for its client to speak. */
function isOf(r: RequestRecord, l: Logged): boolean {
  if (r.upstreamIp !== l.ip || r.upstreamPort !== l.port || r.start === null || r.end === null || l.closed === null) return false
  if (r.upstreamConnectionId !== null && r.upstreamConnectionId !== l.id) return false
  if (l.client && r.downstreamRemotePort !== null && l.client.port !== null && l.client.port !== r.downstreamRemotePort) return false
  return distance(r.end, l.closed) <= SAME_END && l.opened >= r.start - SAME_START && l.opened <= r.end
}

/** The record's own sockets, while it was open; a port is used again by a later session. */
const isLeg = (c: Captured, r: RequestRecord): boolean =>
  r.upstreamLocalIp !== null &&
  c.clientIp === r.upstreamLocalIp &&
  c.clientPort === r.upstreamLocalPort &&
  c.serverIp === r.upstreamIp &&
  c.serverPort === r.upstreamPort &&
  c.first !== null &&
  r.start !== null &&
  r.end !== null &&
  c.first >= r.start - SAME_CLOCK &&
  c.first <= r.end + SAME_CLOCK

function nearest<T>(list: readonly T[], at: (item: T) => bigint | null, t: bigint): T | null {
  return list.reduce<T | null>((best, x) => (best === null || distance(at(x) ?? 0n, t) < distance(at(best) ?? 0n, t) ? x : best), null)
}

const byPlace = (a: RequestRecord, b: RequestRecord): number => a.place.source - b.place.source || compare(a.place.byteStart, b.place.byteStart)

/** Constants of one query: its text stays small. */
export function* chunks<T>(list: readonly T[], size = 500): Generator<T[]> {
  for (let i = 0; i < list.length; i += size) yield list.slice(i, i + size)
}

/** `args` of a log line: a JSON array of texts. */
export function argsOf(args: SqlRow[string] | undefined): string[] {
  try {
    const value: unknown = JSON.parse(String(args ?? '[]'))
    return Array.isArray(value) ? value.map(String) : []
  } catch {
    return []
  }
}
