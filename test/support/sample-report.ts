/** Reports as objects, for whatever renders or checks them. */
import type { Finding, Missing, Report, Verdict } from '../../src/model/report.js'
import { access, debugLog, dump, ipTimeline, timeline, waypoint } from './sample-evidence.js'

const NAMES = {
  WC100: 'evidence-conflict',
  WC101: 'ingress-ip-skipped',
  WC102: 'stale-connection-reuse',
  WC103: 'blackholed-session',
  WC104: 'upstream-failure',
  WC105: 'cut-off-on-stop',
} as const

const flows: Missing = {
  needs: 'ingress-flows',
  why: 'no source shows which address a connection from the ingress left with',
  when: 'next-time',
  collect: 'hubble observe --since 2024-12-03T13:30:00Z --until 2024-12-03T13:50:00Z --last 100000 -o jsonpb > flows.json',
}
const stops: Missing = {
  needs: 'instance-stops',
  why: 'no source says when an instance was told to stop',
  when: 'now',
  collect: 'kubectl get events -A --sort-by=.lastTimestamp -o json > events.json',
}

/** All rules, not evaluable unless said otherwise. */
const verdicts = (known: Partial<Record<keyof typeof NAMES, Partial<Verdict>>>): Verdict[] =>
  Object.entries(NAMES).map(([rule, name]) => ({
    rule,
    name,
    verdict: 'not-evaluable',
    confidence: null,
    applies: false,
    checked: 0,
    findings: 0,
    missing: rule === 'WC101' ? [flows] : rule === 'WC105' ? [stops] : [],
    ...known[rule as keyof typeof NAMES],
  }))

const EMPTY: Report = {
  schema: 'wirecase.report/1',
  tool: { name: 'wirecase', version: '0.1.0' },
  sources: [],
  verdicts: [],
  incidents: [],
  findings: [],
  failures: { total: 0, explained: 0, unexplained: 0, requests: 0, omitted: 0, list: [] },
  owners: [],
  coverage: [],
  clocks: [],
  problems: [],
}

/** Nothing read, nothing run. */
export const emptyReport = (): Report => EMPTY

const blackhole: Finding = {
  fingerprint: 'WC103-8f1a2c3d4e5f6071',
  aliases: [],
  rule: 'WC103',
  code: 'WC103.ended-by-timeout',
  severity: 'high',
  confidence: {
    level: 'likely',
    because: ['the session ended 962 s after its pod, which is when tcp_retries2=15 gives up', 'one source shows the session, and its upstream leg was not captured'],
  },
  title: 'The session from 10.0.0.5:55434 to 10.0.0.66:5190 ended at 13:47:07.438 only because retransmissions ran out: its pod was killed 962 s before',
  count: 1,
  subject: {
    local: '10.0.0.5:55434',
    remote: '10.0.0.66:5190',
    downstream_remote: '198.51.100.20:56939',
    ip: '10.0.0.66',
    pod: 'default/fluent-bit',
    cluster: 'tcproute/default/tcp-fbit/rule/-1',
  },
  interval: { from: '2024-12-03T13:31:05Z', to: '2024-12-03T13:47:07.438Z' },
  claims: [
    { says: 'The session began at 13:17:00.037 and lasted 1,807,401 ms, until 13:47:07.438', evidence: [access.cite(2)] },
    { says: 'The pod behind 10.0.0.66 was killed at 13:31:05 and came back with another address', evidence: [timeline.cite(1), timeline.cite(2)] },
  ],
  controls: [{ says: 'sessions of the same cluster to pods that were not killed did not end this way', checked: 1, passed: 1 }],
  rivals: [
    { says: 'the idle timeout of the TCP proxy ended it', status: 'refuted', because: 'the client sent until the end', separated_by: '' },
    {
      says: 'the client ended it for a reason of its own',
      status: 'open',
      because: 'the access log has no termination details',
      separated_by: 'a capture of the upstream leg, or connection_termination_details in the access log',
    },
  ],
  missing: [
    {
      needs: 'tcp-sessions',
      why: 'the upstream leg was not captured, so retransmissions are inferred',
      when: 'next-time',
      collect: "kubectl debug node/NODE -it --image=nicolaka/netshoot -- tcpdump -i any -w - 'host 10.0.0.66 and port 5190' > upstream.pcap",
    },
  ],
  advice: ['Set TCP keep-alive on the upstream cluster, so that a vanished peer is noticed within a minute', 'Lower net.ipv4.tcp_retries2 on the nodes of the gateway'],
  references: ['https://github.com/envoyproxy/gateway/issues/4843'],
}

/** A session that went on into the void after its pod was killed. */
export const gatewayReport = (): Report => ({
  ...EMPTY,
  sources: [
    access.source('envoy-access', '2024-12-03T12:59:29.509Z', '2024-12-03T15:23:20.368Z'),
    timeline.source('pod-timeline', '2024-12-03T13:31:05Z', '2024-12-03T13:31:17Z'),
    dump.source('tcpdump-text', '2024-12-03T13:32:04.538539Z', '2024-12-03T13:32:04.538539Z', { clock: { zone: 'utc', guessed: ['date', 'zone'] } }),
    { ...dump.source('unknown', '', ''), id: 's4', path: 'screenshot.png', records: 0, from: null, to: null },
  ],
  verdicts: verdicts({
    WC100: { verdict: 'held', applies: true, checked: 3 },
    WC103: { verdict: 'violated', confidence: 'likely', applies: true, checked: 3, findings: 1 },
    WC105: { applies: true },
  }),
  incidents: [
    {
      rule: 'WC103',
      root: '10.0.0.66',
      findings: [blackhole.fingerprint],
      count: 1,
      severity: 'high',
      confidence: 'likely',
      interval: blackhole.interval,
      ongoing: false,
      impact: { requests: 3, failed: 1, reached_client: 1 },
    },
  ],
  findings: [blackhole],
  failures: {
    total: 2,
    explained: 1,
    unexplained: 1,
    requests: 3,
    omitted: 0,
    list: [
      {
        source: 's1',
        path: access.path,
        line: 2,
        t: '2024-12-03T13:47:07.438Z',
        request_id: null,
        status: null,
        flags: [],
        details: null,
        upstream: '10.0.0.66:5190',
        hops: ['envoy'],
        probe: false,
        cause: 'WC103.ended-by-timeout',
        finding: blackhole.fingerprint,
      },
      {
        source: 's1',
        path: access.path,
        line: 1,
        t: '2024-12-03T13:16:29.448Z',
        request_id: null,
        status: null,
        flags: [],
        details: null,
        upstream: '10.0.0.112:5190',
        hops: ['envoy'],
        probe: false,
        cause: 'WC104.unknown',
        finding: null,
      },
    ],
  },
  owners: [{ ip: '10.0.0.66', owner: 'default/fluent-bit', uid: null, kind: 'pod', from: null, to: '2024-12-03T13:31:05Z', certain: false }],
  coverage: [
    {
      source: 's1',
      node: null,
      from: '2024-12-03T12:59:29.509Z',
      to: '2024-12-03T15:23:20.368Z',
      gaps: [{ from: '2024-12-03T14:00:00Z', to: '2024-12-03T14:05:00Z', why: 'rotated away' }],
    },
  ],
  clocks: [{ a: 's1', b: 's2', offset_ms: 0, error_ms: 2000, anchors: 0 }],
  problems: [{ source: 's4', kind: 'unknown-format', count: 1, says: 'a PNG picture', first: { line: null, bytes: [0, 64] } }],
})

const staleReuse: Finding = {
  fingerprint: 'WC102-5b0c9d7a81e2f364',
  aliases: ['WC102-00aa11bb22cc33dd'],
  rule: 'WC102',
  code: 'WC102.reset-by-new-owner',
  severity: 'high',
  confidence: { level: 'certain', because: ['the connect, the change of owner and the reset are all shown', 'two independent sources agree'] },
  title: 'Connection 4255 to 10.208.21.119:15008 was opened to app-old and, still pooled, reset by app-new, which had taken over the address',
  count: 3,
  subject: {
    connection_id: '4255',
    proxy: 'waypoint-7c9f',
    remote: '10.208.21.119:15008',
    ip: '10.208.21.119',
    pod: 'shop/app-new',
    previous_pod: 'shop/app-old',
    pod_uid: '7d6f0c1e-1111-4222-8333-944455556666',
  },
  interval: { from: '2025-10-22T09:35:03.033051Z', to: '2025-10-22T09:36:44.100Z' },
  claims: [
    { says: 'Connection 4255 was opened at 09:25:18.622 to 10.208.21.119:15008, then owned by shop/app-old', evidence: [debugLog.cite(1), ipTimeline.cite(1)] },
    { says: 'The address belonged to shop/app-new from 09:34:30 at the latest', evidence: [ipTimeline.cite(2)] },
    { says: 'Connection 4255 was written to at 09:35:03.033 and reset by its peer', evidence: [debugLog.cite(2), debugLog.cite(1)] },
  ],
  controls: [{ says: '12 of 12 connections opened to the same address after the change of owner were fine', checked: 12, passed: 12 }],
  rivals: [{ says: 'a keep-alive race with the same pod', status: 'refuted', because: 'the pod that the connection was opened to had ended 123 s before', separated_by: '' }],
  missing: [
    {
      needs: 'owner-history',
      why: 'the times of the change are approximate',
      when: 'now',
      collect: 'kubectl get events -n shop --field-selector involvedObject.name=app-new -o json > events.json',
    },
  ],
  advice: [
    'Retry on reset in the route (retry_on: reset, connect-failure), which is safe for requests that had no response yet',
    'Lengthen the cool-down of addresses (AWS VPC CNI: IP_COOLDOWN_PERIOD) beyond the idle timeout of the pool',
    'Give connect_originate HTTP/2 keep-alive pings shorter than the cool-down',
  ],
  references: ['https://github.com/istio/ztunnel/issues/1637'],
}

const upstreamReset: Finding = {
  ...staleReuse,
  fingerprint: 'WC104-c4d5e6f708192a3b',
  aliases: [],
  rule: 'WC104',
  code: 'WC104.reset-before-response',
  severity: 'low',
  count: 1,
  confidence: { level: 'possible', because: ['one record, and nothing about the connection it used'] },
  title: 'A GET to 10.208.43.235:8080 was answered 503 (UC) after 3 ms: the upstream connection ended before any response',
  subject: { request_id: '84bb8653-bbfe-4bee-92f8-c55bd745979e', remote: '10.208.43.235:8080', downstream_remote: '10.208.25.231:34640' },
  interval: { from: '2025-10-21T16:08:10.450Z', to: '2025-10-21T16:08:10.453Z' },
  claims: [{ says: 'The waypoint answered 503 with UC', evidence: [{ ...waypoint.cite(1), masked: true }] }],
  controls: [],
  rivals: [
    {
      says: 'a connection that outlived its pod',
      status: 'open',
      because: 'the owner of 10.208.43.235 is not known then',
      separated_by: 'the pods of that hour, from the audit log',
    },
  ],
  missing: [],
  advice: [],
}

/** A pooled connection that outlived its pod and met the next owner of the address. */
export const ztunnelReport = (): Report => ({
  ...EMPTY,
  sources: [
    ipTimeline.source('pod-ip-timeline', '2025-10-22T09:20:00Z', '2025-10-22T09:34:30Z'),
    waypoint.source('envoy-access', '2025-10-21T16:08:10.450Z', '2025-10-21T16:08:10.453Z'),
    debugLog.source('envoy-log', '2025-10-22T09:25:18.622171Z', '2025-10-22T09:35:03.033051Z', { problems: 2 }),
  ],
  verdicts: verdicts({
    WC102: { verdict: 'violated', confidence: 'certain', applies: true, checked: 123, findings: 1 },
    WC103: { verdict: 'held', applies: true, checked: 41 },
    WC104: { verdict: 'violated', confidence: 'possible', applies: true, checked: 4210, findings: 1 },
  }),
  incidents: [
    {
      rule: 'WC102',
      root: '10.208.21.119',
      findings: [staleReuse.fingerprint],
      count: 3,
      severity: 'high',
      confidence: 'certain',
      interval: staleReuse.interval,
      ongoing: true,
      impact: { requests: 4210, failed: 31, reached_client: 3, probes: 12, bytes_lost: 0 },
    },
    {
      rule: 'WC104',
      root: '10.208.43.235',
      findings: [upstreamReset.fingerprint],
      count: 1,
      severity: 'low',
      confidence: 'possible',
      interval: upstreamReset.interval,
      ongoing: false,
      impact: { failed: 1 },
    },
  ],
  findings: [staleReuse, upstreamReset],
  failures: {
    total: 1,
    explained: 1,
    unexplained: 0,
    requests: 4210,
    omitted: 0,
    list: [
      {
        source: 's2',
        path: waypoint.path,
        line: 1,
        t: '2025-10-21T16:08:10.450Z',
        request_id: '84bb8653-bbfe-4bee-92f8-c55bd745979e',
        status: '503',
        flags: ['UC'],
        details: 'upstream_reset_before_response_started{connection_termination}',
        upstream: '10.208.43.235:8080',
        hops: ['waypoint'],
        probe: false,
        cause: 'WC104.reset-before-response',
        finding: upstreamReset.fingerprint,
      },
    ],
  },
  owners: [
    { ip: '10.208.21.119', owner: 'shop/app-old', uid: null, kind: 'pod', from: '2025-10-22T09:20:00Z', to: '2025-10-22T09:33:00Z', certain: false },
    { ip: '10.208.21.119', owner: 'shop/app-new', uid: '7d6f0c1e-1111-4222-8333-944455556666', kind: 'pod', from: '2025-10-22T09:34:30Z', to: null, certain: true },
  ],
  clocks: [{ a: 's1', b: 's3', offset_ms: -182.4, error_ms: 3.1, anchors: 41 }],
  problems: [{ source: 's3', kind: 'bad-record', count: 2, says: 'a line that is cut short', first: { line: 9, bytes: [700, 812] } }],
})

/** Nothing found, and not everything could be looked at. */
export const quietReport = (): Report => ({
  ...ztunnelReport(),
  incidents: [],
  findings: [],
  owners: [],
  clocks: [],
  problems: [],
  failures: { total: 0, explained: 0, unexplained: 0, requests: 4210, omitted: 0, list: [] },
  verdicts: verdicts({ WC103: { verdict: 'held', applies: true, checked: 41 }, WC104: { verdict: 'held', applies: true, checked: 4210 }, WC105: { applies: true } }),
})
