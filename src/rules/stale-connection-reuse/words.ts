/** Every sentence that WC102 says. */
import type { Owner } from '../../correlate/owners.js'
import { iso } from '../../model/instant.js'
import type { Control, Rival } from '../../model/report.js'
import type { Answered } from './answered.js'
import type { Stale, StaleCode } from './stale.js'

const END: Readonly<Record<StaleCode, string>> = {
  'reset-by-new-owner': 'was reset',
  'reset-by-new-sandbox': 'was reset',
  'silent-after-reuse': 'got no answer any more',
}

/** By its id, else by the proxy's port. */
const nameOf = ({ log, session }: Stale['upstream']): string =>
  log ? `Connection ${log.id}` : session ? `The connection from ${session.clientIp}:${session.clientPort}` : 'A connection'

export const title = (s: Stale, remote: string): string =>
  s.code === 'reset-by-new-sandbox'
    ? `${nameOf(s.upstream)} to ${remote} outlived the sandbox of ${s.before.name} and ${END[s.code]} at ${iso(s.used)}`
    : `${nameOf(s.upstream)} to ${remote} was opened to ${s.before.name}, outlived it, and ${END[s.code]} at ${iso(s.used)}, when the address belonged to ${s.after.name}`

export function because(s: Stale): string[] {
  const out = [`the same connection${s.upstream.log ? ' id' : ''} was opened under one owner of the address and ended under another`]
  if (s.upstream.log && s.upstream.session) out.push("the proxy's log and the capture agree on it")
  if (s.confidence === 'certain') out.push('both instants lie inside the certain bounds of their owners')
  if (s.overlapping) out.push('the two owners overlap in time: one of the times is wrong')
  if (s.tight) out.push('birth, change and use lie closer together than the clocks of the sources may differ (--clock-error)')
  if (s.answered) out.push('something was answered on it after the change, which a new owner cannot do: a time is wrong')
  if (s.confidence === 'likely') out.push('the times of the owners are not exact')
  else if (s.confidence === 'possible' && out.length === 1) out.push('within the bounds of its times one owner may have held the address all the while')
  return out
}

export const opened = (s: Stale, remote: string): string => `${nameOf(s.upstream)} was opened at ${iso(s.opened)} to ${remote}, then owned by ${s.before.name}`
export const owns = (o: Owner): string =>
  `${o.ip} belonged to ${o.name}${o.uid ? ` (uid ${o.uid})` : ''} ${o.from === null ? 'from before the evidence' : `from ${iso(o.from)}`} ${o.to === null ? 'until the evidence ends' : `to ${iso(o.to)}`}${o.certain ? '' : ' (approximate)'}`
export const used = (s: Stale): string => `It was picked from the pool again, at ${iso(s.upstream.log?.lastUse ?? s.used)} at the latest`
export const resetSays = (s: Stale, remote: string): string =>
  s.code === 'silent-after-reuse'
    ? `At ${iso(s.ended)} it ended because ${remote} no longer answered`
    : `At ${iso(s.ended)} ${remote} reset it${s.upstream.log?.errno === 104 ? ' (ECONNRESET; inside TLS it prints as a TLS error and is none)' : ''}`
export const capturedSays = (s: Stale, remote: string): string =>
  s.code === 'silent-after-reuse'
    ? `The capture shows bytes to ${remote} sent again and again from ${iso(s.used)} on, and nothing coming back`
    : `The capture shows the RST of ${remote}, and no FIN of the pod that the connection was opened to`
export const requestsSay = (n: number): string => `${n} request${n === 1 ? '' : 's'} failed on it`
export const changed = (before: Owner, after: Owner): string =>
  `${after.ip} passed from ${before.name}${before.to === null ? '' : ` (until ${iso(before.to)})`} to ${after.name}${after.from === null ? '' : ` (from ${iso(after.from)})`}; whether a connection spanned the change is not in the bundle`

export function controls(checked: number, passed: number): Control[] {
  return checked === 0 ? [] : [{ says: `${passed} of ${checked} connections opened to the same address after the change of owner were fine`, checked, passed }]
}

export function rivals(s: Stale): Rival[] {
  const certain = s.confidence === 'certain'
  return [
    {
      says: 'keep-alive race: the pod that the connection was opened to closed it for idleness',
      status: s.confidence === 'possible' ? 'open' : 'refuted',
      because:
        s.confidence === 'possible'
          ? 'the times do not exclude that it was still there'
          : `${s.before.name} had ended before; a FIN of a keep-alive race comes from the pod that the connection belongs to`,
      separated_by: 'a FIN from the old pod before the request, in a capture',
    },
    {
      says: 'the new owner, or its ztunnel, restarted and reset a connection of its own',
      status: certain ? 'refuted' : 'open',
      because: certain ? 'the connection is older than the new owner, whose kernel never had it' : 'the times of the owners are not exact',
      separated_by: 'exact start of the new owner (CNI log, API audit log), or its ztunnel log around the reset',
    },
  ]
}

export function advice(s: Stale, unsafe: boolean): string[] {
  return [
    `Retries on \`reset\` would help: the next attempt opens a new connection to ${s.after.name}. They are unsafe for requests that are not idempotent${unsafe ? ', and such requests are among the failed ones' : ''}; \`reset-before-request\` does not apply once request bytes were written.`,
    "Keep-alive would help only on the side of the Envoy that holds the connection (TCP or HTTP/2 keep-alive on its upstream cluster, for a waypoint `connect_originate`, by EnvoyFilter). ztunnel's KEEPALIVE_* variables act on ztunnel's own sockets and change nothing here.",
    'Else let idle connections end before addresses are used again: MeshConfig `hboneIdleTimeout` (Istio 1.29 and later) at half the cool-down of the CNI, e.g. 15s for 30s.',
    'A longer cool-down of addresses (AWS VPC CNI: IP_COOLDOWN_PERIOD) makes it rarer, at the price of more addresses.',
    'The CNI log (AWS VPC CNI: /var/log/aws-routed-eni/ipamd.log) and the API server audit log still exist afterwards: they give the exact times at which the address changed hands.',
  ]
}

export const answeredWords = {
  title: (a: Answered, remote: string): string =>
    `${a.count} request${a.count === 1 ? '' : 's'} for ${a.service} ${a.count === 1 ? 'was' : 'were'} answered at ${remote} by ${a.after.name}, which took the address over from ${a.before.name}`,
  because: (a: Answered): string[] => [
    `${a.before.name} had the address before, ${a.after.name} surely has it while the requests are answered`,
    a.foreign === 'namespace'
      ? `a Service selects pods of its own namespace, and ${a.after.name} is in another than ${a.service}`
      : `the listing of endpoints has ${a.after.name} behind another service, and ${a.service} without it`,
    'endpoints that were written by hand, or a service without selector, would look the same',
  ],
  earlier: (a: Answered): string => `Cluster ${a.cluster} had been answered there by ${a.before.name}`,
  says: (a: Answered): string =>
    `From ${iso(a.from)} to ${iso(a.to)} the upstream of cluster ${a.cluster} answered ${a.count} request${a.count === 1 ? '' : 's'} from that address (first ones cited)`,
  listed: (a: Answered): string => `${a.after.name} is an endpoint of another service, at a time at which ${a.service} is listed without it`,
  rivals: (a: Answered): Rival[] => [
    {
      says: `${a.after.name} is an endpoint of ${a.service} that somebody wrote by hand`,
      status: 'open',
      because: 'selectors are not in the bundle',
      separated_by: `kubectl -n ${a.service.split('/')[0]} get service,endpointslices -l kubernetes.io/service-name=${a.service.split('/')[1]} -o yaml`,
    },
    {
      says: 'the answers came on connections to the previous owner',
      status: 'refuted',
      because: 'the kernel of the new owner has none of its connections, and cannot answer on them',
      separated_by: 'the birth of the connection (debug log, capture)',
    },
  ],
  advice: [
    'Treat the answers as wrong: they are those of another workload. Look for answers that were cached or written on.',
    'Find out why the sender still held the address: EDS that is not updated, a DNS answer, a conntrack entry of an unanswered SYN (net.netfilter.nf_conntrack_tcp_timeout_syn_sent, 120 s) that outlived the cool-down of the address.',
    'Mutual TLS with the identity of the peer verified makes the same fault a refused handshake.',
  ],
}
