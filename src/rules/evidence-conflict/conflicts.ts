/** The kinds of conflict, found in what the joins left. */
import type { ClockOffset } from '../../correlate/clocks.js'
import type { Line } from '../../correlate/replay.js'
import type { Place } from '../../correlate/evidence.js'
import type { Owner, Ownership } from '../../correlate/owners.js'
import { groupBy } from '../../model/group.js'
import { iso, SECOND } from '../../model/instant.js'
import type { Subject } from '../../model/report.js'
import { words } from './words.js'

export interface Statement {
  readonly peer: string
  readonly id: string
  readonly place: Place
}

export interface Conflict {
  readonly code: 'owner-conflict' | 'id-conflict' | 'clock-conflict' | 'ambiguous-record'
  readonly subject: Subject
  readonly root: string
  readonly identity: readonly string[]
  readonly count: number
  readonly title: string
  readonly says: string
  readonly places: readonly Place[]
  readonly from: bigint | null
  readonly to: bigint | null
}

/** API times are whole seconds and a little off: owners that overlap by less do not conflict. */
const OVERLAP = 3n * SECOND

/** An address that everybody claims is told often enough: conflicts of one address that are kept. */
const KEPT = 20

/** Different owners of one address whose surest intervals overlap. */
export function ownerConflicts(owners: Ownership): Conflict[] {
  return [...groupBy(owners.all, o => o.ip)].flatMap(([ip, list]) => {
    const pairs = groupBy(overlaps(list), ({ a, b }) => JSON.stringify([a.uid ?? a.name, b.uid ?? b.name]))
    return [...pairs.values()].slice(0, KEPT).map(same => ownerConflict(ip, same as [Overlap, ...Overlap[]]))
  })
}

interface Overlap {
  readonly a: Owner
  readonly b: Owner
  readonly from: bigint
  readonly to: bigint | null
}

function ownerConflict(ip: string, same: readonly [Overlap, ...Overlap[]]): Conflict {
  const [first] = same
  const { a, b, from, to } = first
  return {
    code: 'owner-conflict',
    subject: { ip, pod: b.name, previous_pod: a.name },
    root: ip,
    identity: [ip, a.uid ?? a.name, b.uid ?? b.name],
    count: same.length,
    title: words.owners(ip, a, b),
    says: words.ownersSay(ip, a, b, first),
    places: same.flatMap(o => [...o.a.places, ...o.b.places].map(p => p.place)),
    from,
    to,
  }
}

/** Pairs of certain owners that surely overlap for longer than the times are inexact, by when the later one began. */
function* overlaps(owners: readonly Owner[]): Generator<Overlap> {
  let kept = 0
  let held: Owner[] = []
  for (const b of owners.filter(o => o.certain && o.fromLatest !== null).sort(byStart)) {
    const from = b.fromLatest as bigint
    held = held.filter(a => a.to === null || (a.toEarliest !== null && a.toEarliest - from > OVERLAP))
    for (const a of held) {
      const to = earlier(a.to === null ? null : a.toEarliest, b.to === null ? null : b.toEarliest)
      if (a.name === b.name || (to !== null && to - from <= OVERLAP)) continue
      yield { a, b, from, to }
      if (++kept === KEPT * KEPT) return
    }
    held.push(b)
  }
}

const earlier = (a: bigint | null, b: bigint | null): bigint | null => (a === null ? b : b === null || a < b ? a : b)

function byStart(a: Owner, b: Owner): number {
  const [x, y] = [a.fromLatest as bigint, b.fromLatest as bigint]
  return x < y ? -1 : x > y ? 1 : a.name < b.name ? -1 : a.name > b.name ? 1 : 0
}

/** Logs in which two processes use the same ids. */
export function mixedLogs(mixed: ReadonlyMap<number, Line>): Conflict[] {
  return [...mixed].map(([source, line]) => ({
    code: 'id-conflict' as const,
    subject: line.connectionId === null ? {} : { connection_id: String(line.connectionId) },
    root: `source ${source}`,
    identity: ['mixed', String(line.connectionId), line.t === null ? '' : iso(line.t)],
    count: 1,
    title: words.mixed(line.connectionId),
    says: words.mixedSays,
    places: [{ source, line: line.line, frame: null, byteStart: line.byteStart, byteEnd: line.byteEnd }],
    from: line.t,
    to: line.t,
  }))
}

/** Sentences that name different ids for what they call the connection to one peer. */
export function idConflicts(said: readonly Statement[]): Conflict[] {
  const out: Conflict[] = []
  for (const [peer, list] of groupBy(said, s => s.peer)) {
    const ids = [...new Set(list.map(s => s.id))]
    if (ids.length < 2) continue
    out.push({
      code: 'id-conflict',
      subject: { pod: peer },
      root: peer,
      identity: [peer, ...[...ids].sort()],
      count: ids.length,
      title: words.ids(peer, ids),
      says: words.idsSay(peer, ids),
      places: list.map(s => s.place),
      from: null,
      to: null,
    })
  }
  return out
}

/** A request that stands in both sources of a pair: what shows that their clocks differ. */
export interface Shared {
  /** Stays the same whatever else is in the bundle: the request, and when it began in each source. */
  readonly identity: readonly string[]
  readonly places: readonly Place[]
}

export const differ = (c: ClockOffset, assumed: bigint): boolean => (c.offset < 0n ? -c.offset : c.offset) > assumed + c.error

/** A pair of sources whose clocks differ by more than is taken for granted: a wrong zone, or a clock that is off. */
export const clockConflict = (c: ClockOffset, shared: Shared): Conflict => ({
  code: 'clock-conflict',
  subject: {},
  root: `sources ${c.a} and ${c.b}`,
  identity: ['clocks', ...shared.identity],
  count: c.anchors,
  title: words.clocks(c),
  says: words.clocksSay(c),
  places: shared.places,
  from: null,
  to: null,
})
