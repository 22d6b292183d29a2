/** Every sentence that WC101 says. */
import { iso } from '../../model/instant.js'
import type { Confidence, Control, Rival } from '../../model/report.js'
import type { Arrival } from './arrivals.js'
import type { Bind } from './binds.js'

export const REFERENCES = [
  'https://github.com/cilium/proxy/issues/2040',
  'https://github.com/cilium/proxy/pull/1437',
  'https://github.com/cilium/cilium/issues/48460',
  'https://github.com/cilium/cilium/issues/42325',
]

export const ADVICE = [
  'Confirm it: raise the filter logger of the proxy to trace and look for "destination is local X" right before "connecting to Y" with another Y.',
  'Until it is fixed: keep backends off the nodes that receive ingress traffic, so that no destination is ever local; or allow reserved:remote-node next to reserved:ingress in the policy, which also admits every host-network client of other nodes.',
  'Versions with the local-destination check are affected (Cilium 1.18.0 and later); no fix is known for them.',
]

export const skippedTitle = (b: Bind, remote: string, denied: boolean, failed: number): string =>
  `Connection ${b.connectionId} to ${remote} left without the ingress address, because the proxy looked at another destination (${b.looked})${denied ? '; it was denied as a node' : ''}${failed > 0 ? ` and ${failed} request${failed === 1 ? '' : 's'} failed` : ''}`

export const deniedTitle = (group: readonly Arrival[], pod: string): string =>
  `${group.length} connection${group.length === 1 ? '' : 's'} to ${pod || (group[0]?.dstIp ?? 'a pod')} ${group.length === 1 ? 'was' : 'were'} denied under the identity of a node (${identityText(group[0])}); traffic of an ingress proxy should arrive as reserved:ingress (8)`

export const nodeAddressTitle = (count: number, remote: string, local: string): string =>
  `${count} connection${count === 1 ? '' : 's'} to ${remote} left with the node's address ${local} instead of the ingress address`

const NAMES: Record<string, string> = { '6': 'reserved:remote-node', '7': 'reserved:kube-apiserver and reserved:remote-node' }
const identityText = (a: Arrival | undefined): string => `${a?.identity}, ${NAMES[String(a?.identity)] ?? 'of the remote-node scope'}`

export const words = {
  otherNode: (b: Bind, here: string, there: string): string => `${b.looked} is on ${here}, the proxy's node, and ${b.ip} on ${there}`,
  boundBefore: (b: Bind): string => `the same log binds the ingress address for other connects to ${b.ip}, so it is not on the proxy's node`,
  nodeUnknown: (b: Bind): string => `on which node ${b.ip} lives is not known: were it the proxy's, skipping would be right`,
  stale: (b: Bind): string => `the decision was made for ${b.looked}, and the next line of the same thread connects to ${b.ip}`,
  independent: 'Hubble at the destination saw the connection arrive under a node identity: a second, independent source',
  skipSays: (b: Bind): string => `The proxy skipped the ingress address, because ${b.looked} is a pod of its own node`,
  connectSays: (b: Bind, remote: string): string => `The next connect of the same thread, connection ${b.connectionId}, goes to ${remote}${b.t === null ? '' : ` at ${iso(b.t)}`}`,
  denialSays: (d: readonly Arrival[]): string => `At the destination the SYN arrived under identity ${identityText(d[0])} and was denied`,
  failuresSay: (n: number): string => `${n} request${n === 1 ? '' : 's'} failed with UF to the same address within the connect timeout`,
  identities: (group: readonly Arrival[]): string =>
    `a SYN to a pod was denied by policy under identity ${identityText(group[0])}, where ingress traffic carries 8 (reserved:ingress)`,
  deniedSays: (group: readonly Arrival[]): string =>
    `${group.length === 1 ? 'The SYN of one connection' : `The SYNs of ${group.length} connections`} arrived under identity ${identityText(group[0])} and ${group.length === 1 ? 'was' : 'were'} denied${group.every(a => a.from === null) ? ' (the flow carries no timestamp)' : ''}`,
  flowsAlone: 'flows alone cannot tell a proxy from a host-network client, masquerading or NodePort SNAT, or from a policy that means it',
  stops: 'each series of SYNs stops within the connect timeout of Envoy (5 s)',
  matched: (n: number): string => `${n} request${n === 1 ? '' : 's'} of the proxy failed to connect to the same address at that time`,
  noPeriod: 'the connections follow no fixed period, as scrapes and probes would',
  twoAddresses: (remote: string, local: string, via: number): string =>
    `the same proxy reached ${remote} with the ingress address on ${via} connection${via === 1 ? '' : 's'} and with ${local} on others; to a pod of its own node it never binds the ingress address`,
  nodeAddressSays: (ports: readonly number[], local: string): string =>
    `${local} is shown as the proxy's own address, port${ports.length === 1 ? '' : 's'} ${ports.slice(0, 10).join(', ')}`,
}

export function controlsOf(ingress: readonly Arrival[]): Control[] {
  if (ingress.length === 0) return []
  const passed = ingress.filter(a => !a.denied).length
  return [{ says: `${passed} of ${ingress.length} connections to the same pod under identity 8 (reserved:ingress) were forwarded`, checked: ingress.length, passed }]
}

export function rivalsOf(code: 'skipped' | 'denied-as-node' | 'node-address', level: Confidence): Rival[] {
  if (code === 'skipped')
    return [
      {
        says: "the pod is on the proxy's node, where skipping the ingress address is right",
        status: level === 'certain' ? 'refuted' : 'open',
        because: level === 'certain' ? 'the two pods are on different nodes' : 'the node of the pod is not in the bundle',
        separated_by: 'kubectl get pods -A -o wide',
      },
    ]
  if (code === 'node-address')
    return [
      {
        says: "the pod moved to the proxy's node for a while",
        status: 'open',
        because: 'the node of the pod at that time is not known',
        separated_by: 'kubectl get pods -A -o wide at that time',
      },
    ]
  const status = level === 'possible' ? 'open' : 'refuted'
  return [
    {
      says: 'a host-network client of another node (a scrape, a probe, an agent) that the policy means to deny',
      status,
      because: status === 'open' ? 'the flow does not tell which process of the node sent it' : 'the proxy itself failed to connect to that address at that time',
      separated_by:
        'a request of the ingress proxy that failed with UF for the same pod within 5 s; a SYN to the same pod forwarded under identity 8; the trace of the filter logger',
    },
    {
      says: 'masquerading or NodePort SNAT rewrote the source address to that of the node',
      status: 'open',
      because: 'source addresses after SNAT look the same',
      separated_by: 'whether the source port belongs to a socket of Envoy on that node (ss -tnp), or a NAT entry (cilium bpf nat list)',
    },
  ]
}
