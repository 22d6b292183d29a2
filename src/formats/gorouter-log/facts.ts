/** What gorouter's registry says about the endpoints of a route. */
import { type Endpoint, endpointText } from '../../model/endpoint.js'
import { readEndpoint } from '../text/address.js'
import { get, getObject, getString, type JsonObject } from '../text/json.js'

export interface EndpointFact {
  /** The instance where it is named, else the backend's address as printed, else the route. */
  readonly subject: string
  readonly kind: 'instance' | 'service'
  readonly what: 'registered' | 'unregistered' | 'pruned'
  readonly backend: Endpoint
}

/** The facts of one message; most have none. */
export function factsOf(message: string, data: JsonObject | undefined): EndpointFact[] {
  switch (message) {
    case 'endpoint-registered':
      return endpoint('registered', getString(data, 'backend'), getString(data, 'instance_id'))
    case 'endpoint-unregistered':
    case 'endpoint-not-unregistered':
      return endpoint('unregistered', getString(data, 'backend'), getString(data, 'instance_id'))
    case 'prune-failed-endpoint': {
      const failed = getObject(data, 'route-endpoint')
      return endpoint('pruned', getString(failed, 'Addr'), getString(getObject(failed, 'Tags'), 'process_instance_id'))
    }
    case 'pruned-route':
      return addresses(data).flatMap(address => endpoint('pruned', address, null))
    case 'route-unregistered': {
      const uri = getString(data, 'uri')
      return uri === null ? [] : [{ subject: uri, kind: 'service', what: 'unregistered', backend: readEndpoint(null) }]
    }
    default:
      return []
  }
}

function endpoint(what: EndpointFact['what'], address: string | null, instance: string | null): EndpointFact[] {
  const subject = instance ?? address
  return subject === null ? [] : [{ subject, kind: 'instance', what, backend: readEndpoint(address) }]
}

function addresses(data: JsonObject | undefined): string[] {
  const list = data && get(data, 'endpoints')
  return Array.isArray(list) ? list.filter(a => typeof a === 'string' && a !== '').map(String) : []
}

/** `ip:port`: several instances share the address of their cell, only the port tells them apart. */
export const backendText = (fact: EndpointFact): string | null => endpointText(fact.backend.ip, fact.backend.port)
