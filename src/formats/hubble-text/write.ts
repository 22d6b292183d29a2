/** A flow as text to a row of `flow`: the same values that the JSON of the flow gives, as far as they are printed. */
import type { Sink } from '../../model/sink.js'
import type { Span } from '../../model/span.js'
import { dropReasonOf, EVENT, L7_TYPE, POLICY_MATCH, RESERVED_IDENTITY, TCP_FLAGS, TRACE_SUBTYPE } from '../hubble-json/enums.js'
import { plainAddress, readEndpoint } from '../text/address.js'
import type { End, FlowText, LossText } from './record.js'

/** What policy verdicts print for a verdict; ALLOWED may stand for REDIRECTED and DENIED for ERROR. */
const VERDICTS: Record<string, string> = { ALLOWED: 'FORWARDED', DENIED: 'DROPPED', AUDITED: 'AUDIT' }

export function writeFlow(flow: FlowText, span: Span, sink: Sink): void {
  const row = sink.flow
  sink.record(span)
  row.begin(flow.time.at)
  if (!flow.time.at) sink.note('no-time', flow.time.coarse ? 'a flow whose time is coarser than a second' : 'a flow without a timestamp', span)
  if (flow.cut) sink.note('truncated', 'a flow without the end of its line', span)
  row.node(flow.node)
  row.verdict(flow.verdict === 'VERDICT_UNKNOWN' ? null : (VERDICTS[flow.verdict] ?? flow.verdict))
  row.is_reply(flow.isReply)
  if (flow.source) writeSource(flow.source, sink)
  if (flow.destination) writeDestination(flow.destination, sink)
  writeType(flow.type, flow.verdict, sink)
  if (flow.cut) writeCutSummary(flow.summary, sink)
  else writeSummary(flow.summary, sink)
}

/** Without `first` and `last`, the time at which the loss was noticed is all that is known of it. */
export function writeLoss(loss: LossText, span: Span, sink: Sink): void {
  sink.record(span)
  sink.lost(span, loss.first ?? loss.time.at, loss.last ?? loss.time.at, loss.events, loss.source)
}

function writeSource(end: End, sink: Sink): void {
  const row = sink.flow
  const e = readEnd(end)
  row.src_ip(e.ip)
  row.src_port(e.port)
  row.src_namespace(e.namespace)
  row.src_pod(e.pod)
  row.src_identity(e.identity)
  row.src_labels(e.labels)
}

function writeDestination(end: End, sink: Sink): void {
  const row = sink.flow
  const e = readEnd(end)
  row.dst_ip(e.ip)
  row.dst_port(e.port)
  row.dst_namespace(e.namespace)
  row.dst_pod(e.pod)
  row.dst_identity(e.identity)
  row.dst_labels(e.labels)
}

interface ReadEnd {
  readonly ip: string | null
  readonly port: number | null
  readonly namespace: string | null
  readonly pod: string | null
  readonly identity: bigint | null
  readonly labels: string | null
}

/** `80` or, in old versions, `80(http)` after the last colon. */
const WITH_PORT = /^(.*):(\d{1,5})(?:\([a-z0-9-]{1,40}\))?$/
/** What may be an address alone: one colon stands before a port. */
const ADDRESS = /^(?:[0-9.]{7,15}|[0-9a-f]{0,4}:[0-9a-f]{0,4}:[0-9a-f:.]{0,40})$/i
const MAC = /^[0-9a-f]{2}(?::[0-9a-f]{2}){5}$/i
const POD = /^([^/,]{1,253})\/([^/,]{1,253})$/
/** A name without dots is a pod whose namespace is not known; names with dots come from DNS. */
const POD_ALONE = /^[^/,.:]{1,253}$/
/** Reserved identities that a pod can have. */
const RESERVED_FOR_PODS = new Set(['unmanaged', 'health', 'init'])
/** Identities from here on belong to address ranges and nodes. */
const LOCAL_SCOPE = 1n << 24n

function readEnd(end: End): ReadEnd {
  const identity = readIdentity(end.identity)
  const { host } = end
  const nothing = { ip: null, port: null, namespace: null, pod: null, ...identity }
  if (host === '' || MAC.test(host)) return nothing
  const alone = ADDRESS.test(host) ? plainAddress(host) : null
  if (alone !== null) return { ...nothing, ip: alone }
  const m = WITH_PORT.exec(host)
  const name = m ? (m[1] as string) : host
  const port = m && Number(m[2]) > 0 && Number(m[2]) <= 65_535 ? Number(m[2]) : null
  const { ip } = readEndpoint(`${name}:1`)
  if (ip !== null) return { ...nothing, ip, port }
  if (!mayBePod(end.identity, identity.identity)) return { ...nothing, port }
  const pod = POD.exec(name)
  if (pod) return { ...nothing, port, namespace: pod[1] as string, pod: pod[2] as string }
  return { ...nothing, port, pod: POD_ALONE.test(name) ? name : null }
}

/** Services are printed as pods are, `namespace/name`. Their addresses have no identity, or one of the world. */
function mayBePod(printed: string | null, identity: bigint | null): boolean {
  if (printed === null) return true
  return printed.startsWith('ID:') ? identity !== null && identity < LOCAL_SCOPE : RESERVED_FOR_PODS.has(printed)
}

function readIdentity(identity: string | null): Pick<ReadEnd, 'identity' | 'labels'> {
  if (identity === null || identity === 'unknown') return { identity: null, labels: null }
  if (identity.startsWith('ID:')) {
    const n = BigInt(identity.slice(3))
    return { identity: n > 0n && n <= 0xffff_ffffn ? n : null, labels: null }
  }
  // Identity 7 always has both labels.
  const labels = identity === 'kube-apiserver' ? 'reserved:kube-apiserver,reserved:remote-node' : `reserved:${identity}`
  return { identity: RESERVED_IDENTITY.get(identity) ?? null, labels }
}

/** Before Hubble 0.6 the match alone. */
const POLICY_VERDICT = /^(?:policy-verdict:)?(none|all|unknown|L\d-\S{1,10}|Proto-Only)(?: ([A-Z0-9_]{1,40}))?$/
const L7 = /^(http|dns|kafka|l7)-([a-z0-9_]{1,30})(?: \S{0,40})?$/
const TRACE = /^(?:to|from)-[a-z][a-z0-9-]{1,30}$/
const SOCKET: Record<string, number> = { 'pre-xlate-fwd': 1, 'post-xlate-fwd': 2, 'pre-xlate-rev': 3, 'post-xlate-rev': 4 }

/** The type tells the kind of event; whatever else a dropped flow prints there is the reason of the drop. */
function writeType(type: string, verdict: string, sink: Sink): void {
  const row = sink.flow
  const policy = POLICY_VERDICT.exec(type)
  const l7 = L7.exec(type)
  if (policy) {
    row.event_type(EVENT.policyVerdict)
    row.policy_match(POLICY_MATCH.find(name => name === policy[1]) ?? null)
    row.direction(policy[2] === undefined || policy[2] === 'TRAFFIC_DIRECTION_UNKNOWN' ? null : policy[2])
  } else if (l7) {
    row.event_type(EVENT.l7)
    const name = (l7[2] as string).toUpperCase()
    row.l7_type(name === L7_TYPE.zero ? null : name)
    row.l7_protocol(l7[1] === 'l7' ? null : (l7[1] as string))
  } else if (TRACE.test(type)) {
    const point = type.toUpperCase().replaceAll('-', '_')
    row.event_type(EVENT.trace)
    row.event_subtype(TRACE_SUBTYPE.get(point) || null)
    row.trace_point(point)
  } else if (Object.hasOwn(SOCKET, type)) {
    row.event_type(EVENT.socket)
    row.event_subtype(SOCKET[type] ?? null)
  } else if (type.startsWith('SOCK_XLATE_')) row.event_type(EVENT.socket)
  else if (type.startsWith('DBG_CAPTURE_')) row.event_type(EVENT.capture)
  else if (type !== 'UNKNOWN' && verdict === 'DROPPED') {
    const reason = dropReasonOf(type)
    row.event_type(EVENT.drop)
    row.event_subtype(reason?.number ?? null)
    row.drop_reason(reason?.number ?? null)
    row.drop_reason_desc(reason?.name ?? type)
  }
}

const TRACE_ID = /^IP Trace ID: \d{1,20}; /
const AUTH = /; (?:Auth: [A-Z0-9_]{1,40}|SPIRE|TEST_ALWAYS_FAIL)$/
const PROTOCOL = /^(TCP|UDP|SCTP|ICMPv4|ICMPv6|VRRP|IGMP)(?= |$)/
const FLAGS = /^TCP Flags: ([A-Z, ]{0,60})$/
const HTTP_REQUEST = /^HTTP\/\S{1,10} ([A-Z]{1,30}) (\S+)$/
const HTTP_RESPONSE = /^HTTP\/\S{1,10} (\d{1,5}) (\d{1,15})ms \(([A-Z]{1,30}) (\S+)\)$/
const RCODE = /^DNS Answer .{0,2000}?RCode: ([A-Za-z][A-Za-z -]{1,60}?)(?= TTL:| CNAMEs:| \(|$)/
const RCODES = [
  'Format Error',
  'Server Failure',
  'Non-Existent Domain',
  'Not Implemented',
  'Query Refused',
  'Name Exists when it should not',
  'RR Set Exists when it should not',
  'RR Set that should exist does not',
  'Server Not Authoritative for zone',
  'Name not contained in zone',
]

function writeSummary(text: string, sink: Sink): void {
  const row = sink.flow
  const summary = text.replace(TRACE_ID, '').replace(AUTH, '')
  row.summary(summary === '' ? null : summary)
  row.protocol(PROTOCOL.exec(summary)?.[1] ?? null)
  const flags = FLAGS.exec(summary)
  if (flags) row.tcp_flags(knownFlags(flags[1] as string))
  const request = HTTP_REQUEST.exec(summary)
  const response = request ? null : HTTP_RESPONSE.exec(summary)
  if (request) {
    row.l7_method(request[1] as string)
    row.l7_url(request[2] as string)
  } else if (response) {
    row.l7_status(Number(response[1]) || null)
    row.l7_latency_ms(Number(response[2]))
    row.l7_method(response[3] as string)
    row.l7_url(response[4] as string)
  } else if (summary.startsWith('DNS ')) {
    const code = RCODES.indexOf(RCODE.exec(summary)?.[1] ?? '') + 1
    if (code > 0) row.l7_status(code)
  } else if (summary.startsWith('Kafka ')) row.l7_protocol('kafka')
}

function knownFlags(printed: string): string | null {
  const names = printed.split(', ')
  return TCP_FLAGS.filter(f => names.includes(f)).join(',') || null
}

/** Only what is certain whatever followed: a SYN may have been a SYN, ACK. */
function writeCutSummary(summary: string, sink: Sink): void {
  sink.flow.protocol(PROTOCOL.exec(summary)?.[1] ?? null)
  const response = /^HTTP\/\S{1,10} (\d{1,5}) (\d{1,15})ms /.exec(summary)
  if (!response) return
  sink.flow.l7_status(Number(response[1]) || null)
  sink.flow.l7_latency_ms(Number(response[2]))
}
