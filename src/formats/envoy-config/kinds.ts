/** Objects of Kubernetes that configure Envoy. */
import { getObject, getString, type JsonObject } from '../text/json.js'

/** A member of these is configuration. */
const CONFIGURATION = new Set([
  'EnvoyProxy',
  'Telemetry',
  'BackendTrafficPolicy',
  'ClientTrafficPolicy',
  'EnvoyPatchPolicy',
  'EnvoyFilter',
  'ProxyConfig',
  'IstioOperator',
  'CiliumEnvoyConfig',
  'CiliumClusterwideEnvoyConfig',
  'CiliumGatewayClassConfig',
])
/** These say more than settings. */
const WITH_SETTINGS = new Set([...CONFIGURATION, 'DestinationRule', 'VirtualService', 'HTTPRoute', 'ContourConfiguration'])

export const isConfiguration = (kind: string, o: JsonObject): boolean => CONFIGURATION.has(kind) || (kind === 'ConfigMap' && holdsConfiguration(o))
export const hasSettings = (kind: string, o: JsonObject): boolean => WITH_SETTINGS.has(kind) || (kind === 'ConfigMap' && holdsConfiguration(o))

/** The mesh of Istio, the configuration of Contour, a bootstrap: text in a ConfigMap. */
const holdsConfiguration = (o: JsonObject): boolean =>
  ['mesh', 'contour.yaml', 'envoy.yaml', 'bootstrap-config.json', 'envoy-config.yaml', 'bootstrap.yaml'].some(key => getString(getObject(o, 'data'), key) !== null)
