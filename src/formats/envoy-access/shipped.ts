/**
 * The text formats that products write by default, as they stand in their sources:
 * Envoy `source/common/formatter/substitution_formatter.cc` (also Contour, Cilium, Envoy Gateway 0.5 and App Mesh);
 * Istio `pilot/pkg/model/telemetry_logging.go`, before 1.16 `pilot/pkg/networking/core/v1alpha3/accesslog.go`, before
 * 1.8 `listener.go` there; Envoy Gateway `internal/xds/translator/accesslog.go`; Emissary and Isovalent's load balancer
 * as their lines show them.
 */
import { TextTemplate } from './text-formats.js'

const REQUEST = '[%START_TIME%] "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" %RESPONSE_CODE% %RESPONSE_FLAGS%'
const COUNTS = '%BYTES_RECEIVED% %BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)%'
const HEADERS = '"%REQ(X-FORWARDED-FOR)%" "%REQ(USER-AGENT)%" "%REQ(X-REQUEST-ID)%" "%REQ(:AUTHORITY)%" "%UPSTREAM_HOST%"'
const ISTIO_ADDRESSES = '%UPSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_REMOTE_ADDRESS% %REQUESTED_SERVER_NAME%'
const ISOVALENT =
  '[%START_TIME%][access][tcp] "%PROTOCOL%" %RESPONSE_FLAGS% %BYTES_RECEIVED% %BYTES_SENT% %DURATION% "%STREAM_ID%" "%CONNECTION_ID%" "%UPSTREAM_CONNECTION_ID%" "%UPSTREAM_HOST%"'

export const SHIPPED_TEXT: Readonly<Record<string, string>> = {
  Envoy: `${REQUEST} ${COUNTS} ${HEADERS}\n`,
  'Emissary-ingress': `ACCESS ${REQUEST} ${COUNTS} ${HEADERS}\n`,
  'Istio 1.2': `${REQUEST} "%DYNAMIC_METADATA(istio.mixer:status)%" "%UPSTREAM_TRANSPORT_FAILURE_REASON%" ${COUNTS} ${HEADERS} %UPSTREAM_CLUSTER% ${ISTIO_ADDRESSES}\n`,
  'Istio 1.3 to 1.7': `${REQUEST} "%DYNAMIC_METADATA(istio.mixer:status)%" "%UPSTREAM_TRANSPORT_FAILURE_REASON%" ${COUNTS} ${HEADERS} %UPSTREAM_CLUSTER% ${ISTIO_ADDRESSES} %ROUTE_NAME%\n`,
  'Istio 1.8': `${REQUEST} "%UPSTREAM_TRANSPORT_FAILURE_REASON%" ${COUNTS} ${HEADERS} %UPSTREAM_CLUSTER% ${ISTIO_ADDRESSES} %ROUTE_NAME%\n`,
  'Istio 1.9 to 1.22': `${REQUEST} %RESPONSE_CODE_DETAILS% %CONNECTION_TERMINATION_DETAILS% "%UPSTREAM_TRANSPORT_FAILURE_REASON%" ${COUNTS} ${HEADERS} %UPSTREAM_CLUSTER% ${ISTIO_ADDRESSES} %ROUTE_NAME%\n`,
  'Istio 1.23 and later': `${REQUEST} %RESPONSE_CODE_DETAILS% %CONNECTION_TERMINATION_DETAILS% "%UPSTREAM_TRANSPORT_FAILURE_REASON%" ${COUNTS} ${HEADERS} %UPSTREAM_CLUSTER_RAW% ${ISTIO_ADDRESSES} %ROUTE_NAME%\n`,
  // A text that looks like JSON: nothing in it is escaped.
  'Envoy Gateway 0.6.0 to 1.2.6, 1.3.0': `{${Object.entries({
    start_time: 'START_TIME',
    method: 'REQ(:METHOD)',
    'x-envoy-origin-path': 'REQ(X-ENVOY-ORIGINAL-PATH?:PATH)',
    protocol: 'PROTOCOL',
    response_code: 'RESPONSE_CODE',
    response_flags: 'RESPONSE_FLAGS',
    response_code_details: 'RESPONSE_CODE_DETAILS',
    connection_termination_details: 'CONNECTION_TERMINATION_DETAILS',
    upstream_transport_failure_reason: 'UPSTREAM_TRANSPORT_FAILURE_REASON',
    bytes_received: 'BYTES_RECEIVED',
    bytes_sent: 'BYTES_SENT',
    duration: 'DURATION',
    'x-envoy-upstream-service-time': 'RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)',
    'x-forwarded-for': 'REQ(X-FORWARDED-FOR)',
    'user-agent': 'REQ(USER-AGENT)',
    'x-request-id': 'REQ(X-REQUEST-ID)',
    ':authority': 'REQ(:AUTHORITY)',
    upstream_host: 'UPSTREAM_HOST',
    upstream_cluster: 'UPSTREAM_CLUSTER',
    upstream_local_address: 'UPSTREAM_LOCAL_ADDRESS',
    downstream_local_address: 'DOWNSTREAM_LOCAL_ADDRESS',
    downstream_remote_address: 'DOWNSTREAM_REMOTE_ADDRESS',
    requested_server_name: 'REQUESTED_SERVER_NAME',
    route_name: 'ROUTE_NAME',
  })
    .map(([key, operator]) => `"${key}":"%${operator}%"`)
    .join(',')}}\n`,
  'Isovalent load balancer': `${ISOVALENT}\n`,
  // What follows the host differs by version and is not published.
  'Isovalent load balancer, with more': `${ISOVALENT} %REST%\n`,
}

let compiled: readonly TextTemplate[] | null = null

/** The shipped formats, each kind of line once. */
export function shippedTemplates(): readonly TextTemplate[] {
  if (!compiled) {
    const byKey = new Map<string, TextTemplate>()
    for (const format of Object.values(SHIPPED_TEXT)) {
      const template = TextTemplate.compile(format, true)
      if (template && !byKey.has(template.key)) byKey.set(template.key, template)
    }
    compiled = [...byKey.values()]
  }
  return compiled
}
