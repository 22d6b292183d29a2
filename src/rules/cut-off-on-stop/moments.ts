/** Instants that several sources tell, each as precisely as it prints. */
import type { Place } from '../../correlate/evidence.js'
import { MILLISECOND, SECOND } from '../../model/instant.js'

/** Something happened between two instants, nanoseconds, as these places say. */
export interface Moment {
  readonly lo: bigint
  readonly hi: bigint
  readonly places: readonly Place[]
}

/** Two sources that tell one event may differ by this much: a log line is written after what it tells. */
const SAME = SECOND

/** Times are cut, not rounded: `53.93` is anything up to `53.94`. */
const STEPS = [SECOND, 100n * MILLISECOND, 10n * MILLISECOND, MILLISECOND]
const width = (t: bigint): bigint => STEPS.find(s => t % s === 0n) ?? 0n

export const momentOf = (earliest: bigint, latest: bigint, place: Place): Moment => ({ lo: earliest, hi: earliest === latest ? latest + width(latest) : latest, places: [place] })

/** Moments of one kind, those that may be the same event put together, in order of time. */
export function merged<T extends Moment>(all: readonly T[], join: (a: T, b: T) => T): T[] {
  const out: T[] = []
  for (const m of [...all].sort((a, b) => compare(a.lo, b.lo) || compare(a.hi, b.hi))) {
    const last = out.at(-1)
    if (last && m.lo - last.hi <= SAME) out[out.length - 1] = join(last, m)
    else out.push(m)
  }
  return out
}

export const hull = (a: Moment, b: Moment): Moment => ({ lo: a.lo < b.lo ? a.lo : b.lo, hi: a.hi > b.hi ? a.hi : b.hi, places: [...a.places, ...b.places] })

/** How many sources tell it. */
export const sources = (m: Moment): number => new Set(m.places.map(p => p.source)).size

/** The instant to print: the end that holds as a bound on what followed. */
export const instantOf = (m: Moment): bigint => m.lo

export const compare = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0)
export const least = (list: readonly (bigint | null)[]): bigint | null => list.reduce<bigint | null>((m, t) => (t !== null && (m === null || t < m) ? t : m), null)
export const most = (list: readonly (bigint | null)[]): bigint | null => list.reduce<bigint | null>((m, t) => (t !== null && (m === null || t > m) ? t : m), null)
