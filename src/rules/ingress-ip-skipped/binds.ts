/** Bind decisions of a proxy log: for each upstream connect, which address was skipped or bound, and for which destination. */
import type { Place } from '../../correlate/evidence.js'
import { placeOf } from '../../correlate/owners.js'
import type { RuleStore } from '../rule.js'
import { BIND, CONNECT, decisions, SKIP } from './evidence.sql.js'

export interface Bind {
  readonly source: number
  readonly connectionId: bigint
  /** When the connect began. */
  readonly t: bigint | null
  /** The address that the socket connects to. */
  readonly ip: string
  readonly port: number | null
  /** The destination that the proxy looked at, where it skipped the ingress address. */
  readonly looked: string | null
  /** The address that it bound, where it did. */
  readonly bound: string | null
  readonly decision: Place
  readonly connect: Place
}

/** Decision and connect are neighbours on one worker thread: the decision carries no connection id. */
export async function bindsOf(store: RuleStore): Promise<Bind[]> {
  const ids = await store.ids([SKIP, BIND, CONNECT])
  const skip = ids.get(SKIP)
  const bind = ids.get(BIND)
  if (skip === undefined && bind === undefined) return []
  const rows = await store.rows(decisions([...ids.values()]))
  const threads = await store.words(rows.map(r => r.thread as number))
  const waiting = new Map<string, { looked: string | null; bound: string | null; place: Place }>()
  const out: Bind[] = []
  for (const r of rows) {
    const key = `${r.source} ${threads.get(r.thread as number) ?? ''}`
    const args = JSON.parse((r.args as string | null) ?? '[]') as string[]
    if (r.template === skip) waiting.set(key, { looked: args[1] ?? null, bound: null, place: placeOf(r) })
    else if (r.template === bind) waiting.set(key, { looked: null, bound: addressOf(args[2] ?? ''), place: placeOf(r) })
    else {
      const decision = waiting.get(key)
      waiting.delete(key)
      const to = /^\[?([0-9a-fA-F:.]+?)\]?:(\d{1,5})$/.exec(args[0] ?? '')
      if (!decision || !to || r.connection_id === null) continue
      out.push({
        source: r.source as number,
        connectionId: r.connection_id as bigint,
        t: r.t as bigint | null,
        ip: (to[1] as string).toLowerCase(),
        port: Number(to[2]),
        looked: decision.looked?.toLowerCase() ?? null,
        bound: decision.bound,
        decision: decision.place,
        connect: placeOf(r),
      })
    }
  }
  return out
}

/** The address of `10.1.0.200:0`. */
const addressOf = (text: string): string | null => /^\[?([0-9a-fA-F:.]+?)\]?(?::\d{1,5})?$/.exec(text)?.[1]?.toLowerCase() ?? null
