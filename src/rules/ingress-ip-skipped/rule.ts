/** WC101: every connection that an ingress proxy opens to a pod on another node leaves with the ingress address. */
import type { Failure, RequestRecord } from '../../correlate/failures.js'
import { endpointText } from '../../model/endpoint.js'
import { groupBy } from '../../model/group.js'
import { MILLISECOND, SECOND } from '../../model/instant.js'
import type { Confidence, Impact, Missing } from '../../model/report.js'
import type { DraftClaim, DraftFinding, Judgement, Rule, RuleContext } from '../rule.js'
import { type Arrival, arrivalsOf, INGRESS_IDENTITY, isNode } from './arrivals.js'
import { type Bind, bindsOf } from './binds.js'
import { connectionsOf, nodes } from './evidence.sql.js'
import { nodeAddressFindings } from './node-address.js'
import { ADVICE, controlsOf, deniedTitle, REFERENCES, rivalsOf, skippedTitle, words } from './words.js'

/** Envoy's default where the cluster sets none; Cilium's operator sets none. */
const CONNECT_TIMEOUT = 5n * SECOND

export const ingressIpSkipped: Rule = {
  code: 'WC101',
  name: 'ingress-ip-skipped',
  invariant: 'every connection that an ingress proxy opens to a pod on another node leaves with the ingress address',
  subjects: 'connections of an ingress proxy to pods',
  codes: {
    skipped: "the proxy's log shows the ingress address skipped for one destination while the socket connects to another, which is not on the proxy's node",
    'denied-as-node': 'ingress traffic reaches a pod under a node identity and is denied',
    'node-address': "a proxy's connect to a remote pod is seen with the node's address",
  },
  reads: ['flow', 'proxy_line', 'connection', 'request', 'session', 'owner', 'pod_fact'],
  // One of ingress-flows and bind-decisions is enough: `judge` says what lacks.
  needs: [],
  helps: ['bind-decisions', 'ingress-flows'],
  references: REFERENCES,
  judge,
}

/** A connect whose ingress address was skipped for another destination than its own. */
interface Skip {
  readonly bind: Bind
  readonly confidence: Confidence
  readonly because: string
  readonly timedOut: bigint | null
  readonly connected: boolean
}

async function judge(context: RuleContext): Promise<Judgement> {
  const arrivals = await arrivalsOf(context.store)
  const binds = await bindsOf(context.store)
  const places = await nodesOf(context)
  const skips = await skipsOf(context, binds, places)
  const ingress = arrivals.filter(a => a.identity === INGRESS_IDENTITY)
  const asNode = arrivals.filter(a => isNode(a) && a.denied && a.byPolicy)
  const denied = asNode.filter(a => !a.admitted && mayBeIngress(a, ingress, context))
  const left = new Set(denied)
  const skipped = skips.map(s => skippedFinding(s, context, ingress, left))
  const groups = groupBy(left, a => [a.srcIp ?? '', a.dstIp ?? '', a.dstPort ?? '', a.pod ?? ''].join(' '))
  const byFlows = [...groups.values()].map(g => deniedFinding(g, context, ingress))
  const seen = await nodeAddressFindings(context, { binds, ingress, places, skipped: skips.map(s => s.bind), denied: asNode })
  const checked = binds.length + asNode.length + ingress.length + seen.checked
  return { applies: checked > 0, checked, findings: [...skipped, ...byFlows, ...seen.findings], missing: lacking(context) }
}

/** Where ingress traffic is seen at all, a pod and port that none of it uses is no backend of the ingress: a host-network client is denied there. */
function mayBeIngress(a: Arrival, ingress: readonly Arrival[], context: RuleContext): boolean {
  if (ingress.length === 0 || a.dstIp === null) return true
  return ingress.some(i => i.dstIp === a.dstIp && i.dstPort === a.dstPort) || failuresAround(a, context).length > 0
}

const failuresAround = (a: Arrival, context: RuleContext): Failure[] =>
  a.from === null ? [] : failuresOf(context, a.dstIp, a.dstPort, a.from - context.clockError, a.from + CONNECT_TIMEOUT + context.clockError)

function lacking({ abilities }: RuleContext): Missing[] {
  return abilities.has('ingress-flows') || abilities.has('bind-decisions') ? [] : [abilities.missing('ingress-flows'), abilities.missing('bind-decisions')]
}

/** Node by address; addresses that two nodes are named for are left out. */
async function nodesOf({ store }: RuleContext): Promise<Map<string, string>> {
  const rows = await store.rows(nodes)
  const text = await store.words(rows.flatMap(r => [r.ip as number, r.node as number]))
  const out = new Map<string, string>()
  const twice = new Set<string>()
  for (const r of rows) {
    const ip = text.get(r.ip as number)
    const node = text.get(r.node as number)
    if (ip === undefined || node === undefined) continue
    if (out.has(ip) && out.get(ip) !== node) twice.add(ip)
    out.set(ip, node)
  }
  for (const ip of twice) out.delete(ip)
  return out
}

async function skipsOf({ store }: RuleContext, binds: readonly Bind[], places: ReadonlyMap<string, string>): Promise<Skip[]> {
  const suspects = binds.filter(b => b.looked !== null && b.looked !== b.ip)
  if (suspects.length === 0) return []
  const local = new Set(binds.filter(b => b.looked !== null).map(b => `${b.source} ${b.looked}`))
  const boundTo = new Set(binds.filter(b => b.bound !== null).map(b => `${b.source} ${b.ip}`))
  const lives = await store.rows(connectionsOf(suspects.map(b => `(${b.source}, ${b.connectionId})`)))
  return suspects.flatMap(b => {
    const life = lives.find(l => l.source === b.source && l.connection_id === b.connectionId && l.t_connecting === b.t)
    const here = places.get(b.looked as string)
    const there = places.get(b.ip)
    // The pod that the proxy looked at is local by its own word: what shares its node is local too.
    if ((here !== undefined && here === there) || (local.has(`${b.source} ${b.ip}`) && there === undefined)) return []
    const remote = here !== undefined && there !== undefined
    const bound = boundTo.has(`${b.source} ${b.ip}`)
    return [
      {
        bind: b,
        confidence: remote || bound ? 'certain' : 'possible',
        because: remote ? words.otherNode(b, here, there) : bound ? words.boundBefore(b) : words.nodeUnknown(b),
        timedOut: life?.failure !== null && life?.t_connected === null ? ((life?.t_closed as bigint | null) ?? null) : null,
        connected: life?.t_connected !== null && life?.t_connected !== undefined,
      } satisfies Skip,
    ]
  })
}

/** Denials of the connect: same destination, from the connect on until it was given up. The first of them is taken with all that repeats it. */
function denialsOf(s: Skip, left: Set<Arrival>, clockError: bigint): Arrival[] {
  const { t } = s.bind
  if (t === null) return []
  const near = [...left].filter(a => a.dstIp === s.bind.ip && a.dstPort === s.bind.port && a.from !== null && a.from >= t - clockError && a.from <= t + clockError)
  near.sort((a, b) => Number(distance(a.from, t) - distance(b.from, t)) || (a.srcPort ?? 0) - (b.srcPort ?? 0))
  const [first] = near
  if (!first) return []
  left.delete(first)
  return [first]
}

const distance = (a: bigint | null, b: bigint): bigint => (a === null ? b : a > b ? a - b : b - a)

/** Requests that failed to connect to the address while the connect was open: one timeout fails all that wait in its pool. */
function failuresOf(context: RuleContext, ip: string | null, port: number | null, from: bigint | null, to: bigint | null): Failure[] {
  if (ip === null || from === null) return []
  const until = (to ?? from + CONNECT_TIMEOUT) + 100n * MILLISECOND
  const hit = (r: RequestRecord): boolean =>
    r.upstreamIp === ip && (port === null || r.upstreamPort === port) && r.flags.includes('UF') && r.end !== null && r.end > from && r.end <= until
  return context.failures.list.filter(f => f.finding === null && f.hops.some(hit))
}

function skippedFinding(s: Skip, context: RuleContext, ingress: readonly Arrival[], left: Set<Arrival>): DraftFinding {
  const b = s.bind
  const denied = denialsOf(s, left, context.clockError)
  const failures = failuresOf(context, b.ip, b.port, b.t, s.timedOut)
  const remote = endpointText(b.ip, b.port) ?? b.ip
  const pod = denied[0]?.pod ?? null
  const end = s.timedOut ?? denied[0]?.to ?? b.t
  const claims: DraftClaim[] = [
    { says: words.skipSays(b), places: [b.decision] },
    { says: words.connectSays(b, remote), places: [b.connect] },
    ...(denied.length > 0 ? [{ says: words.denialSays(denied), places: denied.flatMap(d => d.places) }] : []),
    ...(failures.length > 0 ? [{ says: words.failuresSay(failures.length), places: failures.flatMap(f => f.hops.map(h => h.place)) }] : []),
  ]
  return {
    code: 'WC101.skipped',
    severity: s.confidence === 'possible' ? 'low' : lost(failures) ? 'high' : 'medium',
    confidence: { level: s.confidence, because: [words.stale(b), s.because, ...(denied.length > 0 ? [words.independent] : [])] },
    title: skippedTitle(b, remote, denied.length > 0, failures.length),
    count: 1,
    subject: {
      connection_id: String(b.connectionId),
      remote,
      ...(denied[0]?.srcIp ? { local: endpointText(denied[0].srcIp, denied[0].srcPort) as string } : {}),
      ...(pod ? { pod: podName(denied[0]) } : {}),
    },
    interval: { from: b.t, to: end },
    identity: [remote, String(b.connectionId), String(b.t === null ? '' : b.t / SECOND)],
    root: remote,
    ongoing: false,
    impact: impactOf(failures, context),
    claims,
    controls: controlsOf(ingress.filter(a => a.dstIp === b.ip && a.dstPort === b.port)),
    rivals: rivalsOf('skipped', s.confidence),
    missing: context.abilities.has('ingress-flows') ? [] : [context.abilities.missing('ingress-flows', { from: b.t, to: end })],
    advice: ADVICE,
    references: REFERENCES,
    failures,
  }
}

/** Verdict and drop of each connection's first SYN, then what repeats them: citations are limited. */
const firstOfEach = (group: readonly Arrival[]) => [...group.flatMap(a => a.places.slice(0, 2)), ...group.flatMap(a => a.places.slice(2))]

/** A client lost something, not only a health check. */
const lost = (failures: readonly Failure[]): boolean => failures.some(f => !f.probe)

/** Health checks are counted apart from people's requests. */
function impactOf(failures: readonly Failure[], { failures: all }: RuleContext): Impact {
  const people = failures.filter(f => !f.probe).length
  const probes = failures.length - people
  return { ...(all.requests > 0 ? { requests: all.requests } : {}), failed: people, reached_client: people, ...(probes > 0 ? { probes } : {}) }
}

const podName = (a: Arrival | undefined): string => (a?.namespace ? `${a.namespace}/${a.pod}` : (a?.pod ?? ''))

function deniedFinding(group: readonly Arrival[], context: RuleContext, ingress: readonly Arrival[]): DraftFinding {
  const [first] = group as readonly [Arrival, ...Arrival[]]
  const failures = [...new Set(group.flatMap(a => failuresAround(a, context)))]
  const controls = ingress.filter(a => a.dstIp !== null && a.dstIp === first.dstIp && a.dstPort === first.dstPort && !a.denied)
  const signs = signsOf(group, failures.length)
  // Flows alone are never more than possible: a failed connect of the proxy has to be among the signs.
  const level: Confidence = failures.length > 0 && signs.length >= 2 ? 'likely' : 'possible'
  const times = group.flatMap(a => [a.from, a.to]).filter(t => t !== null)
  const local = endpointText(first.srcIp, first.srcPort)
  const remote = endpointText(first.dstIp, first.dstPort)
  return {
    code: 'WC101.denied-as-node',
    severity: level === 'possible' ? 'low' : lost(failures) ? 'high' : 'medium',
    confidence: { level, because: [words.identities(group), ...signs, ...(failures.length === 0 ? [words.flowsAlone] : [])] },
    title: deniedTitle(group, podName(first)),
    count: group.length,
    subject: {
      ...(local && group.length === 1 ? { local } : {}),
      ...(remote ? { remote } : {}),
      ...(first.srcIp ? { ip: first.srcIp } : {}),
      ...(first.pod ? { pod: podName(first) } : {}),
      ...(first.node ? { node: first.node } : {}),
    },
    interval: { from: least(times), to: most(times) },
    identity: [first.srcIp ?? '', remote ?? '', podName(first)],
    root: remote ?? podName(first),
    ongoing: false,
    impact: failures.length > 0 ? impactOf(failures, context) : {},
    claims: [
      { says: words.deniedSays(group), places: firstOfEach(group) },
      ...(failures.length > 0 ? [{ says: words.failuresSay(failures.length), places: failures.flatMap(f => f.hops.map(h => h.place)) }] : []),
    ],
    controls: controlsOf(controls),
    rivals: rivalsOf('denied-as-node', level),
    missing: [
      context.abilities.missing('bind-decisions', { from: least(times), to: most(times) }),
      ...(context.abilities.has('http-requests') ? [] : [context.abilities.missing('requests', { from: least(times), to: most(times) })]),
    ],
    advice: ADVICE,
    references: REFERENCES,
    failures: level === 'likely' ? failures : [],
  }
}

/** Signs that the sender is a proxy: its SYNs stop at the connect timeout, its requests failed to connect, its series have no period. */
function signsOf(group: readonly Arrival[], failures: number): string[] {
  const series = group.filter(a => a.from !== null && a.to !== null && a.syns > 1)
  const stops = series.length > 0 && series.every(a => (a.to as bigint) - (a.from as bigint) <= CONNECT_TIMEOUT)
  return [...(stops ? [words.stops] : []), ...(failures > 0 ? [words.matched(failures)] : []), ...(hasNoPeriod(group) ? [words.noPeriod] : [])]
}

/** At least three connections whose distances differ by more than a second: a scrape or a probe keeps its period. */
function hasNoPeriod(group: readonly Arrival[]): boolean {
  const at = group
    .map(a => a.from)
    .filter(t => t !== null)
    .sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
  if (at.length < 3) return false
  const gaps = at.slice(1).map((t, i) => t - (at[i] as bigint))
  return (most(gaps) as bigint) - (least(gaps) as bigint) > SECOND
}

const least = (list: readonly bigint[]): bigint | null => list.reduce<bigint | null>((m, t) => (m === null || t < m ? t : m), null)
const most = (list: readonly bigint[]): bigint | null => list.reduce<bigint | null>((m, t) => (m === null || t > m ? t : m), null)
