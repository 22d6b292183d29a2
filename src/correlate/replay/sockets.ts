/** Lines about connections: how they opened, failed and ended. */
import type { Endpoint } from '../../model/endpoint.js'
import { ECONNREFUSED, ECONNRESET, EHOSTUNREACH, EPIPE, ETIMEDOUT, errnoOf, tlsErrno } from './errors.js'
import type { Closed, Connection, Errno, Line } from './life.js'
import { isNear, type State } from './state.js'
import { adopt, established, failed } from './tcp.js'

export type Handler = (s: State, l: Line) => void

/** For a line about a connection; one that was never seen before is made up. */
const about =
  (handle: (s: State, l: Line, c: Connection) => void): Handler =>
  (s, l) => {
    const c = s.connection(l)
    if (c) handle(s, l, c)
  }

/** For a line that means nothing without what came before. */
const aboutKnown =
  (handle: (s: State, l: Line, c: Connection) => void): Handler =>
  (s, l) => {
    const c = s.known(l.connectionId)
    if (c) handle(s, l, c)
  }

const connected = aboutKnown((_, l, c) => {
  established(l, c)
  if (c.tConnected !== null || c.marks.some(m => m.role === 'connected')) return
  c.tConnected = l.t
  c.marks.push({ role: 'connected', line: l })
})

const connectError = about((_, l, c) => {
  c.failure = l.args[0] ?? ''
  c.errno = errnoOf(c.failure)
  c.marks.push({ role: 'error', line: l })
})

/** tcp_proxy prints the same words about the client's connection. */
const connectTimeout = about((_, l, c) => {
  if (c.side !== 'upstream') return
  c.failure = 'connect timeout'
  c.marks.push({ role: 'timeout', line: l })
})

/** The errno that explains a close: printed with the connection's id, or just before on the same thread. */
function errnoFor(s: State, l: Line, c: Connection): Errno | null {
  const ofThread = s.takeErrno(l)
  const own = c.error && isNear(c.error.line, l) ? c.error : null
  return own ?? ofThread
}

/** What an errno makes of a close. EPIPE comes after a close that something else explains. */
const closedBy = (errno: number): Closed => (errno === ECONNRESET || errno === ECONNREFUSED || errno === EPIPE ? 'rst' : 'timeout')

function explain(s: State, l: Line, c: Connection, errno: Errno): void {
  c.errno = errno.code
  c.marks.push({ role: 'error', line: errno.line })
  s.close(l, c, closedBy(errno.code))
}

const isConnected = (c: Connection): boolean => c.tConnected !== null || c.marks.some(m => m.role === 'connected') || c.tFirstUse !== null

/** `closing socket: 0` means the peer or the network ended it, 1 the proxy itself. */
const closeSocket = about((s, l, c) => {
  const errno = errnoFor(s, l, c)
  c.marks.push({ role: 'closed', line: l })
  if (c.closed !== 'open') c.tClosed ??= l.t
  else if (l.args[0] !== '0') s.close(l, c, 'local')
  else if (errno) explain(s, l, c, errno)
  // At debug level a clear-text reset prints nothing else: a FIN or a timeout would have said so.
  else s.close(l, c, c.failure === null && isConnected(c) ? 'rst' : 'local')
  if (c.side === 'downstream') s.endSession(c)
  else if (!isConnected(c)) failed(s, l, c)
  s.trim()
})

/** End of file, or a read error. A reset inside TLS prints it too up to 1.36; the TLS error has then said so before. */
const remoteClose = about((s, l, c) => {
  const errno = errnoFor(s, l, c)
  c.marks.push({ role: 'closing', line: l })
  if (c.closed !== 'open') return
  if (errno && errno.code !== ECONNREFUSED) explain(s, l, c, errno)
  else s.close(l, c, 'fin')
})

const reset = about((s, l, c) => {
  if (c.closed !== 'open') return
  c.errno = ECONNRESET
  c.marks.push({ role: 'closing', line: l })
  s.close(l, c, 'rst')
})

const tlsError =
  (at: number): Handler =>
  (s, l) => {
    const c = s.connection(l)
    if (!c) return
    const text = l.args[at] ?? ''
    const errno = tlsErrno(text)
    c.marks.push({ role: 'error', line: l })
    if (c.closed !== 'open') return
    c.errno = errno
    if (errno === ECONNRESET || errno === EPIPE) s.close(l, c, 'rst')
    else if (errno === ETIMEDOUT || errno === EHOSTUNREACH) s.close(l, c, 'timeout')
    else c.failure ??= text || null
  }

/** The reason stands here alone where Envoy prints no transport failure with the reset (up to 1.15). */
const failureReason = aboutKnown((_, l, c) => {
  c.marks.push({ role: 'disconnected', line: l })
  if (l.args[0]) c.failure ??= l.args[0]
})

const disconnect = aboutKnown((s, l, c) => {
  c.pending = Number(l.args[0]) || 0
  c.marks.push({ role: 'disconnected', line: l })
  if (c.pending > 0) s.drop(l, c, 'connection termination')
})

/** Trace: the errno with the connection's own id. */
const readOrWriteError = about((_, l, c) => {
  const code = errnoOf(l.args[0] ?? '')
  if (code !== null) c.error = { code, line: l }
})

const idle = aboutKnown((s, l, c) => s.close(l, c, 'idle'))

/** `closing idle client 5 for cluster X`: a bare number, and the only pool line that names the cluster. */
const closingClient =
  (how: Closed | null): Handler =>
  (s, l) => {
    const c = /^\d{1,18}$/.test(l.args[0] ?? '') ? s.known(BigInt(l.args[0] as string)) : null
    if (!c) return
    c.cluster ??= l.args[1] || null
    if (how) s.close(l, c, how)
  }

const NONE: Endpoint = { ip: null, port: null }
/** `ip:port` and `[v6]:port` as Envoy prints them; `envoy://` and unix paths have no address of their own here. */
function endpointOf(text: string | undefined): Endpoint {
  const m = /^(?:\[([0-9a-fA-F:.]{2,45})\]|(\d{1,3}(?:\.\d{1,3}){3})):(\d{1,5})$/.exec(text ?? '')
  return m ? { ip: (m[1] ?? m[2] ?? '').toLowerCase(), port: Number(m[3]) || null } : NONE
}

export const socketHandlers: Readonly<Record<string, Handler>> = {
  'connecting to {}': (s, l) => {
    const c = s.open(l, 'upstream', endpointOf(l.args[0]))
    if (c) adopt(s, l, c)
  },
  'new connection from {}': (s, l) => void s.open(l, 'downstream', endpointOf(l.args[0])),
  connected,
  'delayed connect error: {}': connectError,
  'immediate connect error: {}': connectError,
  'delayed connection error: {}': connectError,
  'immediate connection error: {}': connectError,
  'connect timeout': connectTimeout,
  'remote close': remoteClose,
  'remote early close': remoteClose,
  'closing socket: {}': closeSocket,
  'write: rst close from peer.': reset,
  'read: rst close from peer': reset,
  // Since 1.23 with the address, before without.
  'remote address:{},{}': tlsError(1),
  'TLS error: {}': tlsError(0),
  'Unknown error code {} details {}': (s, l) => {
    s.thread(l).errno = { code: Number(l.args[0]) || 0, line: l }
  },
  'read error: {}, code: {}': readOrWriteError,
  'write error: {}, code: {}': readOrWriteError,
  'client disconnected, failure reason: {}': failureReason,
  'client disconnected': failureReason,
  'disconnect. resetting {} pending requests': disconnect,
  'remote goaway': aboutKnown((_, __, c) => {
    c.goaway = true
  }),
  'per client idle timeout': idle,
  'Session timed out': idle,
  'closing idle client {} for cluster {}': closingClient('idle'),
  'draining ready client {} for cluster {}': closingClient(null),
  'draining busy client {} for cluster {}': closingClient(null),
  'starting main dispatch loop': s => s.restart(),
}
