/** What a record says, field by field, however it was printed. */
import type { Instant } from '../../model/instant.js'
import type { TimeContext } from '../text/time.js'
import type { Pattern, Values } from './matcher.js'
import { type Field, FIELDS, type Operator } from './operators.js'

/** A value that the record cannot prove: it has another one in another reading. */
export const UNPROVEN = Symbol('unproven')
export type Raw = string | number | null | typeof UNPROVEN

/** A record's fields. undefined: the format has no such field. null: it is there and unset. */
export class Reading implements Record<Exclude<Field, 'start'>, Raw | undefined> {
  start: Instant | null | typeof UNPROVEN | undefined
  /** Fractional digits of `start`; -1 without one. */
  digits = -1
  duration: Raw | undefined
  method: Raw | undefined
  originalPath: Raw | undefined
  path: Raw | undefined
  anyPath: Raw | undefined
  protocol: Raw | undefined
  status: Raw | undefined
  flags: Raw | undefined
  longFlags: Raw | undefined
  details: Raw | undefined
  terminationDetails: Raw | undefined
  transportFailure: Raw | undefined
  bytesReceived: Raw | undefined
  bytesSent: Raw | undefined
  upstreamHost: Raw | undefined
  upstreamRemote: Raw | undefined
  upstreamRemoteIp: Raw | undefined
  upstreamRemotePort: Raw | undefined
  upstreamLocal: Raw | undefined
  upstreamLocalIp: Raw | undefined
  upstreamLocalPort: Raw | undefined
  cluster: Raw | undefined
  downstreamRemote: Raw | undefined
  downstreamRemoteIp: Raw | undefined
  downstreamRemotePort: Raw | undefined
  downstreamDirectRemote: Raw | undefined
  downstreamDirectRemoteIp: Raw | undefined
  downstreamDirectRemotePort: Raw | undefined
  downstreamLocal: Raw | undefined
  downstreamLocalIp: Raw | undefined
  downstreamLocalPort: Raw | undefined
  sni: Raw | undefined
  route: Raw | undefined
  authority: Raw | undefined
  userAgent: Raw | undefined
  forwardedFor: Raw | undefined
  requestId: Raw | undefined
  connectionId: Raw | undefined
  upstreamConnectionId: Raw | undefined
  attempts: Raw | undefined
  logType: Raw | undefined
}

/** Adds what `operator` printed. The finest start counts; of two values of one field the first that is certain. */
export function put(reading: Reading, operator: Operator, value: string, context: TimeContext): void {
  const { field, time } = operator
  if (field === null) return
  if (field === 'start') {
    if (!time || time.digits <= reading.digits) return
    const at = time.read(value, context)
    if (at === null && reading.start !== undefined) return
    reading.start = at
    reading.digits = at === null ? -1 : time.digits
    return
  }
  if (reading[field] !== undefined && reading[field] !== UNPROVEN) return
  reading[field] = value === '' || value === '-' || (operator.cut !== null && isCut(field, value, operator.cut)) ? null : value
}

/** Notes that the line leaves the value of `operator` open. */
function doubt(reading: Reading, { field }: Operator): void {
  if (field !== null && reading[field] === undefined) reading[field] = UNPROVEN
}

/** The beginning of a path or of a user agent still says something; that of a name, an id or an address is another one. */
const isCut = (field: Field, value: string, cut: number): boolean =>
  field !== 'path' && field !== 'originalPath' && field !== 'anyPath' && field !== 'userAgent' && Buffer.byteLength(value) >= cut

/** Adds the values of a line that `pattern` reads. */
export function putAll(reading: Reading, { steps }: Pattern, values: Values, context: TimeContext): void {
  for (let k = 0; k < steps.length; k++) {
    const { operator } = steps[k] as Pattern['steps'][number]
    const value = values[k]
    if (operator.field === null) continue
    if (value === null || value === undefined) doubt(reading, operator)
    else put(reading, operator, value, context)
  }
}

/** What both readings of one record prove. */
export function merge(a: Reading, b: Reading): Reading {
  const out = new Reading()
  for (const f of FIELDS) {
    if (f === 'start') out.start = sameStart(a.start, b.start) ? a.start : UNPROVEN
    else out[f] = a[f] === b[f] ? a[f] : UNPROVEN
  }
  out.digits = Math.max(a.digits, b.digits)
  return out
}

function sameStart(a: Reading['start'], b: Reading['start']): boolean {
  return a === b || (typeof a === 'object' && typeof b === 'object' && a !== null && b !== null && a.ns === b.ns)
}
