/** Sockets as `ss` lists them, TCP above all. */
import type { Instant } from '../../model/instant.js'
import type { Sink } from '../../model/sink.js'
import type { MemberContext } from '../format.js'
import type { Recogniser, TextFormat, Unit } from '../text/reader.js'
import { readDateLine, readIso } from '../text/time.js'
import { OTHER, type Printed, readSocket, readTimer, type Socket } from './line.js'

interface Found {
  /** null: a header, a socket without addresses. */
  readonly socket: Socket | null
  readonly at: Instant | null
  readonly netns: string | null
  lines: number
}

const HEADER = /^(?:Netid {1,20})?(State {1,20})?Recv-Q {1,20}Send-Q {1,200}Local Address:\s{0,40}Port {1,200}Peer Address:\s{0,40}Port/
const COMMAND = /^[$#+] (?:sudo )?(?:ip netns exec ([\w.-]{1,100}) )?ss -/
/** `ss -s`. */
const SUMMARY = /^(?:Total: \d|TCP: {1,8}\d{1,9} \(estab |Transport Total |(?:RAW|UDP|TCP|INET|FRAG)\s{1,8}\d{1,9}\s{1,12}\d)/
/** Lines of information below a socket: one, or one more with its memory. */
const LINES = 4
/** All that `ss -tanpimeo` says of a socket. */
const DETAIL = 2000

function recogniser(context: MemberContext): Recogniser<Found> {
  let stateless = false
  let netns: string | null = null
  /** The moment of the list that follows, where a loop printed one. */
  let clock: Instant | null = null

  const match = ({ text, wrapper }: Unit): Found | null => {
    const header = HEADER.exec(text)
    if (header) stateless = header[1] === undefined
    const command = header ? null : COMMAND.exec(text)
    if (command) netns = command[1] ?? null
    if (header || command || OTHER.test(text)) return { socket: null, at: null, netns, lines: 1 }
    const socket = readSocket(text, stateless)
    if (socket) return { socket, at: clock ?? wrapper.at, netns, lines: 1 }
    clock = dateOf(text) ?? clock
    return null
  }
  const dateOf = (text: string): Instant | null => (text.length < 40 ? (readIso(text.trim(), context) ?? readDateLine(text)) : null)

  return {
    match,
    holds: (found, line) => (line.startsWith('\t') || line.startsWith('  ')) && ++found.lines <= LINES,
    write: (found, unit, sink) => {
      if (!found.socket) return sink.skip(unit.span)
      sink.record(unit.span)
      writeSocket(found.socket, found, unit.text, sink)
    },
    skips: line => SUMMARY.test(line) || dateOf(line) !== null,
  }
}

function writeSocket(s: Socket, { at, netns }: Found, text: string, sink: Sink): void {
  const rest = text.slice(s.rest)
  const { timer, retransmits } = readTimer(rest)
  const row = sink.socket_seen
  row.begin(at)
  row.tool('ss')
  row.netns(netns)
  row.state(s.state)
  row.local_ip(s.local.ip)
  row.local_port(s.local.port)
  row.remote_ip(s.peer.ip)
  row.remote_port(s.peer.port)
  row.send_queue(s.sendQueue)
  row.receive_queue(s.receiveQueue)
  row.timer(timer)
  row.retransmits(retransmits)
  row.detail(detailOf(s, rest))
}

/** What no column has: names in place of numbers, the process, the TCP information. */
function detailOf(s: Socket, rest: string): string | null {
  const name = (p: Printed, who: string) => (p.named ? `${who} ${p.text}` : '')
  const parts = [s.protocol === 'tcp' ? '' : s.protocol, name(s.local, 'local'), name(s.peer, 'peer'), ...rest.slice(0, 4 * DETAIL).split(/\s+/)]
  const detail = parts.filter(p => p !== '').join(' ')
  return detail === '' ? null : detail.slice(0, DETAIL)
}

export const ss: TextFormat = {
  id: 'ss',
  title: 'ss: sockets, their queues and timers',
  names: [/(?:^|\/)(?:[\w.-]{0,60}[-_.])?ss(?:[-_.][\w.-]{0,60})?\.(?:txt|log|out)(\.gz)?$/],
  collect: 'nsenter -t <pid of the proxy> -n ss -tanpio > ss.txt',
  split: 'none',
  recogniser: context => recogniser(context) as Recogniser,
}
