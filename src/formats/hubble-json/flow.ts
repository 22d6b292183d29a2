/** A flow message as JSON (protobuf's JSON mapping, with either spelling of its field names) to a row of `flow`. */
import type { Instant } from '../../model/instant.js'
import type { Sink } from '../../model/sink.js'
import { plainAddress } from '../text/address.js'
import { get, isJsonObject, type JsonObject, type JsonValue } from '../text/json.js'
import { readIso } from '../text/time.js'
import { DIRECTION, DROP_REASON, enumName, EVENT, L7_TYPE, POLICY_MATCH, TCP_FLAGS, TRACE_POINT, VERDICT } from './enums.js'

/** The two spellings of a field: as in the .proto file (what Hubble writes), and protojson's default. */
type Field = readonly [proto: string, json: string]
const field = (proto: string): Field => [proto, proto.replace(/_(.)/g, (_, c: string) => c.toUpperCase())]

const NODE_NAME = field('node_name')
const IS_REPLY = field('is_reply')
const DIRECTION_FIELD = field('traffic_direction')
const DROP_REASON_NUMBER = field('drop_reason')
const DROP_REASON_DESC = field('drop_reason_desc')
const TRACE_POINT_FIELD = field('trace_observation_point')
const MATCH_TYPE = field('policy_match_type')
const PROXY_PORT = field('proxy_port')
const EVENT_TYPE = field('event_type')
const SUB_TYPE = field('sub_type')
const SOURCE_PORT = field('source_port')
const DESTINATION_PORT = field('destination_port')
const SOURCE_XLATED = field('source_xlated')
const POD_NAME = field('pod_name')
const LATENCY = field('latency_ns')

const fieldOf = (o: JsonObject | undefined, [proto, json]: Field): JsonValue | undefined => (o ? (get(o, proto) ?? get(o, json)) : undefined)
const nodeOf = (o: JsonObject | undefined): string | null => text(fieldOf(o, NODE_NAME))
export const timeOf = (v: JsonValue | undefined): Instant | null => (typeof v === 'string' ? readIso(v) : null)
const object = (v: JsonValue | undefined): JsonObject | undefined => (isJsonObject(v) ? v : undefined)
const part = (o: JsonObject | undefined, key: string): JsonObject | undefined => object(o && get(o, key))
const text = (v: JsonValue | undefined): string | null => (typeof v === 'string' && v !== '' ? v : null)
const address = (v: JsonValue | undefined): string | null => (typeof v === 'string' ? plainAddress(v) : null)

/** A whole number up to `max`, also where it is printed as text or as a float; null where it is 0, which protobuf does not tell from unset. */
function whole(v: JsonValue | undefined, max: number): number | null {
  const n = typeof v === 'number' ? v : typeof v === 'string' && v.length <= 24 ? Number(v) : Number.NaN
  return Number.isInteger(n) && n !== 0 && Math.abs(n) <= max ? n : null
}
const INT32 = 2_147_483_647
const PORT = 65_535
const port = (v: JsonValue | undefined): number | null => ((whole(v, PORT) ?? 0) > 0 ? whole(v, PORT) : null)
const identity = (v: JsonValue | undefined): bigint | null => {
  const n = whole(v, Number.MAX_SAFE_INTEGER)
  return n === null || n < 0 ? null : BigInt(n)
}

const PROTOCOLS = ['TCP', 'UDP', 'ICMPv4', 'ICMPv6', 'SCTP', 'VRRP', 'IGMP'] as const

/** Writes one row. `outer` is the envelope, whose time and node stand in where the flow has none. Answers whether a time was known. */
export function writeFlow(flow: JsonObject, outer: JsonObject | undefined, sink: Sink): boolean {
  const at = timeOf(get(flow, 'time')) ?? timeOf(outer && get(outer, 'time'))
  const row = sink.flow
  row.begin(at)
  row.node(nodeOf(flow) ?? nodeOf(outer))
  row.verdict(enumName(get(flow, 'verdict'), VERDICT))
  row.direction(enumName(fieldOf(flow, DIRECTION_FIELD), DIRECTION))
  const reply = fieldOf(flow, IS_REPLY)
  if (typeof reply === 'boolean') row.is_reply(reply)
  row.uuid(text(get(flow, 'uuid')))
  row.summary(text(get(flow, 'Summary')))
  writeEnds(flow, sink)
  writeL4(part(flow, 'l4'), sink)
  writeEvent(flow, sink)
  writeL7(part(flow, 'l7'), sink)
  const outerPacket = part(part(flow, 'tunnel'), 'IP')
  if (outerPacket) {
    row.tunnel_src_ip(address(get(outerPacket, 'source')))
    row.tunnel_dst_ip(address(get(outerPacket, 'destination')))
  }
  return at !== null
}

function writeEnds(flow: JsonObject, sink: Sink): void {
  const row = sink.flow
  const ip = part(flow, 'IP')
  if (ip) {
    row.src_ip(address(get(ip, 'source')))
    row.dst_ip(address(get(ip, 'destination')))
    row.src_xlated_ip(address(fieldOf(ip, SOURCE_XLATED)))
  }
  const source = part(flow, 'source')
  if (source) {
    row.src_identity(identity(get(source, 'identity')))
    row.src_labels(labels(get(source, 'labels')))
    row.src_namespace(text(get(source, 'namespace')))
    row.src_pod(text(fieldOf(source, POD_NAME)))
  }
  const destination = part(flow, 'destination')
  if (destination) {
    row.dst_identity(identity(get(destination, 'identity')))
    row.dst_labels(labels(get(destination, 'labels')))
    row.dst_namespace(text(get(destination, 'namespace')))
    row.dst_pod(text(fieldOf(destination, POD_NAME)))
  }
}

function labels(v: JsonValue | undefined): string | null {
  return Array.isArray(v) ? v.filter(l => typeof l === 'string').join(',') || null : null
}

function writeL4(l4: JsonObject | undefined, sink: Sink): void {
  for (const protocol of PROTOCOLS) {
    const packet = part(l4, protocol)
    if (!packet) continue
    const row = sink.flow
    row.protocol(protocol)
    row.src_port(port(fieldOf(packet, SOURCE_PORT)))
    row.dst_port(port(fieldOf(packet, DESTINATION_PORT)))
    const flags = part(packet, 'flags')
    if (flags) row.tcp_flags(TCP_FLAGS.filter(name => get(flags, name) === true).join(',') || null)
    return
  }
}

function writeEvent(flow: JsonObject, sink: Sink): void {
  const row = sink.flow
  const event = object(fieldOf(flow, EVENT_TYPE))
  const type = whole(event && get(event, 'type'), INT32)
  row.event_type(type)
  row.event_subtype(whole(fieldOf(event, SUB_TYPE), INT32))
  row.drop_reason(whole(fieldOf(flow, DROP_REASON_NUMBER), INT32))
  row.drop_reason_desc(enumName(fieldOf(flow, DROP_REASON_DESC), DROP_REASON))
  row.trace_point(enumName(fieldOf(flow, TRACE_POINT_FIELD), TRACE_POINT))
  row.proxy_port(whole(fieldOf(flow, PROXY_PORT), INT32))
  // 0 is not written: only in a policy verdict does its absence mean that no rule matched.
  const match = whole(fieldOf(flow, MATCH_TYPE), INT32)
  if (match !== null) row.policy_match(POLICY_MATCH[match] ?? String(match))
  else if (type === EVENT.policyVerdict) row.policy_match(POLICY_MATCH[0])
}

function writeL7(l7: JsonObject | undefined, sink: Sink): void {
  if (!l7) return
  const row = sink.flow
  row.l7_type(enumName(get(l7, 'type'), L7_TYPE))
  const latency = whole(fieldOf(l7, LATENCY), Number.MAX_SAFE_INTEGER)
  if (latency !== null) row.l7_latency_ms(latency / 1e6)
  const http = part(l7, 'http')
  const dns = part(l7, 'dns')
  if (http) {
    row.l7_protocol('http')
    row.l7_status(whole(get(http, 'code'), INT32))
    row.l7_method(text(get(http, 'method')))
    row.l7_url(text(get(http, 'url')))
  } else if (dns) {
    row.l7_protocol('dns')
    row.l7_status(whole(get(dns, 'rcode'), INT32))
  } else if (part(l7, 'kafka')) row.l7_protocol('kafka')
}
