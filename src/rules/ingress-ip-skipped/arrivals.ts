/** Connections that arrive at pods, as Hubble sees them at the destination: under the ingress identity, or under a node's. */
import type { Place } from '../../correlate/evidence.js'
import { placeOf } from '../../correlate/owners.js'
import { SECOND } from '../../model/instant.js'
import type { RuleStore } from '../rule.js'
import { arrivals } from './evidence.sql.js'

/** One connection attempt: its first packet and all that repeats it. */
export interface Arrival {
  readonly source: number
  readonly from: bigint | null
  to: bigint | null
  readonly srcIp: string | null
  readonly srcPort: number | null
  readonly dstIp: string | null
  readonly dstPort: number | null
  readonly identity: bigint
  readonly namespace: string | null
  readonly pod: string | null
  readonly node: string | null
  denied: boolean
  /** It was let in after all: a policy was being regenerated, or the pod's identity was not known yet. */
  admitted: boolean
  /** The drop reason is a policy's, or is not printed. */
  byPolicy: boolean
  /** SYNs seen; the drop and the policy verdict of one SYN count once. */
  syns: number
  readonly places: Place[]
}

/** A SYN is repeated for at most two minutes; a later one with the same ports is another connection. */
const ONE_ATTEMPT = 130n * SECOND
/** Drop and verdict of one SYN are microseconds apart, its first repetition a second. */
const ONE_SYN = SECOND / 2n

export async function arrivalsOf(store: RuleStore): Promise<Arrival[]> {
  const ids = await store.ids(['INGRESS', 'SYN', 'TCP Flags: SYN'])
  const ingress = ids.get('INGRESS')
  const syn = ['SYN', 'TCP Flags: SYN'].map(s => ids.get(s)).filter(id => id !== undefined)
  if (ingress === undefined || syn.length === 0) return []
  const rows = await store.rows(arrivals(ingress, syn))
  const words = await store.words(
    rows.flatMap(r => [r.node, r.verdict, r.src_ip, r.dst_ip, r.dst_namespace, r.dst_pod, r.drop_reason_desc].filter((v): v is number => typeof v === 'number')),
  )
  const text = (v: unknown): string | null => words.get(v as number) ?? null
  const open = new Map<string, Arrival>()
  const out: Arrival[] = []
  for (const r of rows) {
    const t = r.t as bigint | null
    const verdict = text(r.verdict)
    const denied = verdict === 'DROPPED' || verdict === 'ERROR'
    const reason = text(r.drop_reason_desc)
    const byPolicy = denied && (reason === null || reason.startsWith('POLICY_DEN') || r.drop_reason === 133 || r.drop_reason === 181)
    const key = [r.src_ip, r.src_port, r.dst_ip, r.dst_port, r.src_identity, r.dst_pod].join(' ')
    const known = open.get(key)
    if (known && r.src_port !== null && t !== null && known.to !== null && t - known.to <= ONE_ATTEMPT) {
      if (t - known.to > ONE_SYN) known.syns++
      known.to = t > known.to ? t : known.to
      known.denied ||= denied
      known.admitted ||= verdict === 'FORWARDED' || verdict === 'REDIRECTED'
      known.byPolicy ||= byPolicy
      known.places.push(placeOf(r))
      continue
    }
    const a: Arrival = {
      source: r.source as number,
      from: t,
      to: t,
      srcIp: text(r.src_ip),
      srcPort: r.src_port as number | null,
      dstIp: text(r.dst_ip),
      dstPort: r.dst_port as number | null,
      identity: r.src_identity as bigint,
      namespace: text(r.dst_namespace),
      pod: text(r.dst_pod),
      node: text(r.node),
      denied,
      admitted: verdict === 'FORWARDED' || verdict === 'REDIRECTED',
      byPolicy,
      syns: 1,
      places: [placeOf(r)],
    }
    open.set(key, a)
    out.push(a)
  }
  return out
}

export const INGRESS_IDENTITY = 8n
/** A node's identity: remote-node, kube-apiserver (which is also a node), or one of the remote-node scope. */
export const isNode = (a: Arrival): boolean => a.identity !== INGRESS_IDENTITY
