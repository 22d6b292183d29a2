/** Whether a connection outlived the owner that its address had when it was opened. */
import { type Owner, type Ownership, sameOwner } from '../../correlate/owners.js'
import type { Confidence } from '../../model/report.js'
import type { Upstream } from './upstreams.js'

export type StaleCode = 'reset-by-new-owner' | 'reset-by-new-sandbox' | 'silent-after-reuse'

/** A connection that outlived the owner of its address. */
export interface Stale {
  readonly upstream: Upstream
  readonly opened: bigint
  readonly before: Owner
  readonly after: Owner
  /** When it was first written to, or ended, under the new owner. */
  readonly used: bigint
  /** The same, by one source alone, where several know it. */
  readonly alsoUsed: readonly bigint[]
  readonly ended: bigint
  readonly code: StaleCode
  readonly confidence: Confidence
  readonly overlapping: boolean
  /** The order of birth, change and use is smaller than what the clocks may differ. */
  readonly tight: boolean
  /** An answer came on it after the change: the timeline or a clock is wrong. */
  readonly answered: boolean
}

interface End {
  readonly used: bigint
  readonly ended: bigint
  readonly reset: boolean
}

/** How the log says that it died, or went silent. */
function endInLog({ log }: Upstream): End | null {
  if (!log) return null
  const first = log.unanswered?.from ?? log.unanswered?.to ?? null
  if (log.closed !== null && log.how === 'rst') return { used: log.closed, ended: log.closed, reset: true }
  if (log.closed !== null && log.how === 'timeout') return { used: first ?? log.closed, ended: log.closed, reset: false }
  return first === null ? null : { used: first, ended: log.unanswered?.to ?? first, reset: false }
}

/** How the capture shows it: the server's RST, or bytes that were never acknowledged although they were sent again. */
function endInCapture({ session }: Upstream): End | null {
  if (!session || session.last === null) return null
  const rst = session.packets.findLast(p => p.fromServer && p.kind === 'rst')
  if (rst?.t) return { used: rst.t, ended: rst.t, reset: true }
  if (session.ended === 'rst' && session.endedBy === 'server') return { used: session.last, ended: session.last, reset: true }
  return session.unacked !== null && session.retransmissions > 0 ? { used: session.unacked, ended: session.last, reset: false } : null
}

/**
 * The connection was opened to one owner and written to, reset or silent under another. The safe side of every bound
 * counts, and an order that is closer than the clocks may differ is none.
 */
export function staleOf(u: Upstream, owners: Ownership, clockError: bigint): Stale | null {
  const ends = [endInLog(u), endInCapture(u)].filter(e => e !== null)
  // A reset that either shows is one, though the other only shows silence.
  const end = ends.find(e => e.reset) ?? ends[0]
  const { opened } = u
  if (opened === null || !end) return null
  const before = owners.at(u.ip, opened)
  const after = owners.at(u.ip, end.used)
  if (!before || !after || before === after || sameOwner(before, after) || before.kind !== 'pod' || after.kind !== 'pod') return null
  // The new owner must have begun after the birth, and the old one ended before the use.
  if (after.from === null || after.from <= opened) return null
  const overlapping = before.to === null || (before.toEarliest ?? before.to) > (after.fromLatest ?? after.from)
  const tight = after.from - opened < clockError || end.used - after.from < clockError
  const answered = answeredAfter(u, after, clockError)
  const sure =
    owners.surely(before, opened) &&
    owners.surely(after, end.used) &&
    before.certain &&
    after.certain &&
    (after.fromEarliest ?? after.from) - opened >= clockError &&
    end.used - (after.fromLatest ?? after.from) >= clockError
  const oneMayHoldBoth = owners.maybe(u.ip, opened).some(o => o.kind === 'pod' && owners.maybe(u.ip, end.used).includes(o))
  return {
    upstream: u,
    opened,
    before,
    after,
    used: end.used,
    alsoUsed: ends.filter(e => e !== end).map(e => e.used),
    ended: end.ended,
    code: !end.reset ? 'silent-after-reuse' : before.uid !== null && before.uid === after.uid ? 'reset-by-new-sandbox' : 'reset-by-new-owner',
    confidence: overlapping || tight || oneMayHoldBoth || answered ? 'possible' : sure ? 'certain' : 'likely',
    overlapping,
    tight,
    answered,
  }
}

/** Only the kernel that the connection was made with can answer on it. */
function answeredAfter({ log, session }: Upstream, after: Owner, clockError: bigint): boolean {
  const change = (after.fromLatest ?? after.from ?? 0n) + clockError
  // Later than its end it was another proxy's connection of that id.
  if (log?.answered && log.answered > change && (log.closed === null || log.answered <= log.closed)) return true
  return session?.packets.some(p => p.fromServer && p.length > 0 && p.t !== null && p.t > change) ?? false
}
