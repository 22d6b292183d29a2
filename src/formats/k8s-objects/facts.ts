/** What several kinds of object share: names, times, and the row of a statement. */
import type { Instant } from '../../model/instant.js'
import type { Sink } from '../../model/sink.js'
import { plainAddress } from '../text/address.js'
import { get, getObject, getString, isJsonObject, type JsonObject } from '../text/json.js'
import { readIso } from '../text/time.js'

export interface Fact {
  readonly subject: string | null
  readonly kind: 'pod' | 'node' | 'service' | 'endpoint'
  readonly what: string
  readonly uid?: string | null
  readonly sandbox?: string | null
  readonly ip?: string | null
  readonly node?: string | null
  readonly reason?: string | null
  /** The moment of the statement; null where the object says none. */
  readonly at?: Instant | null
  /** The bounds, where they are not the moment itself. */
  readonly earliest?: bigint | null
  readonly latest?: bigint | null
  /** False where the source calls its time approximate. */
  readonly exact?: boolean
}

export function writeFact(f: Fact, sink: Sink): void {
  const at = f.at ?? null
  const row = sink.pod_fact
  row.begin(at)
  row.subject(f.subject)
  row.kind(f.kind)
  row.uid(f.uid ?? null)
  row.sandbox(f.sandbox ?? null)
  row.ip(f.ip ?? null)
  row.node(f.node ?? null)
  row.what(f.what)
  row.reason(f.reason ? f.reason : null)
  row.exact(f.exact ?? true)
  row.t_earliest(f.earliest === undefined ? (at?.ns ?? null) : f.earliest)
  row.t_latest(f.latest === undefined ? (at?.ns ?? null) : f.latest)
}

export const metadataOf = (o: JsonObject): JsonObject => getObject(o, 'metadata') ?? {}

/** `ns/name`, or the name of what has no namespace; null without a name. */
export function subjectOf(o: JsonObject): string | null {
  const metadata = metadataOf(o)
  return qualified(getString(metadata, 'namespace'), getString(metadata, 'name'))
}

export const qualified = (namespace: string | null, name: string | null): string | null => (namespace !== null && name !== null ? `${namespace}/${name}` : name)

export const timeOf = (o: JsonObject | undefined, key: string): Instant | null => {
  const text = getString(o, key)
  return text === null ? null : readIso(text)
}

export const objectsIn = (o: JsonObject | undefined, key: string): readonly JsonObject[] => {
  const v = o && get(o, key)
  return Array.isArray(v) ? v.filter(isJsonObject) : []
}

export const stringsIn = (o: JsonObject | undefined, key: string): readonly string[] => {
  const v = o && get(o, key)
  return Array.isArray(v) ? v.filter((s): s is string => typeof s === 'string' && s !== '') : []
}

/** Plain addresses, each once, of the texts that are addresses. */
export const addressesIn = (texts: readonly (string | null)[]): readonly string[] => [
  ...new Set(texts.map(t => (t === null ? null : plainAddress(t))).filter((ip): ip is string => ip !== null)),
]

/** Words of a reason, those that are unknown left out. */
export const words = (...parts: readonly (string | null | false | undefined)[]): string => parts.filter(p => typeof p === 'string' && p !== '').join(' ')

/** `web:8080`, `8080/TCP`, or null without a port. */
export function portText(o: JsonObject, protocol = true): string | null {
  const port = get(o, 'port')
  if (typeof port !== 'number' && typeof port !== 'string') return null
  const name = protocol ? getString(o, 'protocol') : null
  return name === null ? String(port) : `${port}/${name}`
}
