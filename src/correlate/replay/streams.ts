/** Lines about streams: which connection each attempt got, how it ended, and what the client was told. */
import { MILLISECOND } from '../../model/instant.js'
import { beginAttempt } from './attempt.js'
import type { Attempt, Connection, Line } from './life.js'
import type { Handler } from './sockets.js'
import { isNear, type State } from './state.js'
import { creating } from './tcp.js'

/** A reset that follows a close on the same thread is written at once. */
const SAME_EVENT = 5n * MILLISECOND

const use =
  (reused: boolean): Handler =>
  (s, l) => {
    const c = s.connection(l)
    if (!c) return
    touch(c, l)
    const state = s.thread(l)
    if (state.using?.connection !== c || reused) state.using = { connection: c, reused: reused || c.streams > 0, line: l }
  }

function touch(c: Connection, l: Line): void {
  c.tFirstUse ??= l.t
  c.tLastUse = l.t
}

const ready: Handler = (state, l) => {
  const s = state.stream(l)
  if (!s) return
  const thread = state.thread(l)
  const using = thread.using && isNear(thread.using.line, l) ? thread.using : null
  thread.using = null
  const c = using?.connection ?? null
  const last = s.attempts.at(-1)
  if (last?.outcome === 'open' && last.connection === c && !s.retrying) return
  const a = beginAttempt(s, l, {
    connection: c,
    joinedBy: c ? 'connection-id' : null,
    reused: using?.reused ?? false,
    marks: [...(using?.reused ? [{ role: 'reused', line: using.line } as const] : []), { role: 'ready', line: l }],
  })
  thread.attempt = a
  if (c) join(a, c)
}

function join(a: Attempt, c: Connection): void {
  a.connection = c
  c.streams++
  c.cluster ??= a.stream.cluster
  c.unanswered.add(a)
}

/** `Attached upstream connection [C5] to downstream connection [C10]` comes right after `pool ready`, and names both. */
const attached: Handler = (s, l) => {
  const [up, down] = l.args.map(idOf)
  const c = s.connection(l, up ?? null)
  if (!c) return
  touch(c, l)
  const { attempt } = s.thread(l)
  if (attempt?.outcome !== 'open' || attempt.connection !== null || attempt.stream.downstreamConnectionId !== down) return
  attempt.joinedBy = 'connection-id'
  join(attempt, c)
}

const idOf = (text: string): bigint | null => (/^\d{1,18}$/.test(text) ? BigInt(text) : null)

/** Reasons for which the connection itself ended: a close just before belongs to them. */
const OF_CONNECTION: ReadonlySet<string> = new Set(['connection failure', 'local connection failure', 'remote connection failure', 'connection timeout', 'connection termination'])

const reset =
  (why?: string): Handler =>
  (state, l) => {
    const s = state.stream(l)
    if (!s) return
    const reason = why ?? l.args[0] ?? ''
    const { closing } = state.thread(l)
    const near = OF_CONNECTION.has(reason) && closing && isNear(closing.line, l, SAME_EVENT) ? closing.connection : null
    const last = s.attempts.at(-1)
    const a = last && !s.retrying && (last.outcome !== 'reset' || last.inferred) ? last : beginAttempt(s, l, { marks: [] })
    a.connection?.unanswered.delete(a)
    if (a.connection === null && near) {
      a.connection = near
      a.joinedBy = 'time'
    }
    a.outcome = 'reset'
    a.inferred = false
    a.tEnd = l.t
    a.reason = reason
    a.transport = l.args[1] || null
    a.healed = false
    a.marks.push({ role: 'reset', line: l })
  }

const answered: Handler = (state, l) => {
  const s = state.stream(l)
  if (!s) return
  for (const a of s.attempts) if (a.outcome === 'reset') a.healed = true
  const last = s.attempts.at(-1)
  if (last?.outcome !== 'open') return
  last.outcome = 'answered'
  last.responded = true
  last.tEnd = l.t
  last.connection?.unanswered.delete(last)
}

const retry: Handler = (state, l) => {
  const s = state.stream(l)
  if (s) s.retrying = true
}

/** The last dump wins: the router's shows the id that the proxy sent on and logged. */
const headers: Handler = (state, l) => {
  const s = l.requestId === null ? null : state.stream(l)
  if (s) s.requestId = l.requestId
}

const localReply: Handler = (state, l) => {
  const s = state.stream(l)
  if (!s) return
  s.localReply = l.args[0] || null
  s.attempts.at(-1)?.marks.push({ role: 'reply', line: l })
}

const response: Handler = (state, l) => {
  const s = state.stream(l)
  const m = s && /':status', '(\d{3})'/.exec(l.text ?? '')
  if (s && m) s.status = Number(m[1])
}

const ofCluster: Handler = (state, l) => {
  const s = state.stream(l)
  if (s) s.cluster = l.args[0] || null
}

/** Templates whose message holds a dump of headers that the replay reads. */
export const DUMPS = ['encoding headers via codec (end_stream={}):'] as const

export const streamHandlers: Readonly<Record<string, Handler>> = {
  'request headers complete (end_stream={}):': headers,
  'router decoding headers:': headers,
  "cluster '{}' match for URL '{}'": ofCluster,
  'Creating connection to cluster {}': creating,
  'using existing fully connected connection': use(true),
  'using existing connection': use(true),
  'using existing early data ready connection': use(true),
  'attaching to next stream': use(false),
  'attaching to next request': use(false),
  'creating stream': use(false),
  'pool ready': ready,
  'Attached upstream connection [C{}] to downstream connection [C{}]': attached,
  'upstream headers complete: end_stream={}': answered,
  'upstream timeout': reset('upstream timeout'),
  'upstream per try timeout': reset('upstream timeout'),
  'upstream per try idle timeout': reset('upstream timeout'),
  'upstream reset: reset reason: {}, transport failure reason: {}': reset(),
  'upstream reset: reset reason: {}': reset(),
  'upstream reset: reset reason {}': reset(),
  'performing retry': retry,
  'Sending local reply with details {}': localReply,
  'Preparing local reply with details {}': localReply,
  'Sending local reply with details {} directly to the encoder': localReply,
  [DUMPS[0]]: response,
  'Codec completed encoding stream.': (s: State, l: Line) => s.finish(l),
}
