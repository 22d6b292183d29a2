/**
 * `.answered-by-new-owner`: a cluster's requests are answered at an address whose new owner does not belong to it. The
 * kernel of the new owner knows no older connection, so these were opened after the change, to an endpoint that the
 * sender still held for the previous owner.
 */
import type { Place } from '../../correlate/evidence.js'
import { readRecords, recordColumns, type RequestRecord } from '../../correlate/failures.js'
import { type Owner, placeOf, sameOwner } from '../../correlate/owners.js'
import type { RuleContext } from '../rule.js'
import { answeredTo, endpoints, recordsOf } from './connections.sql.js'
import { namespaceOf, serviceOf } from './service.js'

export interface Answered {
  readonly ip: string
  readonly port: number | null
  readonly cluster: string
  readonly service: string
  readonly before: Owner
  readonly after: Owner
  readonly count: number
  /** Why the new owner is none of the service's: another namespace, or a listing of endpoints. */
  readonly foreign: 'namespace' | 'endpoints'
  /** The record that names the new owner behind another service. */
  readonly listed: readonly Place[]
  /** A request that the previous owner answered for the same cluster. */
  readonly earlier: RequestRecord
  /** The first of them, in order of time. */
  readonly records: readonly RequestRecord[]
  readonly from: bigint
  readonly to: bigint
}

/** Records that are cited, and looked for the failures that they are. */
const CITED = 20

export async function answeredOf(context: RuleContext): Promise<Answered[]> {
  const changes = changesOf(context)
  if (changes.length === 0) return []
  const { store } = context
  const ids = await store.ids([...changes.map(c => c.after.ip), 'end', 'via_upstream'])
  const end = ids.get('end') ?? -1
  const via = ids.get('via_upstream') ?? -1
  const members = await membersOf(context)
  const out: Answered[] = []
  for (const change of changes) {
    const ip = ids.get(change.after.ip)
    if (ip === undefined) continue
    const groups = await store.rows(answeredTo([{ ip, from: change.from, to: change.to }], end, via))
    const words = await store.words(groups.map(g => g.upstream_cluster as number))
    for (const g of groups) {
      const cluster = words.get(g.upstream_cluster as number) ?? ''
      const service = serviceOf(cluster)
      const foreign = service === null ? null : foreignTo(service, change, members)
      if (service === null || foreign === null) continue
      const port = g.upstream_port as number | null
      // The sender held this address for the previous owner: it was answered there before.
      const held =
        change.before.from === null
          ? []
          : await readRecords(store, recordsOf(recordColumns, { ip, port, cluster: g.upstream_cluster as number, from: change.before.from, to: change.before.to }, end, via, 1))
      const [earlier] = held
      if (!earlier) continue
      const span = { ip, port, cluster: g.upstream_cluster as number, from: change.from, to: change.to ?? (g.t_last as bigint) }
      const records = await readRecords(store, recordsOf(recordColumns, span, end, via, CITED))
      out.push({
        ip: change.after.ip,
        port,
        cluster,
        service,
        before: change.before,
        after: change.after,
        count: Number(g.n),
        foreign: foreign.by,
        listed: foreign.places,
        earlier,
        records,
        from: g.t_first as bigint,
        to: g.t_last as bigint,
      })
    }
  }
  return out
}

interface Change {
  readonly before: Owner & { to: bigint }
  readonly after: Owner
  /** While the new owner surely has the address, by every clock. */
  readonly from: bigint
  readonly to: bigint | null
}

/** Addresses that passed from one pod to another, whose new owner is surely known. */
function changesOf({ owners, clockError }: RuleContext): Change[] {
  return owners.all.flatMap(after => {
    if (after.kind !== 'pod' || after.fromLatest === null || after.from === null) return []
    const before = owners.of(after.ip).findLast(o => o !== after && o.kind === 'pod' && o.from !== null && o.to !== null && o.to <= (after.from as bigint) && !sameOwner(o, after))
    if (!before) return []
    const last = after.to === null ? null : (after.toEarliest ?? after.to)
    return [{ before: before as Change['before'], after, from: after.fromLatest + clockError, to: last === null ? null : last - clockError }]
  })
}

interface Member {
  readonly service: string
  readonly place: Place
}

/** Services by the uid of the pods that their endpoints name. */
async function membersOf({ store }: RuleContext): Promise<ReadonlyMap<string, Member[]>> {
  const endpoint = (await store.ids(['endpoint'])).get('endpoint') ?? -1
  const out = new Map<string, Member[]>()
  const rows = await store.rows(endpoints(endpoint))
  const words = await store.words(rows.flatMap(r => [r.subject as number, r.uid as number]))
  for (const r of rows) {
    const uid = words.get(r.uid as number) ?? ''
    out.set(uid, [...(out.get(uid) ?? []), { service: words.get(r.subject as number) ?? '', place: placeOf(r) }])
  }
  return out
}

/**
 * Whether the new owner cannot be an endpoint of the service. A Service selects pods of its own namespace only; within
 * it, a listing of endpoints that shows the pod behind another service, and the previous owner (or the service at all)
 * without it, says so. Names of workloads say nothing: a service may have several.
 */
function foreignTo(service: string, { before, after }: Change, members: ReadonlyMap<string, Member[]>): { by: Answered['foreign']; places: Place[] } | null {
  const own = namespaceOf(service)
  if (own !== null && namespaceOf(before.name) === own && namespaceOf(after.name) !== null && namespaceOf(after.name) !== own) return { by: 'namespace', places: [] }
  if (before.uid === null || after.uid === null || !members.get(before.uid)?.some(m => m.service === service)) return null
  const ofAfter = members.get(after.uid) ?? []
  if (ofAfter.length === 0 || ofAfter.some(m => m.service === service)) return null
  // The service has to be listed where, and when, the new owner is: else the listing is older than the pod.
  const sources = new Set(
    [...members.values()]
      .flat()
      .filter(m => m.service === service)
      .map(m => m.place.source),
  )
  const shown = ofAfter.filter(m => sources.has(m.place.source))
  return shown.length > 0 ? { by: 'endpoints', places: shown.map(m => m.place) } : null
}
