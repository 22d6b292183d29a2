/** What happened around a session: whether its address was used again, what its siblings did, and what came next. */
import type { Place } from '../../correlate/evidence.js'
import { readRecords, type RequestRecord } from '../../correlate/failures.js'
import { placeOf } from '../../correlate/owners.js'
import { endpointText } from '../../model/endpoint.js'
import { groupBy } from '../../model/group.js'
import { MILLISECOND, SECOND } from '../../model/instant.js'
import type { RuleContext } from '../rule.js'
import type { Death } from './deaths.js'
import { earlierOf, laterOf } from './instants.js'
import { chunks, type Ids, type Session } from './sessions.js'
import { type Circle, endpointsNaming, logResumes, recordsOf, sessionsFrom, siblingsAround, siblingsBefore, usedAgain } from './sessions.sql.js'

export interface Around {
  /** When something reached the address again after the pod had disappeared. */
  readonly usedAgain: bigint | null
  /** Addresses that sessions of the same cluster had when the pod disappeared. */
  readonly beside: number
  /** Sessions of the cluster that began afterwards, to other addresses; and those that ended without a fault. */
  readonly later: number
  readonly laterFine: number
  /** Other sessions to the same address that ended while the pod disappeared. */
  readonly closedAtOnce: number
  /** The session that its client opened next. */
  readonly next: RequestRecord | null
  /** Earlier sessions that look the same, whose pod nothing is known of. */
  readonly alike: readonly Alike[]
  /** Listings that name the address of the next session, and not this one's. */
  readonly endpoints: readonly Place[]
  /** The application's log goes on with the next session. */
  readonly resumes: { readonly t: bigint; readonly place: Place } | null
}

export interface Alike {
  readonly remote: string
  readonly start: bigint
  readonly end: bigint
}

export interface Mortal {
  readonly session: Session
  readonly death: Death
}

/** How long a pod's kernel may go on answering once it was told to stop. */
const TERMINATION = 30n * SECOND
/** An application starts up in this time: until then its log is not silent. */
const START_UP = 60n * SECOND
/** A client that comes back later than this opened its next session for another reason. */
const COMES_BACK = 3600n * SECOND
/** Records print whole milliseconds, of a start and a duration. */
const SAME_END = 5n * MILLISECOND
/** Sessions whose silence application logs are asked about, and listings cited with each. */
const ASKED_MOST = 20
const CITED_MOST = 3

/** By number of the session. */
export async function aroundOf(context: RuleContext, list: readonly Mortal[], ids: Ids, least: bigint): Promise<Map<number, Around>> {
  const words = await context.store.ids([...new Set(list.flatMap(m => [m.session.ip, m.session.record?.cluster ?? '']))])
  const groups = [...groupBy(list, keyOf).values()]
  const circles = groups.map(([m], n) => circleOf(m as Mortal, n, words))
  const shared = await sharedBy(context, circles, ids, least)
  const nexts = await nextOf(context, list, groups, circles, ids)
  const resumes = await resumesOf(context, list, nexts)
  const endpoints = await endpointsOf(context, list, nexts)
  const out = new Map<number, Around>()
  groups.forEach((members, g) => {
    for (const m of members) {
      const common = shared.get(g) as Shared
      const { n, end, record } = m.session
      const itself = record !== null && end !== null && end <= m.death.hi + TERMINATION ? 1 : 0
      out.set(n, {
        ...common,
        closedAtOnce: Math.max(0, common.closedAtOnce - itself),
        next: nexts.get(n) ?? null,
        resumes: resumes.get(n) ?? null,
        endpoints: endpoints.get(n) ?? [],
      })
    }
  })
  return out
}

const keyOf = ({ session: s, death: d }: Mortal): string => `${s.ip} ${s.port} ${s.record?.cluster ?? ''} ${d.lo} ${d.hi}`

const circleOf = ({ session: s, death: d }: Mortal, n: number, words: ReadonlyMap<string, number>): Circle => ({
  n,
  cluster: s.record?.cluster ? (words.get(s.record.cluster) ?? null) : null,
  port: s.port ?? -1,
  ip: words.get(s.ip) ?? -1,
  lo: d.lo,
  hi: d.hi,
})

type Shared = Pick<Around, 'usedAgain' | 'beside' | 'later' | 'laterFine' | 'closedAtOnce' | 'alike'>

async function sharedBy({ store }: RuleContext, circles: readonly Circle[], ids: Ids, least: bigint): Promise<Map<number, Shared>> {
  const out = new Map(circles.map(c => [c.n, { usedAgain: null, beside: 0, later: 0, laterFine: 0, closedAtOnce: 0, alike: [] } as Shared]))
  const put = (n: unknown, part: Partial<Shared>): void => void out.set(n as number, { ...(out.get(n as number) as Shared), ...part })
  for (const part of chunks(circles, 100)) {
    for (const r of await store.rows(usedAgain(part))) put(r.n, { usedAgain: r.t as bigint | null })
    for (const r of await store.rows(siblingsAround(ids.kinds, part, TERMINATION)))
      put(r.n, { beside: Number(r.beside), later: Number(r.later), laterFine: Number(r.later_fine), closedAtOnce: Number(r.closed_at_once) })
    const before = await store.rows(siblingsBefore(ids.kinds, part, least))
    const text = await store.words(before.map(r => r.upstream_ip as number))
    for (const [n, rows] of groupBy(before, r => String(r.n)))
      put(Number(n), {
        alike: rows.slice(-CITED_MOST).map(r => ({
          remote: endpointText(text.get(r.upstream_ip as number) ?? '', r.upstream_port as number | null) ?? '',
          start: r.t_start as bigint,
          end: r.t_end as bigint,
        })),
      })
  }
  return out
}

/** The first session of the cluster that began after the end, of the same client where its address is known. */
async function nextOf(
  { store }: RuleContext,
  list: readonly Mortal[],
  groups: readonly (readonly Mortal[])[],
  circles: readonly Circle[],
  ids: Ids,
): Promise<Map<number, RequestRecord>> {
  const clients = await store.ids([...new Set(list.flatMap(m => m.session.record?.downstreamRemoteIp ?? []))])
  const chosen = new Map<number, bigint>()
  const families = groupBy(
    groups.map((members, i) => ({ members, circle: circles[i] as Circle })),
    f => `${f.circle.cluster} ${f.circle.port}`,
  )
  for (const family of families.values()) {
    const ended = family
      .flatMap(f => f.members)
      .flatMap(m => (m.session.end === null ? [] : [{ n: m.session.n, end: m.session.end, client: clients.get(m.session.record?.downstreamRemoteIp ?? '') ?? null }]))
    const [first] = ended
    if (!first) continue
    const from = ended.map(e => e.end).reduce(earlierOf, first.end) - SAME_END
    const to = ended.map(e => e.end).reduce(laterOf, first.end) + COMES_BACK
    const began = (await store.rows(sessionsFrom(ids.kinds, (family[0] as { circle: Circle }).circle, from, to))).map(r => ({
      row: r.row as bigint,
      t: r.t_start as bigint,
      client: r.downstream_remote_ip as number | null,
    }))
    const byClient = groupBy(began, b => String(b.client))
    for (const e of ended) {
      const own = e.client === null ? began : mergedByTime(byClient.get(String(e.client)) ?? [], byClient.get('null') ?? [])
      const next = firstFrom(own, e.end - SAME_END)
      if (next) chosen.set(e.n, next.row)
    }
  }
  const records = new Map<bigint, RequestRecord>()
  for (const part of chunks([...new Set(chosen.values())])) for (const r of await readRecords(store, recordsOf(part))) records.set(r.row, r)
  return new Map([...chosen].map(([n, row]) => [n, records.get(row) as RequestRecord]))
}

interface Began {
  readonly row: bigint
  readonly t: bigint
}

/** Records that do not show their client may be anybody's. */
const mergedByTime = (a: readonly Began[], b: readonly Began[]): readonly Began[] => (b.length === 0 ? a : [...a, ...b].sort((x, y) => (x.t < y.t ? -1 : x.t > y.t ? 1 : 0)))

/** By halving: the list is in order of time. */
function firstFrom(list: readonly Began[], t: bigint): Began | null {
  let low = 0
  let high = list.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((list[middle] as Began).t < t) low = middle + 1
    else high = middle
  }
  return list[low] ?? null
}

async function endpointsOf({ store }: RuleContext, list: readonly Mortal[], nexts: ReadonlyMap<number, RequestRecord>): Promise<Map<number, Place[]>> {
  const out = new Map<number, Place[]>()
  const pairs = list.flatMap(m => {
    const next = nexts.get(m.session.n)?.upstreamIp ?? null
    return m.death.ip !== null || next === null || next === m.session.ip ? [] : [{ n: m.session.n, ip: m.session.ip, next }]
  })
  const ids = await store.ids(['endpoint', ...new Set(pairs.flatMap(p => [p.ip, p.next]))])
  const endpoint = ids.get('endpoint')
  if (endpoint === undefined || pairs.length === 0) return out
  const rows = await store.rows(endpointsNaming(endpoint, [...new Set(pairs.flatMap(p => [ids.get(p.ip) ?? -1, ids.get(p.next) ?? -1]))]))
  for (const p of pairs) {
    const naming = rows.filter(r => r.ip === ids.get(p.next) && !rows.some(o => o.subject === r.subject && o.ip === ids.get(p.ip)))
    out.set(p.n, naming.map(placeOf).slice(0, CITED_MOST))
  }
  return out
}

async function resumesOf({ store }: RuleContext, list: readonly Mortal[], nexts: ReadonlyMap<number, RequestRecord>): Promise<Map<number, Around['resumes']>> {
  const out = new Map<number, Around['resumes']>()
  const log = (await store.ids(['log'])).get('log')
  const asked = list.flatMap(({ session: s, death: d }) => {
    const next = nexts.get(s.n)?.start ?? null
    // Application logs print whole seconds as a rule.
    return next === null || next < d.hi + START_UP ? [] : [{ n: s.n, from: d.lo, quiet: d.hi + START_UP, at: next - SECOND, to: next + 5n * SECOND }]
  })
  if (log === undefined || asked.length === 0) return out
  for (const r of await store.rows(logResumes(log, asked.slice(0, ASKED_MOST)))) if (!out.has(r.n as number)) out.set(r.n as number, { t: r.t as bigint, place: placeOf(r) })
  return out
}
