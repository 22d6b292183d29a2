/** Small worlds of TCP sessions through a gateway: access log, debug log, notes about pods, packets. Times are seconds after `T0`. */
const T0 = Date.parse('2026-03-02T10:00:00Z')
export const iso = (s: number): string => new Date(T0 + Math.round(s * 1000)).toISOString()
export const lines = (...parts: readonly (string | readonly string[])[]): string => `${parts.flat().join('\n')}\n`

export interface SessionSpec {
  readonly start: number
  readonly end: number
  /** `ip:port` of the pod. */
  readonly to: string
  readonly client?: string
  readonly local?: string
  readonly cluster?: string
  readonly flags?: string
  readonly details?: string | null
  readonly received?: number
}

/** A line of Envoy Gateway's JSON access log. */
export const session = (s: SessionSpec): string =>
  JSON.stringify({
    start_time: iso(s.start),
    method: null,
    protocol: null,
    response_code: 0,
    response_flags: s.flags ?? '-',
    response_code_details: s.details ?? null,
    connection_termination_details: null,
    upstream_transport_failure_reason: null,
    bytes_received: s.received ?? 4000,
    bytes_sent: 200,
    duration: Math.round((s.end - s.start) * 1000),
    upstream_host: s.to,
    upstream_cluster: s.cluster ?? 'tcproute/default/syslog/rule/-1',
    upstream_local_address: s.local ?? '10.0.0.5:40000',
    downstream_local_address: '10.0.0.5:6514',
    downstream_remote_address: s.client ?? '192.0.2.9:50000',
    route_name: null,
  })

/** An interval of ownership as a timeline states it. */
export const owned = (ip: string, pod: string, from: number | null, to: number | null, note = ''): string =>
  JSON.stringify({ ip, pod, from: from === null ? null : iso(from), to: to === null ? null : iso(to), note })

/** A note such as `pod fluent-bit killed`. */
export const note = (s: number, says: string): string => `${iso(s).replace('.000Z', 'Z')} ${says}`

/** A line of Envoy 1.40's application log at debug level. */
function logLine(s: number, logger: string, id: number | null, says: string, thread = 31): string {
  const at = iso(s).slice(0, 23).replace('T', ' ')
  return `[${at}][${thread}][debug][${logger}] [source/common/x.cc:1] ${id === null ? '' : `[Tags: "ConnectionId":"${id}"] `}${says}`
}

export interface LoggedSpec {
  readonly start: number
  readonly end: number | null
  readonly to: string
  readonly client?: string
  /** Ids: the client's; the upstream one is the next. */
  readonly id: number
  /** When the client wrote 80 bytes each. */
  readonly writes?: readonly number[]
  readonly how?: 'timeout' | 'fin' | 'idle' | 'open'
  readonly thread?: number
}

/** A session in the debug log, its lines with their times: sort them with those of others. */
export function logged(s: LoggedSpec): [number, string][] {
  const up = s.id + 1
  const thread = s.thread ?? 31
  const line = (at: number, logger: string, id: number | null, says: string): [number, string] => [at, logLine(at, logger, id, says, thread)]
  const out: [number, string][] = [
    line(s.start, 'conn_handler', s.id, `new connection from ${s.client ?? '192.0.2.9:50000'}`),
    line(s.start, 'connection', up, `connecting to ${s.to}`),
    line(s.start + 0.001, 'connection', up, 'connected'),
    line(s.start + 0.001, 'pool', up, 'creating stream'),
    line(s.start + 0.001, 'router', null, `Attached upstream connection [C${up}] to downstream connection [C${s.id}]`),
    ...(s.writes ?? []).map(w => line(w, 'filter', s.id, 'onData: received 80 bytes, end_stream=false, has upstream true, receive_before_connect_=false, connect_mode_=0')),
  ]
  if (s.end === null) return out
  const how = s.how ?? 'timeout'
  if (how === 'timeout') out.push(line(s.end, 'misc', null, 'Unknown error code 110 details Connection timed out'))
  if (how === 'idle') out.push(line(s.end, 'filter', s.id, 'Session timed out'), line(s.end, 'connection', s.id, 'closing data_to_write=0 type=1'))
  if (how !== 'idle') out.push(line(s.end, 'connection', up, 'remote close'))
  out.push(line(s.end, 'connection', up, `closing socket: ${how === 'idle' ? 1 : 0}`), line(s.end, 'connection', s.id, 'closing socket: 1'))
  return out
}

/** A pooled HTTP connection in the debug log: two requests, the second one without an answer until the kernel gives up. */
export function pooled(s: { readonly start: number; readonly again: number; readonly end: number; readonly to: string }): [number, string][] {
  const line = (at: number, logger: string, tags: string, says: string): [number, string] => [at, logLine(at, logger, null, `${tags === '' ? '' : `[Tags: ${tags}] `}${says}`)]
  const connection = '"ConnectionId":"71"'
  const stream = (id: number) => `"ConnectionId":"70","StreamId":"${id}"`
  return [
    line(s.start, 'connection', connection, `connecting to ${s.to}`),
    line(s.start + 0.001, 'connection', connection, 'connected'),
    line(s.start + 0.001, 'pool', connection, 'creating stream'),
    line(s.start + 0.001, 'router', stream(501), 'pool ready'),
    line(s.start + 0.01, 'router', stream(501), 'upstream headers complete: end_stream=false'),
    line(s.start + 0.01, 'http', stream(501), 'Codec completed encoding stream.'),
    line(s.again, 'pool', connection, 'using existing fully connected connection'),
    line(s.again, 'pool', connection, 'creating stream'),
    line(s.again, 'router', stream(502), 'pool ready'),
    line(s.end, 'misc', '', 'Unknown error code 110 details Connection timed out'),
    line(s.end, 'connection', connection, 'remote close'),
    line(s.end, 'connection', connection, 'closing socket: 0'),
    line(s.end, 'router', stream(502), 'upstream reset: reset reason: connection termination, transport failure reason: '),
  ]
}

/** Lines of sessions in the order in which a log has them, with one of a subsystem that shows that errno lines are logged. */
export function debugLog(...sessions: readonly (readonly [number, string])[][]): string {
  const all = [...sessions.flat(), [-10, logLine(-10, 'misc', null, 'debug is on')] as const]
  return lines(all.sort((a, b) => a[0] - b[0]).map(l => l[1]))
}

/** tcpdump text of the client's leg: bursts of the client of 100 bytes each, acknowledged by the gateway. */
export function clientCapture(bursts: readonly number[], port = 50000, more: readonly [number, string][] = []): string {
  const time = (s: number): string => iso(s).slice(11, 23)
  const out = bursts.flatMap((s, i): [number, string][] => {
    const seq = i === 0 ? '700000000:700000100' : `${i * 100}:${i * 100 + 100}`
    return [
      [s, `${time(s)}000 IP CLIENT.${port} > GATEWAY.6514: Flags [P.], seq ${seq}, ack ${i === 0 ? 900000000 : 1}, win 501, length 100`],
      [s + 0.001, `${time(s + 0.001)}000 IP GATEWAY.6514 > CLIENT.${port}: Flags [.], ack ${i * 100 + 100}, win 501, length 0`],
    ]
  })
  return lines([...out, ...more].sort((a, b) => a[0] - b[0]).map(l => l[1]))
}

interface Frame {
  readonly at: number
  readonly fromClient: boolean
  readonly flags: number
  readonly seq: number
  readonly ack: number
  readonly length?: number
}

const SYN = 2
const ACK = 16
const PSH = 8
const RST = 4

/** A capture towards a pod (10.0.0.5:40000 to 10.0.1.7:5190): a greeting that is answered, then bytes that are repeated without an answer; the capture goes on until `until`. */
export function podCapture(spec: {
  readonly start: number
  readonly sent: number
  readonly repeated: readonly number[]
  readonly until: number
  readonly probes?: readonly number[]
}): Buffer {
  const { start, sent } = spec
  const frames: Frame[] = [
    { at: start, fromClient: true, flags: SYN, seq: 1000, ack: 0 },
    { at: start + 0.001, fromClient: false, flags: SYN | ACK, seq: 5000, ack: 1001 },
    { at: start + 0.002, fromClient: true, flags: ACK, seq: 1001, ack: 5001 },
    { at: start + 1, fromClient: true, flags: PSH | ACK, seq: 1001, ack: 5001, length: 80 },
    { at: start + 1.001, fromClient: false, flags: PSH | ACK, seq: 5001, ack: 1081, length: 60 },
    { at: start + 1.002, fromClient: true, flags: ACK, seq: 1081, ack: 5061 },
    ...(spec.repeated.length > 0 ? [{ at: sent, fromClient: true, flags: PSH | ACK, seq: 1081, ack: 5061, length: 80 }] : []),
    ...spec.repeated.map((at): Frame => ({ at, fromClient: true, flags: PSH | ACK, seq: 1081, ack: 5061, length: 80 })),
    ...(spec.probes ?? []).map((at): Frame => ({ at, fromClient: true, flags: ACK, seq: 1080, ack: 5061 })),
    ...(spec.probes ? [{ at: (spec.probes.at(-1) ?? 0) + 5, fromClient: true, flags: RST | ACK, seq: 1081, ack: 5061 }] : []),
  ]
  const header = Buffer.alloc(24)
  header.writeUInt32LE(0xa1b2c3d4, 0)
  header.writeUInt16LE(2, 4)
  header.writeUInt16LE(4, 6)
  header.writeUInt32LE(65535, 16)
  header.writeUInt32LE(1, 20)
  return Buffer.concat([header, ...frames.map(f => record(f, 40000)), record({ at: spec.until, fromClient: true, flags: SYN, seq: 1, ack: 0 }, 41111)])
}

function record(f: Frame, port: number): Buffer {
  const payload = f.length ?? 0
  const data = Buffer.alloc(14 + 20 + 20 + payload, 0x41)
  data.fill(2, 0, 12)
  data.writeUInt16BE(0x0800, 12)
  const ip = data.subarray(14)
  ip.fill(0, 0, 40)
  ip[0] = 0x45
  ip.writeUInt16BE(40 + payload, 2)
  ip[8] = 64
  ip[9] = 6
  Buffer.from(f.fromClient ? [10, 0, 0, 5, 10, 0, 1, 7] : [10, 0, 1, 7, 10, 0, 0, 5]).copy(ip, 12)
  const tcp = ip.subarray(20)
  tcp.writeUInt16BE(f.fromClient ? port : 5190, 0)
  tcp.writeUInt16BE(f.fromClient ? 5190 : port, 2)
  tcp.writeUInt32BE(f.seq, 4)
  tcp.writeUInt32BE(f.ack, 8)
  tcp[12] = 0x50
  tcp[13] = f.flags
  tcp.writeUInt16BE(500, 14)
  const head = Buffer.alloc(16)
  const ms = T0 + f.at * 1000
  head.writeUInt32LE(Math.floor(ms / 1000), 0)
  head.writeUInt32LE(Math.round((ms % 1000) * 1000), 4)
  head.writeUInt32LE(data.length, 8)
  head.writeUInt32LE(data.length, 12)
  return Buffer.concat([head, data])
}
