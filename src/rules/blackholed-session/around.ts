/** What happened around a session: whether its address was used again, what its siblings did, and what came next. */
import type { Place } from '../../correlate/evidence.js'
import { readRecords, type RequestRecord } from '../../correlate/failures.js'
import { placeOf } from '../../correlate/owners.js'
import { endpointText } from '../../model/endpoint.js'
import { SECOND } from '../../model/instant.js'
import type { RuleContext } from '../rule.js'
import type { Death } from './deaths.js'
import { chunks, type Ids, type Session } from './sessions.js'
import { endpointsNaming, logResumes, type Siblings, siblingsAfter, siblingsAround, siblingsBefore, useAgain } from './sessions.sql.js'

export interface Around {
  /** Requests, sessions and connections that reached the address after the pod had disappeared. */
  readonly usedAgain: number
  /** Addresses that sessions of the same cluster had when the pod disappeared. */
  readonly beside: number
  /** Sessions of the cluster that began afterwards, to other addresses; and those that ended without a fault. */
  readonly later: number
  readonly laterFine: number
  /** Sessions to the same address that ended while the pod disappeared. */
  readonly closedAtOnce: number
  /** The session that its client opened next. */
  readonly next: RequestRecord | null
  /** Earlier sessions that look the same, whose pod nothing is known of. */
  readonly alike: readonly { readonly remote: string; readonly start: bigint; readonly end: bigint }[]
  /** Listings that name the address of the next session, and not this one's. */
  readonly endpoints: readonly Place[]
  /** The application's log goes on with the next session. */
  readonly resumes: { readonly t: bigint; readonly place: Place } | null
}

export interface Mortal {
  readonly session: Session
  readonly death: Death
}

const NONE: Around = { usedAgain: 0, beside: 0, later: 0, laterFine: 0, closedAtOnce: 0, next: null, alike: [], endpoints: [], resumes: null }
const FOREVER = 9_000_000_000_000_000_000n
/** How long a pod's kernel may go on answering once it was told to stop. */
const TERMINATION = 30n * SECOND
/** An application starts up in this time: until then its log is not silent. */
const START_UP = 60n * SECOND

/** By number of the session. */
export async function aroundOf(context: RuleContext, list: readonly Mortal[], ids: Ids, least: bigint): Promise<Map<number, Around>> {
  const { store } = context
  const out = new Map(list.map(m => [m.session.n, { ...NONE }] as [number, { -readonly [K in keyof Around]: Around[K] }]))
  const of = (n: unknown) => out.get(n as number) as { -readonly [K in keyof Around]: Around[K] }
  const words = await store.ids([...new Set(list.flatMap(m => [m.session.ip, m.session.record?.cluster ?? '']))])
  const siblings = list.map(({ session: s, death: d }): Siblings => ({
    n: s.n,
    cluster: s.record?.cluster ? (words.get(s.record.cluster) ?? -2) : null,
    port: s.port ?? -1,
    ip: words.get(s.ip) ?? -1,
    lo: d.lo,
    hi: d.hi,
    end: s.end ?? FOREVER - SECOND,
  }))
  // Where the address of the pod is not known, the session's must never be reached again.
  const uses = list.map(({ session: s, death: d }) => ({ n: s.n, ip: words.get(s.ip) ?? -1, from: d.hi, to: d.ip === null ? FOREVER : (s.end ?? FOREVER) }))
  for (const part of chunks(uses)) for (const r of await store.rows(useAgain(part))) of(r.n).usedAgain = Number(r.used)
  for (const part of chunks(siblings)) {
    for (const r of await store.rows(siblingsAround(ids.kinds, part, TERMINATION))) {
      const a = of(r.n)
      a.beside = Number(r.beside)
      a.later = Number(r.later)
      a.laterFine = Number(r.later_fine)
      a.closedAtOnce = Number(r.closed_at_once)
    }
    await nexts(context, ids, part, list, of)
    await alikes(context, ids, part, least, of)
  }
  await endpointLists(context, list, of)
  await logs(context, list, of)
  return out
}

type Of = (n: unknown) => { -readonly [K in keyof Around]: Around[K] }

async function nexts({ store }: RuleContext, ids: Ids, part: readonly Siblings[], list: readonly Mortal[], of: Of): Promise<void> {
  const sql = siblingsAfter(ids.kinds, part)
  const numbers = (await store.rows(sql)).map(r => r.n as number)
  const records = await readRecords(store, sql)
  records.forEach((r, i) => {
    const n = numbers[i] as number
    const client = list.find(m => m.session.n === n)?.session.record?.downstreamRemoteIp ?? null
    if (client === null || r.downstreamRemoteIp === null || r.downstreamRemoteIp === client) of(n).next ??= r
  })
}

async function alikes({ store }: RuleContext, ids: Ids, part: readonly Siblings[], least: bigint, of: Of): Promise<void> {
  const rows = await store.rows(siblingsBefore(ids.kinds, part, least))
  const text = await store.words(rows.map(r => r.upstream_ip as number))
  for (const r of rows) {
    const a = of(r.n)
    const remote = endpointText(text.get(r.upstream_ip as number) ?? null, r.upstream_port as number | null)
    if (a.alike.length < 3 && remote !== null) a.alike = [...a.alike, { remote, start: r.t_start as bigint, end: r.t_end as bigint }]
  }
}

async function endpointLists({ store }: RuleContext, list: readonly Mortal[], of: Of): Promise<void> {
  const pairs = list.flatMap(m => {
    const next = of(m.session.n).next?.upstreamIp ?? null
    return next === null || next === m.session.ip ? [] : [{ n: m.session.n, ip: m.session.ip, next }]
  })
  const ids = await store.ids(['endpoint', ...new Set(pairs.flatMap(p => [p.ip, p.next]))])
  const endpoint = ids.get('endpoint')
  if (endpoint === undefined || pairs.length === 0) return
  const rows = await store.rows(endpointsNaming(endpoint, pairs.flatMap(p => [ids.get(p.ip) ?? -1, ids.get(p.next) ?? -1])))
  for (const p of pairs) {
    const naming = rows.filter(r => r.ip === ids.get(p.next))
    of(p.n).endpoints = naming.filter(r => !rows.some(o => o.subject === r.subject && o.ip === ids.get(p.ip))).map(placeOf).slice(0, 3)
  }
}

async function logs({ store }: RuleContext, list: readonly Mortal[], of: Of): Promise<void> {
  const log = (await store.ids(['log'])).get('log')
  if (log === undefined) return
  const asked = list.flatMap(({ session: s, death: d }) => {
    const next = of(s.n).next?.start ?? null
    // Their times are whole seconds as a rule.
    return next === null || next < d.hi + START_UP ? [] : [{ n: s.n, from: d.lo, quiet: d.hi + START_UP, at: next - SECOND, to: next + 5n * SECOND }]
  })
  for (const part of chunks(asked, 100))
    for (const r of await store.rows(logResumes(log, part))) of(r.n).resumes ??= { t: r.t as bigint, place: placeOf(r) }
}
