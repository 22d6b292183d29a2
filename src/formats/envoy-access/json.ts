/** JSON records: by their keys, or by a json_format that somebody gives. */
import { get, isJsonObject, type JsonObject, type JsonValue } from '../text/json.js'
import { readIso, type TimeContext } from '../text/time.js'
import { type Field, type Operator, operatorOf } from './operators.js'
import { put, Reading, UNPROVEN } from './reading.js'
import { TextTemplate } from './text-formats.js'
import { parseTemplate, type Token } from './template.js'

type Key = Exclude<Field, 'start'>

/** Keys of the products' own formats (Istio, Consul, Emissary, Contour, Cilium, Envoy Gateway) and operators by their names in lower case, as people write their own. */
const KEYS = new Map<string, Key>(
  Object.entries({
    duration: 'duration',
    method: 'method',
    ':method': 'method',
    path: 'originalPath',
    'x-envoy-origin-path': 'originalPath',
    'x-envoy-original-path': 'originalPath',
    ':path': 'path',
    protocol: 'protocol',
    response_code: 'status',
    response_flags: 'flags',
    response_flags_long: 'longFlags',
    response_code_details: 'details',
    connection_termination_details: 'terminationDetails',
    upstream_transport_failure_reason: 'transportFailure',
    bytes_received: 'bytesReceived',
    bytes_sent: 'bytesSent',
    upstream_host: 'upstreamHost',
    upstream_remote_address: 'upstreamRemote',
    upstream_local_address: 'upstreamLocal',
    upstream_cluster: 'cluster',
    upstream_cluster_raw: 'cluster',
    downstream_remote_address: 'downstreamRemote',
    downstream_direct_remote_address: 'downstreamDirectRemote',
    downstream_local_address: 'downstreamLocal',
    requested_server_name: 'sni',
    route_name: 'route',
    authority: 'authority',
    ':authority': 'authority',
    user_agent: 'userAgent',
    'user-agent': 'userAgent',
    x_forwarded_for: 'forwardedFor',
    'x-forwarded-for': 'forwardedFor',
    request_id: 'requestId',
    x_request_id: 'requestId',
    'x-request-id': 'requestId',
    connection_id: 'connectionId',
    upstream_connection_id: 'upstreamConnectionId',
    upstream_request_attempt_count: 'attempts',
    access_log_type: 'logType',
  } satisfies Record<string, Key>),
)
const START_KEYS = ['start_time', '@timestamp', 'startTime', 'ts'] as const
/** What no other log has together with a start, a code or flags, and a duration. */
const SIGNATURE: ReadonlySet<Key> = new Set<Key>([
  'flags',
  'bytesReceived',
  'bytesSent',
  'upstreamHost',
  'cluster',
  'downstreamRemote',
  'downstreamLocal',
  'upstreamLocal',
  'details',
  'protocol',
])

/** Reads an object with the keys of a product's JSON format, or null. `text` is the object as printed. */
export function readByKeys(value: JsonObject, text: string, context: TimeContext): Reading | null {
  const reading = new Reading()
  const start = START_KEYS.find(k => typeof get(value, k) === 'string')
  const at = start === undefined ? null : readIso(get(value, start) as string, context)
  if (!at) return null
  reading.start = at
  let signs = 0
  for (const key of Object.keys(value)) {
    const field = KEYS.get(key)
    if (field === undefined) continue
    if (SIGNATURE.has(field)) signs++
    const raw = scalar(value[key])
    if (reading[field] === undefined || reading[field] === null) reading[field] = raw
  }
  const coded = reading.status !== undefined && reading.duration !== undefined
  if (!(reading.flags !== undefined ? signs > 1 : coded && signs > 0)) return null
  return repeatsKeys(text, value) ? doubted(reading, text, start as string) : reading
}

/** Unset is null, in all its spellings. */
function scalar(value: JsonValue | undefined): string | number | null {
  if (typeof value === 'number') return value
  return typeof value === 'string' && value !== '' && value !== '-' ? value : null
}

/**
 * An encoder writes each key once. Where one stands twice, somebody's text was pasted between quotes without being
 * escaped, and a client closed them: nothing after the first key is certain.
 */
function doubted(reading: Reading, text: string, start: string): Reading {
  for (const field of KEYS.values()) if (reading[field] !== undefined) reading[field] = UNPROVEN
  if (!text.trimStart().slice(1).trimStart().startsWith(JSON.stringify(start))) reading.start = UNPROVEN
  return reading
}

function repeatsKeys(text: string, value: JsonObject): boolean {
  const keys = Object.keys(value).length
  let colons = 0
  for (let i = text.indexOf('":'); i >= 0; i = text.indexOf('":', i + 2)) colons++
  return colons !== keys && topLevelKeys(text) > keys
}

/** How many keys the outermost object of a valid JSON text has, repeated ones counted. */
function topLevelKeys(text: string): number {
  let depth = 0
  let keys = 0
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === 0x22) i = closingQuote(text, i)
    else if (c === 0x7b || c === 0x5b) depth++
    else if (c === 0x7d || c === 0x5d) depth--
    else if (c === 0x3a && depth === 1) keys++
  }
  return keys
}

function closingQuote(text: string, at: number): number {
  let i = at + 1
  while (i < text.length && text.charCodeAt(i) !== 0x22) i += text.charCodeAt(i) === 0x5c ? 2 : 1
  return i
}

/** One value of a json_format: an operator alone (printed with its own type), text with operators in it, or a literal. */
interface Leaf {
  readonly path: readonly (string | number)[]
  readonly alone: Operator | null
  readonly mixed: TextTemplate | null
  readonly literal: string | null
}

/** A json_format. */
export class JsonFormat {
  private readonly leaves: readonly Leaf[]
  /** Values that each record has, also where unset ones are omitted. */
  private readonly certain: readonly Leaf[]

  private constructor(leaves: readonly Leaf[]) {
    this.leaves = leaves
    this.certain = leaves.filter(l => (l.literal !== null && l.literal !== '') || l.alone?.always === true)
  }

  /** null where no value has an operator. */
  static compile(format: JsonObject): JsonFormat | null {
    const leaves = leavesOf(format, [])
    return leaves.some(l => l.alone || l.mixed) ? new JsonFormat(leaves) : null
  }

  read(value: JsonObject, context: TimeContext): Reading | null {
    if (!this.fits(value)) return null
    const reading = new Reading()
    for (const leaf of this.leaves) {
      const found = at(value, leaf.path)
      if (found === undefined || found === null) this.unset(leaf, reading)
      else if (leaf.alone) this.single(leaf.alone, found, reading, context)
      else if (leaf.mixed && typeof found === 'string') mixed(leaf.mixed, found, reading, context)
    }
    return reading
  }

  private fits(value: JsonObject): boolean {
    if (this.certain.length > 0) return this.certain.every(l => holds(l, at(value, l.path)))
    const present = this.leaves.filter(l => at(value, l.path) !== undefined).length
    return present > 0 && present * 2 >= this.leaves.length
  }

  private unset({ alone }: Leaf, reading: Reading): void {
    if (alone?.field && alone.field !== 'start' && reading[alone.field] === undefined) reading[alone.field] = null
  }

  private single(operator: Operator, found: JsonValue, reading: Reading, context: TimeContext): void {
    if (typeof found !== 'string' && typeof found !== 'number') return
    put(reading, operator, String(found), context)
  }
}

function mixed(template: TextTemplate, text: string, reading: Reading, context: TimeContext): void {
  const found = template.readAny(text, context)
  if (!found) return
  for (const key of Object.keys(found) as (keyof Reading)[]) {
    if (key === 'start' || key === 'digits') continue
    const raw = found[key]
    if (raw !== undefined && (reading[key] === undefined || reading[key] === UNPROVEN)) reading[key] = raw
  }
  if (found.start !== undefined && found.start !== UNPROVEN && found.digits > reading.digits) {
    reading.start = found.start
    reading.digits = found.digits
  }
}

const holds = (leaf: Leaf, value: JsonValue | undefined): boolean => value !== undefined && value !== null && (leaf.literal === null || String(value) === leaf.literal)

function at(value: JsonValue, path: readonly (string | number)[]): JsonValue | undefined {
  let here: JsonValue | undefined = value
  for (const step of path) {
    if (Array.isArray(here)) here = typeof step === 'number' ? here[step] : undefined
    else here = isJsonObject(here) && typeof step === 'string' ? get(here, step) : undefined
  }
  return here
}

/** The values of a format. Depth is bounded by the JSON reader's. */
function leavesOf(value: JsonValue | undefined, path: readonly (string | number)[]): Leaf[] {
  if (Array.isArray(value)) return value.flatMap((v, i) => leavesOf(v, [...path, i]))
  if (isJsonObject(value)) return Object.keys(value).flatMap(k => leavesOf(value[k], [...path, k]))
  if (typeof value !== 'string') return value === null || value === undefined ? [] : [{ path, alone: null, mixed: null, literal: String(value) }]
  return [leafOf(value, path)]
}

function leafOf(format: string, path: readonly (string | number)[]): Leaf {
  const tokens: Token[] = parseTemplate(format)
  const [only] = tokens
  if (tokens.length === 1 && only !== undefined && typeof only !== 'string') return { path, alone: operatorOf(only), mixed: null, literal: null }
  const template = TextTemplate.compile(`${format}\n`)
  return { path, alone: null, mixed: template, literal: template ? null : format.replaceAll('%%', '%') }
}
