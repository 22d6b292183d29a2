/**
 * `.node-address`: an access log, or a log and a capture together, show connects to a remote pod under the node's address,
 * whether a policy denies them or not.
 */
import type { Place } from '../../correlate/evidence.js'
import { placeOf } from '../../correlate/owners.js'
import { endpointText } from '../../model/endpoint.js'
import { groupBy } from '../../model/group.js'
import { MILLISECOND, SECOND } from '../../model/instant.js'
import type { DraftFinding, RuleContext } from '../rule.js'
import type { Arrival } from './arrivals.js'
import type { Bind } from './binds.js'
import { capturedConnects, ingressAddresses, localAddresses } from './evidence.sql.js'
import { ADVICE, nodeAddressTitle, REFERENCES, rivalsOf, words } from './words.js'

interface Used {
  readonly place: Place
  /** The proxy's log that it belongs to. */
  readonly log: number
  readonly t: bigint | null
  readonly ip: string
  readonly port: number | null
  readonly local: string
  readonly localPort: number | null
  /** Of a captured connect: its id in the proxy's log. */
  readonly connectionId: bigint | null
}

interface Known {
  readonly binds: readonly Bind[]
  readonly ingress: readonly Arrival[]
  readonly places: ReadonlyMap<string, string>
  /** Connects and arrivals that other findings tell of. */
  readonly skipped: readonly Bind[]
  readonly denied: readonly Arrival[]
}

/**
 * Needs to know the ingress address (bound in the log, seen by Hubble under identity 8, or listed by Cilium), and that the
 * pod is reached by it at other times: a local pod never is. One finding per pod and node address.
 */
export async function nodeAddressFindings(context: RuleContext, known: Known): Promise<{ checked: number; findings: DraftFinding[] }> {
  const used = [...(await usedAddresses(context)), ...(await capturedAddresses(context))]
  const seen = [...known.binds.map(b => b.bound), ...known.ingress.map(a => a.srcIp), ...(await listedAddresses(context))]
  const addresses = new Set(seen.filter(ip => ip !== null && used.some(u => u.local === ip)))
  if (addresses.size === 0) return { checked: 0, findings: [] }
  const viaIngress = new Set(used.filter(u => addresses.has(u.local)).map(u => `${u.log} ${u.ip}:${u.port}`))
  const judged = used.filter(u => viaIngress.has(`${u.log} ${u.ip}:${u.port}`))
  const proxyNodes = new Set(
    [
      ...known.binds
        .map(b => b.looked)
        .filter(x => x !== null)
        .map(x => known.places.get(x)),
    ].filter(n => n !== undefined),
  )
  const told = toldElsewhere(known)
  const suspects = judged.filter(u => !addresses.has(u.local) && !proxyNodes.has(known.places.get(u.ip) ?? ' ') && !told(u))
  const byPod = groupBy(suspects, u => `${u.local} ${u.ip}:${u.port}`)
  return {
    checked: connectionsIn(judged),
    findings: [...byPod.values()].map(g => finding(g, connectionsIn(judged.filter(u => u.ip === g[0]?.ip && u.port === g[0]?.port && addresses.has(u.local))))),
  }
}

/** One fault is one finding: a skip that the log shows, and a denial that Hubble shows, are told of there. */
function toldElsewhere({ skipped, denied }: Known): (u: Used) => boolean {
  const connects = new Set(skipped.map(b => `${b.source} ${b.connectionId}`))
  const arrivals = new Set(denied.map(a => `${a.srcIp} ${a.srcPort}`))
  return u => connects.has(`${u.log} ${u.connectionId}`) || arrivals.has(`${u.local} ${u.localPort}`)
}

/** An access log has a record for each request, a capture one for each connection: connections are counted. */
const connectionsIn = (used: readonly Used[]): number => new Set(used.map(u => `${u.ip} ${u.port} ${u.local} ${u.localPort}`)).size

async function listedAddresses({ store }: RuleContext): Promise<string[]> {
  const reason = (await store.ids(['IngressIP'])).get('IngressIP') ?? -1
  return [...(await store.words((await store.rows(ingressAddresses(reason))).map(r => r.ip as number))).values()]
}

/** The SYN of a connect leaves with the line that announces it. */
const SAME_CONNECT = 5n * MILLISECOND

/** The proxy's own end of the connects in its log, from captures on its way. Each session goes to the connect nearest in time, and the other way round. */
async function capturedAddresses({ store }: RuleContext): Promise<Used[]> {
  const upstream = (await store.ids(['upstream'])).get('upstream') ?? -1
  const rows = await store.rows(capturedConnects(upstream, SAME_CONNECT))
  const text = await store.words(rows.flatMap(r => [r.remote_ip as number, r.client_ip as number]))
  const pairs = rows
    .map(r => ({
      r,
      apart: (r.t_syn as bigint) > (r.t_connecting as bigint) ? (r.t_syn as bigint) - (r.t_connecting as bigint) : (r.t_connecting as bigint) - (r.t_syn as bigint),
    }))
    .sort((a, b) => Number(a.apart - b.apart) || Number((a.r.connection as bigint) - (b.r.connection as bigint)) || (a.r.source as number) - (b.r.source as number))
  const connects = new Set<bigint>()
  const sessions = new Set<string>()
  const out: Used[] = []
  for (const { r } of pairs) {
    const session = `${r.client_ip} ${r.client_port} ${r.remote_ip} ${r.remote_port}`
    if (connects.has(r.connection as bigint) || sessions.has(session)) continue
    connects.add(r.connection as bigint)
    sessions.add(session)
    out.push({
      place: placeOf(r),
      log: r.log as number,
      t: r.t_syn as bigint | null,
      ip: text.get(r.remote_ip as number) ?? '',
      port: r.remote_port as number | null,
      local: text.get(r.client_ip as number) ?? '',
      localPort: r.client_port as number | null,
      connectionId: r.connection_id as bigint | null,
    })
  }
  return out
}

async function usedAddresses({ store }: RuleContext): Promise<Used[]> {
  const rows = await store.rows(localAddresses)
  const text = await store.words(rows.flatMap(r => [r.upstream_ip as number, r.upstream_local_ip as number]))
  return rows.map(r => ({
    place: placeOf(r),
    log: r.source as number,
    t: r.t_start as bigint | null,
    ip: text.get(r.upstream_ip as number) ?? '',
    port: r.upstream_port as number | null,
    local: text.get(r.upstream_local_ip as number) ?? '',
    localPort: r.upstream_local_port as number | null,
    connectionId: null,
  }))
}

function finding(group: readonly Used[], viaIngress: number): DraftFinding {
  const [first] = group as readonly [Used, ...Used[]]
  const remote = endpointText(first.ip, first.port) ?? first.ip
  const connections = new Map(group.map(u => [u.localPort, u]))
  const times = group
    .map(u => u.t)
    .filter(t => t !== null)
    .sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
  return {
    code: 'WC101.node-address',
    severity: 'low',
    confidence: { level: 'likely', because: [words.twoAddresses(remote, first.local, viaIngress)] },
    title: nodeAddressTitle(connections.size, remote, first.local),
    count: connections.size,
    subject: { remote, local: endpointText(first.local, connections.size === 1 ? first.localPort : null) as string },
    interval: { from: times[0] ?? null, to: times.at(-1) ?? null },
    identity: [first.local, remote, String(times[0] === undefined ? '' : times[0] / SECOND)],
    root: remote,
    ongoing: false,
    impact: {},
    claims: [
      {
        says: words.nodeAddressSays(
          [...connections.keys()].filter(p => p !== null),
          first.local,
        ),
        places: [...connections.values()].map(u => u.place),
      },
    ],
    controls: [
      {
        says: `${viaIngress} of ${viaIngress + connections.size} connections to the same pod left with the ingress address`,
        checked: viaIngress + connections.size,
        passed: viaIngress,
      },
    ],
    rivals: rivalsOf('node-address', 'likely'),
    missing: [],
    advice: ADVICE,
    references: REFERENCES,
    failures: [],
  }
}
