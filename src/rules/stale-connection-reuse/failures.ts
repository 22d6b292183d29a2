/** Failures of requests that were made on a connection, or through it. */
import { type Failure, innermost, type RequestRecord } from '../../correlate/failures.js'
import { MILLISECOND } from '../../model/instant.js'
import type { Stale } from './stale.js'

/** A reset reaches what rides on the connection at once. */
const AT_ONCE = 5n * MILLISECOND

export function failuresOn(s: Stale, list: readonly Failure[], clockError: bigint): Failure[] {
  return list.filter(
    f =>
      f.streams.some(x => x.connection !== null && s.upstream.log !== null && BigInt(x.connection) === s.upstream.log.row) ||
      f.hops.some(h => isOn(h, s, clockError)) ||
      isThrough(f, s),
  )
}

/** The record names the connection: by its id and address, or by both of its ends. */
function isOn(h: RequestRecord, { upstream: u, used, ended }: Stale, clockError: bigint): boolean {
  if (h.upstreamIp !== u.ip || h.upstreamPort !== u.port) return false
  // What failed before the first use under the new owner had another reason; what hung when the evidence of it ends had this one.
  if ((h.end !== null && h.end < used - clockError) || (h.start !== null && h.start > ended + clockError)) return false
  if (u.log !== null && h.upstreamConnectionId === u.log.id) return true
  const local = u.session ? { ip: u.session.clientIp, port: u.session.clientPort } : (u.log?.local ?? null)
  return local !== null && h.upstreamLocalIp === local.ip && h.upstreamLocalPort === local.port
}

/** A waypoint's record names the address behind an internal listener: the connection that carried it ended when the request did. */
function isThrough(f: Failure, { upstream: u, ended, code }: Stale): boolean {
  const h = innermost(f)
  if (!h?.upstreamHost?.startsWith('envoy://') || h.upstreamIp !== u.ip || h.end === null || h.start === null) return false
  if (code === 'silent-after-reuse') return h.start <= ended && h.end >= ended - AT_ONCE
  return h.end >= ended - AT_ONCE && h.start <= ended + AT_ONCE && h.end <= ended + AT_ONCE
}
