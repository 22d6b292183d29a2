/** How captures show that a connection ended under a request: by whom, and whether the request had been read. */
import { type Captured, overlaps, type Packet, sessionsOfTuples, tupleKey } from '../../correlate/captures.js'
import type { Place } from '../../correlate/evidence.js'
import { type Failure, innermost, tupleOf } from '../../correlate/failures.js'
import { MILLISECOND } from '../../model/instant.js'
import type { RuleContext } from '../rule.js'

export interface Ending {
  readonly by: 'fin' | 'rst'
  /** The last bytes of the client were acknowledged by it, or before it; null where the packet says nothing of it. */
  readonly acknowledged: boolean | null
  readonly t: bigint | null
  /** The request's last bytes, where they were captured, then the packet that ended the connection. */
  readonly places: readonly Place[]
}

/** The end may be captured a little after the record says that the request was over. */
const AFTER = 50n * MILLISECOND

export async function endingsOf({ store, clockError }: RuleContext, failures: readonly Failure[]): Promise<ReadonlyMap<Failure, Ending>> {
  const out = new Map<Failure, Ending>()
  const known = failures.flatMap(f => {
    const tuple = tupleOf(f)
    return tuple ? [{ f, tuple }] : []
  })
  const sessions = await sessionsOfTuples(
    store,
    known.map(k => k.tuple),
  )
  for (const { f, tuple } of known) {
    const r = innermost(f)
    const fits = (sessions.get(tupleKey(tuple)) ?? []).filter(s => overlaps(s, r?.start ?? null, r?.end ?? null, clockError))
    const ending = fits.map(s => endingOf(s, r?.end ?? null, clockError)).find(e => e !== null)
    if (ending) out.set(f, ending)
  }
  return out
}

/** The server's first FIN or RST, if it comes when the request ended. */
function endingOf(s: Captured, end: bigint | null, clockError: bigint): Ending | null {
  const last = s.packets.find(p => p.fromServer && (p.kind === 'fin' || p.kind === 'rst'))
  if (!last || last.t === null || (end !== null && (last.t > end + AFTER + clockError || last.t < end - AFTER - clockError))) return null
  const request = s.packets.findLast(p => !p.fromServer && p.length > 0 && p.t !== null && p.t <= (last.t as bigint) + AFTER)
  return {
    by: last.kind === 'rst' ? 'rst' : 'fin',
    acknowledged: request ? acknowledges(last, request) : null,
    t: last.t,
    places: [...(request ? [request.place] : []), last.place],
  }
}

/** Sequence numbers wrap at 2^32: later is what is less than half of it ahead. */
function acknowledges(end: Packet, request: Packet): boolean | null {
  if (end.ack === null || request.seq === null) return null
  const ahead = BigInt.asUintN(32, end.ack - (request.seq + BigInt(request.length)))
  return ahead < 0x8000_0000n
}
