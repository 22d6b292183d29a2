/** What the command operators mean: the field they fill, and what their values look like. */
import { cutShape, type Level, type Shape, type ShapeName, shapeOf, timeShape } from './shapes.js'
import type { Command } from './template.js'
import { type TimeFormat, timeFormat } from './times.js'

/** What a record may say, before it becomes columns. Several may feed one column: the earlier one wins. */
export const FIELDS = [
  'start',
  'duration',
  'method',
  'originalPath',
  'path',
  'anyPath',
  'protocol',
  'status',
  'flags',
  'longFlags',
  'details',
  'terminationDetails',
  'transportFailure',
  'bytesReceived',
  'bytesSent',
  'upstreamHost',
  'upstreamRemote',
  'upstreamRemoteIp',
  'upstreamRemotePort',
  'upstreamLocal',
  'upstreamLocalIp',
  'upstreamLocalPort',
  'cluster',
  'downstreamRemote',
  'downstreamRemoteIp',
  'downstreamRemotePort',
  'downstreamDirectRemote',
  'downstreamDirectRemoteIp',
  'downstreamDirectRemotePort',
  'downstreamLocal',
  'downstreamLocalIp',
  'downstreamLocalPort',
  'sni',
  'route',
  'authority',
  'userAgent',
  'forwardedFor',
  'requestId',
  'connectionId',
  'upstreamConnectionId',
  'attempts',
  'logType',
] as const
export type Field = (typeof FIELDS)[number]

/** One command of a format, understood. */
export interface Operator {
  readonly field: Field | null
  readonly time: TimeFormat | null
  /** Bytes after which the value is cut. */
  readonly cut: number | null
  /** Whether every record prints a value for it. */
  readonly always: boolean
  /** Whether its values are text of any kind, which others than the proxy may have written. */
  readonly free: boolean
  shape(level: Level, multiline: boolean): Shape
  /** Equal for operators that cannot be told apart in a line. */
  readonly key: string
}

interface Meaning {
  readonly shape: ShapeName
  readonly field?: Field
  readonly always?: true
}

const INTEGER: Meaning = { shape: 'integer' }
const NAME: Meaning = { shape: 'name' }
const WORD: Meaning = { shape: 'word' }
const HOST: Meaning = { shape: 'host' }
const PORT: Meaning = { shape: 'port' }
const TEXT: Meaning = { shape: 'text' }
const ADDRESS: Meaning = { shape: 'address' }
const of = (meaning: Meaning, field: Field): Meaning => ({ ...meaning, field })
const always = (meaning: Meaning, field: Field): Meaning => ({ ...meaning, field, always: true })

/** Operators whose values have a form of their own. What is not here is free text: headers, metadata, certificates, what Envoy will invent. */
const OPERATORS: Readonly<Record<string, Meaning>> = {
  DURATION: always(INTEGER, 'duration'),
  REQUEST_DURATION: INTEGER,
  REQUEST_TX_DURATION: INTEGER,
  RESPONSE_DURATION: INTEGER,
  RESPONSE_TX_DURATION: INTEGER,
  ROUNDTRIP_DURATION: INTEGER,
  DOWNSTREAM_HANDSHAKE_DURATION: INTEGER,
  UPSTREAM_CONNECTION_POOL_READY_DURATION: INTEGER,
  COMMON_DURATION: INTEGER,
  RESPONSE_CODE: always(INTEGER, 'status'),
  RESPONSE_CODE_DETAILS: of({ shape: 'token' }, 'details'),
  CONNECTION_TERMINATION_DETAILS: of({ shape: 'token' }, 'terminationDetails'),
  RESPONSE_FLAGS: always({ shape: 'flags' }, 'flags'),
  RESPONSE_FLAGS_LONG: always({ shape: 'flags' }, 'longFlags'),
  GRPC_STATUS: WORD,
  GRPC_STATUS_NUMBER: WORD,
  UPSTREAM_TRANSPORT_FAILURE_REASON: of(NAME, 'transportFailure'),
  DOWNSTREAM_DETECTED_CLOSE_TYPE: { shape: 'letters' },
  UPSTREAM_DETECTED_CLOSE_TYPE: { shape: 'letters' },
  UPSTREAM_REQUEST_ATTEMPT_COUNT: always(INTEGER, 'attempts'),
  BYTES_RECEIVED: always(INTEGER, 'bytesReceived'),
  BYTES_SENT: always(INTEGER, 'bytesSent'),
  REQUEST_HEADERS_BYTES: INTEGER,
  RESPONSE_HEADERS_BYTES: INTEGER,
  RESPONSE_TRAILERS_BYTES: INTEGER,
  BYTES_RETRANSMITTED: INTEGER,
  PACKETS_RETRANSMITTED: INTEGER,
  DOWNSTREAM_CX_RTT: INTEGER,
  UPSTREAM_HOST: of(ADDRESS, 'upstreamHost'),
  UPSTREAM_HOST_NAME: NAME,
  UPSTREAM_HOST_NAME_WITHOUT_PORT: NAME,
  UPSTREAM_HOSTS_ATTEMPTED: NAME,
  UPSTREAM_HOSTS_ATTEMPTED_WITHOUT_PORT: NAME,
  UPSTREAM_HOST_NAMES_ATTEMPTED: NAME,
  UPSTREAM_HOST_NAMES_ATTEMPTED_WITHOUT_PORT: NAME,
  UPSTREAM_CONNECTION_IDS_ATTEMPTED: WORD,
  UPSTREAM_LOCAL_ADDRESS: of(ADDRESS, 'upstreamLocal'),
  UPSTREAM_LOCAL_ADDRESS_WITHOUT_PORT: of(HOST, 'upstreamLocalIp'),
  UPSTREAM_LOCAL_PORT: of(PORT, 'upstreamLocalPort'),
  UPSTREAM_REMOTE_ADDRESS: of(ADDRESS, 'upstreamRemote'),
  UPSTREAM_REMOTE_ADDRESS_WITHOUT_PORT: of(HOST, 'upstreamRemoteIp'),
  UPSTREAM_REMOTE_PORT: of(PORT, 'upstreamRemotePort'),
  DOWNSTREAM_REMOTE_ADDRESS: of(ADDRESS, 'downstreamRemote'),
  DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT: of(HOST, 'downstreamRemoteIp'),
  DOWNSTREAM_REMOTE_PORT: of(PORT, 'downstreamRemotePort'),
  DOWNSTREAM_DIRECT_REMOTE_ADDRESS: of(ADDRESS, 'downstreamDirectRemote'),
  DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT: of(HOST, 'downstreamDirectRemoteIp'),
  DOWNSTREAM_DIRECT_REMOTE_PORT: of(PORT, 'downstreamDirectRemotePort'),
  DOWNSTREAM_LOCAL_ADDRESS: of(ADDRESS, 'downstreamLocal'),
  DOWNSTREAM_LOCAL_ADDRESS_WITHOUT_PORT: of(HOST, 'downstreamLocalIp'),
  DOWNSTREAM_LOCAL_PORT: of(PORT, 'downstreamLocalPort'),
  DOWNSTREAM_DIRECT_LOCAL_ADDRESS: ADDRESS,
  DOWNSTREAM_DIRECT_LOCAL_ADDRESS_WITHOUT_PORT: HOST,
  DOWNSTREAM_DIRECT_LOCAL_PORT: PORT,
  CONNECTION_ID: always(INTEGER, 'connectionId'),
  UPSTREAM_CONNECTION_ID: always(INTEGER, 'upstreamConnectionId'),
  UNIQUE_ID: WORD,
  TRACE_ID: WORD,
  SPAN_ID: WORD,
  ROUTE_NAME: of(NAME, 'route'),
  VIRTUAL_CLUSTER_NAME: NAME,
  UPSTREAM_CLUSTER: of(NAME, 'cluster'),
  UPSTREAM_CLUSTER_RAW: of(NAME, 'cluster'),
  FILTER_CHAIN_NAME: NAME,
  // Envoy replaces what does not belong in a host name, so that a client cannot write anything else here.
  REQUESTED_SERVER_NAME: of(WORD, 'sni'),
  HOSTNAME: NAME,
  ENVIRONMENT: NAME,
  ACCESS_LOG_TYPE: always({ shape: 'letters' }, 'logType'),
  PROTOCOL: of({ shape: 'protocol' }, 'protocol'),
  UPSTREAM_PROTOCOL: { shape: 'protocol' },
  DOWNSTREAM_TLS_VERSION: WORD,
  DOWNSTREAM_TLS_CIPHER: WORD,
  DOWNSTREAM_TLS_GROUP: WORD,
  UPSTREAM_TLS_VERSION: WORD,
  UPSTREAM_TLS_CIPHER: WORD,
  UPSTREAM_TLS_GROUP: WORD,
  CILIUM_GATEWAY_NAMESPACE: WORD,
  CILIUM_GATEWAY_NAME: WORD,
  PATH: of(TEXT, 'anyPath'),
}

/** Request headers, by name in lower case. `x?y`: y where x is missing. */
const REQUEST_HEADERS: Readonly<Record<string, Meaning>> = {
  ':method': of({ shape: 'method' }, 'method'),
  ':path': of({ shape: 'path' }, 'path'),
  // A client may send this header: where the proxy lets it through, its text stands here as it came.
  'x-envoy-original-path?:path': of(TEXT, 'originalPath'),
  'x-envoy-original-path': of(TEXT, 'originalPath'),
  ':authority': of(TEXT, 'authority'),
  host: of(TEXT, 'authority'),
  ':scheme': WORD,
  'user-agent': of(TEXT, 'userAgent'),
  'x-forwarded-for': of(TEXT, 'forwardedFor'),
  'x-request-id': of(TEXT, 'requestId'),
}
const RESPONSE_HEADERS: Readonly<Record<string, Meaning>> = { 'x-envoy-upstream-service-time': INTEGER }
const WITHOUT_QUERY: Readonly<Record<string, Meaning>> = {
  ':path': of({ shape: 'path' }, 'anyPath'),
  'x-envoy-original-path?:path': of(TEXT, 'anyPath'),
}
/** Set by Istio's own filters, not from what a client sends. */
const FILTER_STATE: Readonly<Record<string, Meaning>> = { 'envoy.filters.listener.original_dst.local_ip:plain': ADDRESS }

const BY_ARGUMENT: Readonly<Record<string, Readonly<Record<string, Meaning>>>> = {
  REQ: REQUEST_HEADERS,
  REQUEST_HEADER: REQUEST_HEADERS,
  RESP: RESPONSE_HEADERS,
  RESPONSE_HEADER: RESPONSE_HEADERS,
  REQ_WITHOUT_QUERY: WITHOUT_QUERY,
  FILTER_STATE,
}

const own = (table: Readonly<Record<string, Meaning>>, key: string): Meaning | undefined => (Object.hasOwn(table, key) ? table[key] : undefined)

function meaningOf({ name, argument }: Command): Meaning {
  if (Object.hasOwn(BY_ARGUMENT, name)) return own(BY_ARGUMENT[name] ?? {}, (argument ?? '').toLowerCase()) ?? TEXT
  const known = own(OPERATORS, name)
  if (!known) return BYTE_COUNT.test(name) ? INTEGER : TEXT
  // An argument can change what is printed: details with blanks, a masked address, the host that the client asked for.
  if (argument === null || argument === '') return known
  if (name === 'RESPONSE_CODE_DETAILS') return { ...known, shape: 'text' }
  if (name === 'REQUESTED_SERVER_NAME') return TEXT
  if (name === 'PATH') return argument.startsWith('NQ') ? TEXT : known
  return name.endsWith('_WITHOUT_PORT') ? HOST : known
}
const BYTE_COUNT = /^(?:UP|DOWN)STREAM_(?:WIRE|HEADER|DECOMPRESSED_HEADER)_BYTES_(?:SENT|RECEIVED)$/
const TIME = /^(START|EMIT)_TIME(_LOCAL)?$/

export function operatorOf(command: Command): Operator {
  const time = TIME.exec(command.name)
  if (time) return timeOperator(command, time[1] === 'START', time[2] !== undefined)
  const { shape: name, field = null, always = false } = meaningOf(command)
  const { cut } = command
  const shape = (level: Level, multiline: boolean) => {
    const whole = shapeOf(name, level, multiline)
    return cut === null ? whole : cutShape(whole, cut)
  }
  return { field, time: null, cut, always, free: name === 'text' || name === 'path', shape, key: `${field ?? ''}|${name}|${cut ?? ''}` }
}

function timeOperator(command: Command, start: boolean, local: boolean): Operator {
  const time = timeFormat(command.argument, local)
  const shape = timeShape(time.end)
  return { field: start ? 'start' : null, time, cut: null, always: true, free: false, shape: () => shape, key: `${command.name}(${command.argument ?? ''})` }
}
