import type { Sink } from '../../model/sink.js'
import { readEndpoint } from '../text/address.js'
import type { TextFormat, Unit } from '../text/reader.js'
import { type AccessLine, readAccessLine, type Reading } from './line.js'

/** A number as gorouter prints it, or null where it prints `"-"`. */
const field = (line: AccessLine, key: string): string | null => {
  const v = line.pairs.get(key)
  return v === undefined || v === '' || v === '-' ? null : v
}

const SECONDS = /^(\d{1,9})(?:\.(\d{1,40}))?$/

/** Nanoseconds of decimal seconds. Digits beyond the ninth, which only a rounded float can have, are dropped. */
function nanoseconds(seconds: string | null): bigint | null {
  const m = SECONDS.exec(seconds ?? '')
  return m ? BigInt(m[1] as string) * 1_000_000_000n + BigInt((m[2] ?? '').slice(0, 9).padEnd(9, '0')) : null
}

/** The same number of milliseconds that the text says, found by moving its point rather than by arithmetic. */
function milliseconds(seconds: string | null): number | null {
  const m = SECONDS.exec(seconds ?? '')
  if (!m) return null
  const digits = (m[2] ?? '').padEnd(3, '0')
  return Number(`${m[1]}${digits.slice(0, 3)}.${digits.slice(3)}`)
}

/** All attempts: those that failed, which is what gorouter prints, and the one that did not. */
function attempts(line: AccessLine): number | null {
  const failed = field(line, 'failed_attempts')
  if (failed === null || !/^\d{1,9}$/.test(failed)) return null
  const answered = line.pairs.has('backend_time') ? field(line, 'backend_time') !== null : line.backend !== null && field(line, 'x_cf_routererror') === null
  return Number(failed) + (answered ? 1 : 0)
}

const PROBE = /^(?:HTTP-Monitor\/|ELB-HealthChecker\/|GoogleHC\/|kube-probe\/|Consul Health Check)/

/** Writes the record of an access line, or the problem that it is. */
export function writeAccess(line: Reading, unit: Unit, sink: Sink): void {
  if (line === 'torn') sink.problem('truncated', 'an access line that was cut off before its app_id', unit.span)
  else if (line === 'unreadable') sink.problem('bad-record', 'an access line whose fields cannot be told apart', unit.span)
  else {
    sink.record(unit.span)
    if (line.cut) sink.note('truncated', 'the end of this access line is missing', unit.span)
    writeRequest(line, sink)
  }
}

function writeRequest(line: AccessLine, sink: Sink): void {
  const responseTime = field(line, 'response_time')
  const took = nanoseconds(responseTime)
  const upstream = readEndpoint(line.backend)
  const local = readEndpoint(field(line, 'local_address'))
  const client = readEndpoint(line.remote)
  const r = sink.request
  r.begin(line.at)
  r.proxy('gorouter')
  r.kind('http')
  r.phase('end')
  r.t_start(line.at.ns)
  r.t_end(took === null ? null : line.at.ns + took)
  r.duration_ms(milliseconds(responseTime))
  r.method(line.method)
  r.path(line.path)
  r.protocol(line.protocol)
  r.status(line.status === null ? null : Number(line.status))
  r.bytes_received(line.received === null ? null : BigInt(line.received))
  r.bytes_sent(line.sent === null ? null : BigInt(line.sent))
  r.upstream_host(line.backend)
  r.upstream_ip(upstream.ip)
  r.upstream_port(upstream.port)
  r.upstream_local_ip(local.ip)
  r.upstream_local_port(local.port)
  r.upstream_cluster(field(line, 'app_id'))
  r.downstream_remote_ip(client.ip)
  r.downstream_remote_port(client.port)
  r.authority(line.host)
  r.user_agent(line.userAgent)
  r.x_forwarded_for(field(line, 'x_forwarded_for'))
  r.request_id(field(line, 'vcap_request_id'))
  r.attempts(attempts(line))
  r.router_error(field(line, 'x_cf_routererror'))
  r.instance_id(field(line, 'instance_id'))
  r.probe(line.userAgent === null ? null : PROBE.test(line.userAgent))
  r.ambiguous(line.ambiguous.length === 0 ? null : line.ambiguous.join(','))
}

export const gorouterAccess: TextFormat = {
  id: 'gorouter-access',
  title: 'gorouter access log (Cloud Foundry)',
  names: [/(^|\/)(go)?router[^/]{0,100}access[^/]{0,100}\.log(\.gz)?$/, /(^|\/)access\.log(\.gz)?$/],
  collect: 'bosh -d <cf-deployment> ssh router -c "sudo cat /var/vcap/sys/log/gorouter/access.log" -r --column Stdout > gorouter-access.log',
  recogniser: context => ({
    match: unit => readAccessLine(unit.text, context),
    write: (found, unit, sink) => writeAccess(found as Reading, unit, sink),
  }),
}
