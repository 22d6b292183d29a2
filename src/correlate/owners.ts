/** Who owned an address, when: every fact about an address, turned into intervals with bounds. */
import type { SqlRow, Store } from '../store/store.js'
import type { Correlation } from './correlate.js'
import { evidenceWriter, type Place } from './evidence.js'
import { groupBy } from '../model/group.js'
import { MILLISECOND } from '../model/instant.js'

/** One interval of ownership. Bounds are instants; null is unbounded (`from`) or still held (`to`). */
export interface Owner {
  readonly ip: string
  readonly kind: string
  readonly name: string
  readonly uid: string | null
  readonly sandbox: string | null
  readonly node: string | null
  from: bigint | null
  fromEarliest: bigint | null
  fromLatest: bigint | null
  to: bigint | null
  toEarliest: bigint | null
  toLatest: bigint | null
  certain: boolean
  /** Row in the view `owner`. */
  row: number
  readonly places: { role: string; place: Place }[]
}

interface Fact {
  readonly ip: string
  readonly subject: string
  readonly kind: string
  readonly uid: string | null
  readonly sandbox: string | null
  readonly node: string | null
  readonly what: string
  readonly reason: string | null
  readonly exact: boolean | null
  readonly earliest: bigint | null
  readonly latest: bigint | null
  readonly place: Place
}

/**
 * How far the API's whole-second times lie from the true start and end of ownership (measured on a real control plane,
 * in milliseconds: truth lies between time + low and time + high).
 */
const START = { 'ready-sandbox': [-910, 840], 'container-started': [-5300, 990], started: [310, 35_800], created: [310, 35_800] } as const
const END = { 'sandbox-gone': [50, 900], 'container-exited': [50, 2400] } as const

/** Builds the owners of every address that a fact names, ordered by address, start and name. */
export async function buildOwners(c: Correlation): Promise<Owner[]> {
  const facts = await addressFacts(c.store)
  const owners = [...stated(facts), ...observed(facts)].sort(byAddressAndTime)
  const writer = c.writers.derived('owner')
  const cite = evidenceWriter(c.writers)
  for (const o of owners) {
    o.row = writer.begin()
    writer.ip(o.ip)
    writer.kind(o.kind)
    writer.name(o.name)
    writer.uid(o.uid)
    writer.sandbox(o.sandbox)
    writer.node(o.node)
    writer.t_from(o.from)
    writer.t_from_earliest(o.fromEarliest)
    writer.t_from_latest(o.fromLatest)
    writer.t_to(o.to)
    writer.t_to_earliest(o.toEarliest)
    writer.t_to_latest(o.toLatest)
    writer.certain(o.certain)
    for (const p of o.places) cite('owner', o.row, p.role, p.place)
  }
  return owners
}

function byAddressAndTime(a: Owner, b: Owner): number {
  return compare(a.ip, b.ip) || compareBig(a.from, b.from) || compare(a.name, b.name) || compare(a.uid ?? '', b.uid ?? '') || compareBig(a.places[0]?.place.byteStart ?? null, b.places[0]?.place.byteStart ?? null)
}
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
const compareBig = (a: bigint | null, b: bigint | null): number => (a === b ? 0 : a === null ? -1 : b === null ? 1 : a < b ? -1 : 1)

async function addressFacts(store: Store): Promise<Fact[]> {
  const rows = await store.rows(
    `SELECT source, line, byte_start, byte_end, subject, kind, uid, sandbox, ip, node, what, reason, exact, t_earliest, t_latest FROM raw.pod_fact
     WHERE ip IS NOT NULL AND subject IS NOT NULL ORDER BY source, "row"`,
  )
  const words = await store.words(rows.flatMap(r => [r.subject, r.kind, r.uid, r.sandbox, r.ip, r.node, r.what, r.reason]).filter((v): v is number => typeof v === 'number'))
  const text = (v: unknown): string | null => words.get(v as number) ?? null
  return rows.map(r => ({
    ip: text(r.ip) ?? '',
    subject: text(r.subject) ?? '',
    kind: text(r.kind) ?? 'pod',
    uid: text(r.uid),
    sandbox: text(r.sandbox),
    node: text(r.node),
    what: text(r.what) ?? '',
    reason: text(r.reason),
    exact: r.exact as boolean | null,
    earliest: r.t_earliest as bigint | null,
    latest: r.t_latest as bigint | null,
    place: placeOf(r),
  }))
}

export const placeOf = (r: SqlRow): Place => ({ source: r.source as number, line: (r.line as bigint | null) ?? null, frame: (r.frame as bigint | null) ?? null, byteStart: r.byte_start as bigint, byteEnd: r.byte_end as bigint })

/** Intervals that a timeline states. An approximate one is never certain. */
function stated(facts: readonly Fact[]): Owner[] {
  return facts
    .filter(f => f.what === 'owned')
    .map(f => ({
      ip: f.ip,
      kind: f.kind,
      name: f.subject,
      uid: f.uid,
      sandbox: f.sandbox,
      node: f.node,
      from: f.earliest,
      fromEarliest: f.earliest,
      fromLatest: f.earliest,
      to: f.latest,
      toEarliest: f.latest,
      toLatest: f.latest,
      certain: f.exact !== false,
      row: -1,
      places: [{ role: 'owned', place: f.place }],
    }))
}

/** Intervals from what objects and watches show of a pod: the surest start and end known for (address, uid). */
function observed(facts: readonly Fact[]): Owner[] {
  const usable = facts.filter(f => f.what !== 'owned' && f.kind !== 'endpoint' && f.kind !== 'service' && f.kind !== 'instance' && !f.reason?.includes('hostNetwork'))
  const groups = groupBy(usable, f => `${f.ip} ${f.uid ?? f.subject}`)
  return [...groups.values()].map(owned).filter(o => o !== null)
}

function owned(group: readonly Fact[]): Owner | null {
  const [first] = group
  if (!first) return null
  const start = surest(group, START, 'earliest')
  const end = surest(group, END, 'latest')
  const listed = group.filter(f => f.what === 'listed' && f.earliest !== null)
  const seenFrom = listed.reduce<bigint | null>((m, f) => (m === null || (f.earliest as bigint) < m ? f.earliest : m), null)
  if (!start && seenFrom === null && !group.some(f => f.what === 'listed')) return null
  return {
    ip: first.ip,
    kind: first.kind,
    name: first.subject,
    uid: first.uid,
    sandbox: group.find(f => f.sandbox !== null)?.sandbox ?? null,
    node: group.find(f => f.node !== null)?.node ?? null,
    from: start?.at ?? null,
    fromEarliest: start?.low ?? null,
    fromLatest: start?.high ?? seenFrom,
    to: end?.at ?? null,
    toEarliest: end?.low ?? null,
    toLatest: end?.high ?? null,
    certain: start !== null && start.by === 'ready-sandbox',
    row: -1,
    places: [...(start ? [{ role: 'start', place: start.place }] : []), ...(end ? [{ role: 'end', place: end.place }] : []), ...(start || end ? [] : [{ role: 'listed', place: first.place }])],
  }
}

interface Bound {
  readonly by: string
  readonly at: bigint
  readonly low: bigint
  readonly high: bigint
  readonly place: Place
}

/** The fact of the kind that lies closest to the truth; of several the earliest (start) or the latest (end). */
function surest(group: readonly Fact[], kinds: Readonly<Record<string, readonly [number, number]>>, pick: 'earliest' | 'latest'): Bound | null {
  for (const [by, [low, high]] of Object.entries(kinds)) {
    const found = group.filter(f => f.what === by && f.earliest !== null).sort((a, b) => compareBig(a.earliest, b.earliest))
    const f = pick === 'earliest' ? found[0] : found.at(-1)
    if (f && f.earliest !== null) return { by, at: f.earliest, low: f.earliest + BigInt(low) * MILLISECOND, high: f.earliest + BigInt(high) * MILLISECOND, place: f.place }
  }
  return null
}

/** Answers questions about ownership from the intervals of one bundle. */
export class Ownership {
  private readonly byIp = new Map<string, Owner[]>()

  constructor(readonly all: readonly Owner[]) {
    for (const o of all) {
      const list = this.byIp.get(o.ip)
      if (list) list.push(o)
      else this.byIp.set(o.ip, [o])
    }
  }

  /** All intervals of an address, by start. */
  of(ip: string): readonly Owner[] {
    return this.byIp.get(ip) ?? []
  }

  /** The interval that holds at an instant by the best estimates; the later one where two overlap. */
  at(ip: string, t: bigint): Owner | null {
    return this.of(ip).filter(o => (o.from === null || o.from <= t) && (o.to === null || t < o.to)).at(-1) ?? null
  }

  /** The intervals that may hold at an instant, by their widest bounds. */
  maybe(ip: string, t: bigint): Owner[] {
    return this.of(ip).filter(o => (o.fromEarliest === null || o.fromEarliest <= t) && (o.toLatest === null || t <= o.toLatest))
  }

  /** Whether the interval surely holds at an instant, by its narrowest bounds. */
  surely(o: Owner, t: bigint): boolean {
    return o.fromLatest !== null && o.fromLatest <= t && (o.to === null || (o.toEarliest !== null && t <= o.toEarliest))
  }
}
