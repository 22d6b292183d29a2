/**
 * What a bundle can show: each ability once, with the formats that give it, the test whether it is there, and the
 * command that collects it. Rules name what they need and what would help.
 */
import type { FormatId } from '../formats/format.js'
import { iso } from '../model/instant.js'
import type { Missing } from '../model/report.js'
import type { Store } from '../store/store.js'

export interface Capability {
  readonly title: string
  readonly formats: readonly FormatId[]
  /** SQL that answers one row with `there` true or false. */
  readonly test: string
  readonly why: string
  readonly when: Missing['when']
  /** The command; `{since}`, `{until}`, `{pod}`, `{namespace}`, `{node}`, `{ip}` are filled from what is known. */
  readonly collect: string
}

const word = (text: string): string => `(SELECT id FROM raw.dictionary WHERE value = '${text}')`
const words = (...texts: string[]): string => `(SELECT id FROM raw.dictionary WHERE value IN (${texts.map(t => `'${t}'`).join(', ')}))`

/** Facts that tell when an instance stopped, was told to, or died. */
const STOPS = [
  'killed',
  'stopping',
  'exited',
  'crashed',
  'terminating',
  'terminated',
  'evicted',
  'deleted',
  'container-exited',
  'sandbox-gone',
  'signalled',
  'OOMKilled',
  'destroyed',
  'stopped',
] as const

export const capabilities = {
  'ingress-flows': {
    title: 'Hubble flows of ingress traffic at the destination node',
    formats: ['hubble-json', 'hubble-text'],
    test: `SELECT count(*) > 0 AS there FROM raw.flow WHERE direction = ${word('INGRESS')} AND src_identity IS NOT NULL`,
    why: 'only flows seen at the destination node show the identity under which a connection arrives',
    when: 'next-time',
    collect:
      'kubectl -n kube-system exec ds/cilium -c cilium-agent -- hubble observe --since {since} --until {until} --traffic-direction ingress --last 100000 -o jsonpb > flows.json',
  },
  'bind-decisions': {
    title: "the proxy's trace of which source address it binds",
    formats: ['envoy-log'],
    test: `SELECT count(*) > 0 AS there FROM raw.proxy_line WHERE template IN ${words('Skipping restore of local address on socket: {} - destination is local {}', 'Restoring local address (original source) on socket: {} ({} -> {})')}`,
    why: 'only the trace of the filter logger shows whether the ingress address was skipped, and for which destination',
    when: 'next-time',
    collect:
      'kubectl -n kube-system exec ds/cilium-envoy -- cilium-envoy-admin POST "/logging?paths=filter:trace,pool:debug,connection:debug,client:debug,router:debug" && kubectl -n kube-system logs -f ds/cilium-envoy > cilium-envoy.log',
  },
  'owner-history': {
    title: 'who owned each pod address, and when it changed hands',
    formats: ['pod-ip-timeline', 'k8s-watch', 'k8s-objects', 'k8s-table'],
    test: `SELECT count(*) > 0 AS there FROM raw.owner WHERE t_from IS NOT NULL OR t_to IS NOT NULL`,
    why: 'whether an address changed its owner while a connection to it lived cannot be known without it',
    when: 'now',
    collect:
      "ssh {node} sudo cat /var/log/aws-routed-eni/ipamd.log > ipamd.log   # or the log of your CNI; and the API server's audit log of {since} to {until}: both still exist. Next time: kubectl get pods -A -o json --watch --output-watch-events > pods-watch.json",
  },
  'upstream-connections': {
    title: 'the life of upstream connections (debug log of the proxy)',
    formats: ['envoy-log'],
    test: `SELECT count(*) > 0 AS there FROM raw.connection WHERE side = ${word('upstream')}`,
    why: 'only the debug log shows when a pooled connection was opened, to which address, and how it ended',
    when: 'next-time',
    collect: 'istioctl proxy-config log {pod} --level connection:debug,pool:debug,router:debug,http2:debug && kubectl logs -f {pod} > proxy-debug.log',
  },
  'tcp-sessions': {
    title: 'TCP sessions with their ends (access log of a TCP proxy, or a capture)',
    formats: ['envoy-access', 'pcap', 'pcapng'],
    test: `SELECT (SELECT count(*) FROM raw.request WHERE kind = ${word('tcp')} AND t_end IS NOT NULL) + (SELECT count(*) FROM raw.session) > 0 AS there`,
    why: 'a blackholed session shows only in when it ended, or in a capture on the side of the pod',
    when: 'now',
    collect: 'kubectl logs {pod} --since-time={since} > access.log',
  },
  'pod-ends': {
    title: 'when pods ended',
    formats: ['pod-ip-timeline', 'k8s-watch', 'k8s-objects', 'k8s-table', 'k8s-events'],
    test: `SELECT (SELECT count(*) FROM raw.pod_fact WHERE what IN ${words(...STOPS)} AND t_latest IS NOT NULL) + (SELECT count(*) FROM raw.owner WHERE t_to IS NOT NULL) > 0 AS there`,
    why: 'whether a session outlived its pod cannot be known without it',
    when: 'now',
    collect:
      "kubectl get events -A -o json > events.json   # kept for an hour; the API server's audit log of {since} to {until} keeps longer. Next time: kubectl get pods -A -o json --watch --output-watch-events > pods-watch.json",
  },
  'upstream-capture': {
    title: 'a capture on the side of the pod',
    formats: ['pcap', 'pcapng'],
    test: 'SELECT count(*) > 0 AS there FROM raw.session',
    why: 'retransmissions towards the pod prove the blackhole; a FIN from the pod would refute it',
    when: 'next-time',
    collect: "tcpdump -i any -s 128 -w {pod}.pcap 'host {ip}'   # on the node of the proxy",
  },
  requests: {
    title: 'finished requests (an access log)',
    formats: ['envoy-access', 'gorouter-access', 'ztunnel-log'],
    test: `SELECT (SELECT count(*) FROM raw.request) + (SELECT count(*) FROM raw.attempt) > 0 AS there`,
    why: 'without requests there is nothing to judge',
    when: 'now',
    collect: 'kubectl logs {pod} --since-time={since} > access.log',
  },
  'http-requests': {
    title: 'finished HTTP requests (an access log)',
    formats: ['envoy-access', 'gorouter-access'],
    test: `SELECT count(*) > 0 AS there FROM raw.request WHERE kind = ${word('http')}`,
    why: 'without requests nobody can have been cut off',
    when: 'now',
    collect: 'kubectl logs {pod} --since-time={since} > access.log   # Cloud Foundry: bosh ssh router -c "sudo cat /var/vcap/sys/log/gorouter/access.log" > access.log',
  },
  'instance-stops': {
    title: 'when instances were told to stop, exited or died',
    formats: ['cf-app-log', 'diego-log', 'k8s-events', 'k8s-watch', 'k8s-objects', 'k8s-table'],
    test: `SELECT count(*) > 0 AS there FROM raw.pod_fact WHERE what IN ${words(...STOPS, 'deletion')} AND t_latest IS NOT NULL`,
    why: 'a request cut off by a stop, a crash and a kill for memory look the same to the proxy: only the exit and its time tell them apart',
    when: 'now',
    collect:
      'cf logs {app} --recent > cf-logs.txt; bosh ssh diego-cell -c "sudo cat /var/vcap/sys/log/rep/rep.stdout.log" > rep.log   # Kubernetes: kubectl get events -A -o json > events.json; kubectl get pods -A -o json > pods.json',
  },
  'route-changes': {
    title: "the router's own log (registered and unregistered endpoints, failed attempts)",
    formats: ['gorouter-log'],
    test: `SELECT count(*) > 0 AS there FROM raw.proxy_line WHERE template IN ${words('backend-endpoint-failed', 'endpoint-registered', 'endpoint-unregistered', 'prune-failed-endpoint')}`,
    why: 'it holds the error of every attempt, and when an instance was taken out of the routes',
    when: 'now',
    collect: 'bosh ssh router -c "sudo cat /var/vcap/sys/log/gorouter/gorouter.stdout.log" > gorouter.stdout.log',
  },
} as const satisfies Record<string, Capability>

export type CapabilityId = keyof typeof capabilities

/** What fills the placeholders of collect commands. */
export interface Fill {
  readonly pod?: string | null
  readonly ip?: string | null
  readonly node?: string | null
  readonly app?: string | null
  readonly from?: bigint | null
  readonly to?: bigint | null
}

/** Which abilities this bundle has, and how to name the others. */
export class Abilities {
  constructor(
    private readonly there: ReadonlySet<CapabilityId>,
    private readonly window: { readonly from: bigint | null; readonly to: bigint | null },
  ) {}

  has(id: CapabilityId): boolean {
    return this.there.has(id)
  }

  /** The entry of `missing` for an ability, its command filled from what is known. */
  missing(id: CapabilityId, fill: Fill = {}): Missing {
    const c: Capability = capabilities[id]
    const from = fill.from ?? this.window.from
    const to = fill.to ?? this.window.to
    const values: Record<string, string | null | undefined> = {
      pod: fill.pod,
      ip: fill.ip,
      node: fill.node,
      app: fill.app,
      since: from === null ? null : iso(from),
      until: to === null ? null : iso(to),
    }
    return { needs: id, why: `${c.title}: ${c.why}`, when: c.when, collect: c.collect.replace(/\{(\w+)\}/g, (_, key: string) => values[key] ?? `<${key}>`) }
  }
}

/** Runs every test once. */
export async function abilities(store: Store, window: { from: bigint | null; to: bigint | null }): Promise<Abilities> {
  const there = new Set<CapabilityId>()
  for (const [id, c] of Object.entries(capabilities)) {
    const [row] = await store.rows(c.test)
    if (row?.there === true) there.add(id as CapabilityId)
  }
  return new Abilities(there, window)
}
