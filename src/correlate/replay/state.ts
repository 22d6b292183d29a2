/** The state of one replay: what is live, by id and by worker thread. */
import type { Endpoint } from '../../model/endpoint.js'
import { MILLISECOND } from '../../model/instant.js'
import type { Attempt, Closed, Connection, Errno, Line, Sinks, Stream } from './life.js'

/** How far ids may step back between neighbouring lines of one process: workers allocate them at once and log a little later. */
const ID_REORDER = 64n

/** Connections and streams held at once: older Envoys do not log the end of a stream. */
const LIVE_MOST = 100_000

/** Lines that one thread writes about one event lie this close. */
const ONE_EVENT = 50n * MILLISECOND

/** The same for lines without a thread, or without a time, counted in lines of the log: others may stand between. */
const NEIGHBOURS = 12n

/** What a worker thread did last: lines without an id belong to it. */
interface Thread {
  /** The upstream connection that it picked, for the stream that is told `pool ready` next. */
  using: { readonly connection: Connection; readonly reused: boolean; readonly line: Line } | null
  /** The attempt that it began. */
  attempt: Attempt | null
  /** The TCP session that it is about to connect for. */
  creating: { readonly session: Stream; readonly line: Line } | null
  /** The last errno line without an id: it explains the close that follows. */
  errno: Errno | null
  closing: { readonly connection: Connection; readonly line: Line } | null
}

/** Whether `b` may belong to the same event of the same worker as the earlier line `a`. Without a thread only neighbours may. */
export function isNear(a: Line, b: Line, within: bigint = ONE_EVENT): boolean {
  if (a.thread === null || a.t === null || b.t === null) return b.row - a.row <= NEIGHBOURS
  return b.t - a.t <= within
}

export class State {
  private readonly connections = new Map<bigint, Connection>()
  private readonly streams = new Map<string, Stream>()
  private readonly threads = new Map<string, Thread>()
  private process = 0
  private started = false
  private highest = 0n
  private isMixed = false

  constructor(
    private readonly source: number,
    private readonly proxy: string | null,
    private readonly out: Sinks,
  ) {}

  /** Everything that is left leaves. */
  end(): void {
    for (const c of this.connections.values()) this.out.connection(c)
    for (const s of this.streams.values()) this.out.stream(s)
    this.connections.clear()
    this.streams.clear()
  }

  thread(l: Line): Thread {
    const key = l.thread ?? ''
    let state = this.threads.get(key)
    if (!state) {
      state = { using: null, attempt: null, creating: null, errno: null, closing: null }
      this.threads.set(key, state)
    }
    return state
  }

  /** The errno line that explains a close, used up by it. */
  takeErrno(l: Line): Errno | null {
    const state = this.thread(l)
    const { errno } = state
    state.errno = null
    return errno && isNear(errno.line, l) ? errno : null
  }

  /** A process started: ids begin anew, and what was live is gone. */
  restart(): void {
    if (this.started || this.connections.size > 0) {
      this.end()
      this.threads.clear()
      this.process++
      this.highest = 0n
    }
    this.started = true
  }

  /** Answers the new connection. A client's may have been mentioned before it is said to be new. */
  open(l: Line, side: Connection['side'], remote: Endpoint): Connection | null {
    const id = l.connectionId
    if (id === null) return null
    const live = this.connections.get(id)
    // The first lines about a connection may lie before the log begins: only one that was seen to open, and not to close, is in the way.
    if (live?.closed === 'open' && live.marks[0]?.role === 'opened') this.mixes(l)
    if (id + ID_REORDER < this.highest) this.mixes(l)
    if (id > this.highest) this.highest = id
    if (live) this.out.connection(live)
    const c: Connection = { ...this.blank(l, id), side, remote, tConnecting: l.t, marks: [{ role: 'opened', line: l }] }
    this.connections.set(id, c)
    return c
  }

  private blank(l: Line, id: bigint): Connection {
    return {
      id,
      process: this.process,
      source: this.source,
      proxy: this.proxy,
      side: 'upstream',
      remote: { ip: null, port: null },
      thread: l.thread,
      tConnecting: null,
      tConnected: null,
      tFirstUse: null,
      tLastUse: null,
      tClosed: null,
      closed: 'open',
      errno: null,
      failure: null,
      cluster: null,
      streams: 0,
      pending: 0,
      goaway: false,
      error: null,
      unanswered: new Set(),
      marks: [],
    }
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
      c = this.blank(l, id)
      this.connections.set(id, c)
    }
    return c
  }

  known(id: bigint | null): Connection | null {
    return id === null ? null : (this.connections.get(id) ?? null)
  }

  stream(l: Line): Stream | null {
    return l.streamId === null ? null : this.streamOf(l.connectionId, l.streamId)
  }

  /** A TCP session: the stream without id of its client's connection. */
  session(l: Line): Stream | null {
    return l.connectionId === null ? null : this.streamOf(l.connectionId, '')
  }

  private streamOf(connection: bigint | null, streamId: string): Stream {
    const key = keyOf(connection, streamId)
    let s = this.streams.get(key)
    if (!s) {
      s = {
        source: this.source,
        process: this.process,
        downstreamConnectionId: connection,
        streamId,
        requestId: null,
        cluster: null,
        localReply: null,
        status: null,
        retrying: false,
        attempts: [],
      }
      this.streams.set(key, s)
    }
    return s
  }

  /** The stream is over: its record leaves. */
  finish(l: Line): void {
    this.leave(keyOf(l.connectionId, l.streamId ?? ''))
  }

  /** The client's connection is over, and with it its TCP session, if it was one. */
  endSession(c: Connection): void {
    this.leave(keyOf(c.id, ''))
  }

  private leave(key: string): void {
    const s = this.streams.get(key)
    if (!s) return
    this.streams.delete(key)
    this.out.stream(s)
  }

  /** The first close counts: what follows it on the same socket only follows. */
  close(l: Line, c: Connection, how: Closed): void {
    if (c.closed === 'open') {
      c.tClosed = l.t
      c.closed = how === 'local' && c.goaway ? 'goaway' : how
    }
    this.thread(l).closing = { connection: c, line: l }
  }

  /** Requests that end with their connection: the router's own line about it comes later, or is cut off. */
  drop(l: Line, c: Connection, reason: string): void {
    for (const a of c.unanswered) {
      a.outcome = 'reset'
      a.tEnd = l.t
      a.reason = reason
      a.inferred = true
      a.marks.push({ role: 'disconnected', line: l })
    }
    c.unanswered.clear()
  }

  /** `disconnect.` and `client disconnected` come after the socket closed: a record leaves only when its id is used again or the log ends, or memory asks. */
  trim(): void {
    if (this.streams.size >= LIVE_MOST)
      for (const [key, stream] of this.streams) {
        this.streams.delete(key)
        this.out.stream(stream)
        if (this.streams.size < LIVE_MOST / 2) break
      }
    if (this.connections.size < LIVE_MOST) return
    for (const [id, c] of this.connections) {
      if (c.closed === 'open') continue
      this.connections.delete(id)
      this.out.connection(c)
    }
  }
}

const keyOf = (connection: bigint | null, stream: string): string => `${connection ?? ''}/${stream}`
