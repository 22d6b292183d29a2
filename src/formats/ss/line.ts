/** One socket as `ss` prints it: the first line of it, and what follows on that line and on the next. */
import { plainAddress } from '../text/address.js'

export interface Socket {
  readonly protocol: string
  /** null where only sockets of one state were asked for: `ss` then prints none. */
  readonly state: string | null
  readonly receiveQueue: bigint
  readonly sendQueue: bigint
  readonly local: Printed
  readonly peer: Printed
  /** Index of what follows the addresses. */
  readonly rest: number
}

export interface Printed {
  readonly text: string
  readonly ip: string | null
  readonly port: number | null
  /** The port, or the address, is a name or cannot be read. */
  readonly named: boolean
}

const STATES = 'LISTEN|ESTAB|SYN-SENT|SYN-RECV|NEW-SYN-RECV|FIN-WAIT-1|FIN-WAIT-2|TIME-WAIT|CLOSE-WAIT|LAST-ACK|CLOSING|CLOSED|UNCONN|UNKNOWN|BOUND-INACTIVE'
const NETID = '(?:(tcp|udp|mptcp|sctp|dccp|raw|icmp6) {1,20})?'
const ADDRESSES = '(\\d{1,19}) {1,20}(\\d{1,19}) {1,200}(\\S{1,300}) {1,200}(\\S{1,300})'
const WITH_STATE = new RegExp(`^${NETID}(${STATES}) {1,20}${ADDRESSES}(?=\\s|$)`)
const WITHOUT_STATE = new RegExp(`^${NETID}()${ADDRESSES}(?=\\s|$)`)
/** Sockets without addresses of the network. */
export const OTHER = /^(?:nl|u_str|u_dgr|u_seq|p_raw|p_dgr|v_str|v_dgr|xdp|tipc|ti_\w{2,4}|\?\?\?) {1,20}[A-Z]/

/** null: no socket. `stateless`: the header had no State. */
export function readSocket(line: string, stateless: boolean): Socket | null {
  const m = (stateless ? WITHOUT_STATE : WITH_STATE).exec(line.length > 1600 ? line.slice(0, 1600) : line)
  if (!m) return null
  const local = readPrinted(m[5] as string)
  const peer = readPrinted(m[6] as string)
  if (!local || !peer) return null
  return { protocol: m[1] ?? 'tcp', state: m[2] || null, receiveQueue: BigInt(m[3] as string), sendQueue: BigInt(m[4] as string), local, peer, rest: m[0].length }
}

/** `10.0.0.1:80`, `[fd00::1]:80`, `127.0.0.53%lo:53`, `*:*`, `:::22` of old versions, names without `-n`. null: no address and port. */
function readPrinted(text: string): Printed | null {
  const colon = text.lastIndexOf(':')
  if (colon < 1) return null
  const port = text.slice(colon + 1)
  const host = text.slice(0, colon).replace(/%[\w.@-]{1,32}/, '')
  if (!/^(?:\*|\d{1,5}|[a-z][\w.+-]{0,40})$/i.test(port)) return null
  const bare = host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host
  // Of `0.0.0.0:*` there is no peer.
  const ip = bare === '*' || port === '*' ? null : plainAddress(unmapped(bare))
  if (ip === null && bare !== '*' && port !== '*' && !/^[a-z][\w.-]{0,253}$/i.test(bare)) return null
  const number = /^\d+$/.test(port) && Number(port) <= 65_535 ? Number(port) : null
  return { text, ip, port: number === 0 ? null : number, named: port !== '*' && ((ip === null && bare !== '*') || number === null) }
}

/** What a dual-stack socket has an IPv4 peer as: on the wire it is IPv4. */
const unmapped = (ip: string): string => (/^::ffff:\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}$/i.test(ip) ? ip.slice(7) : ip)

const TIMER = /timer:\((\w{1,12},[\w.]{1,24},(\d{1,9}))\)/
const RETRANS = /\sretrans:\d{1,9}\/(\d{1,9})\b/

/** `on,6.464ms,5` and how often the segment was sent again. Only the timer `on` counts that; the number of others counts probes, and the TCP information has the sum of the connection's life. */
export function readTimer(text: string): { timer: string | null; retransmits: number | null } {
  const timer = TIMER.exec(text)
  const count = timer?.[1]?.startsWith('on,') ? timer[2] : RETRANS.exec(text)?.[1]
  return { timer: timer?.[1] ?? null, retransmits: count === undefined ? null : Number(count) }
}
