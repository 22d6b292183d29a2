/** Nanoseconds since the epoch, UTC. Recorded times are never rewritten. */
export type Nanoseconds = bigint

/** What had to be assumed to turn a printed time into an instant; printed in this order, joined by commas. */
export const GUESSES = ['year', 'date', 'zone', 'unit'] as const

/** A point in time as the evidence gives it: `guess` lists what was assumed, or is null. */
export interface Instant {
  readonly ns: Nanoseconds
  readonly guess: string | null
}

export const SECOND = 1_000_000_000n
export const MILLISECOND = 1_000_000n

/** Nanoseconds of a duration in milliseconds, which may have a fraction. */
export const fromMilliseconds = (ms: number): Nanoseconds => BigInt(Math.round(ms * 1_000_000))
/** Milliseconds of a span of nanoseconds, as a number with a fraction. */
export const toMilliseconds = (ns: Nanoseconds): number => Number(ns) / 1_000_000

/**
 * ISO 8601 in UTC with as many fractional digits as the instant needs, in groups of three: `2026-09-10T10:53:22.338Z`.
 * Years outside 0001–9999 do not occur: parsers refuse them.
 */
export function iso(ns: Nanoseconds): string {
  const seconds = floorDiv(ns, SECOND)
  const rest = ns - seconds * SECOND
  const head = new Date(Number(seconds) * 1000).toISOString().slice(0, 19)
  if (rest === 0n) return `${head}Z`
  const digits = rest.toString().padStart(9, '0')
  const shown = digits.endsWith('000000') ? digits.slice(0, 3) : digits.endsWith('000') ? digits.slice(0, 6) : digits
  return `${head}.${shown}Z`
}

/** Like `iso`, or null. */
export const isoOrNull = (ns: Nanoseconds | null | undefined): string | null => (ns === null || ns === undefined ? null : iso(ns))

/** The time of day of `iso`, for prose: `13:47:07.438`. */
export const clockTime = (ns: Nanoseconds): string => iso(ns).slice(11, -1)

const floorDiv = (a: bigint, b: bigint): bigint => (a % b < 0n ? a / b - 1n : a / b)
