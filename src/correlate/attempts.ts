/** Joins what proxy logs know of failed attempts to the access records of the same requests. */
import { MILLISECOND } from '../model/instant.js'
import type { StreamFailure } from './connections.js'
import type { JoinedBy } from './hops.js'
import type { RequestRecord } from './records.js'

/** Records and log agree to a few milliseconds: both are written by one process, and the record prints whole ones. */
const SAME_END = 5n * MILLISECOND

/** What a log's lines about a request may lie outside of its record: a record prints whole milliseconds. */
const ROUNDED = 2n * MILLISECOND

export interface StreamJoin {
  readonly stream: StreamFailure
  readonly by: JoinedBy
}

/** The attempts of all logs, each given away once. */
export class Attempts {
  private readonly left: Set<StreamFailure>
  private readonly byRequest = new Map<string, StreamFailure[]>()
  private readonly byConnection = new Map<bigint, StreamFailure[]>()
  /** In order of time, those without a time left out. */
  private readonly byTime: StreamFailure[]

  /** `mixed`: sources whose connection ids belong to two processes. */
  constructor(
    streams: readonly StreamFailure[],
    mixed: ReadonlySet<number>,
    private readonly clockError: bigint,
  ) {
    this.left = new Set(streams)
    for (const s of streams) {
      add(this.byRequest, s.requestId, s)
      if (!mixed.has(s.source)) add(this.byConnection, s.downstreamConnectionId, s)
    }
    this.byTime = streams.filter(s => s.t !== null).sort((a, b) => Number((a.t as bigint) - (b.t as bigint)) || a.source - b.source || a.attempt - b.attempt)
  }

  /** Attempts of a request: by request id, else by the client's connection and the time. */
  take(records: readonly RequestRecord[]): StreamJoin[] {
    const found = records.flatMap(r => {
      const byId = this.sameRequest(r)
      return byId.length > 0 ? byId : this.sameConnection(r)
    })
    return this.give(found)
  }

  /** Without ids: the one that was reset when the record ended, on its way to the same address, or at an unknown one. */
  takeNear(r: RequestRecord): StreamJoin[] {
    const { end } = r
    if (end === null) return []
    let best: StreamJoin | null = null
    let least: bigint | null = null
    for (let i = this.firstAt(end - SAME_END); i < this.byTime.length; i++) {
      const s = this.byTime[i] as StreamFailure
      const t = s.t as bigint
      if (t > end + SAME_END) break
      if (!this.left.has(s) || s.healed || !sameReason(r, s) || (s.streamId === '') !== (r.kind === 'tcp') || (s.requestId !== null && r.requestId !== null)) continue
      const by = !s.remote?.ip ? 'time' : s.remote.ip === r.upstreamIp && s.remote.port === r.upstreamPort ? 'address' : null
      const distance = t > end ? t - end : end - t
      if (by === null || (least !== null && distance >= least)) continue
      best = { stream: s, by }
      least = distance
    }
    return best ? this.give([best]) : []
  }

  /** What no record took, grouped: attempts of one request in several logs, or of one stream. */
  rest(): StreamFailure[][] {
    const groups = new Map<string, StreamFailure[]>()
    for (const s of this.left) add(groups, s.requestId ?? `${s.source} ${s.downstreamConnectionId} ${s.streamId}`, s)
    return [...groups.values()]
  }

  private give(found: readonly StreamJoin[]): StreamJoin[] {
    const fresh = found.filter((j, i) => this.left.has(j.stream) && found.findIndex(o => o.stream === j.stream) === i)
    for (const j of fresh) this.left.delete(j.stream)
    return fresh
  }

  /** An application may send one id on, and a client may use it again: the attempt has to lie in the time of the record. */
  private sameRequest(r: RequestRecord): StreamJoin[] {
    const same = r.requestId === null ? [] : (this.byRequest.get(r.requestId) ?? [])
    return same.filter(s => within(s.t, r, this.clockError)).map(stream => ({ stream, by: 'request-id' }))
  }

  private sameConnection(r: RequestRecord): StreamJoin[] {
    if (r.connectionId === null || r.start === null || r.end === null) return []
    return (this.byConnection.get(r.connectionId) ?? [])
      .filter(s => s.t !== null && within(s.t, r, ROUNDED) && (s.streamId === '') === (r.kind === 'tcp') && !(s.requestId !== null && r.requestId !== null) && mayGoTo(s, r))
      .map(stream => ({ stream, by: 'connection-id' }))
  }

  /** Where attempts at or after an instant begin. */
  private firstAt(t: bigint): number {
    let low = 0
    let high = this.byTime.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.byTime[middle]?.t as bigint) < t) low = middle + 1
      else high = middle
    }
    return low
  }
}

function add<K>(map: Map<K, StreamFailure[]>, key: K | null, s: StreamFailure): void {
  if (key === null) return
  const list = map.get(key)
  if (list) list.push(s)
  else map.set(key, [s])
}

const within = (t: bigint | null, r: RequestRecord, slack: bigint): boolean => t === null || ((r.start === null || t >= r.start - slack) && (r.end === null || t <= r.end + slack))

/** Two proxies may have the same connection id at the same time: the address that they tried tells them apart. */
const mayGoTo = (s: StreamFailure, r: RequestRecord): boolean =>
  !s.remote?.ip || r.upstreamIp === null || s.healed || (s.remote.ip === r.upstreamIp && s.remote.port === r.upstreamPort)

const sameReason = (r: RequestRecord, s: StreamFailure): boolean =>
  r.details === null || r.details.replaceAll('_', ' ').includes(s.reason) || (s.reason === 'upstream timeout' && r.flags.includes('UT'))
