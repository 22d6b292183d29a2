/** Looks in other evidence for what shows a mechanism itself. */
import type { Place } from '../../correlate/evidence.js'
import { placeOf } from '../../correlate/owners.js'
import { MILLISECOND } from '../../model/instant.js'
import type { RuleContext } from '../rule.js'
import type { Ending, Judged } from './judge.js'
import { least, most } from './moments.js'
import { refusedConnections, servedOver } from './queries.sql.js'

export interface Proof {
  /** Connections that the sidecar tried to its application when the requests failed, each refused. */
  readonly refused: { readonly count: number; readonly places: readonly Place[] }
  /** Local ports that the failed requests were written to, and that had served earlier ones. */
  readonly kept: { readonly ports: number; readonly places: readonly Place[] }
}

/** Two logs of one exchange on two hosts differ by less, where their clocks agree at all. */
const SAME_EXCHANGE = 50n * MILLISECOND

export const proofOf = async (context: RuleContext, ending: Ending, judged: readonly Judged[]): Promise<Proof> => ({
  refused: await refused(context, ending.life?.platform === 'kubernetes' ? [] : judged.filter(j => j.code === 'accepted-after-exit' || j.code === 'refused-while-stopping')),
  kept: await kept(
    context,
    judged.filter(j => j.code === 'stale-keepalive'),
  ),
})

/** Each request that was sent to a sidecar without an application is followed by one refused connection of the sidecar's. */
async function refused({ store }: RuleContext, judged: readonly Judged[]): Promise<Proof['refused']> {
  const from = least(judged.map(j => j.suspect.start ?? j.suspect.end))
  const to = most(judged.map(j => j.suspect.end))
  if (from === null || to === null) return { count: 0, places: [] }
  const left = await store.rows(refusedConnections(from - SAME_EXCHANGE, to + SAME_EXCHANGE))
  const rows: bigint[] = []
  for (const j of judged) {
    const start = (j.suspect.start ?? j.suspect.end) - SAME_EXCHANGE
    const i = left.findIndex(r => (r.t_connecting as bigint) >= start && (r.t_connecting as bigint) <= j.suspect.end + SAME_EXCHANGE)
    if (i >= 0) rows.push(left.splice(i, 1)[0]?.row as bigint)
  }
  const evidence = await store.evidence('connection', rows)
  return { count: rows.length, places: rows.flatMap(r => (evidence.get(r) ?? []).filter(e => e.role === 'error').map(e => e.place)) }
}

async function kept({ store }: RuleContext, judged: readonly Judged[]): Promise<Proof['kept']> {
  const locals = judged.map(j => /^\[?([0-9a-f.:]+?)\]?:(\d{1,5})$/.exec(j.suspect.local ?? '')).filter(m => m !== null)
  const before = least(judged.map(j => j.suspect.start))
  const [first] = locals
  if (!first || before === null) return { ports: 0, places: [] }
  const ids = await store.ids(['http', 'end', first[1] as string])
  const ip = ids.get(first[1] as string)
  const ports = [...new Set(locals.filter(m => m[1] === first[1]).map(m => Number(m[2])))]
  if (ip === undefined) return { ports: 0, places: [] }
  const rows = await store.rows(servedOver(ip, ports, before, ids.get('http') ?? -1, ids.get('end') ?? -1))
  const served = new Map<number, Place>()
  for (const r of rows) served.set(r.upstream_local_port as number, placeOf(r))
  return { ports: served.size, places: [...served.values()] }
}
