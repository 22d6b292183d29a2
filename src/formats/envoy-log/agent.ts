/** Envoy inside the Cilium agent: the agent logs each line of it again, as logfmt or JSON, under `subsys=envoy-…`. */
import { readIso, type TimeContext } from '../text/time.js'
import { type Line, levelName, withFile } from './line.js'

/**
 * Reads one logged line. The agent puts a `[` before each message, though Envoy's format has none there; what has no `[`
 * continues a message (`rest` then begins with a newline).
 */
export function readAgentLine(line: string, context: TimeContext): Line | null {
  if ((!line.startsWith('level=') && !line.startsWith('time=')) || !line.includes('subsys=')) return null
  return agentLine(logfmt(line), context)
}

/** The same from the fields of an agent that logs JSON. */
export function agentLine(fields: ReadonlyMap<string, string>, context: TimeContext): Line | null {
  const subsystem = fields.get('subsys')
  const message = fields.get('msg')
  const thread = fields.get('threadID')
  if (!subsystem?.startsWith('envoy-') || message === undefined || thread === undefined) return null
  const at = readIso(fields.get('time') ?? '', context)
  const base = { at, thread, level: levelName(fields.get('level') ?? null), logger: subsystem.slice(6), file: null, fileLine: null, style: 'agent' } as const
  return message.startsWith('[') ? withFile({ ...base, rest: message.slice(1) }) : { ...base, rest: `\n${message}` }
}

/** `key=value key="quoted value"`, with Go's escapes in quotes. Stops where the text is anything else. */
function logfmt(line: string): Map<string, string> {
  const fields = new Map<string, string>()
  for (let at = 0; at < line.length; ) {
    const equals = line.indexOf('=', at)
    if (equals < 0) break
    const key = line.slice(at, equals)
    let end: number
    if (line[equals + 1] === '"') {
      end = closingQuote(line, equals + 1)
      if (end < 0) break
      fields.set(key, unquote(line.slice(equals + 2, end)))
      end++
    } else {
      end = line.indexOf(' ', equals)
      if (end < 0) end = line.length
      fields.set(key, line.slice(equals + 1, end))
    }
    at = end + 1
  }
  return fields
}

function closingQuote(line: string, open: number): number {
  for (let i = open + 1; i < line.length; i++) {
    const c = line.charCodeAt(i)
    if (c === 0x5c) i++
    else if (c === 0x22) return i
  }
  return -1
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' }
const unquote = (text: string): string => (text.includes('\\') ? text.replace(/\\(.)/gs, (_, c: string) => ESCAPES[c] ?? c) : text)
