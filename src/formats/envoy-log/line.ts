import type { Instant } from '../../model/instant.js'

/** A line whose envelope was taken off. */
export interface Line {
  readonly at: Instant | null
  readonly thread: string | null
  readonly level: string | null
  readonly logger: string | null
  /** Source file as printed, with or without folders. */
  readonly file: string | null
  readonly fileLine: number | null
  /** The rest of the line: tags and message. */
  readonly rest: string
  /** `istio` prints `\tthread=N` after the message, `agent` wraps every line of a message, the others wrap its first line only. */
  readonly style: 'istio' | 'agent' | 'other'
}

/** Envoy's names of levels, whatever their case; null for others. */
export function levelName(text: string | null): string | null {
  const level = text?.toLowerCase()
  if (level === 'warn') return 'warning'
  return level === 'trace' || level === 'debug' || level === 'info' || level === 'warning' || level === 'error' || level === 'critical' ? level : null
}

const FILE = /^\[([^\]\s:]{1,400}\.[a-z]{1,3}):(\d{1,7})\] ?/
/** To Envoy 1.9 the message itself began with it. */
const OLD_FILE = /^([\w./+-]{1,400}\.(?:cc|h)):(\d{1,7})\] /

/** The line with the source file that its message begins with, if it does. */
export function withFile(line: Line): Line {
  const m = line.rest.startsWith('[') ? FILE.exec(line.rest) : OLD_FILE.exec(line.rest)
  return m ? { ...line, file: m[1] as string, fileLine: Number(m[2]), rest: line.rest.slice(m[0].length) } : line
}
