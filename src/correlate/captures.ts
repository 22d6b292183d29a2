/** Captured TCP sessions, and the packets that tell how they went: by 4-tuple and time, or by the server's address. */
import type { SqlRow } from '../store/store.js'
import type { Place } from './evidence.js'
import { placeOf } from './owners.js'

/** What both the store and a rule's view of it can do. */
export interface Reader {
  rows(sql: string): Promise<SqlRow[]>
  ids(values: readonly string[]): Promise<Map<string, number>>
}

export interface Tuple {
  readonly clientIp: string
  readonly clientPort: number
  readonly serverIp: string
  readonly serverPort: number
}

export interface Packet {
  readonly kind: string
  readonly fromServer: boolean
  readonly t: bigint | null
  readonly seq: bigint | null
  readonly ack: bigint | null
  readonly length: number
  readonly place: Place
}

export interface Captured extends Tuple {
  /** Row of `session`. */
  readonly row: bigint
  /** Source of the capture. */
  readonly source: number
  /** First SYN; null where the capture began in mid-stream. */
  readonly opened: bigint | null
  readonly first: bigint | null
  readonly last: bigint | null
  readonly serverLast: bigint | null
  readonly ended: string
  readonly endedBy: string | null
  /** First byte of the client that was never acknowledged. */
  readonly unacked: bigint | null
  readonly retransmissions: number
  readonly place: Place
  /** SYN, FIN and RST, retransmissions, first and last bytes each way, in order of time. */
  readonly packets: readonly Packet[]
}

export const tupleKey = (t: Tuple): string => `${t.clientIp} ${t.clientPort} ${t.serverIp} ${t.serverPort}`

/** 4-tuples, or addresses, in one query. */
const CHUNK = 500

const KINDS = ['syn', 'synack', 'fin', 'rst', 'first', 'last', 'retransmission'] as const

/** Sessions of these 4-tuples, by their key, in order of capture and row. */
export async function sessionsOfTuples(store: Reader, tuples: readonly Tuple[]): Promise<ReadonlyMap<string, Captured[]>> {
  const out = new Map<string, Captured[]>()
  const wanted = [...new Map(tuples.map(t => [tupleKey(t), t])).values()]
  for (let i = 0; i < wanted.length; i += CHUNK) {
    const some = wanted.slice(i, i + CHUNK)
    const ids = await store.ids([...new Set([...some.flatMap(t => [t.clientIp, t.serverIp]), ...KINDS])])
    const known = some.filter(t => ids.has(t.clientIp) && ids.has(t.serverIp))
    const where = known.map(t => `(${ids.get(t.clientIp)}, ${t.clientPort}, ${ids.get(t.serverIp)}, ${t.serverPort})`)
    for (const s of await read(
      store,
      `(s.client_ip, s.client_port, s.server_ip, s.server_port) IN (${where.join(', ') || '(-1, -1, -1, -1)'})`,
      ids,
      known.flatMap(t => [t.clientIp, t.serverIp]),
    )) {
      const key = tupleKey(s)
      out.set(key, [...(out.get(key) ?? []), s])
    }
  }
  return out
}

/** Sessions towards these server addresses, in order of capture and row. */
export async function sessionsTo(store: Reader & { words(ids: Iterable<number>): Promise<Map<number, string>> }, servers: readonly string[]): Promise<Captured[]> {
  const out: Captured[] = []
  for (let i = 0; i < servers.length; i += CHUNK) {
    const ids = await store.ids([...servers.slice(i, i + CHUNK), ...KINDS])
    const known = servers.slice(i, i + CHUNK).filter(ip => ids.has(ip))
    const where = `s.server_ip IN (${known.map(ip => ids.get(ip)).join(', ') || -1})`
    const clients = await store.words((await store.rows(`SELECT DISTINCT s.client_ip FROM raw.session s WHERE ${where} ORDER BY s.client_ip`)).map(r => r.client_ip as number))
    const all = new Map([...ids, ...[...clients].map(([id, ip]) => [ip, id] as const)])
    out.push(...(await read(store, where, all, [...known, ...clients.values()])))
  }
  return out
}

async function read(store: Reader, where: string, ids: ReadonlyMap<string, number>, ips: readonly string[]): Promise<Captured[]> {
  const text = new Map([...new Set(ips)].map(ip => [ids.get(ip), ip]))
  const kinds = new Map(KINDS.flatMap(k => (ids.has(k) ? [[ids.get(k) as number, k] as const] : [])))
  const ended = new Map([...(await store.ids(['fin', 'rst', 'refused', 'open', 'none', 'client', 'server']))].map(([word, id]) => [id, word]))
  const rows = await store.rows(sessionQuery(where, [...kinds.keys()]))
  const out = new Map<bigint, Captured & { packets: Packet[] }>()
  for (const r of rows) {
    const row = r.row as bigint
    let s = out.get(row)
    if (!s) {
      s = {
        row,
        source: r.source as number,
        clientIp: text.get(r.client_ip as number) ?? '',
        clientPort: r.client_port as number,
        serverIp: text.get(r.server_ip as number) ?? '',
        serverPort: r.server_port as number,
        opened: r.t_syn as bigint | null,
        first: r.t_first as bigint | null,
        last: r.t_last as bigint | null,
        serverLast: r.t_server_last as bigint | null,
        ended: ended.get(r.ended as number) ?? 'none',
        endedBy: ended.get(r.ended_by as number) ?? null,
        unacked: r.t_client_unacked as bigint | null,
        retransmissions: (r.client_retransmissions as number | null) ?? 0,
        place: placeOf(r),
        packets: [],
      }
      out.set(row, s)
    }
    const kind = kinds.get(r.p_kind as number)
    if (kind === undefined) continue
    s.packets.push({
      kind,
      fromServer: r.p_from_server === true,
      t: r.p_t as bigint | null,
      seq: r.p_seq as bigint | null,
      ack: r.p_ack as bigint | null,
      length: (r.p_length as number | null) ?? 0,
      place: { source: r.source as number, line: null, frame: r.p_frame as bigint | null, byteStart: r.p_start as bigint, byteEnd: r.p_end as bigint },
    })
  }
  return [...out.values()]
}

/** Each session with its notable packets, one row a packet: those of either direction that lie in its time. */
const sessionQuery = (where: string, kinds: readonly number[]): string => `
  WITH s AS (SELECT s."row", s.source, s.frame, s.byte_start, s.byte_end, s.client_ip, s.client_port, s.server_ip, s.server_port, s.t_syn, s.t_first, s.t_last, s.t_server_last, s.ended, s.ended_by,
      s.t_client_unacked, s.client_retransmissions FROM raw.session s WHERE ${where}),
  p AS (SELECT p.source, p.frame, p.byte_start, p.byte_end, p.t, p.src_ip, p.src_port, p.dst_ip, p.dst_port, p.seq, p.ack, p.length, p.kind FROM raw.packet p WHERE p.kind IN (${[-1, ...kinds].join(', ')})),
  both_ways AS (
    SELECT s."row" AS session, p.*, false AS from_server FROM s JOIN p ON p.source = s.source AND p.src_ip = s.client_ip AND p.src_port = s.client_port AND p.dst_ip = s.server_ip AND p.dst_port = s.server_port
      WHERE p.t >= s.t_first AND p.t <= s.t_last
    UNION ALL
    SELECT s."row" AS session, p.*, true AS from_server FROM s JOIN p ON p.source = s.source AND p.dst_ip = s.client_ip AND p.dst_port = s.client_port AND p.src_ip = s.server_ip AND p.src_port = s.server_port
      WHERE p.t >= s.t_first AND p.t <= s.t_last)
  SELECT s.*, b.frame AS p_frame, b.byte_start AS p_start, b.byte_end AS p_end, b.t AS p_t, b.seq AS p_seq, b.ack AS p_ack, b.length AS p_length, b.kind AS p_kind, b.from_server AS p_from_server
  FROM s LEFT JOIN both_ways b ON b.session = s."row" ORDER BY s.source, s."row", b.t, b.frame`

/** Whether a session and a record or a connection may be one, by time. */
export const overlaps = (s: Captured, from: bigint | null, to: bigint | null, slack: bigint): boolean =>
  (to === null || s.first === null || s.first <= to + slack) && (from === null || s.last === null || s.last >= from - slack)
