/** Every sentence that WC102 says. */
import type { Owner } from '../../correlate/owners.js'
import { iso } from '../../model/instant.js'
import type { Control, Rival } from '../../model/report.js'
import type { Stale } from './rule.js'

const END: Record<Stale['code'], string> = {
  'reset-by-new-owner': 'was reset',
  'reset-by-new-sandbox': 'was reset',
  'silent-after-reuse': 'got no answer until retransmissions ran out',
}

export const title = (s: Stale, remote: string): string =>
  s.code === 'reset-by-new-sandbox'
    ? `Connection ${s.connection.id} to ${remote} outlived the sandbox of ${s.before.name} and ${END[s.code]} at ${iso(s.used)}`
    : `Connection ${s.connection.id} to ${remote} was opened to ${s.before.name}, outlived it, and ${END[s.code]} at ${iso(s.used)}, when the address belonged to ${s.after.name}`

export function because(s: Stale): string[] {
  const out = ['the same connection id was opened under one owner of the address and ended under another']
  if (s.confidence === 'certain') out.push('both instants lie inside the certain bounds of their owners')
  if (s.overlapping) out.push('the two owners overlap in time: one of the times is wrong')
  else if (s.confidence === 'likely') out.push('the times of the owners are approximate')
  else if (s.confidence === 'possible') out.push('within the bounds of its times one owner may have held the address all the while')
  return out
}

export const opened = (s: Stale, remote: string): string => `Connection ${s.connection.id} was opened at ${iso(s.connection.opened as bigint)} to ${remote}, then owned by ${s.before.name}`
export const owns = (o: Owner, ip: string): string =>
  `${ip} belonged to ${o.name}${o.uid ? ` (uid ${o.uid})` : ''} ${o.from === null ? 'from before the evidence' : `from ${iso(o.from)}`} ${o.to === null ? 'until the evidence ends' : `to ${iso(o.to)}`}${o.certain ? '' : ' (approximate)'}`
export const used = (s: Stale): string => `It was picked from the pool again, at ${iso(s.connection.lastUse ?? s.used)} at the latest`
export const resetSays = (s: Stale, remote: string): string =>
  s.code === 'silent-after-reuse'
    ? `At ${iso(s.used)} it ended because ${remote} no longer answered`
    : `At ${iso(s.used)} ${remote} reset it${s.connection.errno === 104 ? ' (ECONNRESET; inside TLS it prints as a TLS error and is none)' : ''}`

export function controls(checked: number, passed: number): Control[] {
  return checked === 0 ? [] : [{ says: `${passed} of ${checked} connections opened to the same address after the change of owner were fine`, checked, passed }]
}

export function rivals(s: Stale): Rival[] {
  return [
    {
      says: 'keep-alive race: the pod that the connection was opened to closed it for idleness',
      status: 'refuted',
      because: `${s.before.name} had ended before; a FIN of a keep-alive race comes from the pod that the connection belongs to`,
      separated_by: 'a FIN from the old pod before the request, in a capture',
    },
    {
      says: 'the new owner, or its ztunnel, restarted and reset a connection of its own',
      status: s.confidence === 'certain' ? 'refuted' : 'open',
      because: s.confidence === 'certain' ? 'the connection is older than the new owner, whose kernel never had it' : 'the times of the owners are not exact',
      separated_by: 'exact start of the new owner (CNI log, API audit log), or its ztunnel log around the reset',
    },
  ]
}

export function advice(s: Stale, unsafe: boolean): string[] {
  return [
    `Retries on "reset" would help: the next attempt opens a new connection to ${s.after.name}. They are unsafe for requests that are not idempotent${unsafe ? ', and such requests are among the failed ones' : ''}; "reset-before-request" does not apply once request bytes were written.`,
    "Keep-alive would help only on the side of the Envoy that holds the connection (TCP or HTTP/2 keep-alive on its upstream cluster, for a waypoint connect_originate, by EnvoyFilter). ztunnel's KEEPALIVE_* variables act on ztunnel's own sockets and change nothing here.",
    'Else let idle connections end before addresses are used again: MeshConfig hboneIdleTimeout (Istio 1.29 and later) at half the cool-down of the CNI, e.g. 15s for 30s.',
    'A longer cool-down of addresses (AWS VPC CNI: IP_COOLDOWN_PERIOD) makes it rarer, at the price of more addresses.',
    'The CNI log (AWS VPC CNI: /var/log/aws-routed-eni/ipamd.log) and the API server audit log still exist afterwards: they give the exact times at which the address changed hands.',
  ]
}
