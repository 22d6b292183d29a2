/** Writes `failure` and `chain`: what every rule has said of a failure, and each part of it with how it was joined. */
import type { DerivedWriter } from '../ingest/writers.js'
import { type Captured, overlaps, sessionsOfTuples, tupleKey } from './captures.js'
import type { Correlation, Joined } from './correlate.js'
import { constantIds, type Failure, innermost, outermost, statusOf, tupleOf } from './failures.js'
import type { JoinedBy } from './hops.js'

/** What stands for itself or was joined by an id is certain; a 4-tuple is one connection at a time. */
const CERTAIN: ReadonlySet<JoinedBy | null> = new Set([null, 'request-id', 'connection-id', 'tuple'])

/** To be called once, when no rule will change a failure any more. */
export async function writeFailures(c: Correlation, joined: Joined): Promise<void> {
  const { list } = joined.failures
  const sessions = await sessionsOf(c, list)
  const failure = c.writers.derived('failure')
  const chain = new ChainWriter(c)
  for (const f of list) {
    const inner = innermost(f)
    const row = failure.begin()
    failure.t(f.t)
    failure.request_id(f.requestId)
    failure.status(statusOf(f))
    failure.flags(inner && inner.flags.length > 0 ? inner.flags.join(',') : null)
    failure.details(inner?.details ?? inner?.routerError ?? f.streams.at(-1)?.details ?? f.streams.at(-1)?.reason ?? f.backends.at(-1)?.error ?? null)
    failure.cause(f.cause)
    failure.finding(f.finding)
    failure.hops(f.hops.map(h => chain.nameOf(h.proxy, h.place.source)).join(',') || null)
    failure.probe(f.probe)
    failure.request(outermost(f)?.row ?? null)
    chain.write(f, BigInt(row), sessions.get(f) ?? [], joined)
  }
}

/** The captured session of each failure: by the 4-tuple of its upstream connection, and the time. */
async function sessionsOf({ store, clockError }: Correlation, failures: readonly Failure[]): Promise<ReadonlyMap<Failure, Captured[]>> {
  const known = failures.flatMap(f => {
    const tuple = tupleOf(f)
    return tuple ? [{ f, tuple, record: innermost(f) }] : []
  })
  const found = await sessionsOfTuples(
    { rows: sql => store.rows(sql), ids: values => constantIds(store, values) },
    known.map(k => k.tuple),
  )
  return new Map(known.map(({ f, tuple, record }) => [f, (found.get(tupleKey(tuple)) ?? []).filter(s => overlaps(s, record?.start ?? null, record?.end ?? null, clockError))]))
}

class ChainWriter {
  private readonly w: DerivedWriter<'chain'>
  private readonly paths: ReadonlyMap<number, string>
  private failure = 0n

  constructor(c: Correlation) {
    this.w = c.writers.derived('chain')
    this.paths = new Map(c.ingested.sources.map(s => [s.id, s.path]))
  }

  /** A proxy by its own name, else by the file that it wrote. */
  nameOf(proxy: string | null, source: number): string {
    return proxy ?? this.paths.get(source) ?? ''
  }

  write(f: Failure, row: bigint, sessions: readonly Captured[], joined: Joined): void {
    this.failure = row
    for (const h of f.hops) this.part(this.nameOf(h.proxy, h.place.source), 'request', h.row, f.joins.get(h) ?? null)
    for (const s of f.streams) {
      const hop = this.nameOf(null, s.source)
      if (s.attempt >= 0) this.part(hop, 'attempt', BigInt(s.attempt), f.joins.get(s) ?? null)
      if (s.connection !== null) this.part(hop, 'connection', BigInt(s.connection), s.connectionBy)
    }
    for (const b of f.backends) this.part(this.nameOf(null, b.place.source), 'proxy_line', b.row, f.joins.get(b) ?? null)
    for (const s of sessions) this.part(this.nameOf(null, s.source), 'session', s.row, 'tuple')
    const owner = this.owner(f, joined)
    if (f.cause?.startsWith('WC')) this.missing(f, sessions.length > 0, owner)
  }

  /** Who had the upstream's address when it failed. Answers whether anybody is known for the address. */
  private owner(f: Failure, { owners }: Joined): boolean {
    const ip = innermost(f)?.upstreamIp ?? f.streams.findLast(s => s.remote?.ip)?.remote?.ip ?? null
    const t = innermost(f)?.start ?? f.t
    if (ip === null || owners.of(ip).length === 0) return false
    const o = t === null ? null : owners.at(ip, t)
    if (o && t !== null) this.row(o.name, 'owner', BigInt(o.row), 'address', owners.surely(o, t) && o.certain, null)
    return true
  }

  /** Names what no evidence of the bundle could be joined for. */
  private missing(f: Failure, captured: boolean, owned: boolean): void {
    const hop = f.hops.length > 0 ? this.nameOf(innermost(f)?.proxy ?? null, innermost(f)?.place.source ?? -1) : null
    const lack = (view: string, what: string) => this.row(hop, view, null, null, false, what)
    if (f.hops.length === 0) lack('request', 'requests')
    if (f.streams.length === 0 && f.backends.length === 0) lack('connection', 'upstream-connections')
    if (!captured) lack('session', 'upstream-capture')
    if (!owned) lack('owner', 'owner-history')
  }

  private part(hop: string, view: string, target: bigint, by: JoinedBy | null): void {
    this.row(hop, view, target, by, CERTAIN.has(by), null)
  }

  private row(hop: string | null, view: string, target: bigint | null, by: JoinedBy | null, certain: boolean, missing: string | null): void {
    const { w } = this
    w.begin()
    w.failure(this.failure)
    w.hop(hop)
    w.view(view)
    w.target(target)
    w.joined_by(by)
    w.certain(certain)
    w.missing(missing)
  }
}
