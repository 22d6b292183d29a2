/** Streams proxy logs through the replay and stores connections and attempts, with the lines they rest on. */
import type { Endpoint } from '../model/endpoint.js'
import type { SqlRow, Store } from '../store/store.js'
import type { Correlation } from './correlate.js'
import { type Attempt, type Connection, type Line, type Mark, Replay, replayTemplates, type Stream } from './replay.js'
import { evidenceWriter, type Place } from './evidence.js'

/** A stream whose upstream attempt was reset: what a log knows of a failure. */
export interface StreamFailure {
  readonly source: number
  /** When the last attempt was reset. */
  readonly t: bigint | null
  readonly downstreamConnectionId: bigint | null
  readonly streamId: string
  readonly requestId: string | null
  readonly reason: string
  readonly transport: string | null
  /** A later attempt was answered. */
  readonly healed: boolean
  /** Row of `attempt`. */
  readonly attempt: number
  /** Row of `connection`, or null. */
  readonly connection: number | null
  /** The address that the attempt went to, where the log has it. */
  readonly remote: Endpoint | null
  readonly place: Place
}

export interface Connections {
  readonly failures: StreamFailure[]
  /** Sources whose ids cannot be trusted: two processes in one log. */
  readonly mixed: ReadonlyMap<number, Line>
}

export async function replayConnections(c: Correlation): Promise<Connections> {
  const failures: StreamFailure[] = []
  const mixed = new Map<number, Line>()
  const rows = new Map<Connection, number>()
  const connection = c.writers.derived('connection')
  const attempt = c.writers.derived('attempt')
  const cite = evidenceWriter(c.writers)

  const writeConnection = (x: Connection): number => {
    const known = rows.get(x)
    if (known !== undefined) return known
    const row = connection.begin()
    connection.process(x.process)
    connection.connection_id(x.id)
    connection.side(x.side)
    connection.remote_ip(x.remote.ip)
    connection.remote_port(x.remote.port)
    connection.t_connecting(x.tConnecting)
    connection.t_connected(x.tConnected)
    connection.t_first_use(x.tFirstUse)
    connection.t_last_use(x.tLastUse)
    connection.t_closed(x.tClosed)
    connection.closed(x.closed)
    connection.errno(x.errno)
    connection.failure(x.failure)
    connection.streams(x.streams)
    connection.source(x.source)
    connection.pending(x.pending)
    for (const m of x.marks) cite('connection', row, m.role, spanOf(m))
    rows.set(x, row)
    return row
  }
  const writeAttempt = (a: Attempt, s: Stream): void => {
    const onConnection = a.connection ? writeConnection(a.connection) : null
    const row = attempt.begin()
    attempt.number(a.number)
    attempt.connection(onConnection === null ? null : BigInt(onConnection))
    attempt.t_start(a.tStart)
    attempt.t_end(a.tEnd)
    attempt.outcome(a.outcome)
    attempt.reason(a.transport ? `${a.reason}, ${a.transport}` : a.reason)
    attempt.source(s.source)
    attempt.stream_id(s.streamId)
    attempt.downstream_connection_id(s.downstreamConnectionId)
    attempt.request_id(s.requestId)
    attempt.reused(a.reused)
    attempt.healed(a.healed)
    for (const m of a.marks) cite('attempt', row, m.role, spanOf(m))
    if (a.outcome !== 'reset') return
    failures.push({
      source: s.source,
      t: a.tEnd,
      downstreamConnectionId: s.downstreamConnectionId,
      streamId: s.streamId,
      requestId: s.requestId,
      reason: a.reason ?? '',
      transport: a.transport,
      healed: a.healed,
      attempt: row,
      connection: onConnection,
      remote: a.connection?.remote ?? null,
      place: spanOf(a.marks.at(-1) as Mark),
    })
  }
  // Connections leave when they end; a stream on one that has not ended makes it leave early, so streams are held until the source is read.
  const streams: Stream[] = []
  const sinks = {
    connection: (x: Connection) => void writeConnection(x),
    stream: (s: Stream) => {
      if (s.attempts.some(a => a.outcome === 'reset')) streams.push(s)
    },
    mixed: (source: number, because: Line) => void mixed.set(source, because),
  }
  let replay: Replay | null = null
  let source = -1
  const finish = () => {
    replay?.end()
    for (const s of streams.splice(0)) for (const a of s.attempts) writeAttempt(a, s)
    rows.clear()
  }
  for await (const line of lines(c.store)) {
    if (!replay || source !== line.source) {
      finish()
      source = line.source
      replay = new Replay(source, sinks)
    }
    replay.take(line)
  }
  finish()
  return { failures, mixed }
}

const spanOf = (m: Mark): Place => ({ source: m.line.source, line: m.line.line, frame: null, byteStart: m.line.byteStart, byteEnd: m.line.byteEnd })

async function* lines(store: Store): AsyncGenerator<Line> {
  const wanted = replayTemplates().map(t => `'${t.replaceAll("'", "''")}'`)
  const templates = new Map<number, string>()
  for (const r of await store.rows(`SELECT id, value FROM raw.dictionary WHERE value IN (${wanted.join(', ')}) ORDER BY id`)) templates.set(r.id as number, r.value as string)
  if (templates.size === 0) return
  const sql = `SELECT "row", source, line, byte_start, byte_end, t, thread, connection_id, stream_id, request_id, template, args FROM raw.proxy_line
    WHERE template IN (${[...templates.keys()].join(', ')}) ORDER BY source, "row"`
  const words = new Map<number, string>()
  for await (const rows of store.stream(sql)) {
    const unknown = rows.flatMap(r => [r.thread, r.stream_id]).filter((id): id is number => typeof id === 'number' && !words.has(id))
    for (const [id, word] of await store.words(unknown)) words.set(id, word)
    for (const r of rows) yield lineOf(r, templates, words)
    if (words.size > 200_000) words.clear()
  }
}

function lineOf(r: SqlRow, templates: ReadonlyMap<number, string>, words: ReadonlyMap<number, string>): Line {
  return {
    row: r.row as bigint,
    source: r.source as number,
    line: r.line as bigint,
    byteStart: r.byte_start as bigint,
    byteEnd: r.byte_end as bigint,
    t: r.t as bigint | null,
    thread: words.get(r.thread as number) ?? null,
    connectionId: r.connection_id as bigint | null,
    streamId: words.get(r.stream_id as number) ?? null,
    requestId: r.request_id as string | null,
    template: templates.get(r.template as number) ?? '',
    args: argsOf(r.args as string | null),
  }
}

function argsOf(text: string | null): string[] {
  if (text === null) return []
  const value: unknown = JSON.parse(text)
  return Array.isArray(value) ? value.map(String) : []
}
