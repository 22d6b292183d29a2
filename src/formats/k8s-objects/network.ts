/** Statements of Services, endpoints and nodes about addresses. */
import type { Sink } from '../../model/sink.js'
import { get, getObject, getString, type JsonObject } from '../text/json.js'
import { addressesIn, metadataOf, objectsIn, portText, qualified, stringsIn, subjectOf, timeOf, words, writeFact } from './facts.js'

const SERVICE_NAME = 'kubernetes.io/service-name'
const TRIGGER_TIME = 'endpoints.kubernetes.io/last-change-trigger-time'

/** Endpoints name a pod by uid; the pod has a row of its own, so that its name is not lost. */
function writeEndpoint(service: string | null, ips: readonly string[], target: JsonObject | undefined, node: string | null, reason: string, sink: Sink): void {
  const pod = target && getString(target, 'kind') === 'Pod' ? qualified(getString(target, 'namespace'), getString(target, 'name')) : null
  const uid = getString(target, 'uid')
  for (const ip of ips) {
    writeFact({ subject: service, kind: 'endpoint', what: 'endpoint', ip, uid, node, reason }, sink)
    if (pod !== null) writeFact({ subject: pod, kind: 'pod', what: 'endpoint', ip, uid, node, reason }, sink)
  }
}

export function writeEndpointSlice(o: JsonObject, sink: Sink): void {
  const metadata = metadataOf(o)
  const service = qualified(
    getString(metadata, 'namespace'),
    getString(getObject(metadata, 'labels'), SERVICE_NAME) ?? ownerName(metadata, 'Service') ?? getString(metadata, 'name'),
  )
  // The only clock of a slice: when the last change of a pod or service set it off.
  const at = timeOf(getObject(metadata, 'annotations'), TRIGGER_TIME)
  if (at) writeFact({ subject: service, kind: 'service', what: 'endpoints-changed', at, uid: getString(metadata, 'uid'), reason: getString(metadata, 'name') }, sink)
  for (const e of objectsIn(o, 'endpoints')) {
    const conditions = getObject(e, 'conditions')
    const reason = words(...['ready', 'serving', 'terminating'].map(c => condition(conditions, c)))
    writeEndpoint(service, addressesIn(stringsIn(e, 'addresses')), getObject(e, 'targetRef'), getString(e, 'nodeName'), reason, sink)
  }
}

const condition = (o: JsonObject | undefined, name: string): string | null => {
  const v = o && get(o, name)
  return typeof v === 'boolean' ? `${name}=${v}` : null
}

export function writeEndpoints(o: JsonObject, sink: Sink): void {
  const service = subjectOf(o)
  for (const subset of objectsIn(o, 'subsets'))
    for (const [key, reason] of [
      ['addresses', 'ready=true'],
      ['notReadyAddresses', 'ready=false'],
    ] as const)
      for (const a of objectsIn(subset, key)) writeEndpoint(service, addressesIn([getString(a, 'ip')]), getObject(a, 'targetRef'), getString(a, 'nodeName'), reason, sink)
}

export function writeService(o: JsonObject, sink: Sink): void {
  const spec = getObject(o, 'spec')
  const base = { subject: subjectOf(o), kind: 'service', what: 'listed', uid: getString(metadataOf(o), 'uid') } as const
  const reason = words(getString(spec, 'type'), ...objectsIn(spec, 'ports').map(p => portText(p)))
  const ips = addressesIn([...stringsIn(spec, 'clusterIPs'), getString(spec, 'clusterIP')])
  for (const ip of ips.length > 0 ? ips : [null]) writeFact({ ...base, ip, reason }, sink)
  const balancers = objectsIn(getObject(getObject(o, 'status'), 'loadBalancer'), 'ingress').map(i => getString(i, 'ip'))
  for (const ip of addressesIn([...balancers, ...stringsIn(spec, 'externalIPs')])) writeFact({ ...base, ip, reason: words('external', reason) }, sink)
}

export function writeNodeObject(o: JsonObject, sink: Sink): void {
  const name = getString(metadataOf(o), 'name')
  const status = getObject(o, 'status')
  const base = { subject: name, kind: 'node', node: name, uid: getString(metadataOf(o), 'uid') } as const
  writeAddresses(base, objectsIn(status, 'addresses'), 'address', sink)
  for (const c of objectsIn(status, 'conditions')) {
    const at = timeOf(c, 'lastTransitionTime')
    if (getString(c, 'type') === 'Ready' && at) writeFact({ ...base, what: getString(c, 'status') === 'True' ? 'ready' : 'not-ready', at, reason: getString(c, 'reason') }, sink)
  }
}

/** A node as Cilium sees it: its router's and its ingress proxy's addresses, too. */
export function writeCiliumNode(o: JsonObject, sink: Sink): void {
  const name = getString(metadataOf(o), 'name')
  const spec = getObject(o, 'spec')
  const base = { subject: name, kind: 'node', node: name } as const
  writeAddresses(base, objectsIn(spec, 'addresses'), 'ip', sink)
  for (const [key, reason] of [
    ['ingress', 'IngressIP'],
    ['health', 'HealthIP'],
  ] as const)
    for (const ip of addressesIn([getString(getObject(spec, key), 'ipv4'), getString(getObject(spec, key), 'ipv6')])) writeFact({ ...base, what: 'listed', ip, reason }, sink)
}

function writeAddresses(base: { subject: string | null; kind: 'node'; node: string | null; uid?: string | null }, addresses: readonly JsonObject[], key: string, sink: Sink): void {
  const known = addresses.flatMap(a => addressesIn([getString(a, key)]).map(ip => ({ ip, reason: getString(a, 'type') })))
  for (const { ip, reason } of known) writeFact({ ...base, what: 'listed', ip, reason }, sink)
  if (known.length === 0) writeFact({ ...base, what: 'listed' }, sink)
}

/** A pod's addresses as Cilium's agent sees them; the object has the pod's name and is owned by it. */
export function writeCiliumEndpoint(o: JsonObject, sink: Sink): void {
  const status = getObject(o, 'status')
  const addressing = objectsIn(getObject(status, 'networking'), 'addressing')
  const ips = addressesIn(addressing.flatMap(a => [getString(a, 'ipv4'), getString(a, 'ipv6')]))
  const owner = objectsIn(metadataOf(o), 'ownerReferences').find(r => getString(r, 'kind') === 'Pod')
  for (const ip of ips.length > 0 ? ips : [null])
    writeFact({ subject: subjectOf(o), kind: 'pod', what: 'listed', ip, uid: getString(owner, 'uid'), reason: words(getString(status, 'state'), 'CiliumEndpoint') }, sink)
}

const ownerName = (metadata: JsonObject, kind: string): string | null =>
  getString(
    objectsIn(metadata, 'ownerReferences').find(r => getString(r, 'kind') === kind),
    'name',
  )
