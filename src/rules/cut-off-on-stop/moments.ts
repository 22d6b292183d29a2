/** Instants that several sources tell, each as precisely as it prints. */
import type { Place } from '../../correlate/evidence.js'
import { MILLISECOND, SECOND } from '../../model/instant.js'

/** Something happened between two instants, nanoseconds, as these places say. */
export interface Moment {
  readonly lo: bigint
  readonly hi: bigint
  /** As the source prints it that is the most precise. */
  readonly at: bigint
  readonly step: bigint
  readonly places: readonly Place[]
}

/** Two sources that tell one event may differ by this much: a log line is written after what it tells. */
const SAME = SECOND

/** Times are cut, not rounded: `53.93` is anything up to `53.94`. Cloud Foundry prints two digits or more, Kubernetes none or more. */
const STEPS = { kubernetes: [SECOND, MILLISECOND], cf: [10n * MILLISECOND, MILLISECOND] } as const
const width = (t: bigint, platform: keyof typeof STEPS): bigint => STEPS[platform].find(s => t % s === 0n) ?? 0n

export function momentOf(earliest: bigint, latest: bigint, place: Place, platform: keyof typeof STEPS): Moment {
  const step = earliest === latest ? width(latest, platform) : latest - earliest
  return { lo: earliest, hi: earliest + step, at: earliest, step, places: [place] }
}

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

export function hull(a: Moment, b: Moment): Moment {
  const { at, step } = b.step < a.step ? b : a
  return { lo: earlier(a.lo, b.lo), hi: later(a.hi, b.hi), at, step, places: [...a.places, ...b.places] }
}

/** How many sources tell it. */
export const sources = (m: Moment): number => new Set(m.places.map(p => p.source)).size

export const earlier = (a: bigint, b: bigint): bigint => (compare(a, b) < 0 ? a : b)
export const later = (a: bigint, b: bigint): bigint => (compare(a, b) > 0 ? a : b)
export const compare = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0)
export const least = (list: readonly (bigint | null)[]): bigint | null => list.reduce<bigint | null>((m, t) => (t !== null && (m === null || t < m) ? t : m), null)
export const most = (list: readonly (bigint | null)[]): bigint | null => list.reduce<bigint | null>((m, t) => (t !== null && (m === null || t > m) ? t : m), null)
