/**
 * What collectors put around a log line: container runtimes, `kubectl logs --prefix --timestamps`, `grep -n`,
 * BOSH. Peeled up to three deep before formats see the line; what the wrappers say (time, pod, container) is kept.
 */
import { getString, isJsonObject, parseJson } from './json.js'
import { readIso } from './time.js'
import type { Instant } from '../../model/instant.js'

export interface Peeled {
  /** What is left of the line. */
  readonly payload: string
  /** When the collector read or wrote the line: not before the event that it describes. */
  readonly at: Instant | null
  readonly pod: string | null
  readonly container: string | null
  /** `stdout` or `stderr`, where a runtime says so: a message does not go on in the other. */
  readonly stream: string | null
  /** The wrapper stands before every line, so that a value cannot span lines. */
  readonly perLine: boolean
}

const CRI = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,9}(?:Z|[+-]\d\d:\d\d)) (stdout|stderr) ([FP])(?::[^ ]*)? /
const KUBECTL_PREFIX = /^\[pod\/([^/\]]{1,253})\/([^/\]]{1,253})\] /
const KUBECTL_TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z) /
const GREP_NUMBER = /^\d{1,9}[-:](?=\[|\{|\d{4}-|$|'| )/
/** `grep PATTERN *.json`: the file's name, with `-n` the line's number. */
const GREP_FILE = /^[\w./-]{1,255}\.(?:json|jsonl|log|txt|out)(?:\.gz)?:(?:\d{1,9}:)?(?=[[{]|\d{4}-)/
const BOSH = /^[\w-]{1,64}\/[0-9a-f]{8}-[0-9a-f-]{27}: (?:stdout|stderr) \| /

const NOTHING = { at: null, pod: null, container: null, stream: null, perLine: false }

/** Takes the wrappers off one line. Costs a few comparisons where there are none. */
export function peel(line: string): Peeled {
  let payload = line
  let at: Instant | null = null
  let pod: string | null = null
  let container: string | null = null
  let stream: string | null = null
  let perLine = false
  for (let level = 0; level < 3; level++) {
    const c = payload.charCodeAt(0)
    const digit = c >= 0x30 && c <= 0x39
    let m: RegExpExecArray | null = null
    if (digit) {
      m = CRI.exec(payload)
      if (m) stream = m[2] as string
      else m = level === 0 || pod !== null ? KUBECTL_TIME.exec(payload) : null
      if (m) at = readIso(m[1] as string)
      else m = GREP_NUMBER.exec(payload)
    } else if (c === 0x5b) {
      m = KUBECTL_PREFIX.exec(payload)
      if (m) {
        pod = m[1] as string
        container = m[2] as string
      }
    } else if (c > 0x60 && c < 0x7b) m = BOSH.exec(payload) ?? (level === 0 ? GREP_FILE.exec(payload) : null)
    else if (c === 0x7b && payload.startsWith('{"log":"')) {
      const docker = dockerLine(payload)
      if (docker) return { ...docker, pod, container, perLine: true }
    }
    if (!m) break
    payload = payload.slice(m[0].length)
    perLine = true
  }
  return perLine ? { payload, at, pod, container, stream, perLine } : { payload, ...NOTHING }
}

/** A line of Docker's json-file driver: `{"log":"…\n","stream":"stderr","time":"2019-05-29T15:32:47.807683175Z"}`. */
function dockerLine(line: string): Pick<Peeled, 'payload' | 'at' | 'stream'> | null {
  const value = parseJson(line)
  if (!isJsonObject(value) || typeof value.log !== 'string') return null
  const stream = getString(value, 'stream')
  const at = readIso(getString(value, 'time') ?? '')
  return stream && at ? { payload: value.log.replace(/\r?\n$/, ''), at, stream } : null
}
