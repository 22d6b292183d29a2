/** One line of a gorouter access log, from text to fields. */
import type { Instant } from '../../model/instant.js'
import type { TimeContext } from '../text/time.js'
import { Cursor } from './quoting.js'
import { readRouterTime } from './time.js'

/** The fields as printed; null where the line has `"-"` or nothing. */
export interface AccessLine {
  readonly at: Instant
  readonly host: string | null
  readonly method: string | null
  readonly path: string | null
  readonly protocol: string | null
  readonly status: string | null
  readonly received: string | null
  readonly sent: string | null
  readonly userAgent: string | null
  readonly remote: string | null
  readonly backend: string | null
  /** `x_forwarded_for`, `response_time`, `app_id`, …; the first of a name counts, since headers that an operator adds stand last. */
  readonly pairs: ReadonlyMap<string, string>
  /** Columns of `request` that the line cannot prove, since it reads in more than one way. */
  readonly ambiguous: readonly string[]
  /** The line ends inside a pair. */
  readonly cut: boolean
}

/** `torn`: an access line, but cut off before it says what happened. `unreadable`: one whose fields cannot be told apart. */
export type Reading = AccessLine | 'torn' | 'unreadable'

const HEAD = /^(\S{0,4096}) - \[([^\]]{19,40})\] (?=")/

/** Reads one line, without its newline. null: it is no gorouter access line. */
export function readAccessLine(text: string, context: TimeContext): Reading | null {
  const head = HEAD.exec(text)
  if (!head) return null
  const at = readRouterTime(head[2] as string, context)
  if (!at) return null
  const host = head[1] === '' ? null : (head[1] as string)
  const strict = readEscaped(text, head[0].length)
  if (strict === 'torn') return strict
  if (strict) return { ...strict, at, host, ambiguous: escapes(head[2] as string) || !text.includes('\\') ? strict.ambiguous : ['path', 'user_agent', ...strict.ambiguous] }
  const loose = readUnescaped(text, head[0].length)
  if (loose) return { ...loose, at, host }
  return text.includes(' vcap_request_id:') && text.includes(' response_time:') ? 'unreadable' : null
}

/** Releases that print the day first did not escape all they quote: there a backslash may be the client's or the router's. */
const escapes = (time: string): boolean => time.charCodeAt(2) !== 0x2f

type Fields = Omit<AccessLine, 'at' | 'host'>
type Tail = Pick<AccessLine, 'remote' | 'backend' | 'pairs' | 'ambiguous' | 'cut'>

/** The reading of every release since 2016-12: what clients write is quoted with its quotes escaped, so that there is no other. */
function readEscaped(text: string, from: number): Fields | 'torn' | null {
  const c = new Cursor(text, from)
  const request = c.quoted()
  const numbers = request === null ? null : readNumbers(c)
  if (request === null || !numbers) return null
  const referer = c.quoted()
  if (referer === null || !c.blank()) return null
  const userAgent = c.quoted()
  if (userAgent === null || !c.blank()) return null
  const tail = readTail(c)
  if (tail === null || tail === 'torn') return tail
  return { ...requestLine(request), ...numbers, userAgent: unset(userAgent), ...tail }
}

const NUMBERS = / (\d{3}|"?-"?) (\d{1,18}) (\d{1,18}) /y

function readNumbers(c: Cursor): Pick<AccessLine, 'status' | 'received' | 'sent'> | null {
  NUMBERS.lastIndex = c.at
  const m = NUMBERS.exec(c.text)
  if (!m) return null
  c.at = NUMBERS.lastIndex
  const status = m[1] as string
  return { status: status.includes('-') ? null : status, received: m[2] as string, sent: m[3] as string }
}

/** `METHOD URI PROTOCOL`: neither method nor protocol can hold a blank. */
function requestLine(text: string): Pick<AccessLine, 'method' | 'path' | 'protocol'> {
  const first = text.indexOf(' ')
  const last = text.lastIndexOf(' ')
  if (first < 0 || last === first) return { method: null, path: unset(text), protocol: null }
  return { method: unset(text.slice(0, first)), path: unset(text.slice(first + 1, last)), protocol: unset(text.slice(last + 1)) }
}

/** The fields that stand first, in every release: what a client writes into one of them cannot pass for another without repeating it. */
const FIRST_KEYS = ['x_forwarded_for', 'x_forwarded_proto', 'vcap_request_id', 'response_time']
/** The last field of gorouter's own; after it come headers that an operator wants to see, which clients write. */
const LAST_KEY = 'x_cf_routererror'

/** The addresses and pairs, to the end of the line. `torn`: it ends before `app_id`, the last field that all releases have. */
function readTail(c: Cursor): Tail | 'torn' | null {
  const addresses = readAddresses(c)
  if (!addresses) return null
  const pairs = new Map<string, string>()
  const doubted = new Set<string>()
  const tail = (cut: boolean, number: string | null) => ended({ ...addresses, pairs, ambiguous: columnsOf(doubted), cut }, number)
  for (let n = 0; ; n++) {
    const key = c.key()
    if (key === null) return isCut(c) ? tail(true, null) : null
    if (n < FIRST_KEYS.length && key !== FIRST_KEYS[n]) return null
    const bare = c.text.charCodeAt(c.at) !== 0x22
    const value = c.value()
    if (value === null) return c.done ? tail(true, null) : null
    const known = pairs.get(key)
    if (known === undefined && !pairs.has(LAST_KEY)) pairs.set(key, value)
    else if (known !== undefined && known !== value) doubted.add(key)
    if (!c.done && !c.blank()) return null
    if (c.done) return tail(endsEarly(pairs), bare ? key : null)
  }
}

/** Both addresses, quoted; before 2016-12 bare, and before 2016-10 the client's alone. */
function readAddresses(c: Cursor): Pick<AccessLine, 'remote' | 'backend'> | null {
  const quoted = c.text.charCodeAt(c.at) === 0x22
  const remote = c.value()
  if (remote === null || !c.blank()) return null
  if (!quoted && c.text.startsWith(FIRST_KEYS[0] as string, c.at)) return { remote: unset(remote), backend: null }
  const backend = c.value()
  return backend === null || !c.blank() ? null : { remote: unset(remote), backend: unset(backend) }
}

/** `torn` where the fields that say what happened are missing. A number that ends a line cut short may itself be short. */
function ended(tail: Tail & { readonly pairs: Map<string, string> }, number: string | null): Tail | 'torn' | null {
  if (!tail.pairs.has('response_time') || !tail.pairs.has('app_id')) return tail.pairs.has('x_forwarded_for') ? 'torn' : null
  if (tail.cut && number !== null) tail.pairs.delete(number)
  return tail
}

/** Every release that prints `instance_id` prints `x_cf_routererror` after it. */
const endsEarly = (pairs: ReadonlyMap<string, string>): boolean => pairs.has('instance_id') && !pairs.has(LAST_KEY)

const PART_OF_KEY = /^[a-z0-9_.]{0,100}$/
/** What gorouter itself writes instead of headers that it does not want to log. */
const LEFT_OUT = /^\.{3}[A-Z-]{1,80}TRUNCATED$/

/** Whether the rest is the beginning of a pair, or the mark of one left out. */
function isCut(c: Cursor): boolean {
  const rest = c.text.slice(c.at)
  return PART_OF_KEY.test(rest) || LEFT_OUT.test(rest)
}

const unset = (text: string | null): string | null => (text === null || text === '' || text === '-' ? null : text)

const NUMBERS_AFTER_REQUEST = /" (?:\d{3}|"?-"?) \d{1,18} \d{1,18} "/g
const ADDRESSES = /" (?=(?:"[0-9a-f.:[\]%-]{1,64}" "[\w.:[\]%-]{1,256}"|[0-9a-f.:[\]%-]{1,64}(?: "?[\w.:[\]%-]{1,256}"?)?) x_forwarded_for:)/g
/** Places where the addresses may stand that are tried; a line with more of them is refused. */
const MOST_PLACES = 16

/**
 * The reading for lines whose quotes are not escaped: releases before 2016-12, and copies that were unescaped on their
 * way. The request line ends at the first numbers, since a URI has no blanks; the rest is read from the last place where
 * the addresses may stand. Where there are several, a client wrote all but one of them, and what follows proves nothing.
 */
function readUnescaped(text: string, from: number): Fields | null {
  NUMBERS_AFTER_REQUEST.lastIndex = from
  const end = NUMBERS_AFTER_REQUEST.exec(text)
  if (!end) return null
  const c = new Cursor(text, end.index + 1)
  const numbers = readNumbers(c)
  const places = numbers ? addressPlaces(text, c.at) : null
  if (!numbers || !places) return null
  let found: { readonly at: number; readonly tail: Tail } | null = null
  for (const at of places) {
    const tail = readTail(new Cursor(text, at + 2))
    if (tail !== null && tail !== 'torn') found = { at, tail }
  }
  if (!found) return null
  const headers = text.slice(c.at + 1, found.at)
  const between = headers.indexOf('" "')
  if (between < 0) return null
  const ambiguous = places.length > 1 ? ['user_agent', ...ALL_COLUMNS] : headers.indexOf('" "', between + 1) >= 0 ? ['user_agent', ...found.tail.ambiguous] : found.tail.ambiguous
  return { ...requestLine(text.slice(from + 1, end.index)), ...numbers, userAgent: unset(headers.slice(between + 3)), ...found.tail, ambiguous }
}

function addressPlaces(text: string, from: number): number[] | null {
  const places: number[] = []
  ADDRESSES.lastIndex = from
  for (let m = ADDRESSES.exec(text); m; m = ADDRESSES.exec(text)) {
    if (places.length === MOST_PLACES) return null
    places.push(m.index)
  }
  return places
}

const ADDRESS_COLUMNS = ['upstream_host', 'upstream_ip', 'upstream_port', 'downstream_remote_ip', 'downstream_remote_port']
/** Columns of `request` that rest on a pair. */
const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  x_forwarded_for: ['x_forwarded_for'],
  vcap_request_id: ['request_id'],
  response_time: ['t_end', 'duration_ms'],
  app_id: ['upstream_cluster'],
  instance_id: ['instance_id'],
  backend_time: ['attempts'],
  failed_attempts: ['attempts'],
  local_address: ['upstream_local_ip', 'upstream_local_port'],
  x_cf_routererror: ['router_error'],
}

/** The columns of these pairs, each once. */
const columnsOf = (keys: Iterable<string>): string[] => [...new Set([...keys].flatMap(k => (Object.hasOwn(COLUMNS, k) ? (COLUMNS[k] ?? []) : [])))]
const ALL_COLUMNS = [...ADDRESS_COLUMNS, ...columnsOf(Object.keys(COLUMNS))]
