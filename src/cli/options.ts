/** Options that several commands share, and how their values are read. */
import type { Command } from 'commander'
import { join } from 'node:path'
import { openBundle, type Stdin } from '../bundle/open.js'
import { zoneOffset } from '../formats/text/time.js'
import { type Judged, judge } from '../index.js'
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

/** Standard input, where a path asks for it. */
export const stdinFor = (paths: readonly string[]): Stdin | null => (paths.includes('-') ? { stream: process.stdin, spoolFile: join(privateFolder(), 'stdin') } : null)

/** Opens the paths, reads them into a private store and has all rules judge them. The caller closes it. */
export async function loadPaths(paths: readonly string[], options: ReadingOptions): Promise<Judged> {
  const bundle = await openBundle(paths, stdinFor(paths))
  const bar = progress()
  try {
    return await judge(bundle, {
      ...readingOptions(options),
      only: null,
      from: null,
      to: null,
      file: join(privateFolder(), 'store.duckdb'),
      spillFolder: privateFolder(),
      onProgress: bar.at,
    })
  } finally {
    bar.stop()
  }
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
  const offset = /^(Z|UTC|[+-]\d\d:?\d\d)$/i.test(zone) ? zoneOffset(zone.toUpperCase()) : null
  if (at < 1 || offset === null) throw new UsageError(`--zone ${value}: not SOURCE=ZONE`, 'a zone is UTC or an offset, e.g. tcpdump.txt=+02:00')
  return [value.slice(0, at), offset]
}

const UNITS: Record<string, number> = { ns: 1, us: 1e3, ms: 1e6, s: 1e9, m: 60e9, h: 3600e9 }

/** Nanoseconds of `2s`, `500ms`, `1.5m`. */
function durationOf(text: string, option: string): bigint {
  const m = /^(\d+(?:\.\d+)?)(ns|us|ms|s|m|h)$/.exec(text)
  if (!m) throw new UsageError(`${option} ${text}: not a duration`, 'write e.g. 500ms, 2s or 1m')
  return BigInt(Math.round(Number(m[1]) * (UNITS[m[2] as string] as number)))
}

/** An instant from `2024-12-03T13:17:00Z`, with or without fraction, or from epoch seconds. */
export function instantOf(text: string, option: string): bigint {
  const ms = /^\d{9,11}$/.test(text) ? Number(text) * 1000 : Date.parse(/(Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`)
  if (!Number.isFinite(ms)) throw new UsageError(`${option} ${text}: not a time`, `write it as ${iso(1_733_232_665n * SECOND)}`)
  const digits = /\.(\d{1,9})/.exec(text)?.[1]
  const whole = BigInt(Math.floor(ms / 1000)) * SECOND
  return whole + (digits ? BigInt(digits.padEnd(9, '0')) : 0n)
}
