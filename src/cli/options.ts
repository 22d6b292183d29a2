/** Options that several commands share, and how their values are read. */
import type { Command } from 'commander'
import { join } from 'node:path'
import { type Bundle, openBundle, type Stdin } from '../bundle/open.js'
import { zoneOffset } from '../formats/text/time.js'
import { type Judged, judge } from '../index.js'
import { formatApplies, type IngestOptions, zoneApplies } from '../ingest/ingest.js'
import { iso, SECOND } from '../model/instant.js'
import { UsageError } from './exit.js'
import { privateFolder } from './private-folder.js'
import { progress } from './progress.js'

export const many = (value: string, before: string[] = []): string[] => [...before, value]

export interface ReadingOptions {
  readonly zone?: string[]
  readonly clockError: string
  readonly accessLogFormat?: string[]
}

/** Adds the options that say how evidence is read. */
export function reading(command: Command): Command {
  return command
    .option('--zone <source=zone>', 'zone of times printed without one, e.g. node.pcap.txt=+02:00; * for all sources (repeatable)', many)
    .option('--clock-error <duration>', 'how far apart the clocks of two sources may be', '2s')
    .option('--access-log-format <string>', 'an access-log format as configured, or PATTERN=STRING for some files only (repeatable)', many)
}

/** The reading options as the pipeline takes them. Throws `UsageError`. */
export const readingOptions = (options: ReadingOptions) => ({
  clockError: durationOf(options.clockError, '--clock-error'),
  zones: (options.zone ?? []).map(zoneOf),
  accessLogFormats: (options.accessLogFormat ?? []).map(formatOf),
})

/** Standard input, which is touched only where a path asks for it, and the place for what can be read once. */
export const stdin: Stdin = {
  get stream() {
    return process.stdin
  },
  get spoolFile() {
    return join(privateFolder(), 'stdin')
  },
}

/** Opens the paths, reads them into a private store and has all rules judge them. The caller closes it. */
export async function loadPaths(paths: readonly string[], options: ReadingOptions): Promise<Judged> {
  const asked = readingOptions(options)
  const bundle = await openBundle(paths, stdin)
  expectSources(asked, bundle)
  const bar = progress()
  try {
    return await judge(bundle, { ...asked, only: null, from: null, to: null, file: join(privateFolder(), 'store.duckdb'), spillFolder: privateFolder(), onProgress: bar.at })
  } finally {
    bar.stop()
  }
}

/** Throws `UsageError` for an option that speaks of a source which the bundle does not have: without it the evidence would silently be read another way. */
export function expectSources(asked: Pick<IngestOptions, 'zones' | 'accessLogFormats'>, bundle: Bundle): void {
  const hint =
    bundle.members.length === 0
      ? 'the bundle is empty'
      : `sources are e.g. ${bundle.members
          .slice(0, 3)
          .map(m => m.path)
          .join(', ')}`
  for (const [source] of asked.zones) if (!bundle.members.some(m => zoneApplies(m.path, source))) throw new UsageError(`--zone ${source}: no such source`, hint)
  for (const { pattern } of asked.accessLogFormats)
    if (!bundle.members.some(m => formatApplies(m.path, pattern))) throw new UsageError(`--access-log-format ${pattern}: no such source`, hint)
}

/** `PATTERN=STRING` only where the pattern has a dot, a slash or a star in it: formats such as `time=%START_TIME%` hold `=` too. */
function formatOf(value: string): { pattern: string | null; format: string } {
  const at = value.indexOf('=')
  const pattern = value.slice(0, at)
  return at > 0 && /^[\w.*/-]+$/.test(pattern) && /[.*/]/.test(pattern) ? { pattern, format: value.slice(at + 1) } : { pattern: null, format: value }
}

function zoneOf(value: string): readonly [string, number] {
  const at = value.lastIndexOf('=')
  const zone = value.slice(at + 1)
  const offset = /^(Z|UTC|[+-](0\d|1[0-4]):?[0-5]\d)$/i.test(zone) ? zoneOffset(zone.toUpperCase()) : null
  if (at < 1 || offset === null) throw new UsageError(`--zone ${value}: not SOURCE=ZONE`, 'a zone is UTC or an offset, e.g. tcpdump.txt=+02:00')
  return [value.slice(0, at), offset]
}

const UNITS: Record<string, number> = { ns: 1, us: 1e3, ms: 1e6, s: 1e9, m: 60e9, h: 3600e9 }
const LONGEST = 366 * 24 * 3600e9

/** Nanoseconds of `2s`, `500ms`, `1.5m`; no more than a year. */
function durationOf(text: string, option: string): bigint {
  const m = /^(\d+(?:\.\d+)?)(ns|us|ms|s|m|h)$/.exec(text)
  const ns = m ? Math.round(Number(m[1]) * (UNITS[m[2] as string] as number)) : Number.NaN
  if (!(ns <= LONGEST)) throw new UsageError(`${option} ${text}: not a duration`, 'write e.g. 500ms, 2s or 1m')
  return BigInt(ns)
}

const TIME = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)?(Z|[+-]\d\d:?\d\d)?$/i
const EPOCH = /^(\d{9,11})(?:\.(\d{1,9}))?$/

/** An instant from `2024-12-03T13:17:00Z`, with or without seconds and fraction, or from epoch seconds. Without a zone it is UTC. */
export function instantOf(text: string, option: string): bigint {
  const seconds = secondsOf(text)
  if (seconds === null) throw new UsageError(`${option} ${text}: not a time`, `write it as ${iso(1_733_232_665n * SECOND)}`)
  const fraction = TIME.exec(text)?.[4] ?? EPOCH.exec(text)?.[2] ?? ''
  return BigInt(seconds) * SECOND + BigInt(fraction.padEnd(9, '0'))
}

function secondsOf(text: string): number | null {
  const epoch = EPOCH.exec(text)
  if (epoch) return Number(epoch[1])
  const [, day = '', minute = '00:00', second = '00', , zone = 'Z'] = TIME.exec(text) ?? []
  const utc = Date.parse(`${day}T${minute}:${second}Z`) / 1000
  // A day that no month has is moved into the next one.
  if (!Number.isInteger(utc) || new Date(utc * 1000).toISOString().slice(0, 10) !== day) return null
  return utc - zoneOffset(zone.toUpperCase()) * 60
}
