/**
 * Files of two bundles as text, whose lines reports cite: those of envoyproxy/gateway#4843 and istio/ztunnel#1637 as posted (addresses of the
 * first replaced by documentation ones); pod names and times of the second are ours.
 */
import { createHash } from 'node:crypto'
import type { Evidence, SourceReport } from '../../src/model/report.js'

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** A text file of a bundle, whose lines can be cited. */
class SampleFile {
  constructor(
    readonly id: string,
    readonly path: string,
    readonly lines: readonly string[],
  ) {}

  cite(line: number): Evidence {
    const text = this.lines[line - 1] ?? ''
    const from = this.lines.slice(0, line - 1).reduce((n, l) => n + Buffer.byteLength(l) + 1, 0)
    return { source: this.id, path: this.path, line, frame: null, bytes: [from, from + Buffer.byteLength(text)], sha256: sha256(text), text }
  }

  source(format: string, from: string, to: string, more: Partial<SourceReport> = {}): SourceReport {
    const all = `${this.lines.join('\n')}\n`
    return {
      id: this.id,
      path: this.path,
      format,
      bytes: Buffer.byteLength(all),
      sha256: sha256(all),
      records: this.lines.length,
      problems: 0,
      from,
      to,
      clock: { zone: 'utc', guessed: [] },
      ...more,
    }
  }
}

const accessLine = (start: string, received: string, duration: string, upstream: string, local: string, client: string): string =>
  JSON.stringify({
    start_time: start,
    method: '-',
    protocol: '-',
    response_code: '0',
    response_flags: '-',
    bytes_received: received,
    bytes_sent: '2074',
    duration,
    upstream_host: upstream,
    upstream_cluster: 'tcproute/default/tcp-fbit/rule/-1',
    upstream_local_address: local,
    downstream_local_address: '10.0.0.5:6514',
    downstream_remote_address: client,
  })

export const access = new SampleFile('s1', 'envoy-access.jsonl', [
  accessLine('2024-12-03T12:59:29.509Z', '29797', '1019939', '10.0.0.112:5190', '10.0.0.5:47848', '198.51.100.20:56913'),
  accessLine('2024-12-03T13:17:00.037Z', '74625', '1807401', '10.0.0.66:5190', '10.0.0.5:55434', '198.51.100.20:56939'),
  accessLine('2024-12-03T13:47:23.013Z', '354166', '5757355', '10.0.0.148:5190', '10.0.0.5:35442', '198.51.100.20:56989'),
])
export const timeline = new SampleFile('s2', 'pod-timeline.txt', ['2024-12-03T13:31:05Z pod fluent-bit killed', '2024-12-03T13:31:17Z pod fluent-bit ready (new IP)'])
export const dump = new SampleFile('s3', 'tcpdump-e.txt', [
  '13:32:04.538539 02:00:00:00:00:01 > 02:00:00:00:00:02, ethertype IPv4 (0x0800), length 225: 198.51.100.20.56939 > 203.0.113.10.6514: Flags [P.], seq 1228839153:1228839312, ack 3234245467, win 7714, length 159',
])

export const debugLog = new SampleFile('s3', 'waypoint-debug.log', [
  '2025-10-22T09:25:18.622171Z\tdebug\tenvoy connection external/envoy/source/common/network/connection_impl.cc:1092\t[Tags: "ConnectionId":"4255"] connecting to 10.208.21.119:15008\tthread=22',
  '2025-10-22T09:35:03.033051Z\tdebug\tenvoy connection external/envoy/source/common/tls/ssl_socket.cc:248\t[Tags: "ConnectionId":"4255"] remote address:10.208.21.119:15008,TLS_error:|33554536:system library:OPENSSL_internal:Connection reset by peer:TLS_error_end|33554464:system library:OPENSSL_internal:Broken pipe:TLS_error_end\tthread=22',
])
export const ipTimeline = new SampleFile('s1', 'pod-ip-timeline.jsonl', [
  '{"pod":"app-old","ip":"10.208.21.119","from":"2025-10-22T09:20:00Z","to":"2025-10-22T09:33:00Z","note":"approx"}',
  '{"pod":"app-new","ip":"10.208.21.119","from":"2025-10-22T09:34:30Z","to":null,"note":"approx"}',
])
export const waypoint = new SampleFile('s2', 'waypoint-access.json', [
  '{"downstream_remote_address":"10.208.25.231:34640","duration":3,"method":"GET","path":"/v0/my/path/blah?***","request_id":"84bb8653-bbfe-4bee-92f8-c55bd745979e","response_code":503,"response_code_details":"upstream_reset_before_response_started{connection_termination}","response_flags":"UC","start_time":"2025-10-21T16:08:10.450Z","upstream_host":"envoy://connect_originate/10.208.43.235:8080"}',
])
