/** The changes of a watch, in the order in which they came: what each says that was not said before. */
import type { Instant } from '../../model/instant.js'
import type { Sink } from '../../model/sink.js'
import { addressesIn, type Fact, metadataOf, objectsIn, subjectOf, timeOf, words, writeFact } from '../k8s-objects/facts.js'
import { writeObject } from '../k8s-objects/objects.js'
import { get, getNumber, getObject, getString, type JsonObject } from '../text/json.js'
import { type Row, rowsOf, Said, writeRow } from './rows.js'

/** What a watch says of an object. null: it prints objects only, so that a deletion is not to be told from a change. */
export type Change = 'ADDED' | 'MODIFIED' | 'DELETED' | null

const TERMINAL = new Set(['Succeeded', 'Failed'])
/** Statements that hold while the object is there: a deleted one shows its last state. */
const PRESENT = new Set(['listed', 'endpoint'])
/** Slices whose endpoints are remembered; a cluster has one or two a service. */
const SLICES = 8192

export class Changes {
  private readonly said = new Said()
  /** Rows of the endpoints that a slice has, by the slice's uid. */
  private readonly endpoints = new Map<string, readonly Row[]>()

  /** `arrival` is when the collector read the change, where a wrapper says so: a watch has no clock of its own. */
  write(change: Change, kind: string, o: JsonObject, arrival: Instant | null, sink: Sink): void {
    const rows = rowsOf(s => {
      writeObject(kind, o, s)
      if (kind === 'Pod') writeEnd(o, change, s)
      else if (change === 'DELETED') writeDeleted(kind, o, s)
    })
    const kept = change === 'DELETED' ? rows.filter(r => !PRESENT.has(String(r.values.what))) : rows
    for (const row of [...kept, ...this.gone(change, kind, o, rows)]) if (this.said.isNew(row)) writeRow(arrival ? arrived(row, arrival) : row, sink)
  }

  /** The endpoints that the slice had and has no more. */
  private gone(change: Change, kind: string, o: JsonObject, rows: readonly Row[]): Row[] {
    if (kind !== 'EndpointSlice' && kind !== 'Endpoints') return []
    const id = getString(metadataOf(o), 'uid') ?? `${kind} ${subjectOf(o)}`
    const now = rows.filter(r => r.values.what === 'endpoint')
    const before = this.endpoints.get(id) ?? []
    this.endpoints.delete(id)
    if (change !== 'DELETED') this.endpoints.set(id, now)
    if (this.endpoints.size > SLICES) this.endpoints.delete(this.endpoints.keys().next().value as string)
    const left = new Set(change === 'DELETED' ? [] : now.map(identity))
    const all = new Map([...before, ...(change === 'DELETED' ? now : [])].map(r => [identity(r), r]))
    return [...all].filter(([key]) => !left.has(key)).map(([, r]) => ({ ...r, values: { ...r.values, what: 'endpoint-gone' } }))
  }
}

const identity = ({ values }: Row): string => JSON.stringify([values.kind, values.subject, values.uid, values.ip])

/** A pod's end: its phase became terminal, its object is gone. Neither has a time of its own. */
function writeEnd(o: JsonObject, change: Change, sink: Sink): void {
  const status = getObject(o, 'status')
  const phase = getString(status, 'phase') ?? ''
  const spec = getObject(o, 'spec')
  const hostNetwork = spec !== undefined && get(spec, 'hostNetwork') === true && 'hostNetwork'
  const base = { subject: subjectOf(o), kind: 'pod', uid: getString(metadataOf(o), 'uid'), node: getString(spec, 'nodeName') } as const
  const ips = addressesIn([...objectsIn(status, 'podIPs').map(p => getString(p, 'ip')), getString(status, 'podIP')])
  const each = (fact: Omit<Fact, 'subject' | 'kind'>) => {
    for (const ip of ips.length > 0 ? ips : [null]) writeFact({ ...base, ...fact, ip }, sink)
  }
  if (TERMINAL.has(phase)) {
    const at = lastExit(status)
    each({ what: 'terminal', at, latest: null, reason: words(phase, getString(status, 'reason'), hostNetwork) })
  }
  if (change === 'DELETED') each({ what: 'deleted', ...removal(o), reason: words(phase, getString(status, 'reason'), graceText(o), hostNetwork) })
}

/** When the last container ended, if all did: the phase became terminal then or a moment later. */
function lastExit(status: JsonObject | undefined): Instant | null {
  let last: Instant | null = null
  for (const c of objectsIn(status, 'containerStatuses')) {
    const at = timeOf(getObject(getObject(c, 'state'), 'terminated'), 'finishedAt')
    if (!at) return null
    if (last === null || at.ns > last.ns) last = at
  }
  return last
}

/**
 * When the object went. The last deletionTimestamp is that time if its grace is 0: the kubelet sets it when a pod's
 * remains are gone, a forced deletion at once, and finalizers may keep the object longer. Otherwise it was at some time
 * after the deletion was asked for.
 */
function removal(o: JsonObject): Pick<Fact, 'at' | 'earliest' | 'latest'> {
  const at = timeOf(metadataOf(o), 'deletionTimestamp')
  return at && grace(o) === 0 ? { at, earliest: at.ns, latest: null } : { at: null, earliest: null, latest: null }
}

const grace = (o: JsonObject): number | null => getNumber(metadataOf(o), 'deletionGracePeriodSeconds')
const graceText = (o: JsonObject): string | null => (grace(o) === null ? null : `grace ${grace(o)}s`)

function writeDeleted(kind: string, o: JsonObject, sink: Sink): void {
  // Events are dropped after an hour: nothing ended.
  if (kind === 'Event' || kind === 'EndpointSlice' || kind === 'Endpoints') return
  const subject = subjectOf(o)
  const uid = getString(metadataOf(o), 'uid')
  if (kind === 'Node' || kind === 'Service') return writeFact({ subject, kind: kind === 'Node' ? 'node' : 'service', what: 'deleted', uid }, sink)
  const row = sink.event
  row.begin(null)
  row.subject(subject)
  row.kind(kind)
  row.reason('deleted')
  row.text(`${kind} ${subject} deleted`)
}

/** What a row without a time says held when it arrived; an end came before. */
function arrived(row: Row, arrival: Instant): Row {
  if (row.at !== null) return row
  const present = PRESENT.has(String(row.values.what))
  return { ...row, at: arrival, values: { ...row.values, t_latest: row.values.t_latest ?? arrival.ns, t_earliest: row.values.t_earliest ?? (present ? arrival.ns : null) } }
}
