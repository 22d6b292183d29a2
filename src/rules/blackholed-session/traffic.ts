/** What the client wrote into a session, and what came back: from the proxy's log, and from packets printed as text. */
import type { Place } from '../../correlate/evidence.js'
import { placeOf } from '../../correlate/owners.js'
import { groupBy } from '../../model/group.js'
import { SECOND } from '../../model/instant.js'
import type { SqlRow } from '../../store/store.js'
import type { RuleContext, RuleStore } from '../rule.js'
import type { Death } from './deaths.js'
import { laterOf } from './instants.js'
import { argsOf, chunks, type Session } from './sessions.js'
import { attemptsOn, counted, linesAt, packetsBetween, sourcesOf, type Watched } from './sessions.sql.js'

export interface Traffic {
  /** Every write since before the pod disappeared is shown. */
  readonly complete: boolean
  /** First write that came when the pod may have been gone, and first one that came when it was. */
  readonly maybe: bigint | null
  readonly sure: bigint | null
  /** Last byte of the client, and last one of the pod, that the evidence shows at all. */
  readonly last: bigint | null
  readonly answered: bigint | null
  /** The log would show every byte of the pod. */
  readonly answersShown: boolean
  /** The pod closed its direction while the session went on. */
  readonly halfClosed: Place | null
  /** Bytes that the proxy accepted from the client after the pod had disappeared. `least`: a capture shows some of them. */
  readonly accepted: { readonly bytes: bigint; readonly least: boolean } | null
  readonly places: readonly Place[]
  readonly leg: Leg | null
}

/** Packets between the client and the proxy. */
export interface Leg {
  readonly from: bigint
  readonly to: bigint
  /** First packets of bursts of the client, by time. */
  readonly bursts: readonly bigint[]
  /** The proxy closed towards the client in it, before the session ended. */
  readonly fin: bigint | null
}

export const NOTHING: Traffic = {
  complete: false,
  maybe: null,
  sure: null,
  last: null,
  answered: null,
  answersShown: false,
  halfClosed: null,
  accepted: null,
  places: [],
  leg: null,
}

const DATA = 'onData: received {} bytes, end_stream={}, has upstream {}, receive_before_connect_={}, connect_mode_={}'
const ANSWER = 'upstream connection received {} bytes, end_stream={}'

/** A session and the pod that may have disappeared behind it. */
export interface Suspect {
  readonly session: Session
  readonly death: Death | null
  /** No other pod of unknown address may have been behind it. */
  readonly only: boolean
}

/** By number of the session. */
export async function trafficOf(context: RuleContext, suspects: readonly Suspect[]): Promise<Map<number, Traffic>> {
  const out = new Map<number, Traffic>()
  await fromLogs(context, suspects, out)
  await fromAttempts(context.store, suspects, out)
  await fromPackets(context, suspects, out)
  return out
}

interface Reply {
  readonly last: bigint
  readonly fin: bigint | null
}

async function fromLogs(context: RuleContext, suspects: readonly Suspect[], out: Map<number, Traffic>): Promise<void> {
  const { store } = context
  const ids = await store.ids([DATA, ANSWER])
  const data = ids.get(DATA)
  const logged = suspects.filter(s => s.session.log?.client)
  const byNumber = new Map(logged.map(s => [s.session.n, s]))
  if (data === undefined || logged.length === 0) return
  const answer = ids.get(ANSWER)
  const shown = new Set(answer === undefined ? [] : (await store.rows(sourcesOf('template', answer))).map(r => r.source as number))
  const replies = answer === undefined ? new Map<number, Reply>() : await repliesOf(store, answer, logged)
  const told = new Set((await store.rows(sourcesOf('template', data))).map(r => r.source as number))
  const watched = logged.map(s => watch(s, replies.get(s.session.n) ?? null))
  const lines = await countLines(store, data, watched)
  for (const w of watched) {
    const { session, death } = byNumber.get(w.n) as Suspect
    const reply = replies.get(w.n) ?? null
    const seen = lines.get(w.n)
    const began = context.sources.find(s => s.id === w.source)?.first ?? null
    out.set(w.n, {
      ...NOTHING,
      complete: told.has(w.source) && began !== null && began <= (death?.lo ?? session.start),
      maybe: seen?.maybe ?? null,
      sure: seen?.sure ?? null,
      last: seen?.last ?? null,
      answered: reply?.last ?? null,
      answersShown: shown.has(w.source),
      accepted: seen ? { bytes: seen.bytes, least: false } : null,
    })
  }
  await citeLines(store, data, watched, out)
  if (answer !== undefined) await citeHalfCloses(store, answer, watched, replies, out)
}

/** From where to count: when the pod disappeared, else what came after its last answer. */
function watch({ session, death }: Suspect, reply: Reply | null): Watched {
  const log = session.log as NonNullable<Session['log']>
  const after = reply === null ? log.opened : reply.last + 1n
  // An answer while the pod may have been gone says that it was not yet.
  const lo = death ? (after > death.lo && after <= death.hi ? after : death.lo) : after
  const hi = death ? death.hi : after
  return { n: session.n, source: log.source, id: log.client?.id ?? -1n, from: log.opened - SECOND, to: log.closed ?? FOREVER, lo, hi }
}

const FOREVER = 9_000_000_000_000_000_000n

async function repliesOf(store: RuleStore, answer: number, logged: readonly Suspect[]): Promise<Map<number, Reply>> {
  const out = new Map<number, Reply>()
  for (const part of chunks(logged.map(s => watch({ ...s, death: null }, null))))
    for (const r of await store.rows(counted(answer, part))) {
      const [bytes, end] = argsOf(r.args)
      const before = out.get(r.n as number)
      const last = r.t_last as bigint
      const opened = part.find(w => w.n === r.n)?.from ?? 0n
      if (bytes === '0' && end === 'true') out.set(r.n as number, { last: before?.last ?? opened, fin: last })
      else if (bytes !== '0') out.set(r.n as number, { last: before && before.last > last ? before.last : last, fin: before?.fin ?? null })
    }
  return out
}

interface Seen {
  maybe: bigint | null
  sure: bigint | null
  last: bigint
  bytes: bigint
}

async function countLines(store: RuleStore, data: number, watched: readonly Watched[]): Promise<Map<number, Seen>> {
  const out = new Map<number, Seen>()
  for (const part of chunks(watched))
    for (const r of await store.rows(counted(data, part))) {
      const [bytes] = argsOf(r.args)
      // Nothing received is the client's FIN.
      if (bytes === undefined || !/^[1-9]\d{0,15}$/.test(bytes)) continue
      const seen = out.get(r.n as number) ?? { maybe: null, sure: null, last: 0n, bytes: 0n }
      seen.maybe = earlier(seen.maybe, r.t_maybe as bigint | null)
      seen.sure = earlier(seen.sure, r.t_sure as bigint | null)
      if ((r.t_last as bigint) > seen.last) seen.last = r.t_last as bigint
      seen.bytes += BigInt(bytes) * (r.sure as bigint)
      out.set(r.n as number, seen)
    }
  return out
}

async function citeLines(store: RuleStore, data: number, watched: readonly Watched[], out: Map<number, Traffic>): Promise<void> {
  const asked = watched.flatMap(w => {
    const t = out.get(w.n)
    return [t?.maybe, t?.sure, t?.sure === null || t?.sure === undefined ? null : t.last].flatMap(at =>
      at === null || at === undefined ? [] : [{ n: w.n, source: w.source, id: w.id, t: at }],
    )
  })
  for (const [n, places] of await placesAt(store, data, asked)) out.set(n, { ...(out.get(n) as Traffic), places })
}

async function citeHalfCloses(store: RuleStore, answer: number, watched: readonly Watched[], replies: ReadonlyMap<number, Reply>, out: Map<number, Traffic>): Promise<void> {
  const asked = watched.flatMap(w => {
    const fin = replies.get(w.n)?.fin ?? null
    // With the session's own end comes one of its own.
    return fin === null || w.to - fin < SECOND ? [] : [{ n: w.n, source: w.source, id: w.id, t: fin }]
  })
  for (const [n, places] of await placesAt(store, answer, asked)) out.set(n, { ...(out.get(n) as Traffic), halfClosed: places[0] ?? null })
}

async function placesAt(store: RuleStore, template: number, asked: readonly { n: number; source: number; id: bigint; t: bigint }[]): Promise<Map<number, Place[]>> {
  const out = new Map<number, Place[]>()
  for (const part of chunks(asked))
    for (const r of await store.rows(linesAt(template, part))) {
      const list = out.get(r.n as number) ?? []
      if (!list.some(p => p.source === r.source && p.byteStart === r.byte_start)) list.push(placeOf(r))
      out.set(r.n as number, list)
    }
  return out
}

/** Requests on a pooled connection are what was written into it. */
async function fromAttempts(store: RuleStore, suspects: readonly Suspect[], out: Map<number, Traffic>): Promise<void> {
  const pooled = suspects.filter(s => s.session.log?.pooled)
  const answered = (await store.ids(['answered'])).get('answered')
  const attempts = new Map<bigint, SqlRow[]>()
  for (const part of chunks(pooled.map(s => s.session.log?.row as bigint)))
    for (const r of await store.rows(attemptsOn(part))) attempts.set(r.connection as bigint, [...(attempts.get(r.connection as bigint) ?? []), r])
  for (const s of pooled) {
    const list = attempts.get(s.session.log?.row as bigint)
    if (!list) continue
    const answers = list.filter(a => a.outcome === answered).map(a => a.t_end as bigint)
    const last = answers.reduce<bigint | null>((m, t) => (m === null || t > m ? t : m), null)
    const w = watch(s, last === null ? null : { last, fin: null })
    const writes = list.map(a => a.t_start as bigint)
    out.set(s.session.n, {
      ...NOTHING,
      complete: true,
      answersShown: true,
      maybe: writes.find(t => t >= w.lo) ?? null,
      sure: writes.find(t => t >= w.hi) ?? null,
      last: writes.at(-1) ?? null,
      answered: last,
    })
  }
}

/** A pause that ends a burst of the client. */
const PAUSE = SECOND

interface Packet {
  readonly t: bigint
  readonly place: Place
  readonly fromClient: boolean
  readonly flow: string
  readonly clientIp: string
  readonly seq: bigint | null
  readonly ack: bigint | null
  readonly flags: string
  readonly length: number
}

/** The client's leg, joined by the client's port and the time: addresses are replaced, or translated on the way. */
async function fromPackets({ store, sources }: RuleContext, suspects: readonly Suspect[], out: Map<number, Traffic>): Promise<void> {
  const printed = sources.filter(s => s.format === 'tcpdump-text').map(s => s.id)
  if (printed.length === 0) return
  const byNumber = new Map(suspects.map(s => [s.session.n, s]))
  const asked = suspects.flatMap(({ session: s }) => {
    const port = s.record?.downstreamRemotePort ?? s.log?.client?.port ?? null
    return port === null ? [] : [{ n: s.n, a: port, from: s.start - SECOND, to: (s.end ?? FOREVER - SECOND) + SECOND }]
  })
  for (const part of chunks(asked, 200)) {
    const rows = await store.rows(packetsBetween(printed, part))
    const words = await store.words(rows.flatMap(r => [r.src_ip, r.dst_ip, r.tcp_flags]).filter((v): v is number => typeof v === 'number'))
    for (const [n, list] of groupBy(rows, r => String(r.n))) {
      const suspect = byNumber.get(Number(n)) as Suspect
      const port = part.find(a => a.n === Number(n))?.a as number
      const packets = legOf(
        list.map(r => packetOf(r, port, words)),
        suspect.session,
      )
      if (packets.length > 0) out.set(Number(n), withPackets(out.get(Number(n)) ?? NOTHING, packets, suspect))
    }
  }
}

function packetOf(r: SqlRow, port: number, words: ReadonlyMap<number, string>): Packet {
  const src = words.get(r.src_ip as number) ?? ''
  const dst = words.get(r.dst_ip as number) ?? ''
  const fromClient = r.src_port === port
  return {
    t: r.t as bigint,
    place: placeOf(r),
    fromClient,
    flow: fromClient ? `${src} ${dst}:${r.dst_port}` : `${dst} ${src}:${r.src_port}`,
    clientIp: fromClient ? src : dst,
    seq: r.seq as bigint | null,
    ack: r.ack as bigint | null,
    flags: words.get(r.tcp_flags as number) ?? '',
    length: (r.length as number | null) ?? 0,
  }
}

/** Another client may have had the same port: then the addresses must agree. */
function legOf(packets: readonly Packet[], s: Session): Packet[] {
  const flows = groupBy(packets, p => p.flow)
  if (flows.size === 1) return [...packets]
  const ip = s.record?.downstreamRemoteIp ?? s.log?.client?.ip ?? null
  const own = [...flows.values()].filter(f => ip !== null && f[0]?.clientIp === ip)
  return own.length === 1 ? (own[0] as Packet[]) : []
}

function withPackets(known: Traffic, packets: readonly Packet[], { session, death }: Suspect): Traffic {
  const data = packets.filter(p => p.fromClient && p.length > 0)
  const [first] = packets as readonly [Packet, ...Packet[]]
  const bursts = data.filter((p, i) => i === 0 || p.t - (data[i - 1] as Packet).t > PAUSE).map(p => p.t)
  const after = death ? data.filter(p => p.t >= death.hi) : []
  const acked = death ? packets.filter(p => !p.fromClient && p.t >= death.hi && p.flags.includes('ACK')) : []
  const bytes = acceptedBytes(after, acked)
  const fin = packets.find(p => !p.fromClient && p.flags.includes('FIN') && (session.end === null || session.end - p.t > SECOND))?.t ?? null
  const sure = after[0]?.t ?? null
  const maybe = death ? (data.find(p => p.t >= death.lo)?.t ?? null) : null
  const last = data.at(-1)?.t ?? null
  return {
    ...known,
    complete: known.complete || (death !== null && first.t <= death.lo),
    maybe: earlier(known.maybe, maybe),
    sure: earlier(known.sure, sure),
    last: known.last !== null && (last === null || known.last > last) ? known.last : last,
    accepted: known.accepted ?? (bytes > 0n ? { bytes, least: true } : null),
    places: [...known.places, ...after.map(p => p.place), ...acked.slice(-1).map(p => p.place)],
    leg: { from: first.t, to: (packets.at(-1) as Packet).t, bursts, fin },
  }
}

/** By the last acknowledgement, relative to the first segment; numbers are printed absolute, or relative after an absolute first one. */
function acceptedBytes(data: readonly Packet[], acks: readonly Packet[]): bigint {
  const base = data[0]?.seq ?? null
  if (base === null) return 0n
  const relative = acks
    .map(p => p.ack)
    .filter(a => a !== null)
    .map(a => (a >= base ? a - base : a))
    .filter(a => a < 1n << 30n)
  // Without acknowledgements nothing is known to have been accepted.
  return relative.reduce(laterOf, 0n)
}

const earlier = (a: bigint | null, b: bigint | null): bigint | null => (a === null ? b : b === null || a < b ? a : b)
