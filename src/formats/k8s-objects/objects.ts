/**
 * One Kubernetes object, parsed, to rows. Callers open the record first: `sink.record(span)`, then `writeObject`.
 * Lists and watch events are taken apart by their readers.
 */
import type { Sink } from '../../model/sink.js'
import { writeEvent } from '../k8s-events/event.js'
import { get, getObject, getString, isJsonObject, type JsonObject } from '../text/json.js'
import { addressesIn, metadataOf, objectsIn, portText, qualified, subjectOf, words, writeFact } from './facts.js'
import { writeCiliumEndpoint, writeCiliumNode, writeEndpointSlice, writeEndpoints, writeNodeObject, writeService } from './network.js'
import { writePod } from './pod.js'

/**
 * The kind of an object: as it says, by the list it is an item of (`PodList` items say none), or by its shape. null:
 * not an object of Kubernetes, or one that only other formats read (audit events, answers of the API).
 */
export function kindOf(o: JsonObject, listKind: string | null = null): string | null {
  const kind = getString(o, 'kind')
  if (getString(metadataOf(o), 'name') === null) return null
  if (kind !== null) return isVersion(getString(o, 'apiVersion')) && /^[A-Z]\w{1,80}$/.test(kind) && kind !== 'Status' ? kind : null
  if (listKind !== null && listKind !== 'List' && listKind.endsWith('List')) return listKind.slice(0, -4)
  if (getObject(o, 'status') && Array.isArray(get(getObject(o, 'spec') ?? {}, 'containers'))) return 'Pod'
  if (getString(o, 'addressType') !== null && get(o, 'endpoints') !== undefined) return 'EndpointSlice'
  return null
}

const isVersion = (v: string | null): boolean => v !== null && v.length < 120 && /^(?:[a-z0-9.-]{1,100}\/)?v\d[a-z0-9]{0,12}$/.test(v) && !v.startsWith('audit.k8s.io/')

/** The items of a list object, or null where it is none. */
export function itemsOf(o: JsonObject): readonly JsonObject[] | null {
  const kind = getString(o, 'kind')
  const items = get(o, 'items')
  if (kind === null || !kind.endsWith('List') || !isVersion(getString(o, 'apiVersion'))) return null
  return Array.isArray(items) ? items.filter(isJsonObject) : items === null || items === undefined ? [] : null
}

/** Writes what the object says. `kind` is `kindOf(o)`. */
export function writeObject(kind: string, o: JsonObject, sink: Sink): void {
  switch (kind) {
    case 'Pod':
      // A manifest, or what an annotation keeps of one, is no pod that ran.
      return getObject(o, 'status') ? writePod(o, sink) : writeOther(kind, o, sink)
    case 'Service':
      return writeService(o, sink)
    case 'EndpointSlice':
      return writeEndpointSlice(o, sink)
    case 'Endpoints':
      return writeEndpoints(o, sink)
    case 'Node':
      return writeNodeObject(o, sink)
    case 'CiliumNode':
      return writeCiliumNode(o, sink)
    case 'CiliumEndpoint':
      return writeCiliumEndpoint(o, sink)
    case 'Event':
      return writeEvent(o, sink)
    case 'Gateway':
      writeGatewayAddresses(o, sink)
      return writeOther(kind, o, sink)
    default:
      return writeOther(kind, o, sink)
  }
}

function writeGatewayAddresses(o: JsonObject, sink: Sink): void {
  for (const a of objectsIn(getObject(o, 'status'), 'addresses'))
    for (const ip of addressesIn([getString(a, 'value')]))
      writeFact({ subject: subjectOf(o), kind: 'service', what: 'listed', ip, uid: getString(metadataOf(o), 'uid'), reason: 'Gateway' }, sink)
}

/** Says that the object exists. The time of its creation would stretch the time that the bundle is about: it is text. */
function writeOther(kind: string, o: JsonObject, sink: Sink): void {
  const row = sink.event
  row.begin(null)
  row.subject(subjectOf(o))
  row.kind(kind)
  row.reason('object')
  row.text(summary(kind, o))
}

/** `TCPRoute default/tcp-fbit → Service fbit:5190`. */
function summary(kind: string, o: JsonObject): string {
  const spec = getObject(o, 'spec')
  const backends = objectsIn(spec, 'rules').flatMap(r => objectsIn(r, 'backendRefs').map(referenceText))
  const listeners = objectsIn(spec, 'listeners').map(l => words(getString(l, 'name'), portText(l)))
  const parts = [
    getString(spec, 'gatewayClassName') && `class ${getString(spec, 'gatewayClassName')}`,
    getString(spec, 'controllerName') && `controller ${getString(spec, 'controllerName')}`,
    listeners.length > 0 && `listeners ${listeners.join(', ')}`,
  ].filter(p => typeof p === 'string')
  const created = getString(metadataOf(o), 'creationTimestamp')
  return [`${kind} ${subjectOf(o)}`, backends.length > 0 && `→ ${backends.join(', ')}`, parts.length > 0 && `(${parts.join(', ')})`, created !== null && `created ${created}`]
    .filter(p => typeof p === 'string')
    .join(' ')
}

function referenceText(r: JsonObject): string {
  const port = portText(r, false)
  return `${getString(r, 'kind') ?? 'Service'} ${qualified(getString(r, 'namespace'), getString(r, 'name')) ?? ''}${port === null ? '' : `:${port}`}`
}
