/** What the proxy's log knows of the attempts that failed, and what that makes of the printed reason. */
import type { Place } from '../../correlate/evidence.js'
import { type Failure, innerStream } from '../../correlate/failures.js'
import { endpointText } from '../../model/endpoint.js'
import { MILLISECOND } from '../../model/instant.js'
import type { RuleContext } from '../rule.js'
import { attemptsOf } from './attempts.sql.js'

export interface Attempt {
  readonly reused: boolean
  readonly start: bigint | null
  readonly end: bigint | null
  readonly remote: string | null
  readonly cluster: string | null
  readonly connectionId: bigint | null
  readonly closed: string | null
  readonly closedAt: bigint | null
  /** Time of the connection's handshake: one round trip. */
  readonly roundTrip: bigint | null
  readonly marks: readonly { role: string; place: Place }[]
}

/** Attempts by the row that they have in the store. */
export async function attemptsBehind({ store }: RuleContext, failures: readonly Failure[]): Promise<ReadonlyMap<number, Attempt>> {
  const rows = [...new Set(failures.map(f => innerStream(f)?.attempt ?? -1))].filter(r => r >= 0)
  const out = new Map<number, Attempt>()
  for (let i = 0; i < rows.length; i += CHUNK) await readInto(out, store, rows.slice(i, i + CHUNK))
  return out
}

const CHUNK = 5000

async function readInto(out: Map<number, Attempt>, store: RuleContext['store'], rows: readonly number[]): Promise<void> {
  const found = await store.rows(attemptsOf(rows))
  const words = await store.words(found.flatMap(r => [r.remote_ip, r.closed, r.cluster]).filter((v): v is number => typeof v === 'number'))
  const ofAttempts = await store.evidence('attempt', rows)
  const ofConnections = await store.evidence(
    'connection',
    found.map(r => r.connection as bigint | null).filter(c => c !== null),
  )
  const difference = (a: unknown, b: unknown): bigint | null => (typeof a === 'bigint' && typeof b === 'bigint' ? a - b : null)
  for (const r of found) {
    const marks = [...(ofAttempts.get(r.row as bigint) ?? []), ...(ofConnections.get(r.connection as bigint) ?? []).filter(m => m.role !== 'reused' && m.role !== 'connected')]
    out.set(Number(r.row), {
      reused: r.reused === true,
      start: r.t_start as bigint | null,
      end: r.t_end as bigint | null,
      remote: endpointText(words.get(r.remote_ip as number) ?? null, r.remote_port as number | null),
      cluster: words.get(r.cluster as number) ?? null,
      connectionId: r.connection_id as bigint | null,
      closed: words.get(r.closed as number) ?? null,
      closedAt: r.t_closed as bigint | null,
      roundTrip: difference(r.t_connected, r.t_connecting),
      marks: marks.sort((a, b) => a.place.source - b.place.source || (a.place.byteStart < b.place.byteStart ? -1 : a.place.byteStart > b.place.byteStart ? 1 : 0)),
    })
  }
}

/** Where the log does not hold the handshake: a few round trips of a cluster, and what an event loop may lag. */
const RACE = 100n * MILLISECOND
/** Times are printed in whole milliseconds, and the FIN is read a turn of the event loop after it came. */
const RESOLUTION = 2n * MILLISECOND

/**
 * Picked from the pool, and closed by the peer's FIN sooner than an answer to the request could have come: the FIN was
 * under way when the request was written.
 */
export function isRace(a: Attempt): boolean {
  if (!a.reused || a.closed !== 'fin' || a.start === null || a.closedAt === null) return false
  return a.closedAt - a.start <= (a.roundTrip === null ? RACE : a.roundTrip + RESOLUTION)
}
