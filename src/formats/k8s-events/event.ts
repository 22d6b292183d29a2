/** One Kubernetes event, core/v1 or events.k8s.io/v1, to rows. Callers open the record first. */
import type { Instant } from '../../model/instant.js'
import type { Sink } from '../../model/sink.js'
import { qualified, timeOf, writeFact } from '../k8s-objects/facts.js'
import { getObject, getString, type JsonObject } from '../text/json.js'

/** Reasons that tell of the end of a pod or container, and what they are called as a statement. */
const ENDS: ReadonlyMap<string, string> = new Map([
  ['Killing', 'stopping'],
  ['Evicted', 'evicted'],
  ['TaintManagerEviction', 'evicted'],
  ['Preempted', 'evicted'],
  ['OOMKilling', 'OOMKilled'],
])
const UID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
/** Messages of evictions are seldom longer than 200 characters. */
const REASON_LENGTH = 300

export function writeEvent(o: JsonObject, sink: Sink): void {
  const about = getObject(o, 'involvedObject') ?? getObject(o, 'regarding')
  const subject = qualified(getString(about, 'namespace'), getString(about, 'name'))
  const message = getString(o, 'message') ?? getString(o, 'note')
  const reason = getString(o, 'reason')
  const { first, last } = timesOf(o)
  const row = sink.event
  row.begin(last)
  row.subject(subject)
  row.kind(getString(about, 'kind'))
  row.reason(reason)
  row.text(message)
  const kind = KINDS.get(getString(about, 'kind') ?? '')
  const what = ENDS.get(reason ?? '')
  // The taint manager uses one reason for `Marking for deletion` and `Cancelling deletion of`.
  if (!kind || !what || subject === null || message?.startsWith('Cancelling')) return
  writeFact(
    {
      subject: kind === 'node' ? getString(about, 'name') : subject,
      kind,
      what,
      uid: uidOf(about),
      node: kind === 'node' ? getString(about, 'name') : nodeOf(o),
      reason: message === null ? reason : message.trim().slice(0, REASON_LENGTH),
      at: last,
      earliest: first?.ns ?? null,
      latest: last?.ns ?? null,
    },
    sink,
  )
}

const KINDS: ReadonlyMap<string, 'pod' | 'node'> = new Map([
  ['Pod', 'pod'],
  ['Node', 'node'],
])

/** Of an event that was repeated the first and the last time. The scheduler sets only eventTime, all others only the two. */
function timesOf(o: JsonObject): { first: Instant | null; last: Instant | null } {
  const one = timeOf(o, 'eventTime')
  const first = one ?? timeOf(o, 'firstTimestamp') ?? timeOf(o, 'deprecatedFirstTimestamp')
  const last = one ?? timeOf(o, 'lastTimestamp') ?? timeOf(o, 'deprecatedLastTimestamp') ?? first
  if (last) return { first: first ?? last, last }
  const created = timeOf(getObject(o, 'metadata') ?? {}, 'creationTimestamp')
  return { first: created, last: created }
}

/** Events about a static pod have the hash of its configuration in place of a uid. */
const uidOf = (about: JsonObject | undefined): string | null => {
  const uid = getString(about, 'uid')
  return uid !== null && UID.test(uid) ? uid : null
}

/** The kubelet names its node. */
const nodeOf = (o: JsonObject): string | null => getString(getObject(o, 'source') ?? getObject(o, 'deprecatedSource'), 'host')
