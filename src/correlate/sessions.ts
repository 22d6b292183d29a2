/** Finds the captured TCP session of a failed request: by the 4-tuple of its upstream connection, and the time. */
import { constantIds } from './records.js'
import type { Correlation } from './correlate.js'
import { type Failure, innermost, type RequestRecord } from './failures.js'

export interface SessionJoin {
  /** Row of `session`. */
  readonly row: bigint
  /** Source of the capture. */
  readonly capture: number
}

/** 4-tuples in one query. */
const CHUNK = 500

/** Sessions by failure, one for each capture that saw the connection, in order of capture and row. */
export async function sessionsOf({ store, clockError }: Pick<Correlation, 'store' | 'clockError'>, failures: readonly Failure[]): Promise<ReadonlyMap<Failure, SessionJoin[]>> {
  const out = new Map<Failure, SessionJoin[]>()
  const [any] = await store.rows('SELECT count(*) > 0 AS there FROM raw.session')
  if (any?.there !== true) return out
  const known = failures.flatMap(f => {
    const r = innermost(f)
    return r?.upstreamIp && r.upstreamPort !== null && r.upstreamLocalIp && r.upstreamLocalPort !== null ? [{ f, r }] : []
  })
  for (let i = 0; i < known.length; i += CHUNK) {
    const some = known.slice(i, i + CHUNK)
    const ids = await constantIds(store, [...new Set(some.flatMap(({ r }) => [r.upstreamIp as string, r.upstreamLocalIp as string]))])
    const key = (r: RequestRecord): string => `${ids.get(r.upstreamLocalIp as string)} ${r.upstreamLocalPort} ${ids.get(r.upstreamIp as string)} ${r.upstreamPort}`
    const tuples = new Map(some.map(({ r }) => [key(r), `(${key(r).replaceAll(' ', ', ')})`]))
    const rows = await store.rows(
      `SELECT "row", capture, client_ip, client_port, server_ip, server_port, t_first, t_last FROM raw.session
       WHERE (client_ip, client_port, server_ip, server_port) IN (${[...tuples.values()].join(', ')}) ORDER BY capture, "row"`,
    )
    for (const { f, r } of some)
      for (const s of rows) {
        if (`${s.client_ip} ${s.client_port} ${s.server_ip} ${s.server_port}` !== key(r) || !overlaps(r, s.t_first as bigint | null, s.t_last as bigint | null, clockError)) continue
        const join = { row: s.row as bigint, capture: s.capture as number }
        out.set(f, [...(out.get(f) ?? []), join])
      }
  }
  return out
}

const overlaps = (r: RequestRecord, from: bigint | null, to: bigint | null, slack: bigint): boolean =>
  (r.end === null || from === null || from <= r.end + slack) && (r.start === null || to === null || to >= r.start - slack)
