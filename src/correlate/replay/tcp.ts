/** Sessions of tcp_proxy: one stream without id for each client connection, one attempt for each connect made for it. */
import { beginAttempt } from './attempt.js'
import type { Attempt, Connection, Line } from './life.js'
import { isNear, type State } from './state.js'

/** The filter names the cluster under the client's connection; the connect follows on the same thread. */
export function creating(s: State, l: Line): void {
  const session = s.session(l)
  if (!session) return
  session.cluster = l.args[0] || null
  s.thread(l).creating = { session, line: l }
}

/** A connect that was begun for a session. */
export function adopt(s: State, l: Line, c: Connection): void {
  const thread = s.thread(l)
  const { creating } = thread
  thread.creating = null
  if (!creating || !isNear(creating.line, l)) return
  c.cluster ??= creating.session.cluster
  const a = beginAttempt(creating.session, l, { connection: c, joinedBy: 'connection-id', marks: [{ role: 'opened', line: l }] })
  c.unanswered.add(a)
}

const isSession = (a: Attempt): boolean => a.stream.streamId === ''

/** The session has its connection: it is answered. */
export function established(l: Line, c: Connection): void {
  for (const a of c.unanswered) {
    if (!isSession(a)) continue
    a.outcome = 'answered'
    a.tEnd = l.t
    for (const earlier of a.stream.attempts) if (earlier.outcome === 'reset') earlier.healed = true
    c.unanswered.delete(a)
  }
}

/** A connect that failed fails its session. The other end of an internal listener is a stream of this proxy, and told of there. */
export function failed(s: State, l: Line, c: Connection): void {
  for (const a of c.unanswered) {
    if (!isSession(a)) continue
    const client = s.known(a.stream.downstreamConnectionId)
    c.unanswered.delete(a)
    a.tEnd = l.t
    if (client?.side === 'downstream' && client.remote.ip === null) continue
    const timedOut = c.failure === 'connect timeout'
    a.outcome = 'reset'
    a.reason = timedOut ? 'connection timeout' : 'remote connection failure'
    a.transport = timedOut ? null : c.failure
    a.marks.push({ role: 'reset', line: l })
  }
}
