/** Streams proxy logs through the replay and stores connections and attempts, with the lines they rest on. */
import type { Endpoint } from '../model/endpoint.js'
import type { SqlRow, Store } from '../store/store.js'
import type { Correlation } from './correlate.js'
import { evidenceWriter, type Place } from './evidence.js'
import type { Ownership } from './owners.js'
import { type Attempt, type Connection, dumpTemplates, type Line, type Mark, Replay, replayTemplates, type Sinks, type Stream } from './replay.js'

/** A stream whose upstream attempt was reset: what a log knows of a failure. */
export interface StreamFailure {
  readonly source: number
  /** When the last attempt was reset. */
  readonly t: bigint | null
  readonly downstreamConnectionId: bigint | null
  readonly streamId: string
  readonly requestId: string | null
  readonly reason: string
  /** Transport failure reason of the reset, or of its connection where the reset prints none (up to Envoy 1.15). */
  readonly transport: string | null
  /** Response headers had come before the reset. */
  readonly responded: boolean
  /** A later attempt was answered. */
  readonly healed: boolean
  /** Details and status of the answer that the client got, where the log shows it. */
  readonly details: string | null
  readonly status: number | null
  /** Row of `attempt`. */
  readonly attempt: number
  /** Row of `connection`, or null. */
  readonly connection: number | null
  /** How the attempt found its connection. */
  readonly connectionBy: Attempt['joinedBy']
  /** The address that the attempt went to, where the log has it. */
  readonly remote: Endpoint | null
  readonly place: Place
}

export interface Connections {
  readonly failures: StreamFailure[]
  /** Sources whose ids cannot be trusted: two processes in one log. */
  readonly mixed: ReadonlyMap<number, Line>
}

export async function replayConnections(c: Correlation, owners: Ownership): Promise<Connections> {
  const mixed = new Map<number, Line>()
  const written = new Written(c, owners)
  // A stream may outlive its connection and a connection its streams: streams with a reset are held until their source is read.
  const held: Stream[] = []
  const sinks: Sinks = {
    connection: x => void written.connection(x),
    stream: s => {
      if (s.attempts.some(a => a.outcome === 'reset')) held.push(s)
    },
    mixed: (source, because) => void mixed.set(source, because),
  }
  // One log may hold several proxies, each line under its pod's name.
  const replays = new Map<string | null, Replay>()
  let source = -1
  const finish = () => {
    for (const r of replays.values()) r.end()
    replays.clear()
    for (const s of held.splice(0)) for (const a of s.attempts) written.attempt(a, s)
  }
  for await (const line of lines(c.store)) {
    if (source !== line.source) {
      finish()
      source = line.source
    }
    let replay = replays.get(line.proxy)
    if (!replay) {
      replay = new Replay(source, line.proxy, sinks)
      replays.set(line.proxy, replay)
    }
    replay.take(line)
  }
  finish()
  return { failures: written.failures, mixed }
}

/** What has been written of the derived tables, each connection once. */
class Written {
  readonly failures: StreamFailure[] = []
  private readonly rows = new WeakMap<Connection, number>()
  private readonly connections: ReturnType<typeof connectionWriter>
  private readonly attempts: ReturnType<typeof attemptWriter>
  private readonly cite: ReturnType<typeof evidenceWriter>

  constructor(
    c: Correlation,
    private readonly owners: Ownership,
  ) {
    this.connections = connectionWriter(c)
    this.attempts = attemptWriter(c)
    this.cite = evidenceWriter(c.writers)
  }

  connection(x: Connection): number {
    const known = this.rows.get(x)
    if (known !== undefined) return known
    const w = this.connections
    const row = w.begin()
    w.proxy(x.proxy)
    w.process(x.process)
    w.connection_id(x.id)
    w.side(x.side)
    w.remote_ip(x.remote.ip)
    w.remote_port(x.remote.port)
    w.cluster(x.cluster)
    w.t_connecting(x.tConnecting)
    w.t_connected(x.tConnected)
    w.t_first_use(x.tFirstUse)
    w.t_last_use(x.tLastUse)
    w.t_closed(x.tClosed)
    w.closed(x.closed)
    w.errno(x.errno)
    w.failure(x.failure)
    w.streams(x.streams)
    w.owner_at_open(this.ownerAt(x.remote.ip, x.tConnecting))
    w.owner_at_close(this.ownerAt(x.remote.ip, x.tClosed))
    w.source(x.source)
    w.pending(x.pending)
    for (const m of x.marks) this.cite('connection', row, m.role, spanOf(m))
    this.rows.set(x, row)
    return row
  }

  private ownerAt(ip: string | null, t: bigint | null): bigint | null {
    const owner = ip === null || t === null ? null : this.owners.at(ip, t)
    return owner ? BigInt(owner.row) : null
  }

  attempt(a: Attempt, s: Stream): void {
    const onConnection = a.connection ? this.connection(a.connection) : null
    const w = this.attempts
    const row = w.begin()
    const transport = a.transport ?? a.connection?.failure ?? null
    w.number(a.number)
    w.connection(onConnection === null ? null : BigInt(onConnection))
    w.t_start(a.tStart)
    w.t_end(a.tEnd)
    w.outcome(a.outcome)
    w.reason(a.transport ? `${a.reason}, ${a.transport}` : a.reason)
    w.source(s.source)
    w.stream_id(s.streamId)
    w.downstream_connection_id(s.downstreamConnectionId)
    w.request_id(s.requestId)
    w.reused(a.reused)
    w.healed(a.healed)
    for (const m of a.marks) this.cite('attempt', row, m.role, spanOf(m))
    // Streams of the proxy's own clients (health checks, authorization, discovery) have no client behind them.
    if (a.outcome !== 'reset' || s.downstreamConnectionId === null) return
    this.failures.push({
      source: s.source,
      t: a.tEnd,
      downstreamConnectionId: s.downstreamConnectionId,
      streamId: s.streamId,
      requestId: s.requestId,
      reason: a.reason ?? '',
      transport,
      responded: a.responded,
      healed: a.healed,
      details: s.localReply,
      status: s.status,
      attempt: row,
      connection: onConnection,
      connectionBy: a.joinedBy,
      remote: a.connection?.remote ?? null,
      place: spanOf(a.marks.findLast(m => m.role === 'reset' || m.role === 'disconnected') ?? (a.marks.at(-1) as Mark)),
    })
  }
}

const connectionWriter = (c: Correlation) => c.writers.derived('connection')
const attemptWriter = (c: Correlation) => c.writers.derived('attempt')

const spanOf = (m: Mark): Place => ({ source: m.line.source, line: m.line.line, frame: null, byteStart: m.line.byteStart, byteEnd: m.line.byteEnd })

async function* lines(store: Store): AsyncGenerator<Line> {
  const templates = new Map<number, string>()
  const wanted = replayTemplates().map(t => `'${t.replaceAll("'", "''")}'`)
  for (const r of await store.rows(`SELECT id, value FROM raw.dictionary WHERE value IN (${wanted.join(', ')}) ORDER BY id`)) templates.set(r.id as number, r.value as string)
  if (templates.size === 0) return
  const dumps = [...templates].filter(([, t]) => dumpTemplates.includes(t)).map(([id]) => id)
  const sql = `SELECT "row", source, line, byte_start, byte_end, t, proxy, thread, connection_id, stream_id, request_id, template, args, CASE WHEN template IN (${[-1, ...dumps].join(', ')}) THEN text END AS dump
    FROM raw.proxy_line WHERE template IN (${[...templates.keys()].join(', ')}) ORDER BY source, "row"`
  const words = new Map<number, string>()
  for await (const rows of store.stream(sql)) {
    const unknown = rows.flatMap(r => [r.proxy, r.thread, r.stream_id]).filter((id): id is number => typeof id === 'number' && !words.has(id))
    for (const [id, word] of await store.words(unknown)) words.set(id, word)
    for (const r of rows) yield lineOf(r, templates, words)
    if (words.size > 200_000) words.clear()
  }
}

function lineOf(r: SqlRow, templates: ReadonlyMap<number, string>, words: ReadonlyMap<number, string>): Line {
  const word = (id: unknown): string | null => words.get(id as number) ?? null
  return {
    row: r.row as bigint,
    source: r.source as number,
    line: r.line as bigint,
    byteStart: r.byte_start as bigint,
    byteEnd: r.byte_end as bigint,
    t: r.t as bigint | null,
    proxy: word(r.proxy),
    thread: word(r.thread),
    connectionId: r.connection_id as bigint | null,
    streamId: word(r.stream_id),
    requestId: r.request_id as string | null,
    template: templates.get(r.template as number) ?? '',
    args: argsOf(r.args as string | null),
    text: r.dump as string | null,
  }
}

function argsOf(text: string | null): string[] {
  if (text === null) return []
  const value: unknown = JSON.parse(text)
  return Array.isArray(value) ? value.map(String) : []
}
