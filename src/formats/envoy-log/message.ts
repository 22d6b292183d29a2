/** A message: the ids it stands under, its template and values, and the request id of a header dump. */
import { generic, type Matched, matcher } from './matcher.js'
import { templates } from './templates.js'

export interface Tagged {
  readonly connection: string | null
  readonly stream: string | null
  readonly message: string
}

const BRACKETS = /^\[C(\d{1,20})\](?:\[S(\d{1,20})\])? ?/
const TAGS = '[Tags: "'

/** Takes `[Tags: "ConnectionId":"4255","StreamId":"…"] ` (since Envoy 1.27) and `[C4255][S…] ` (before, and 1.27's connection events) off a message. */
export function untag(text: string): Tagged {
  let message = text
  let connection: string | null = null
  let stream: string | null = null
  const end = message.startsWith(TAGS) ? message.indexOf('"]', TAGS.length) : -1
  if (end >= 0) {
    for (const pair of message.slice(TAGS.length, end).split('","')) {
      const colon = pair.indexOf('":"')
      const key = pair.slice(0, colon)
      if (key === 'ConnectionId') connection = digits(pair.slice(colon + 3))
      else if (key === 'StreamId') stream = digits(pair.slice(colon + 3))
    }
    message = message.slice(message[end + 2] === ' ' ? end + 3 : end + 2)
  }
  const m = message.startsWith('[C') ? BRACKETS.exec(message) : null
  if (m) {
    connection ??= m[1] as string
    stream ??= m[2] ?? null
    message = message.slice(m[0].length)
  }
  return { connection, stream, message }
}

const digits = (text: string): string | null => (/^\d{1,20}$/.test(text) ? text : null)

/** A connection id as the store keeps it. Streams of Envoy's own clients print 0 for "no connection"; of a connection's own line 0 is the first. */
export function connectionId(connection: string | null, stream: string | null): bigint | null {
  if (connection === null || (connection === '0' && stream !== null)) return null
  const id = BigInt(connection)
  return id > 0x7fff_ffff_ffff_ffffn ? null : id
}

const known = matcher(templates)

/** Template and values of a message's first line. */
export function templateOf(message: string): Matched {
  const newline = message.indexOf('\n')
  const line = (newline < 0 ? message : message.slice(0, newline)).trimEnd()
  return known(line) ?? generic(line)
}

/** Whether the template is one that the data file lists. */
export const isKnown = (template: string): boolean => listed.has(template)
const listed = new Set(templates)

const REQUEST_ID = "'x-request-id', '"

/** The x-request-id of the headers that a message dumps, or null. */
export function requestId(message: string): string | null {
  const at = message.indexOf(REQUEST_ID)
  const end = at < 0 ? -1 : message.indexOf("'", at + REQUEST_ID.length)
  return end < 0 ? null : message.slice(at + REQUEST_ID.length, end) || null
}
