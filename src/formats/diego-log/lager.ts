/** The JSON lines of Cloud Foundry's Go programs: lager's two shapes, and gorouter's, which resembles them. */
import type { Instant } from '../../model/instant.js'
import { get, getObject, getString, type JsonObject, type JsonValue } from '../text/json.js'
import { readEpoch } from '../text/time.js'

export interface LagerLine {
  readonly source: string
  readonly message: string
  readonly data: JsonObject | undefined
  /** `data.error`, where it is text. */
  readonly error: string | null
}

/** null: the object is no such line. */
export function readLager(value: JsonObject): LagerLine | null {
  const source = getString(value, 'source')
  const message = getString(value, 'message')
  if (source === null || message === null || get(value, 'timestamp') === undefined) return null
  if (get(value, 'log_level') === undefined && get(value, 'level') === undefined) return null
  const data = getObject(value, 'data')
  return { source, message, data, error: getString(data, 'error') }
}

const PRINTED = /"timestamp"\s{0,9}:\s{0,9}(\d{9,11}(?:\.\d{1,12})?)[\s,}]/g

/**
 * The `timestamp`: RFC 3339 (as `readText` reads it) or seconds since the epoch, as text or as a number, whose digits
 * are taken from `text` since a double cannot hold them.
 */
export function readTimestamp(value: JsonObject, text: string, readText: (text: string) => Instant | null): Instant | null {
  const stamp = get(value, 'timestamp')
  if (typeof stamp === 'string') return readEpoch(stamp) ?? readText(stamp)
  if (typeof stamp !== 'number') return null
  for (const m of text.matchAll(PRINTED)) if (Number(m[1]) === stamp) return readEpoch(m[1] as string)
  return readEpoch(stamp.toFixed(6))
}

const NAMES: Record<string, string> = { warn: 'warning', panic: 'fatal', dpanic: 'fatal' }
/** Level numbers of lager, by index; `level` names need none. */
const LAGER_LEVELS = ['debug', 'info', 'error', 'fatal']
/** Level numbers of gorouter since 2017-01, which uses zap: the last three are its panics and exits. */
const ZAP_LEVELS = ['debug', 'info', 'warning', 'error', 'fatal', 'fatal', 'fatal']

/** `debug`, `info`, `warning`, `error` or `fatal`; other names as printed; null for a number of no meaning. */
export function readLevel(value: JsonObject, scheme: 'lager' | 'zap'): string | null {
  const level = get(value, 'level') ?? get(value, 'log_level')
  if (typeof level === 'number') return (scheme === 'zap' ? ZAP_LEVELS : LAGER_LEVELS)[level] ?? null
  if (typeof level !== 'string' || level === '') return null
  const name = level.toLowerCase()
  return Object.hasOwn(NAMES, name) ? (NAMES[name] as string) : name
}

/** Compact JSON with the keys of every object in code-unit order: the same for the same value. */
export function stableJson(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(stableJson).join(',')}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  const members = Object.keys(value)
    .sort()
    .map(key => `${JSON.stringify(key)}:${stableJson(value[key] ?? null)}`)
  return `{${members.join(',')}}`
}
