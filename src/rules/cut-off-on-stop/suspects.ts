/** Failures that look as if the instance had ended: the shape of each, and which instance it was sent to. */
import { type BackendFailure, type Failure, innermost, type RequestRecord } from '../../correlate/failures.js'
import { endpointText } from '../../model/endpoint.js'

/**
 * `closed`: the other side closed or reset a connection that the request had been sent on · `write-failed`: the
 * connection was dead before the request was written · `refused`: nobody listened · `certificate`: the instance showed
 * a certificate without a name · `unnamed`: a failed endpoint, and the release does not print why.
 */
export type Shape = 'closed' | 'write-failed' | 'refused' | 'certificate' | 'unnamed'

export interface Suspect {
  readonly failure: Failure
  readonly record: RequestRecord | null
  readonly attempt: BackendFailure | null
  readonly platform: 'cf' | 'kubernetes'
  readonly shape: Shape
  /** As printed. */
  readonly error: string
  /** The backend that failed it, `ip:port`. */
  readonly endpoint: string | null
  readonly ip: string | null
  /** The Cloud Foundry instance, where the record or the router's registrations name it. */
  readonly instance: string | null
  readonly cluster: string | null
  /** When the attempt began and failed. */
  readonly start: bigint | null
  readonly end: bigint
  /** The connection had been used before; null: not known. */
  readonly reused: boolean | null
  /** Another attempt answered the client. */
  readonly healed: boolean
  /** The local end of the connection, where the error names it. */
  readonly local: string | null
}

/** Finds the instance that had a backend at a time. */
export type InstanceAt = (endpoint: string, t: bigint) => string | null

/** What a failure says about an instance that ended, or null. */
export function suspectOf(f: Failure, instanceAt: InstanceAt): Suspect | null {
  const record = f.hops.find(isRouter) ?? null
  return record !== null || f.backends.length > 0 ? routerSuspect(f, record, instanceAt) : envoySuspect(f)
}

const isRouter = (r: RequestRecord): boolean => r.proxy === 'gorouter'

/** A gorouter tried more than once, and the last attempt answered. */
export function healedByRouter(f: Failure): boolean {
  const record = f.hops.find(isRouter)
  if (record) return record.routerError === null && (record.status ?? 0) < 500 && (f.backends.length > 0 || (record.attempts ?? 1) > 1)
  return f.hops.length === 0 && f.backends.length > 0 && f.backends.at(-1)?.retriable === true
}

function routerSuspect(f: Failure, record: RequestRecord | null, instanceAt: InstanceAt): Suspect | null {
  const healed = healedByRouter(f)
  const attempt = f.backends.at(-1) ?? null
  const error = attempt?.error || (healed ? '' : (record?.routerError ?? ''))
  const shape = routerShape(error, record)
  const end = attempt?.t ?? record?.end ?? null
  if (shape === null || end === null) return null
  const endpoint = attempt?.backend ?? (healed ? null : endpointText(record?.upstreamIp ?? null, record?.upstreamPort ?? null))
  const named = healed ? null : (record?.instanceId ?? null)
  const before = attempt && (attempt.attempt ?? 1) > 1 ? (f.backends.at(-2)?.t ?? null) : null
  return {
    failure: f,
    record,
    attempt,
    platform: 'cf',
    shape,
    error,
    endpoint,
    ip: ipOf(endpoint),
    instance: named ?? (endpoint === null ? null : instanceAt(endpoint, end)),
    cluster: record?.cluster ?? null,
    start: attempt && (attempt.attempt ?? 1) > 1 ? before : (record?.start ?? null),
    end,
    reused: attempt?.reused ?? null,
    healed,
    local: /\btcp (\S{3,60}?)->/.exec(error)?.[1] ?? null,
  }
}

/** The shape of a gorouter's error, from its log or `x_cf_routererror`; null: this is no sign of an instance that ended. */
function routerShape(error: string, record: RequestRecord | null): Shape | null {
  if (record?.status === 499 || /context canceled|deadline exceeded|i\/o timeout|timeout awaiting/.test(error)) return null
  if (/x509: certificate is not valid for any names/.test(error)) return 'certificate'
  if (/x509|tls:|certificate|handshake/.test(error)) return null
  if (/connect: connection refused/.test(error)) return 'refused'
  if (/broken pipe|write: connection reset|use of closed network connection|server closed idle connection/.test(error)) return 'write-failed'
  if (/\bEOF\b|connection reset by peer/.test(error)) return 'closed'
  return /^endpoint_failure$/.test(error) && record?.status === 502 ? 'unnamed' : null
}

function envoySuspect(f: Failure): Suspect | null {
  const record = innermost(f)
  if (record?.kind !== 'http' || record.end === null || record.ambiguous.some(c => c === 'flags' || c === 'status')) return null
  const shape = envoyShape(record)
  if (shape === null || record.upstreamIp === null) return null
  return {
    failure: f,
    record,
    attempt: null,
    platform: 'kubernetes',
    shape,
    error: record.details ?? record.flags.join(','),
    endpoint: endpointText(record.upstreamIp, record.upstreamPort),
    ip: record.upstreamIp,
    instance: record.instanceId,
    cluster: record.cluster,
    start: record.start,
    end: record.end,
    reused: null,
    healed: (record.status ?? 0) < 500 && (record.attempts ?? 1) > 1,
    local: null,
  }
}

const REFUSED = /Connection.refused|error:?.111\b|errno:?.111\b/i

/** Of Envoy's reasons those that an ending instance gives: a close, a reset, a refusal. Silence and timeouts are not among them. */
function envoyShape(r: RequestRecord): Shape | null {
  const details = r.details ?? ''
  if (REFUSED.test(details) || REFUSED.test(r.transport ?? '')) return 'refused'
  if (/^upstream_reset_(?:before|after)_response_started\{(?:connection.termination|remote.reset|protocol.error)/.test(details)) return 'closed'
  return details === '' && r.flags.some(x => x === 'UC' || x === 'UPE') ? 'closed' : null
}

const ipOf = (endpoint: string | null): string | null =>
  /^(?:\[([^\]]+)\]|([^:]+)):\d+$/
    .exec(endpoint ?? '')
    ?.slice(1)
    .find(ip => ip !== undefined) ?? null
