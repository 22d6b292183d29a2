/** What the replay of a proxy's log knows of connections, streams and attempts. */
import type { Endpoint } from '../../model/endpoint.js'

/** One log line, as far as the replay looks at it. */
export interface Line {
  readonly row: bigint
  readonly source: number
  readonly line: bigint
  readonly byteStart: bigint
  readonly byteEnd: bigint
  readonly t: bigint | null
  readonly proxy: string | null
  readonly thread: string | null
  readonly connectionId: bigint | null
  readonly streamId: string | null
  readonly requestId: string | null
  readonly template: string
  readonly args: readonly string[]
  /** The whole message, of the few templates that dump headers. */
  readonly text: string | null
}

export type Closed = 'fin' | 'rst' | 'timeout' | 'local' | 'goaway' | 'idle' | 'open'

/** A line that something rests on, and what for. */
export interface Mark {
  readonly role: 'opened' | 'connected' | 'reused' | 'ready' | 'error' | 'closing' | 'closed' | 'disconnected' | 'reset' | 'timeout' | 'reply'
  readonly line: Line
}

/** An errno that a line printed. */
export interface Errno {
  readonly code: number
  readonly line: Line
}

export interface Connection {
  readonly id: bigint
  readonly process: number
  readonly source: number
  readonly proxy: string | null
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
  cluster: string | null
  streams: number
  /** Requests that the close reset, as the codec counted them. */
  pending: number
  goaway: boolean
  /** The last errno that a line of its own printed (trace level). */
  error: Errno | null
  /** Attempts on it that have had no answer. */
  readonly unanswered: Set<Attempt>
  readonly marks: Mark[]
}

/** How an attempt found its connection: lines that name both, or a close on the same thread just before the reset. */
export type JoinedBy = 'connection-id' | 'time'

/** One try of a stream on an upstream connection. */
export interface Attempt {
  readonly number: number
  readonly stream: Stream
  connection: Connection | null
  joinedBy: JoinedBy | null
  readonly tStart: bigint | null
  tEnd: bigint | null
  outcome: 'reset' | 'answered' | 'open'
  reason: string | null
  transport: string | null
  readonly reused: boolean
  /** Response headers had come: what was reset after them cut a response off. */
  responded: boolean
  /** The reset follows from the end of the connection; the router's own line was not seen. */
  inferred: boolean
  /** A later attempt of the stream was answered. */
  healed: boolean
  readonly marks: Mark[]
}

export interface Stream {
  readonly source: number
  readonly process: number
  readonly downstreamConnectionId: bigint | null
  readonly streamId: string
  requestId: string | null
  cluster: string | null
  /** Details of the answer that the proxy made itself. */
  localReply: string | null
  /** Status of the answer to the client, where the log dumps its headers. */
  status: number | null
  /** The router said that it tries again: what comes next is another attempt. */
  retrying: boolean
  readonly attempts: Attempt[]
}

/** What leaves the replay, in the order in which it ends. */
export interface Sinks {
  connection(c: Connection): void
  stream(s: Stream): void
  /** The log mixes two processes: ids cannot be trusted. */
  mixed(source: number, because: Line): void
}
