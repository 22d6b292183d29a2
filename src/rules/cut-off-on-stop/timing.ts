/** When an instance exited on the clock of the proxy that judged its requests. */
import { MILLISECOND, SECOND } from '../../model/instant.js'
import type { Life } from './lives.js'
import { compare, earlier, later, least, type Moment, most } from './moments.js'
import type { Suspect } from './suspects.js'

/**
 * `cut`: requests that had run for different times ended together at the exit, which measures it on the proxy's own
 * clock · `between`: the instance answered until the exit and failed from then on · `assumed`: nothing ties the two
 * clocks together, and they are taken to agree within the clock error.
 */
export type Tied = 'cut' | 'between' | 'assumed'

export interface ProxyExit {
  readonly lo: bigint
  readonly hi: bigint
  readonly tied: Tied
  /** Requests that ended together at it. */
  readonly together: number
}

/** How the instance's requests fared. */
export interface Answers {
  readonly lastEnd: bigint | null
  readonly lastStart: bigint | null
}

/** Requests cut by one exit end within 4 ms of it (measured with a real gorouter and Envoy); doubled twice for slower machines. */
export const TOGETHER = 20n * MILLISECOND
/** An instance that has exited fails a request in a few milliseconds: what ran longer had been accepted before. */
export const LONG = 250n * MILLISECOND
/** Slack for what a log line is later than what it tells. */
const LATE = 50n * MILLISECOND

/** A request that ran long and ended within this of the exit ties the clocks alone. */
const COINCIDES = 100n * MILLISECOND

/** null: the instance answered so long after the exit that the two clocks, or the two instances, cannot be the same. */
export function exitOnProxy(exit: Moment, suspects: readonly Suspect[], answers: Answers, clockError: bigint): ProxyExit | null {
  const cut = together(exit, suspects, clockError)
  if (cut) return cut
  const last = answers.lastEnd
  if (last === null) return assumed(exit, clockError)
  const first = least(suspects.filter(s => s.start !== null && s.start >= last).map(s => s.end))
  if (last <= exit.hi + LATE) {
    if (first === null || first < exit.lo - LATE) return assumed(exit, clockError)
    return { lo: later(exit.lo, last), hi: later(later(exit.lo, last), earlier(exit.hi, first)), tied: 'between', together: 0 }
  }
  if ((answers.lastStart ?? last) > exit.hi + clockError) return null
  return first !== null && first >= last ? { lo: last, hi: first, tied: 'between', together: 0 } : assumed(exit, clockError)
}

const assumed = (exit: Moment, clockError: bigint): ProxyExit => ({ lo: exit.lo - clockError, hi: exit.hi + clockError, tied: 'assumed', together: 0 })

/** The largest group of long requests that ended together near the exit; of equal ones the nearest. */
function together(exit: Moment, suspects: readonly Suspect[], clockError: bigint): ProxyExit | null {
  const long = suspects.filter(s => s.start !== null && s.end - s.start >= LONG && s.shape !== 'refused' && apart(exit, s.end) <= clockError).sort((a, b) => compare(a.end, b.end))
  let best = { from: 0, size: 0 }
  const endOf = (i: number): bigint => (long[i] as Suspect).end
  for (let from = 0, to = 0; to < long.length; to++) {
    while (endOf(to) - endOf(from) > TOGETHER) from++
    const size = to - from + 1
    if (size > best.size || (size === best.size && apart(exit, endOf(from)) < apart(exit, endOf(best.from)))) best = { from, size }
  }
  if (best.size === 0 || (best.size === 1 && apart(exit, endOf(best.from)) > COINCIDES)) return null
  return { lo: endOf(best.from), hi: endOf(best.from), tied: 'cut', together: best.size }
}

const apart = (m: Moment, t: bigint): bigint => (t < m.lo ? m.lo - t : t > m.hi ? t - m.hi : 0n)

/** How long after its exit a request can still be cut by it: until the container is destroyed, or at once. */
const CUT_AFTER = 500n * MILLISECOND

/** The request was running when the instance exited. */
export function wasRunning(s: Suspect, x: ProxyExit, life: Life): boolean {
  if (s.start === null || s.end < x.lo - TOGETHER) return false
  const until = most([x.hi + CUT_AFTER, life.gone === null ? null : life.gone.hi + CUT_AFTER]) as bigint
  if (s.start < x.lo) return s.end <= until
  return s.start < x.hi && s.end - s.start >= LONG && s.end <= until
}

/** The request began after the exit, or, where its beginning is not known, failed clearly later. */
export const beganAfter = (s: Suspect, x: ProxyExit): boolean => (s.start === null ? s.end > x.hi + CUT_AFTER : s.start >= x.hi)

/** How far from a stop or an exit a failure may be and still be its doing: a router drops a route 120 s after it was last announced. */
export const NEAR = 150n * SECOND

/** How far a failure lies from a life; 0 inside. */
export function distance(life: Life, s: Suspect): bigint {
  const from = least([life.stop?.lo ?? null, life.certificate?.lo ?? null, life.exit?.lo ?? null]) as bigint
  const to = most([life.stop?.hi ?? null, life.exit?.hi ?? null, life.gone?.hi ?? null]) as bigint
  return s.end < from ? from - s.end : (s.start ?? s.end) > to ? (s.start ?? s.end) - to : 0n
}
