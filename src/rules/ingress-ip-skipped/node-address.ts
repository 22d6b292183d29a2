/** `.node-address`: an access log shows connects to a remote pod under the node's address, whether a policy denies them or not. */
import type { Place } from '../../correlate/evidence.js'
import { placeOf } from '../../correlate/owners.js'
import { endpointText } from '../../model/endpoint.js'
import { groupBy } from '../../model/group.js'
import { SECOND } from '../../model/instant.js'
import type { DraftFinding, RuleContext } from '../rule.js'
import type { Arrival } from './arrivals.js'
import type { Bind } from './binds.js'
import { localAddresses } from './evidence.sql.js'
import { ADVICE, nodeAddressTitle, REFERENCES, rivalsOf, words } from './words.js'

interface Used {
  readonly place: Place
  readonly t: bigint | null
  readonly ip: string
  readonly port: number | null
  readonly local: string
  readonly localPort: number | null
}

interface Known {
  readonly binds: readonly Bind[]
  readonly ingress: readonly Arrival[]
  readonly places: ReadonlyMap<string, string>
  readonly skipped: ReadonlySet<Bind>
}

/**
 * Needs to know the ingress address (bound in the log, or seen by Hubble under identity 8), and that the pod is reached
 * by it at other times: a local pod never is. One finding per pod and node address.
 */
export async function nodeAddressFindings(context: RuleContext, known: Known): Promise<{ checked: number; findings: DraftFinding[] }> {
  const used = await usedAddresses(context)
  const addresses = new Set([...known.binds.map(b => b.bound).filter(b => b !== null), ...known.ingress.map(a => a.srcIp).filter(a => a !== null && used.some(u => u.local === a))])
  if (addresses.size === 0) return { checked: 0, findings: [] }
  const viaIngress = new Set(used.filter(u => addresses.has(u.local)).map(u => `${u.place.source} ${u.ip}:${u.port}`))
  const judged = used.filter(u => viaIngress.has(`${u.place.source} ${u.ip}:${u.port}`))
  const proxyNodes = new Set(
    [
      ...known.binds
        .map(b => b.looked)
        .filter(x => x !== null)
        .map(x => known.places.get(x)),
    ].filter(n => n !== undefined),
  )
  const suspects = judged.filter(u => !addresses.has(u.local) && !proxyNodes.has(known.places.get(u.ip) ?? ' '))
  const byPod = groupBy(suspects, u => `${u.local} ${u.ip}:${u.port}`)
  return { checked: judged.length, findings: [...byPod.values()].map(g => finding(g, judged.filter(u => u.ip === g[0]?.ip && addresses.has(u.local)).length)) }
}

async function usedAddresses({ store }: RuleContext): Promise<Used[]> {
  const rows = await store.rows(localAddresses)
  const text = await store.words(rows.flatMap(r => [r.upstream_ip as number, r.upstream_local_ip as number]))
  return rows.map(r => ({
    place: placeOf(r),
    t: r.t_start as bigint | null,
    ip: text.get(r.upstream_ip as number) ?? '',
    port: r.upstream_port as number | null,
    local: text.get(r.upstream_local_ip as number) ?? '',
    localPort: r.upstream_local_port as number | null,
  }))
}

function finding(group: readonly Used[], viaIngress: number): DraftFinding {
  const [first] = group as readonly [Used, ...Used[]]
  const remote = endpointText(first.ip, first.port) ?? first.ip
  const connections = new Map(group.map(u => [u.localPort, u]))
  const times = group.map(u => u.t).filter(t => t !== null)
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
    controls: [{ says: `${viaIngress} requests to the same pod left with the ingress address`, checked: viaIngress + group.length, passed: viaIngress }],
    rivals: rivalsOf('node-address', 'likely'),
    missing: [],
    advice: ADVICE,
    references: REFERENCES,
    failures: [],
  }
}
