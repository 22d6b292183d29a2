/**
 * The life of a proxy's connections and streams, replayed line by line from its debug log. State is bounded by what is
 * live. Lines without an id are joined by worker thread (mechanisms: an errno line stands just before the close it
 * explains, on the same thread).
 */
import type { Endpoint } from '../model/endpoint.js'
import { MILLISECOND } from '../model/instant.js'

/** One log line, as far as the replay looks at it. */
export interface Line {
  readonly row: bigint
  readonly source: number
  readonly line: bigint
  readonly byteStart: bigint
  readonly byteEnd: bigint
  readonly t: bigint | null
  readonly thread: string | null
  readonly connectionId: bigint | null
  readonly streamId: string | null
  readonly requestId: string | null
  readonly template: string
  readonly args: readonly string[]
}

export type Closed = 'fin' | 'rst' | 'timeout' | 'local' | 'goaway' | 'idle' | 'open'

/** A line that something rests on, and what for. */
export interface Mark {
  readonly role: 'opened' | 'connected' | 'reused' | 'ready' | 'error' | 'closing' | 'closed' | 'disconnected' | 'reset' | 'skipped' | 'timeout'
  readonly line: Line
}

export interface Connection {
  readonly id: bigint
  readonly process: number
  readonly source: number
  readonly side: 'upstream' | 'downstream'
  readonly remote: Endpoint
  readonly thread: string | null
  readonly tConnecting: bigint | null
  tConnected: bigint | null
  tFirstUse: bigint | null
  tLastUse: bigint | null
  tClosed: bigint | null
  closed: Closed
  errno: number | null
  failure: string | null
  streams: number
  /** Requests that the close reset, as the codec counted them. */
  pending: number
  goaway: boolean
  readonly marks: Mark[]
}

/** One try of a stream on an upstream connection. */
export interface Attempt {
  readonly number: number
  readonly stream: Stream
  connection: Connection | null
  readonly tStart: bigint | null
  tEnd: bigint | null
  outcome: 'reset' | 'answered' | 'open'
  reason: string | null
  transport: string | null
  readonly reused: boolean
  healed: boolean
  readonly marks: Mark[]
}

export interface Stream {
  readonly source: number
  readonly process: number
  readonly downstreamConnectionId: bigint | null
  readonly streamId: string
  requestId: string | null
  readonly attempts: Attempt[]
  answered: boolean
  localReply: string | null
}

/** What leaves the replay, in the order in which it ends. */
export interface Sinks {
  connection(c: Connection): void
  stream(s: Stream): void
  /** The log mixes two processes: ids cannot be trusted. */
  mixed(source: number, because: Line): void
}

const ERRNO: Record<string, number> = { 'Connection refused': 111, 'Connection timed out': 110, 'No route to host': 113, 'Connection reset by peer': 104, 'Network is unreachable': 101, 'Cannot assign requested address': 99, 'Broken pipe': 32 }

/** How far ids may step back between neighbouring lines of one process: workers allocate them at once and log a little later. */
const ID_REORDER = 64n

/** Connections and streams held at once: older Envoys do not log the end of a stream. */
const LIVE_MOST = 100_000

/** The templates that the replay looks at. */
export const replayTemplates = (): string[] => Object.keys(HANDLERS)

/** Replays one source. `take` gets its lines in file order, `end` closes what is left open. */
export class Replay {
  private readonly connections = new Map<bigint, Connection>()
  private readonly streams = new Map<string, Stream>()
  private readonly threads = new Map<string, ThreadState>()
  private process = 0
  private started = false
  private highest = 0n
  private isMixed = false

  constructor(
    private readonly source: number,
    private readonly out: Sinks,
  ) {}

  take(l: Line): void {
    const handle = HANDLERS[l.template]
    if (handle) handle(this, l)
  }

  end(): void {
    for (const c of this.connections.values()) this.out.connection(c)
    for (const s of this.streams.values()) this.out.stream(s)
    this.connections.clear()
    this.streams.clear()
  }

  thread(l: Line): ThreadState {
    const key = l.thread ?? ''
    let state = this.threads.get(key)
    if (!state) {
      state = { using: null, usingReused: false, usingMark: null, errno: null, closing: null }
      this.threads.set(key, state)
    }
    return state
  }

  restart(): void {
    if (this.started || this.connections.size > 0) {
      this.end()
      this.threads.clear()
      this.process++
      this.highest = 0n
    }
    this.started = true
  }

  open(l: Line, side: Connection['side'], remote: Endpoint): void {
    const id = l.connectionId
    if (id === null) return
    const live = this.connections.get(id)
    if (live && live.tClosed === null && side === 'upstream' && live.side === 'upstream') this.mixes(l)
    if (id + ID_REORDER < this.highest) this.mixes(l)
    if (id > this.highest) this.highest = id
    if (live) this.out.connection(live)
    this.connections.set(id, {
      id,
      process: this.process,
      source: this.source,
      side,
      remote,
      thread: l.thread,
      tConnecting: l.t,
      tConnected: null,
      tFirstUse: null,
      tLastUse: null,
      tClosed: null,
      closed: 'open',
      errno: null,
      failure: null,
      streams: 0,
      pending: 0,
      goaway: false,
      marks: [{ role: 'opened', line: l }],
    })
  }

  private mixes(l: Line): void {
    if (this.isMixed) return
    this.isMixed = true
    this.out.mixed(this.source, l)
  }

  /** The connection of a line; one that was opened before the log begins is made up, without address. */
  connection(l: Line, id: bigint | null = l.connectionId): Connection | null {
    if (id === null) return null
    let c = this.connections.get(id)
    if (!c) {
      c = {
        id, process: this.process, source: this.source, side: 'upstream', remote: { ip: null, port: null }, thread: l.thread, tConnecting: null, tConnected: null, tFirstUse: null,
        tLastUse: null, tClosed: null, closed: 'open', errno: null, failure: null, streams: 0, pending: 0, goaway: false, marks: [],
      }
      this.connections.set(id, c)
    }
    return c
  }

  known(id: bigint | null): Connection | null {
    return id === null ? null : (this.connections.get(id) ?? null)
  }

  stream(l: Line): Stream | null {
    if (l.streamId === null) return null
    const key = `${l.connectionId ?? ''}/${l.streamId}`
    let s = this.streams.get(key)
    if (!s) {
      s = { source: this.source, process: this.process, downstreamConnectionId: l.connectionId, streamId: l.streamId, requestId: null, attempts: [], answered: false, localReply: null }
      this.streams.set(key, s)
    }
    return s
  }

  /** The stream is over: its record leaves. */
  finish(l: Line): void {
    const key = `${l.connectionId ?? ''}/${l.streamId ?? ''}`
    const s = this.streams.get(key)
    if (!s) return
    this.streams.delete(key)
    this.out.stream(s)
  }

  close(l: Line, c: Connection, how: Closed): void {
    if (c.tClosed === null || c.closed === 'open') {
      c.tClosed = l.t
      c.closed = how
    }
    this.thread(l).closing = { connection: c, t: l.t }
  }

  /** `disconnect.` and `client disconnected` come after the socket closed: the record leaves only when the id is used again or the log ends, or memory asks. */
  trim(): void {
    if (this.streams.size >= LIVE_MOST)
      for (const [key, stream] of this.streams) {
        this.streams.delete(key)
        this.out.stream(stream)
        if (this.streams.size < LIVE_MOST / 2) break
      }
    if (this.connections.size < LIVE_MOST) return
    for (const [id, c] of this.connections) {
      if (c.tClosed === null) continue
      this.connections.delete(id)
      this.out.connection(c)
    }
  }
}

interface ThreadState {
  /** The upstream connection that the thread picked last, for the stream that is told `pool ready` next. */
  using: Connection | null
  usingReused: boolean
  usingMark: Mark | null
  /** The last errno line: it explains the close that follows on this thread. */
  errno: { readonly code: number; readonly line: Line } | null
  closing: { readonly connection: Connection; readonly t: bigint | null } | null
}

type Handler = (r: Replay, l: Line) => void

const use = (r: Replay, l: Line, reused: boolean): void => {
  const c = r.connection(l)
  if (!c) return
  c.tFirstUse ??= l.t
  c.tLastUse = l.t
  const state = r.thread(l)
  const mark: Mark = { role: 'reused', line: l }
  if (state.using !== c || reused) {
    state.using = c
    state.usingReused = reused || c.streams > 0
    state.usingMark = reused ? mark : null
  }
}

const attach = (r: Replay, l: Line): void => {
  const s = r.stream(l)
  if (!s) return
  const state = r.thread(l)
  const last = s.attempts.at(-1)
  if (last && last.outcome === 'open' && last.connection === state.using) return
  const c = state.using
  if (c) c.streams++
  s.attempts.push({
    number: s.attempts.length + 1, stream: s, connection: c, tStart: l.t, tEnd: null, outcome: 'open', reason: null, transport: null, reused: c !== null && state.usingReused, healed: false,
    marks: [...(state.usingMark ? [state.usingMark] : []), { role: 'ready', line: l }],
  })
  state.using = null
  state.usingMark = null
}

/** `Attached upstream connection [C5] to downstream connection [C10]`: names the connection of the attempt that has just begun. */
const attached = (r: Replay, l: Line): void => {
  const id = /^\d{1,19}$/.test(l.args[0] ?? '') ? BigInt(l.args[0] as string) : null
  const c = r.connection(l, id)
  if (c) {
    c.tFirstUse ??= l.t
    c.tLastUse = l.t
    r.thread(l).using = c
  }
}

const reset = (r: Replay, l: Line, why?: string): void => {
  const s = r.stream(l)
  if (!s) return
  const reason = why ?? l.args[0] ?? ''
  const open = s.attempts.at(-1)
  const mark: Mark = { role: 'reset', line: l }
  const { closing } = r.thread(l)
  const near = closing && closing.t !== null && l.t !== null && l.t - closing.t <= 5n * MILLISECOND ? closing.connection : null
  if (open && open.outcome === 'open') {
    open.outcome = 'reset'
    open.tEnd = l.t
    open.reason = reason
    open.transport = l.args[1] || null
    open.connection ??= near
    open.marks.push(mark)
  } else
    s.attempts.push({ number: s.attempts.length + 1, stream: s, connection: near, tStart: l.t, tEnd: l.t, outcome: 'reset', reason, transport: l.args[1] || null, reused: false, healed: false, marks: [mark] })
}

const answered = (r: Replay, l: Line): void => {
  const s = r.stream(l)
  if (!s) return
  s.answered = true
  for (const a of s.attempts) if (a.outcome === 'reset') a.healed = true
  const last = s.attempts.at(-1)
  if (last && last.outcome === 'open') {
    last.outcome = 'answered'
    last.tEnd = l.t
  }
}

const closeSocket = (r: Replay, l: Line): void => {
  const c = r.connection(l)
  if (!c) return
  const state = r.thread(l)
  const { errno } = state
  state.errno = null
  c.marks.push({ role: 'closed', line: l })
  const remote = l.args[0] === '0'
  if (c.closed !== 'open') c.tClosed ??= l.t
  else if (!remote) r.close(l, c, 'local')
  else if (errno && recent(errno.line, l)) {
    c.errno = errno.code
    c.marks.push({ role: 'error', line: errno.line })
    r.close(l, c, errno.code === 104 ? 'rst' : 'timeout')
  }
  // At debug level a clear-text reset prints nothing else: a FIN or a timeout would have said so.
  else r.close(l, c, c.failure === null && c.tConnected !== null ? 'rst' : 'local')
  r.trim()
}

const recent = (a: Line, b: Line): boolean => a.t !== null && b.t !== null && b.t - a.t <= 50n * MILLISECOND

const remoteClose = (r: Replay, l: Line): void => {
  const c = r.connection(l)
  if (!c) return
  const state = r.thread(l)
  const { errno } = state
  c.marks.push({ role: 'closing', line: l })
  if (c.closed !== 'open') return
  if (errno && recent(errno.line, l) && errno.code !== 111) {
    c.errno = errno.code
    c.marks.push({ role: 'error', line: errno.line })
    r.close(l, c, 'timeout')
  } else r.close(l, c, 'fin')
  state.errno = null
}

/** `TLS_error:|33554536:…`: the upper byte is the library (2 = system), the rest the errno. */
export function tlsErrno(text: string): number | null {
  for (const m of text.matchAll(/(?:TLS_error:|TLS error: ?|\|)\|?(\d{6,10}):/g)) {
    const n = Number(m[1])
    if (n >>> 24 === 2) return n & 0xfff
  }
  return null
}

const tlsError = (r: Replay, l: Line): void => {
  const c = r.connection(l)
  if (!c) return
  const errno = tlsErrno(l.args[1] ?? '')
  c.marks.push({ role: 'error', line: l })
  if (c.closed !== 'open') return
  c.errno = errno
  if (errno === 104 || errno === 32) r.close(l, c, 'rst')
  else if (errno === 110 || errno === 113) r.close(l, c, 'timeout')
  else c.failure ??= l.args[1] ?? null
}

const rst = (r: Replay, l: Line): void => {
  const c = r.connection(l)
  if (!c || c.closed !== 'open') return
  c.errno = 104
  c.marks.push({ role: 'closing', line: l })
  r.close(l, c, 'rst')
}

const connectError = (r: Replay, l: Line): void => {
  const c = r.connection(l)
  if (!c) return
  const text = l.args[0] ?? ''
  c.failure = text
  c.errno = /^\d+$/.test(text) ? Number(text) : (ERRNO[text.split('|', 1)[0] as string] ?? null)
  c.marks.push({ role: 'error', line: l })
}

const failureReason = (r: Replay, l: Line): void => {
  const c = r.known(l.connectionId)
  if (!c) return
  c.marks.push({ role: 'disconnected', line: l })
  if (l.args[0]) c.failure ??= l.args[0]
}

const HANDLERS: Record<string, Handler> = {
  'connecting to {}': (r, l) => r.open(l, 'upstream', endpointOf(l.args[0])),
  'new connection from {}': (r, l) => r.open(l, 'downstream', endpointOf(l.args[0])),
  connected: (r, l) => {
    const c = r.known(l.connectionId)
    if (!c || c.tConnected !== null) return
    c.tConnected = l.t
    c.marks.push({ role: 'connected', line: l })
  },
  'using existing fully connected connection': (r, l) => use(r, l, true),
  'using existing connection': (r, l) => use(r, l, true),
  'using existing early data ready connection': (r, l) => use(r, l, true),
  'attaching to next stream': (r, l) => use(r, l, false),
  'creating stream': (r, l) => use(r, l, false),
  'pool ready': attach,
  'Attached upstream connection [C{}] to downstream connection [C{}]': attached,
  'upstream headers complete: end_stream={}': answered,
  'upstream timeout': (r, l) => reset(r, l, 'upstream timeout'),
  'upstream per try timeout': (r, l) => reset(r, l, 'upstream timeout'),
  'upstream reset: reset reason: {}, transport failure reason: {}': (r, l) => reset(r, l),
  'upstream reset: reset reason: {}': (r, l) => reset(r, l),
  'upstream reset: reset reason {}': (r, l) => reset(r, l),
  'remote close': remoteClose,
  'remote early close': remoteClose,
  'closing socket: {}': closeSocket,
  'write: rst close from peer.': rst,
  'read: rst close from peer': rst,
  'remote address:{},{}': tlsError,
  'delayed connect error: {}': connectError,
  'immediate connect error: {}': connectError,
  'delayed connection error: {}': connectError,
  'immediate connection error: {}': connectError,
  'connect timeout': (r, l) => {
    const c = r.known(l.connectionId)
    if (!c) return
    c.failure = 'connect timeout'
    c.marks.push({ role: 'timeout', line: l })
  },
  'Unknown error code {} details {}': (r, l) => {
    r.thread(l).errno = { code: Number(l.args[0]), line: l }
  },
  'read error: {}, code: {}': (r, l) => errorText(r, l),
  'write error: {}, code: {}': (r, l) => errorText(r, l),
  'client disconnected, failure reason: {}': failureReason,
  'client disconnected': failureReason,
  'disconnect. resetting {} pending requests': (r, l) => {
    const c = r.known(l.connectionId)
    if (!c) return
    c.pending = Number(l.args[0]) || 0
    c.marks.push({ role: 'disconnected', line: l })
  },
  'remote goaway': (r, l) => {
    const c = r.known(l.connectionId)
    if (c) c.goaway = true
  },
  'per client idle timeout': (r, l) => {
    const c = r.known(l.connectionId)
    if (c) r.close(l, c, 'idle')
  },
  'Session timed out': (r, l) => {
    const c = r.known(l.connectionId)
    if (c) r.close(l, c, 'idle')
  },
  'Codec completed encoding stream.': (r, l) => r.finish(l),
  'starting main dispatch loop': r => r.restart(),
}

function errorText(r: Replay, l: Line): void {
  const code = ERRNO[l.args[0] ?? '']
  if (code !== undefined && code !== 104) r.thread(l).errno = { code, line: l }
}

const NONE: Endpoint = { ip: null, port: null }
/** `ip:port` and `[v6]:port` as Envoy prints them; `envoy://` and unix paths have no address of their own here. */
function endpointOf(text: string | undefined): Endpoint {
  const m = /^(?:\[([0-9a-fA-F:.]{2,45})\]|(\d{1,3}(?:\.\d{1,3}){3})):(\d{1,5})$/.exec(text ?? '')
  return m ? { ip: (m[1] ?? m[2] ?? '').toLowerCase(), port: Number(m[3]) || null } : NONE
}
