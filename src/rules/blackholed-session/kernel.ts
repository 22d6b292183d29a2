/** How long Linux repeats an unacknowledged segment before it gives a connection up. */
import type { Place } from '../../correlate/evidence.js'
import { placeOf } from '../../correlate/owners.js'
import { MILLISECOND, SECOND } from '../../model/instant.js'
import type { RuleStore } from '../rule.js'
import { earlierOf, laterOf } from './instants.js'
import { settings } from './sessions.sql.js'

/** What bounds the end of a session, from the evidence where it has it, else the defaults. */
export interface Limits {
  /** net.ipv4.tcp_retries2. */
  readonly retries: number
  /** No setting names it. */
  readonly assumed: boolean
  /** From the first unacknowledged byte to the end of the connection, at least and at most. */
  readonly low: bigint
  readonly high: bigint
  /** Idle timeouts that the evidence configures. */
  readonly idle: readonly { readonly value: bigint; readonly place: Place }[]
  readonly places: readonly Place[]
}

const RETRIES = ['tcp_retries2', 'net.ipv4.tcp_retries2']
const RTO_MAX = ['tcp_rto_max_ms', 'net.ipv4.tcp_rto_max_ms']
const IDLE = ['idle_timeout']
const RETRIES_DEFAULT = 15
const RTO_MIN = 200n * MILLISECOND
const RTO_MAX_DEFAULT = 120n * SECOND

/**
 * The kernel ends the connection at the first expiry of the retransmission timer after the time that a timeout of
 * RTO_MIN, doubled up to `rtoMax`, would take for `retries` repetitions. The real timer decides how much later that is:
 * at most its next interval. Large timers run up to 1 % late.
 */
export function windowOf(retries: number, rtoMax = RTO_MAX_DEFAULT): { low: bigint; high: bigint } {
  let boundary = 0n
  let interval = RTO_MIN
  for (let i = 0; i <= retries; i++) {
    boundary += interval
    interval = interval * 2n < rtoMax ? interval * 2n : rtoMax
  }
  const next = boundary + RTO_MIN < rtoMax ? boundary + RTO_MIN : rtoMax
  return { low: (boundary * 995n) / 1000n, high: ((boundary + next) * 1015n) / 1000n }
}

export async function limitsOf(store: RuleStore): Promise<Limits> {
  const names = await store.ids([...RETRIES, ...RTO_MAX, ...IDLE])
  const rows = await store.rows(settings([...names.values()]))
  const text = await store.words(rows.flatMap(r => [r.name, r.value, r.unit].filter((v): v is number => typeof v === 'number')))
  const known = rows.map(r => ({ name: text.get(r.name as number) ?? '', value: text.get(r.value as number) ?? '', unit: text.get(r.unit as number) ?? '', place: placeOf(r) }))
  const counts = known.filter(k => RETRIES.includes(k.name) && /^\d{1,2}$/.test(k.value) && Number(k.value) > 0)
  const caps = known.filter(k => RTO_MAX.includes(k.name) && /^\d{4,6}$/.test(k.value))
  // Hosts may differ: the window then reaches from the shortest to the longest.
  const windows = (counts.length > 0 ? counts.map(c => Number(c.value)) : [RETRIES_DEFAULT]).flatMap(n =>
    caps.length > 0 ? caps.map(c => windowOf(n, BigInt(c.value) * MILLISECOND)) : [windowOf(n)],
  )
  return {
    retries: counts.length > 0 ? Math.max(...counts.map(c => Number(c.value))) : RETRIES_DEFAULT,
    assumed: counts.length === 0,
    low: windows.map(w => w.low).reduce(earlierOf),
    high: windows.map(w => w.high).reduce(laterOf),
    idle: known.filter(k => IDLE.includes(k.name)).flatMap(k => durationOf(k.value, k.unit).map(value => ({ value, place: k.place }))),
    places: [...counts, ...caps].map(k => k.place),
  }
}

const UNITS: Readonly<Record<string, bigint>> = { ms: MILLISECOND, s: SECOND, m: 60n * SECOND, h: 3600n * SECOND }

/** `900`, `900s`, `15m`, `1h`; a bare number is in `unit`, else in seconds. 0 turns the timeout off. */
function durationOf(value: string, unit: string): bigint[] {
  const m = /^(\d{1,9})(?:\.\d{1,9})?(ms|s|m|h)?$/.exec(value)
  const scale = m ? UNITS[m[2] ?? (unit === '' ? 's' : unit)] : undefined
  return m && scale !== undefined && m[1] !== '0' ? [BigInt(m[1] as string) * scale] : []
}
