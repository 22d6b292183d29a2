/** Lists of Kubernetes events. YAML is read with that of other objects, which hands events back to `event.ts`. */
import { kindOf } from '../k8s-objects/objects.js'
import { peekObjects } from '../k8s-objects/peek.js'
import { getObject, getString, type JsonObject } from '../text/json.js'
import type { Recogniser, TextFormat } from '../text/reader.js'
import { writeEvent } from './event.js'

/** An item of an EventList says neither kind nor apiVersion. */
const isEvent = (o: JsonObject): boolean =>
  kindOf(o) === 'Event' || (getString(o, 'kind') === null && (getObject(o, 'involvedObject') ?? getObject(o, 'regarding')) !== undefined && getString(o, 'reason') !== null)

const recogniser: Recogniser = {
  list: head => /"kind"\s{0,8}:\s{0,8}"EventList"/.test(head),
  json: (o, unit, sink) => {
    if (!isEvent(o)) return false
    sink.record(unit.span)
    writeEvent(o, sink)
    return true
  },
}

export const k8sEvents: TextFormat = {
  id: 'k8s-events',
  title: 'Kubernetes events, JSON or YAML',
  names: [/events?[^/]{0,100}\.(?:ya?ml|jsonl?)(\.gz)?$/],
  collect: 'kubectl get events -A -o json > events.json',
  split: 'none',
  refines: {
    id: 'k8s-objects',
    when: head => {
      const { objects } = peekObjects(head)
      return objects.length > 0 && objects.every(o => o.kind === 'Event')
    },
  },
  recogniser: () => recogniser,
}
