/** Objects as `kubectl get --watch` and raw watch requests print them, change after change. */
import type { Sink } from '../../model/sink.js'
import { kindOf } from '../k8s-objects/objects.js'
import { objectRecogniser } from '../k8s-objects/parser.js'
import { type Peeked, peekObjects } from '../k8s-objects/peek.js'
import { type Block, loadYaml } from '../k8s-objects/yaml.js'
import { getObject, getString, type JsonObject } from '../text/json.js'
import type { Recogniser, TextFormat, Unit } from '../text/reader.js'
import { Changes } from './changes.js'

/** A change in YAML: `object:`, the object indented, `type:`. */
interface TypedBlock {
  readonly typed: true
  ended: boolean
}
type Found = TypedBlock | Block
const isTyped = (found: Found): found is TypedBlock => 'typed' in found

/** An event of a watch. Its object is checked apart. */
interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'
  readonly object: JsonObject
}
const TYPES: ReadonlySet<string> = new Set(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR'])

function eventOf(o: JsonObject): WatchEvent | null {
  const type = getString(o, 'type')
  const object = getObject(o, 'object')
  return type !== null && TYPES.has(type) && object && Object.keys(o).length <= 3 ? { type: type as WatchEvent['type'], object } : null
}

function recogniser(): Recogniser<Found> {
  const changes = new Changes()
  const plain = objectRecogniser((kind, o, sink, unit) => changes.write(null, kind, o, unit.wrapper.at, sink))

  const writeEvent = ({ type, object }: WatchEvent, unit: Unit, sink: Sink): boolean => {
    if (type === 'BOOKMARK') {
      sink.skip(unit.span)
      return true
    }
    if (type === 'ERROR') {
      sink.record(unit.span)
      writeError(object, unit, sink)
      return true
    }
    const kind = kindOf(object)
    if (kind === null) return false
    sink.record(unit.span)
    changes.write(type, kind, object, unit.wrapper.at, sink)
    return true
  }

  return {
    ...plain,
    match: unit => (/^object:\s{0,8}$/.test(unit.text) ? { typed: true, ended: false } : (plain.match?.(unit) ?? null)),
    holds: (found, line) => (isTyped(found) ? holdsLine(found, line) : plain.holds?.(found, line) === true),
    write: (found, unit, sink) => {
      if (!isTyped(found)) return plain.write?.(found, unit, sink)
      const value = loadYaml(unit.text)
      const event = value && eventOf(value)
      if (!event || !writeEvent(event, unit, sink)) sink.problem(found.ended ? 'bad-record' : 'truncated', 'YAML that is no whole change of a watch', unit.span)
    },
    json: (o, unit, sink) => {
      const event = eventOf(o)
      return event ? writeEvent(event, unit, sink) : plain.json?.(o, unit, sink) === true
    },
  }
}

function holdsLine(found: TypedBlock, line: string): boolean {
  if (found.ended) return false
  if (line === '' || line.startsWith(' ')) return true
  found.ended = /^type: [A-Z]{5,8}\s{0,8}$/.test(line)
  return found.ended
}

/** The API's answer to a watch that it cannot go on with: what came later is missing. */
function writeError(status: JsonObject, unit: Unit, sink: Sink): void {
  const row = sink.event
  row.begin(unit.wrapper.at)
  row.kind('watch')
  row.reason(getString(status, 'reason') ?? 'ERROR')
  row.text(getString(status, 'message'))
}

/** Objects one after another and not in a list, one of them twice; or so many of one kind that only a watch prints them so. */
function isWatch({ inList, cut, objects }: Peeked): boolean {
  if (inList) return false
  const uids = objects.map(o => getString(getObject(o.object, 'metadata'), 'uid'))
  if (new Set(uids.filter(u => u !== null)).size < uids.filter(u => u !== null).length) return true
  return cut && objects.length >= 3 && uids.every(u => u !== null) && objects.every(o => o.kind === objects[0]?.kind)
}

export const k8sWatch: TextFormat = {
  id: 'k8s-watch',
  title: 'Kubernetes watch: kubectl get -w -o json or yaml, raw watch requests',
  names: [/watch[^/]{0,100}\.(?:ya?ml|jsonl?)(\.gz)?$/],
  collect: 'kubectl get pods -A -o json --watch --output-watch-events > pods-watch.jsonl',
  split: 'none',
  refines: { id: 'k8s-objects', when: head => isWatch(peekObjects(head)) },
  recogniser: () => recogniser() as Recogniser,
}
