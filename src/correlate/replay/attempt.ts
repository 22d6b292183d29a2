import type { Attempt, Line, Mark, Stream } from './life.js'

/** Begins the next attempt of a stream. */
export function beginAttempt(s: Stream, l: Line, more: Partial<Attempt> & { marks: Mark[] }): Attempt {
  const a: Attempt = {
    number: s.attempts.length + 1,
    stream: s,
    connection: null,
    joinedBy: null,
    tStart: l.t,
    tEnd: null,
    outcome: 'open',
    reason: null,
    transport: null,
    reused: false,
    responded: false,
    inferred: false,
    healed: false,
    ...more,
  }
  s.attempts.push(a)
  s.retrying = false
  return a
}
