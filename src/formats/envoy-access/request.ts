/** A reading, as a row of `request`. */
import { fromMilliseconds } from '../../model/instant.js'
import type { Sink } from '../../model/sink.js'
import type { Span } from '../../model/span.js'
import { plainAddress, readEndpoint } from '../text/address.js'
import { shortFlags } from './flags.js'
import type { Field } from './operators.js'
import { type Raw, type Reading, UNPROVEN } from './reading.js'

type Key = Exclude<Field, 'start'>

/** Writes one row. What the record cannot prove is NULL and named in `ambiguous`. */
export function writeRequest(reading: Reading, proxy: string | null, span: Span, sink: Sink): void {
  const start = reading.start === UNPROVEN ? null : (reading.start ?? null)
  const doubts = new Doubts()
  const row = sink.request
  row.begin(start)
  row.proxy(proxy)
  kindAndPhase(reading, row, doubts)
  if (reading.start === UNPROVEN) doubts.add('t_start', 't_end')
  row.t_start(start?.ns ?? null)
  const duration = number(first(reading, doubts, ['duration_ms', ...(start ? ['t_end'] : [])], 'duration'), 1e15)
  row.duration_ms(duration)
  row.t_end(start && duration !== null ? start.ns + fromMilliseconds(duration) : null)
  const column = (name: string, ...fields: Key[]) => text(first(reading, doubts, [name], ...fields))
  row.method(column('method', 'method'))
  row.path(column('path', 'originalPath', 'path', 'anyPath'))
  row.protocol(column('protocol', 'protocol'))
  row.status(nonZero(number(first(reading, doubts, ['status'], 'status'), 9999)))
  const flags = column('flags', 'flags', 'longFlags')
  row.flags(flags === null ? null : shortFlags(flags))
  row.details(column('details', 'details'))
  row.termination_details(column('termination_details', 'terminationDetails'))
  row.transport_failure(column('transport_failure', 'transportFailure'))
  row.bytes_received(big(first(reading, doubts, ['bytes_received'], 'bytesReceived')))
  row.bytes_sent(big(first(reading, doubts, ['bytes_sent'], 'bytesSent')))
  addresses(reading, row, doubts)
  row.upstream_cluster(column('upstream_cluster', 'cluster'))
  row.sni(column('sni', 'sni'))
  row.route(column('route', 'route'))
  row.authority(column('authority', 'authority'))
  const userAgent = first(reading, doubts, ['user_agent', 'probe'], 'userAgent')
  row.user_agent(text(userAgent))
  row.x_forwarded_for(column('x_forwarded_for', 'forwardedFor'))
  row.request_id(column('request_id', 'requestId'))
  row.connection_id(nonZero(big(first(reading, doubts, ['connection_id'], 'connectionId'))))
  row.upstream_connection_id(nonZero(big(first(reading, doubts, ['upstream_connection_id'], 'upstreamConnectionId'))))
  row.attempts(number(first(reading, doubts, ['attempts'], 'attempts'), 2 ** 31 - 1))
  row.probe(typeof userAgent === 'string' ? PROBE.test(userAgent) : null)
  row.ambiguous(doubts.text())
  if (doubts.any) sink.note('ambiguous', 'an access-log record that can be read in more than one way', span)
  if (!start) sink.note('no-time', 'an access-log record without a start time', span)
}

type Writer = Sink['request']

/** User agents of health checks: kubelet, AWS, Google, Azure, Prometheus' blackbox exporter, Datadog, Consul, Envoy. */
const PROBE =
  /^(?:kube-probe\/|ELB-HealthChecker\/|Amazon-Route53-Health-Check|GoogleHC\/|GoogleStackdriverMonitoring|Load Balancer Agent$|Edge Health Probe$|Azure Traffic Manager|Blackbox[- ]Exporter\/|Datadog Agent\/|Consul Health Check$|Envoy\/HC$)/i

/** Names of columns that the record leaves open, in the order of the table. */
class Doubts {
  private readonly names = new Set<string>()

  get any(): boolean {
    return this.names.size > 0
  }

  add(...names: string[]): void {
    for (const n of names) this.names.add(n)
  }

  text(): string | null {
    return this.names.size === 0 ? null : [...this.names].sort((a, b) => COLUMNS.indexOf(a) - COLUMNS.indexOf(b)).join(',')
  }
}

const COLUMNS: readonly string[] = [
  'kind',
  'phase',
  't_start',
  't_end',
  'duration_ms',
  'method',
  'path',
  'protocol',
  'status',
  'flags',
  'details',
  'termination_details',
  'transport_failure',
  'bytes_received',
  'bytes_sent',
  'upstream_host',
  'upstream_ip',
  'upstream_port',
  'upstream_local_ip',
  'upstream_local_port',
  'upstream_cluster',
  'downstream_remote_ip',
  'downstream_remote_port',
  'downstream_local_ip',
  'downstream_local_port',
  'sni',
  'route',
  'authority',
  'user_agent',
  'x_forwarded_for',
  'request_id',
  'connection_id',
  'upstream_connection_id',
  'attempts',
  'probe',
]

/** The first of `fields` with a value. Where there is none and one is open, `columns` are. */
function first(reading: Reading, doubts: Doubts, columns: readonly string[], ...fields: Key[]): string | number | null {
  let open = false
  for (const f of fields) {
    const raw: Raw | undefined = reading[f]
    if (raw === UNPROVEN) open = true
    // Before an open field a later one says something else: the path before it was rewritten.
    else if (raw !== null && raw !== undefined && !open) return raw
  }
  if (open) doubts.add(...columns)
  return null
}

const text = (raw: string | number | null): string | null => (raw === null ? null : String(raw))
const nonZero = <N extends number | bigint>(n: N | null): N | null => (n === null || Number(n) === 0 ? null : n)

function number(raw: string | number | null, most: number): number | null {
  const n = typeof raw === 'number' ? raw : raw !== null && NUMERIC.test(raw) ? Number(raw) : Number.NaN
  return n >= 0 && n <= most ? n : null
}
const NUMERIC = /^\d{1,18}(?:\.\d{1,9})?$/

/** An integer that fits BIGINT. */
function big(raw: string | number | null): bigint | null {
  if (typeof raw === 'number') return Number.isSafeInteger(raw) && raw >= 0 ? BigInt(raw) : null
  return raw !== null && INTEGER.test(raw) ? BigInt(raw) : null
}
const INTEGER = /^\d{1,18}$/

function addresses(reading: Reading, row: Writer, doubts: Doubts): void {
  row.upstream_host(text(first(reading, doubts, ['upstream_host'], 'upstreamHost')))
  endpoint(reading, doubts, 'upstream', ['upstreamHost', 'upstreamRemote'], 'upstreamRemoteIp', 'upstreamRemotePort', row.upstream_ip, row.upstream_port)
  endpoint(reading, doubts, 'upstream_local', ['upstreamLocal'], 'upstreamLocalIp', 'upstreamLocalPort', row.upstream_local_ip, row.upstream_local_port)
  const direct = reading.downstreamRemote === undefined && reading.downstreamRemoteIp === undefined
  if (direct)
    endpoint(
      reading,
      doubts,
      'downstream_remote',
      ['downstreamDirectRemote'],
      'downstreamDirectRemoteIp',
      'downstreamDirectRemotePort',
      row.downstream_remote_ip,
      row.downstream_remote_port,
    )
  else endpoint(reading, doubts, 'downstream_remote', ['downstreamRemote'], 'downstreamRemoteIp', 'downstreamRemotePort', row.downstream_remote_ip, row.downstream_remote_port)
  endpoint(reading, doubts, 'downstream_local', ['downstreamLocal'], 'downstreamLocalIp', 'downstreamLocalPort', row.downstream_local_ip, row.downstream_local_port)
}

/** An address from the first operator that prints it whole, or else from those that print its halves. Of a replaced address (`CLIENT_IP:56939`) the port is left. */
function endpoint(
  reading: Reading,
  doubts: Doubts,
  name: string,
  whole: readonly Key[],
  ipField: Key,
  portField: Key,
  setIp: (ip: string | null) => void,
  setPort: (port: number | null) => void,
): void {
  for (const field of whole) {
    const raw = reading[field]
    const found = typeof raw === 'string' ? readEndpoint(raw) : null
    if (found?.ip) {
      setIp(found.ip)
      setPort(found.port)
      return
    }
  }
  const open = whole.some(f => reading[f] === UNPROVEN)
  const ip = reading[ipField]
  const port = reading[portField] ?? whole.map(f => replacedPort(reading[f])).find(p => p !== null)
  if (ip === UNPROVEN || (open && ip === undefined)) doubts.add(`${name}_ip`)
  if (port === UNPROVEN || (open && port === undefined)) doubts.add(`${name}_port`)
  setIp(typeof ip === 'string' ? plainAddress(ip) : null)
  setPort(typeof port === 'string' || typeof port === 'number' ? nonZero(number(port, 65_535)) : null)
}

function replacedPort(raw: Raw | undefined): string | null {
  return typeof raw === 'string' ? (REPLACED.exec(raw)?.[1] ?? null) : null
}
const REPLACED = /^[\w*<][\w.*<>-]{0,100}:(\d{1,5})$/

type Kind = 'http' | 'tcp' | 'listener' | 'upstream'
type Phase = 'end' | 'start' | 'periodic' | 'connected'

/** ACCESS_LOG_TYPE, by the end of its name. */
const PHASES: readonly (readonly [RegExp, Phase])[] = [
  [/Start$/, 'start'],
  [/Periodic$/, 'periodic'],
  [/(?:Connected|PoolReady|SuccessfullyEstablished)$/, 'connected'],
]

function kindAndPhase(reading: Reading, row: Writer, doubts: Doubts): void {
  const type = reading.logType
  if (typeof type === 'string') {
    row.kind(kindOfType(type, reading))
    row.phase(PHASES.find(([end]) => end.test(type))?.[1] ?? 'end')
    return
  }
  const kind = kindOf(reading)
  if (kind === UNPROVEN) doubts.add('kind')
  else row.kind(kind)
  row.phase(unfinished(reading, kind) ? null : 'end')
}

function kindOfType(type: string, reading: Reading): Kind | null {
  if (type.startsWith('Upstream')) return 'upstream'
  if (type.startsWith('Downstream')) return 'http'
  if (type.startsWith('Tcp')) return 'tcp'
  if (type === 'NotSet') return 'listener'
  const kind = kindOf(reading)
  return kind === UNPROVEN ? null : kind
}

const isZero = (raw: Raw | undefined): boolean => raw === 0 || raw === '0' || raw === null || raw === undefined
const present = (raw: Raw | undefined): boolean => raw !== null && raw !== undefined && raw !== UNPROVEN

/**
 * What wrote a record that has no ACCESS_LOG_TYPE. A TCP session has neither method nor protocol and code 0. A listener
 * logs the end of a TLS connection with its protocol alone, and connections that match no filter chain.
 */
function kindOf(r: Reading): Kind | null | typeof UNPROVEN {
  if (r.details === 'filter_chain_not_found') return 'listener'
  if (present(r.method)) return 'http'
  if ([r.method, r.protocol, r.status].includes(UNPROVEN)) return UNPROVEN
  if (!isZero(r.status)) return 'http'
  const flagged = present(r.flags) || present(r.longFlags)
  if (present(r.protocol)) return r.method === null && r.status !== undefined && !flagged && (r.flags !== undefined || r.longFlags !== undefined) ? 'listener' : 'http'
  if (present(r.path) || present(r.originalPath) || present(r.authority)) return 'http'
  return r.protocol === null || (r.method === null && r.status !== undefined) ? 'tcp' : null
}

/** A request without status and without a flag is not over: the record was written at its start or on the way. */
const unfinished = (r: Reading, kind: Kind | null | typeof UNPROVEN): boolean =>
  kind === 'http' && present(r.method) && r.status !== undefined && isZero(r.status) && (r.flags === null || r.longFlags === null)
