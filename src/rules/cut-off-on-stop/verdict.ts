/** What happened to one request, by its beginning and end against the stop and the exit of its instance. */
import { MILLISECOND, SECOND } from '../../model/instant.js'
import type { Life } from './lives.js'
import { least, most } from './moments.js'
import type { Suspect } from './suspects.js'
import { beganAfter, LONG, NEAR, type ProxyExit, TOGETHER, wasRunning } from './timing.js'

export type Code = 'in-flight-cut' | 'crashed' | 'out-of-memory' | 'accepted-after-exit' | 'refused-while-stopping' | 'certificate-window' | 'stale-keepalive' | 'undetermined'

/** What a finding rests on besides the times, or why it cannot be surer. */
export type Why =
  | 'running'
  | 'running-at-stop'
  | 'new-connection'
  | 'new-connection-by-time'
  | 'kept-connection'
  | 'nobody-listened'
  | 'no-name-in-certificate'
  | 'cause-of-exit'
  | 'start-unknown'
  | 'order'
  | 'clocks'
  | 'after-stop'
  | 'slow'
  | 'reuse-unknown'
  | 'no-stop'

export interface Verdict {
  readonly code: Code
  readonly why: Why
}

const verdict = (code: Code, why: Why): Verdict => ({ code, why })

/** The platform keeps the nameless certificate until the container is gone; where that is not seen, this long. */
const CERTIFICATE_KEPT = 20n * SECOND
/** Clocks of two hosts, while nothing ties them: certificates need no finer order. */
const CERTIFICATE_SLACK = 500n * MILLISECOND
/** A new connection to a sidecar without an application takes 2 to 6 ms (measured), a write to a dead one under 1 ms. */
const HANDSHAKE = 1n * MILLISECOND

/** null: this life does not explain the failure. `x` is null where the proxy saw answers of the instance long after its exit. */
export function verdictOf(s: Suspect, life: Life, x: ProxyExit | null): Verdict | null {
  if (s.shape === 'certificate') return ofCertificate(s, life, x)
  if (life.exit === null) return withoutExit(s, life)
  if (x === null) return verdict('undetermined', 'clocks')
  if (wasRunning(s, x, life)) return isFreshDial(s) ? verdict('refused-while-stopping', 'nobody-listened') : verdict(...ofRunning(life))
  if (beganAfter(s, x)) return s.instance !== life.key && s.start !== null && s.start > x.hi + NEAR ? null : afterExit(s, life)
  if (s.end < x.lo - TOGETHER) return beforeExit(s, life)
  return verdict('undetermined', s.start === null ? 'start-unknown' : 'order')
}

/** A refused dial of a new connection: what ran was not the request. */
const isFreshDial = (s: Suspect): boolean => s.shape === 'refused' && s.reused !== true

function ofRunning(life: Life): [Code, Why] {
  switch (life.end) {
    case 'out-of-memory':
      return ['out-of-memory', 'running']
    case 'crashed':
      return ['crashed', 'running']
    case 'stopped':
      return ['in-flight-cut', 'running']
    case 'unknown':
      return ['undetermined', 'cause-of-exit']
  }
}

/** Nobody answered any more: what the request met tells what it was sent on. */
function afterExit(s: Suspect, life: Life): Verdict {
  if (s.shape === 'refused') return s.reused === true ? verdict('stale-keepalive', 'kept-connection') : verdict('refused-while-stopping', 'nobody-listened')
  if (s.shape === 'write-failed' || s.reused === true) return verdict('stale-keepalive', 'kept-connection')
  const took = s.start === null ? null : s.end - s.start
  if (took !== null && took > LONG) return verdict('undetermined', 'slow')
  // Without a sidecar nobody accepts for a process that is gone: the connection was older.
  if (life.platform === 'kubernetes') return verdict('stale-keepalive', 'kept-connection')
  if (s.reused === false) return verdict('accepted-after-exit', 'new-connection')
  return took !== null && took > HANDSHAKE ? verdict('accepted-after-exit', 'new-connection-by-time') : verdict('undetermined', 'reuse-unknown')
}

/** The instance still ran, and may have closed its listener, or a connection, while it drained. */
function beforeExit(s: Suspect, life: Life): Verdict | null {
  const told = life.stop ?? life.signal
  if (told === null || s.end < told.lo) return null
  if (s.start !== null && s.start < told.lo)
    return s.shape === 'closed' || s.shape === 'unnamed' ? verdict('in-flight-cut', 'running-at-stop') : verdict('undetermined', 'after-stop')
  return whileStopping(s, life)
}

function whileStopping(s: Suspect, life: Life): Verdict {
  if (s.shape === 'refused') return verdict('refused-while-stopping', 'nobody-listened')
  // The sidecar accepts although the application has closed its listener. Before the signal it has not.
  const signalled = life.signal !== null ? s.start !== null && s.start >= life.signal.lo : life.certificate === null
  return s.shape === 'closed' && s.reused === false && signalled ? verdict('refused-while-stopping', 'nobody-listened') : verdict('undetermined', 'after-stop')
}

function withoutExit(s: Suspect, life: Life): Verdict | null {
  const { stop } = life
  if (stop === null || s.end < stop.lo || s.end > (life.gone?.hi ?? stop.hi) + NEAR) return null
  if (s.start === null) return verdict('undetermined', 'start-unknown')
  if (s.start < stop.lo) return s.shape === 'closed' || s.shape === 'unnamed' ? verdict('in-flight-cut', 'running-at-stop') : verdict('undetermined', 'after-stop')
  return whileStopping(s, life)
}

/** A certificate without a name is what the platform swaps in at a stop; a reused connection next to it died first. */
function ofCertificate(s: Suspect, life: Life, x: ProxyExit | null): Verdict | null {
  if (s.reused === true && x !== null && wasRunning(s, x, life)) return verdict(...ofRunning(life))
  const from = least([life.certificate?.lo ?? null, life.stop?.lo ?? null, life.exit?.lo ?? null])
  const to = life.gone?.hi ?? (most([life.certificate?.hi ?? null, life.stop?.hi ?? null, life.exit?.hi ?? null]) ?? 0n) + CERTIFICATE_KEPT
  return from !== null && s.end >= from - CERTIFICATE_SLACK && s.end <= to + CERTIFICATE_SLACK ? verdict('certificate-window', 'no-name-in-certificate') : null
}
