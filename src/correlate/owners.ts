/** Who owned an address, when: every fact about an address, turned into intervals with bounds. */
import type { SqlRow, Store } from '../store/store.js'
import type { Correlation } from './correlate.js'
import { evidenceWriter, type Place } from './evidence.js'
import { compareBig, type Fact, observed, type Owner, stated } from './owned.js'

export type { Owner } from './owned.js'

/** Builds the owners of every address that a fact names, ordered by address, start and name. */
export async function buildOwners(c: Correlation): Promise<Owner[]> {
  const facts = await addressFacts(c)
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

/** Owners of whose start nothing is known stand in the order in which they were mentioned. */
function byAddressAndTime(a: Owner, b: Owner): number {
  const mentioned = (o: Owner) => o.places[0]?.place
  const [p, q] = [mentioned(a), mentioned(b)]
  const undated = a.from === null && b.from === null && p && q ? p.source - q.source || compareBig(p.byteStart, q.byteStart) : 0
  return (
    compare(a.ip, b.ip) ||
    compareBig(a.from, b.from) ||
    undated ||
    compare(a.name, b.name) ||
    compare(a.uid ?? '', b.uid ?? '') ||
    compareBig(p?.byteStart ?? null, q?.byteStart ?? null)
  )
}
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Formats whose members show one moment, unless the same pod is listed in them twice. */
const SNAPSHOTS: ReadonlySet<string> = new Set(['k8s-objects', 'k8s-table'])

async function addressFacts({ store, ingested }: Correlation): Promise<Fact[]> {
  const snapshots = new Set(ingested.sources.filter(s => SNAPSHOTS.has(s.format)).map(s => s.id))
  const rows = await store.rows(
    `SELECT source, line, byte_start, byte_end, subject, kind, uid, sandbox, ip, node, what, reason, exact, t_earliest, t_latest FROM raw.pod_fact
     WHERE subject IS NOT NULL AND (ip IS NOT NULL OR uid IN (SELECT uid FROM raw.pod_fact WHERE ip IS NOT NULL AND uid IS NOT NULL)) ORDER BY source, "row"`,
  )
  const text = await textOf(store, rows)
  const repeated = repeats(rows, text)
  return rows.map(r => ({
    ip: text(r.ip),
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
    snapshot: snapshots.has(r.source as number) && !repeated.has(r.source as number),
  }))
}

async function textOf(store: Store, rows: readonly SqlRow[]): Promise<(v: unknown) => string | null> {
  const words = await store.words(rows.flatMap(r => [r.subject, r.kind, r.uid, r.sandbox, r.ip, r.node, r.what, r.reason]).filter((v): v is number => typeof v === 'number'))
  return v => words.get(v as number) ?? null
}

/** Sources that list one pod and address in two records: listings of several moments. */
function repeats(rows: readonly SqlRow[], text: (v: unknown) => string | null): Set<number> {
  const seen = new Map<string, bigint>()
  const out = new Set<number>()
  for (const r of rows) {
    if (r.ip === null || text(r.what) !== 'listed' || text(r.kind) !== 'pod') continue
    const key = `${r.source} ${r.ip} ${r.uid ?? r.subject}`
    const before = seen.get(key)
    if (before !== undefined && before !== r.byte_start) out.add(r.source as number)
    seen.set(key, r.byte_start as bigint)
  }
  return out
}

export const placeOf = (r: SqlRow): Place => ({
  source: r.source as number,
  line: (r.line as bigint | null) ?? null,
  frame: (r.frame as bigint | null) ?? null,
  byteStart: r.byte_start as bigint,
  byteEnd: r.byte_end as bigint,
})

/** Whether two intervals are the same pod in the same sandbox. Sources that give no uid are compared by name, with or without namespace. */
export function sameOwner(a: Owner, b: Owner): boolean {
  if (a.uid !== null && b.uid !== null) return a.uid === b.uid && a.generation === b.generation && (a.sandbox === null || b.sandbox === null || a.sandbox === b.sandbox)
  return a.name === b.name || a.name.endsWith(`/${b.name}`) || b.name.endsWith(`/${a.name}`)
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
    return (
      this.of(ip)
        .filter(o => (o.from === null || o.from <= t) && (o.to === null || t < o.to))
        .at(-1) ?? null
    )
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
