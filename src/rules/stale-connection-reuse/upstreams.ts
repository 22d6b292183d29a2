/** Upstream connections to owned addresses: from the proxy's log, from captures, or from both. */
import { type Captured, sessionsTo } from '../../correlate/captures.js'
import { type Owner, sameOwner } from '../../correlate/owners.js'
import type { RuleContext } from '../rule.js'
import { connectionCounts, connectionsTo, lastAnswers, mixedCount, ownedAddresses, sessionCounts, silentReasons, unanswered } from './connections.sql.js'

/** What a proxy's log knows of one. */
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
  /** When the first and the last request on it that got no answer began and ended. */
  readonly unanswered: { readonly from: bigint | null; readonly to: bigint | null } | null
  /** The proxy's end of it, where an access record names both. */
  readonly local: { readonly ip: string; readonly port: number } | null
  /** When a request on it was answered last, by the access log. */
  readonly answered: bigint | null
}

export interface Upstream {
  readonly ip: string
  readonly port: number | null
  readonly opened: bigint | null
  readonly log: Pooled | null
  readonly session: Captured | null
}

export interface Upstreams {
  /** Those to addresses that changed their owner: only they can be stale. */
  readonly list: readonly Upstream[]
  /** How many there are to addresses that did not. */
  readonly others: number
  /** Connections in logs whose ids cannot be trusted. */
  readonly mixed: number
}

export async function upstreamsOf(context: RuleContext): Promise<Upstreams> {
  const { store } = context
  const words = await store.words((await store.rows(ownedAddresses)).map(r => r.ip as number))
  const changed = new Map([...words].filter(([, ip]) => hasChanged(context.owners.of(ip))))
  const mixed = [...context.connections.mixed.keys()]
  const counts = await countsOf(context, [...words.keys()], mixed)
  const pool = await pooled(context, [...changed.keys()], mixed)
  const sessions = await sessionsTo(store, [...changed.values()])
  let others = 0
  for (const [ip, n] of counts.trusted) if (!changed.has(ip)) others += n
  return { list: merged(pool, sessions, context.clockError), others, mixed: counts.mixed }
}

const hasChanged = (owners: readonly Owner[]): boolean => owners.some((o, i) => i > 0 && o.kind === 'pod' && !sameOwner(owners[i - 1] as Owner, o))

/** Connections by address. One that log and capture both show is counted once, as far as numbers tell. */
async function countsOf({ store }: RuleContext, ips: readonly number[], mixed: readonly number[]): Promise<{ trusted: Map<number, number>; mixed: number }> {
  const trusted = new Map<number, number>()
  const upstream = (await store.ids(['upstream'])).get('upstream') ?? -1
  if (ips.length === 0) return { trusted, mixed: 0 }
  for (const r of await store.rows(connectionCounts(ips, upstream, mixed))) trusted.set(r.ip as number, Number(r.n))
  for (const r of await store.rows(sessionCounts(ips))) trusted.set(r.ip as number, Math.max(trusted.get(r.ip as number) ?? 0, Number(r.n)))
  const [row] = mixed.length > 0 ? await store.rows(mixedCount(ips, upstream, mixed)) : []
  return { trusted, mixed: Number(row?.n ?? 0) }
}

async function pooled({ store }: RuleContext, ips: readonly number[], mixed: readonly number[]): Promise<Pooled[]> {
  const known = await store.ids(['upstream', 'reset'])
  const upstream = known.get('upstream')
  if (ips.length === 0 || upstream === undefined) return []
  const rows = await store.rows(connectionsTo(ips, upstream, mixed))
  if (rows.length === 0) return []
  const words = await store.words(rows.flatMap(r => [r.remote_ip as number, r.closed as number]))
  const silent = await silences(
    store,
    rows.map(r => r.row as bigint),
    known.get('reset') ?? -1,
  )
  const records = await recordedOn(
    store,
    rows.map(r => r.connection_id as bigint),
    ips,
  )
  return rows.map(r => {
    const ip = words.get(r.remote_ip as number) ?? ''
    const record = records.get(`${r.connection_id} ${ip} ${r.remote_port}`)
    return {
      row: r.row as bigint,
      source: r.source as number,
      id: r.connection_id as bigint,
      ip,
      port: r.remote_port as number | null,
      opened: r.t_connecting as bigint | null,
      lastUse: r.t_last_use as bigint | null,
      closed: r.t_closed as bigint | null,
      how: words.get(r.closed as number) ?? 'open',
      errno: r.errno as number | null,
      pending: (r.pending as number | null) ?? 0,
      unanswered: silent.get(r.row as bigint) ?? null,
      local: record?.local ?? null,
      answered: record?.answered ?? null,
    }
  })
}

const CHUNK = 5000

async function silences(store: RuleContext['store'], connections: readonly bigint[], reset: number): Promise<Map<bigint, NonNullable<Pooled['unanswered']>>> {
  const out = new Map<bigint, NonNullable<Pooled['unanswered']>>()
  const reasons = (await store.rows(silentReasons)).map(r => r.id as number)
  for (let i = 0; i < connections.length; i += CHUNK)
    for (const r of await store.rows(unanswered(connections.slice(i, i + CHUNK), reset, reasons)))
      out.set(r.connection as bigint, { from: r.t_start as bigint | null, to: r.t_end as bigint | null })
  return out
}

interface Recorded {
  local: { ip: string; port: number } | null
  answered: bigint | null
}

/** What access records say of connections by their id and address. Two processes that share both make the end unknown. */
async function recordedOn(store: RuleContext['store'], ids: readonly bigint[], ips: readonly number[]): Promise<Map<string, Recorded>> {
  const out = new Map<string, Recorded>()
  const wanted = [...new Set(ids)]
  for (let i = 0; i < wanted.length; i += CHUNK) {
    const rows = await store.rows(lastAnswers(wanted.slice(i, i + CHUNK), ips))
    const words = await store.words(rows.flatMap(r => [r.upstream_ip, r.upstream_local_ip]).filter((v): v is number => typeof v === 'number'))
    for (const r of rows) {
      const key = `${r.upstream_connection_id} ${words.get(r.upstream_ip as number)} ${r.upstream_port}`
      const ip = words.get(r.upstream_local_ip as number)
      const local = ip !== undefined && r.upstream_local_port !== null ? { ip, port: r.upstream_local_port as number } : null
      const before = out.get(key)
      const answered = later(before?.answered ?? null, r.answered as bigint | null)
      out.set(key, { local: before ? (before.local ?? local) : local, answered })
    }
  }
  return out
}

const later = (a: bigint | null, b: bigint | null): bigint | null => (a === null ? b : b === null || a > b ? a : b)
const distance = (a: bigint, b: bigint): bigint => (a > b ? a - b : b - a)

/** A session is a connection's if both name the same two ends, or began together at the same address, each once. */
function merged(pool: readonly Pooled[], sessions: readonly Captured[], clockError: bigint): Upstream[] {
  const left = new Set(sessions)
  const at = new Map<string, Captured[]>()
  for (const s of sessions) at.set(`${s.serverIp} ${s.serverPort}`, [...(at.get(`${s.serverIp} ${s.serverPort}`) ?? []), s])
  const out = pool.map((log): Upstream => {
    const near = (at.get(`${log.ip} ${log.port}`) ?? []).filter(s => left.has(s) && s.opened !== null && log.opened !== null && distance(s.opened, log.opened) <= clockError)
    const fits = log.local ? near.filter(s => s.clientIp === log.local?.ip && s.clientPort === log.local.port) : near
    const nearest =
      fits.sort((a, b) => Number(distance(a.opened as bigint, log.opened as bigint) - distance(b.opened as bigint, log.opened as bigint)) || a.source - b.source)[0] ?? null
    // The same session may be in several captures.
    if (nearest) for (const s of fits) if (s.clientPort === nearest.clientPort && s.clientIp === nearest.clientIp) left.delete(s)
    return { ip: log.ip, port: log.port, opened: log.opened, log, session: nearest }
  })
  const seen = new Set<string>()
  for (const s of left) {
    const key = `${s.clientIp} ${s.clientPort} ${s.serverIp} ${s.serverPort} ${s.opened ?? s.first}`
    if (seen.has(key)) continue
    seen.add(key)
    out.push({ ip: s.serverIp, port: s.serverPort, opened: s.opened ?? s.first, log: null, session: s })
  }
  return out
}
