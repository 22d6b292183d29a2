/** What happened to a pod or node and when, as people write it down: one line a moment, or a sentence. */
import type { Instant } from '../../model/instant.js'
import { plainAddress } from '../text/address.js'
import { readClock, readIso, type TimeContext } from '../text/time.js'

export interface Moment {
  readonly kind: 'pod' | 'node'
  readonly subject: string | null
  readonly what: string
  readonly reason: string | null
  readonly ip: string | null
  readonly node: string | null
  /** As printed: an ISO time or a time of day. */
  readonly time: string
  readonly exact: boolean
}

const KINDS: ReadonlyMap<string, Moment['kind']> = new Map([
  ['pod', 'pod'],
  ['container', 'pod'],
  ['sandbox', 'pod'],
  ['node', 'node'],
])
/** What a program called node does, too. */
const PROCESS_VERBS = new Set(['started', 'stopped', 'exited', 'failed', 'restarted'])

/** What people say happened, longest first, and what it is called here. A second entry is the reason that the word itself gives. */
const VERBS: readonly (readonly [string, string, string?])[] = [
  ['force-deleted', 'deleted', 'force-deleted'],
  ['force deleted', 'deleted', 'force-deleted'],
  ['oom-killed', 'killed', 'OOMKilled'],
  ['oom killed', 'killed', 'OOMKilled'],
  ['unreachable', 'not-ready', 'unreachable'],
  ['terminating', 'terminating'],
  ['terminated', 'terminated'],
  ['oomkilled', 'killed', 'OOMKilled'],
  ['not ready', 'not-ready'],
  ['not-ready', 'not-ready'],
  ['came back', 'ready', 'came back'],
  ['restarted', 'restarted'],
  ['recreated', 'created', 'recreated'],
  ['scheduled', 'scheduled'],
  ['completed', 'exited', 'completed'],
  ['notready', 'not-ready'],
  ['released', 'released'],
  ['assigned', 'assigned'],
  ['cordoned', 'cordoned'],
  ['rebooted', 'rebooted'],
  ['removed', 'deleted', 'removed'],
  ['crashed', 'crashed'],
  ['unready', 'not-ready'],
  ['drained', 'drained'],
  ['deleted', 'deleted'],
  ['created', 'created'],
  ['started', 'started'],
  ['stopped', 'stopped'],
  ['evicted', 'evicted'],
  ['failed', 'failed'],
  ['exited', 'exited'],
  ['killed', 'killed'],
  ['ready', 'ready'],
  ['died', 'killed', 'died'],
]
const AUXILIARY = new Set(['was', 'is', 'got', 'became', 'has', 'been', 'being', 'went', 'again', 'then', 'it'])

const STAMPED = /^(\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?|\d\d:\d\d:\d\d(?:\.\d{1,9})?)[,:]? {1,4}/
const AT = / (at|around|about|by|on)? ?(~?)(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,9})?Z?|\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?: UTC)?Z?)$/
const BULLET = /^(?:[>*-] ?){0,3}/
const CLAUSES = /(?:,| and| then|;) (?=[a-z~])/

/** The moments that a line tells, or null where it tells none. */
export function readMoments(line: string): readonly Moment[] | null {
  if (line.length > 600) return null
  const stamp = STAMPED.exec(line)
  if (!stamp) return readSentence(line)
  const m = readEvent(line.slice(stamp[0].length), stamp[1] as string, true)
  return m && [m]
}

/** `pod fluent-bit ready (new IP)`; the kind is named, the name may only be left out of a sentence. */
function readEvent(text: string, time: string, named: boolean, before?: Moment): Moment | null {
  const words = text.split(' ').filter(w => w !== '')
  if (words[0]?.toLowerCase() === 'the') words.shift()
  let kind = KINDS.get(words[0]?.toLowerCase() ?? '')
  if (kind !== undefined) words.shift()
  else if (before) kind = before.kind
  else return null
  let subject = before?.subject ?? null
  const skip = () => {
    while (AUXILIARY.has(words[0]?.toLowerCase() ?? '')) words.shift()
  }
  skip()
  let verb = verbOf(words)
  if (!verb && !before && /^[\w.:/@-]{1,300}$/.test(words[0] ?? '')) {
    subject = words.shift() as string
    skip()
    verb = verbOf(words)
  }
  if (!verb || (named && subject === null) || (kind === 'node' && PROCESS_VERBS.has(verb.what))) return null
  const rest = words.slice(verb.words).join(' ')
  return {
    kind,
    subject,
    what: verb.what,
    reason: reasonOf(rest) ?? verb.reason,
    ip: addressIn(rest),
    node: kind === 'node' ? subject : (/(?:^|\W)on (?:node )?([\w.-]{1,253})/.exec(rest)?.[1] ?? null),
    time,
    exact: !isApproximate(rest),
  }
}

function verbOf(words: readonly string[]): { what: string; reason: string | null; words: number } | null {
  const start = words.slice(0, 2).join(' ').toLowerCase()
  const found = VERBS.find(([v]) => start.startsWith(v) && !/[a-z]/.test(start[v.length] ?? ''))
  return found ? { what: found[1], reason: found[2] ?? null, words: found[0].split(' ').length } : null
}

/** What is left, without the brackets around all of it. */
function reasonOf(rest: string): string | null {
  let text = rest.trim()
  if (text.startsWith('(') && text.endsWith(')')) text = text.slice(1, -1)
  while (/^[-:,;.] ?/.test(text)) text = text.slice(1).trim()
  return text === '' ? null : text.slice(0, 300)
}

const addressIn = (text: string): string | null => {
  for (const word of text.split(/[\s(),;=]/)) {
    const ip = plainAddress(word)
    if (ip !== null) return ip
  }
  return null
}

const isApproximate = (text: string): boolean => /(?:^|\W)(?:approx|about|around|circa|roughly)/i.test(text) || text.includes('~')

/** `Pod killed at 13:31:05 and came back at 13:31:17.`: clauses that end in a time. */
function readSentence(line: string): readonly Moment[] | null {
  const text = line.slice((BULLET.exec(line) as RegExpExecArray)[0].length)
  if (!/^(?:the )?(?:pod|node|container|sandbox)\b/i.test(text)) return null
  const moments: Moment[] = []
  for (const clause of (text.endsWith('.') ? text.slice(0, -1) : text).split(CLAUSES)) {
    const at = AT.exec(clause)
    if (!at) return moments.length > 0 ? moments : null
    const exact = at[2] !== '~' && at[1] !== 'around' && at[1] !== 'about'
    const m = readEvent(clause.slice(0, at.index), at[3] as string, false, moments.at(-1))
    if (!m) return moments.length > 0 ? moments : null
    moments.push({ ...m, exact: m.exact && exact })
  }
  return moments
}

/** null: a time of day without a reference. */
export function momentTime(text: string, context: TimeContext): Instant | null {
  if (text.charCodeAt(2) !== 0x3a) return readIso(text, context)
  const utc = text.endsWith('Z') || text.endsWith(' UTC')
  const clock = text.slice(0, utc ? text.lastIndexOf(text.endsWith('Z') ? 'Z' : ' UTC') : text.length)
  const whole = clock.length === 5 ? `${clock}:00.0` : clock.length === 8 ? `${clock}.0` : clock
  return readClock(whole, utc ? { ...context, zoneMinutes: 0 } : context)
}
