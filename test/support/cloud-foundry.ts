/** A small Cloud Foundry as its own logs print it: two instances of one application behind one gorouter. Times are milliseconds after 12:00:00 UTC. */

export const GUID = 'cc3f142b-3c4f-4d8c-aa39-1d88d1587c55'
const OTHER = '88b3118e-f17a-422e-868b-945dcc0750a1'
export const BACKEND = '10.0.16.12:61016'
const OTHER_BACKEND = '10.0.16.11:61012'
const APP = 'cded687d-afe9-4302-bdac-bcd983298ced'
const CELL = 'd34a7bcb-e968-4c7e-b970-50dd35a9a3ee'

const NOON = Date.parse('2026-11-30T12:00:00Z')
/** Nine digits, as gorouter and rep print. */
const iso = (ms: number): string => `${new Date(NOON + Math.floor(ms)).toISOString().slice(0, -1)}${String(Math.round((ms % 1) * 1e6)).padStart(6, '0')}Z`
/** Two digits, cut, as `cf logs` prints. */
const short = (ms: number): string => `${new Date(NOON + Math.floor(ms)).toISOString().slice(0, 22)}+0000`

export interface Request {
  readonly id: string
  readonly start: number
  readonly took: number
  readonly status?: number
  readonly error?: string
  readonly method?: string
  /** The other instance answered. */
  readonly other?: boolean
  readonly attempts?: number
  readonly local?: string
  readonly agent?: string
}

/** A line of the access log, with the fields of an attempt. */
export function access(r: Request): string {
  const status = r.status ?? 200
  const error = r.error ? `endpoint_failure (${r.error})` : '-'
  const failed = r.attempts !== undefined ? r.attempts - 1 : status === 502 ? 1 : 0
  return `shop.example - [${iso(r.start)}] "${r.method ?? 'POST'} /orders HTTP/1.1" ${status} 120 67 "-" "${r.agent ?? 'client/1.0'}" "10.0.4.9:38190" "${r.other ? OTHER_BACKEND : BACKEND}" x_forwarded_for:"10.0.4.9" x_forwarded_proto:"https" vcap_request_id:"${r.id}" response_time:${(r.took / 1000).toFixed(6)} gorouter_time:0.000200 app_id:"${APP}" app_index:"${r.other ? 0 : 1}" instance_id:"${r.other ? OTHER : GUID}" backend_time:"${status < 500 && !r.error ? 0.01 : '-'}" failed_attempts:${failed} local_address:"${r.local ?? '-'}" x_cf_routererror:"${error}"`
}

export interface Attempt {
  readonly id: string
  readonly at: number
  readonly error: string
  readonly retriable?: boolean
  readonly reused?: boolean
}

const json = (at: number, message: string, source: string, data: object): string => JSON.stringify({ log_level: 3, timestamp: iso(at), message, source, data })

export const failed = (a: Attempt): string =>
  json(a.at, 'backend-endpoint-failed', 'vcap.gorouter', {
    'route-endpoint': { ApplicationId: APP, Addr: BACKEND, Tags: null, RouteServiceUrl: '' },
    attempt: 1,
    vcap_request_id: a.id,
    'num-endpoints': 2,
    'got-connection': true,
    'wrote-headers': true,
    'conn-reused': a.reused ?? false,
    error: a.error,
    retriable: a.retriable ?? false,
  })

export const registered = (at: number): string =>
  json(at, 'endpoint-registered', 'vcap.gorouter.registry', { uri: 'shop.example', backend: BACKEND, application_id: APP, instance_id: GUID })
export const unregistered = (at: number): string =>
  json(at, 'endpoint-unregistered', 'vcap.gorouter.registry', { uri: 'shop.example', backend: BACKEND, application_id: APP, instance_id: GUID })

export const stopping = (at: number): string => `   ${short(at)} [CELL/1] OUT Cell ${CELL} stopping instance ${GUID}`
export const destroying = (at: number): string => `   ${short(at)} [CELL/1] OUT Cell ${CELL} destroying container for instance ${GUID}`
export const destroyed = (at: number): string => `   ${short(at)} [CELL/1] OUT Cell ${CELL} successfully destroyed container for instance ${GUID}`
export const exited = (at: number, status: string): string => `   ${short(at)} [APP/PROC/WEB/1] OUT Exit status ${status}`
export const proxyExited = (at: number): string => `   ${short(at)} [PROXY/1] OUT Exit status 137`
export const crashed = (at: number, description: string): string =>
  `   ${short(at)} [API/0] OUT App instance exited with guid ${APP} payload: {"instance"=>"${GUID}", "index"=>1, "cell_id"=>"${CELL}", "reason"=>"CRASHED", "exit_description"=>"${description}", "crash_count"=>1, "version"=>"1"}`

const RUN = 'rep.executing-container-operation.ordinary-lrp-processor.process-reserved-container.run-container.containerstore-run.node-run'
const rep = (at: number, message: string, data: object): string =>
  JSON.stringify({ timestamp: iso(at), level: 'info', source: 'rep', message, data: { 'container-guid': GUID, guid: GUID, session: '1.1', ...data } })
export const repStop = (at: number): string => rep(at, 'rep.request.handling-stop-lrp-instance.stop-container.starting', { 'instance-guid': GUID })
export const repCertificate = (at: number): string => rep(at, `${RUN}.cred-manager-runner.on-signal`, { signal: 'interrupt' })
export const repSignal = (at: number): string => rep(at, `${RUN}.action.run-step.signalling-terminate`, {})
export const repExit = (at: number, exitStatus: number, cancelled: boolean): string => rep(at, `${RUN}.action.run-step.process-exit`, { exitStatus, cancelled })

/** Requests that both instances answer, one every 100 ms, from 0 to `until`. */
export const traffic = (until: number, instanceUntil: number): string[] =>
  Array.from({ length: Math.floor(until / 100) }, (_, i) => i * 100).flatMap(t => [
    access({ id: `o${t}`, start: t, took: 20, other: true }),
    ...(t + 20 < instanceUntil ? [access({ id: `i${t}`, start: t, took: 20 })] : []),
  ])

export const lines = (...list: readonly (string | readonly string[])[]): string => `${list.flat().join('\n')}\n`
