/** The kinds of conflict, found in what the joins left. */
import type { ClockOffset } from '../../correlate/clocks.js'
import type { Line } from '../../correlate/replay.js'
import type { Place } from '../../correlate/evidence.js'
import type { Owner, Ownership } from '../../correlate/owners.js'
import { groupBy } from '../../model/group.js'
import { SECOND } from '../../model/instant.js'
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

/** Different owners of one address whose surest intervals overlap. */
export function ownerConflicts(owners: Ownership): Conflict[] {
  const out: Conflict[] = []
  for (const [ip, list] of groupBy(owners.all, o => o.ip))
    list.forEach((a, i) => {
      for (const b of list.slice(i + 1)) {
        const overlap = a.certain && b.certain ? overlapOf(a, b) : null
        if (overlap === null || a.name === b.name) continue
        out.push({
          code: 'owner-conflict',
          subject: { ip, pod: b.name, previous_pod: a.name },
          root: ip,
          identity: [ip, a.uid ?? a.name, b.uid ?? b.name],
          count: 1,
          title: words.owners(ip, a, b),
          says: words.ownersSay(ip, a, b, overlap),
          places: [...a.places, ...b.places].map(p => p.place),
          from: overlap.from,
          to: overlap.to,
        })
      }
    })
  return out
}

/** The time that both surely had, if it is longer than the times are inexact. */
function overlapOf(a: Owner, b: Owner): { from: bigint; to: bigint | null } | null {
  if (a.fromLatest === null || b.fromLatest === null) return null
  const from = a.fromLatest > b.fromLatest ? a.fromLatest : b.fromLatest
  const ends = [a.to === null ? null : a.toEarliest, b.to === null ? null : b.toEarliest].filter(t => t !== null)
  const to = ends.length === 0 ? null : ends.reduce((m, t) => (t < m ? t : m))
  return to === null || to - from > OVERLAP ? { from, to } : null
}

/** Logs in which two processes use the same ids. */
export function mixedLogs(mixed: ReadonlyMap<number, Line>): Conflict[] {
  return [...mixed].map(([source, line]) => ({
    code: 'id-conflict' as const,
    subject: line.connectionId === null ? {} : { connection_id: String(line.connectionId) },
    root: `source ${source}`,
    identity: ['mixed', String(line.connectionId)],
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
      identity: [peer, ...ids],
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

/** Pairs of sources whose clocks differ by more than is taken for granted: a wrong zone, or a clock that is off. */
export function clockConflicts(clocks: readonly ClockOffset[], assumed: bigint, shared: (a: number, b: number) => readonly Place[]): Conflict[] {
  return clocks
    .filter(c => (c.offset < 0n ? -c.offset : c.offset) > assumed + c.error)
    .map(c => ({
      code: 'clock-conflict' as const,
      subject: {},
      root: `sources ${c.a} and ${c.b}`,
      identity: ['clocks', String(c.a), String(c.b)],
      count: c.anchors,
      title: words.clocks(c),
      says: words.clocksSay(c),
      places: shared(c.a, c.b),
      from: null,
      to: null,
    }))
}
