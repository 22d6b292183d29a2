/** Offsets between the clocks of two sources, measured on requests that both logged. */
import { groupBy } from '../model/group.js'
import { toMilliseconds } from '../model/instant.js'
import type { Store } from '../store/store.js'

/** `b` shows a time that is `offset` later than `a` for the same event, within `error`. Nanoseconds. */
export interface ClockOffset {
  readonly a: number
  readonly b: number
  readonly offset: bigint
  readonly error: bigint
  readonly anchors: number
}

/** Starts of requests whose id stands once in each of two sources: an inner hop begins within milliseconds of its outer one. */
const SHARED = `
  WITH once AS (SELECT source, request_id, min(t_start) AS t FROM raw.request WHERE request_id IS NOT NULL AND t_start IS NOT NULL GROUP BY source, request_id HAVING count(*) = 1)
  SELECT x.source AS a, y.source AS b, y.t - x.t AS d FROM once x JOIN once y ON x.request_id = y.request_id AND x.source < y.source ORDER BY a, b, d LIMIT 100000`

/** Measures every pair of sources that share at least one request. The median is the offset, the widest deviation its error. */
export async function measureClocks(store: Store): Promise<ClockOffset[]> {
  const rows = await store.rows(SHARED)
  return [...groupBy(rows, r => `${r.a} ${r.b}`).values()].map(list => {
    const differences = list.map(r => r.d as bigint)
    const offset = differences[Math.floor(differences.length / 2)] as bigint
    const widest = [offset - (differences[0] as bigint), (differences.at(-1) as bigint) - offset].reduce((m, d) => (d > m ? d : m))
    return { a: list[0]?.a as number, b: list[0]?.b as number, offset, error: widest + 1_000_000n, anchors: differences.length }
  })
}

/** Milliseconds with microseconds, for reports and views. */
export const offsetMs = (ns: bigint): number => Math.round(toMilliseconds(ns) * 1000) / 1000
