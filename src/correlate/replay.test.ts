import { describe, expect, it } from 'vitest'
import { collect } from '../../test/support/collect.js'
import type { Format } from '../formats/format.js'
import { formats } from '../formats/index.js'
import { type Connection, type Line, Replay, type Stream } from './replay.js'
import { tlsErrno } from './replay/errors.js'

const envoyLog = formats.find(f => f.id === 'envoy-log') as Format

/** Replays a log as its format reads it; connections and streams in the order in which they leave. */
function replay(log: string): { connections: Connection[]; streams: Stream[]; mixed: Line[] } {
  const out = { connections: [] as Connection[], streams: [] as Stream[], mixed: [] as Line[] }
  const replay = new Replay(1, null, { connection: c => out.connections.push(c), stream: s => out.streams.push(s), mixed: (_, l) => out.mixed.push(l) })
  collect(envoyLog, log).rows.proxy_line.forEach((r, i) => {
    const text = (column: string): string | null => r[column] as string | null
    replay.take({
      row: BigInt(i),
      source: 1,
      line: BigInt(r.span.line ?? 0),
      byteStart: BigInt(r.span.byteStart),
      byteEnd: BigInt(r.span.byteEnd),
      t: r.t,
      proxy: null,
      thread: text('thread'),
      connectionId: r.connection_id as bigint | null,
      streamId: text('stream_id'),
      requestId: text('request_id'),
      template: text('template') ?? '',
      args: JSON.parse(text('args') ?? '[]') as string[],
      text: text('text'),
    })
  })
  replay.end()
  return out
}

/** `10:00:01.250` is written as `1.250`: seconds after ten. */
const at = (s: number): string => `2026-01-02 10:${String(Math.floor(s / 60)).padStart(2, '0')}:${(s % 60).toFixed(3).padStart(6, '0')}`
const tags = (c?: number, s?: number): string => (c === undefined ? '' : `[Tags: "ConnectionId":"${c}"${s === undefined ? '' : `,"StreamId":"${s}"`}] `)
const line = (t: number, logger: string, message: string, c?: number, s?: number, thread = 7): string =>
  `[${at(t)}][${thread}][debug][${logger}] [source/x.cc:1] ${tags(c, s)}${message}`
const log = (...lines: string[]): string => `${lines.join('\n')}\n`

const connecting = (t: number, c: number, to = '10.0.0.5:8080', thread = 7) => line(t, 'connection', `connecting to ${to}`, c, undefined, thread)
const connected = (t: number, c: number, thread = 7) => line(t, 'connection', 'connected', c, undefined, thread)
const errno = (t: number, code: number, text: string, thread = 7) => line(t, 'misc', `Unknown error code ${code} details ${text}`, undefined, undefined, thread)
const remoteClose = (t: number, c: number, thread = 7) => line(t, 'connection', 'remote close', c, undefined, thread)
const closing = (t: number, c: number, how: 0 | 1, thread = 7) => line(t, 'connection', `closing socket: ${how}`, c, undefined, thread)
const use = (t: number, c: number, thread = 7) => line(t, 'pool', 'using existing fully connected connection', c, undefined, thread)
const creating = (t: number, c: number, thread = 7) => line(t, 'pool', 'creating stream', c, undefined, thread)
const ready = (t: number, down: number, s: number, thread = 7) => line(t, 'router', 'pool ready', down, s, thread)
const answered = (t: number, down: number, s: number) => line(t, 'router', 'upstream headers complete: end_stream=false', down, s)
const reset = (t: number, down: number, s: number, reason: string, transport = '', thread = 7) =>
  line(t, 'router', `upstream reset: reset reason: ${reason}, transport failure reason: ${transport}`, down, s, thread)

const ends = (l: string) => replay(l).connections.map(c => [Number(c.id), c.closed, c.errno])

describe('a connection ends by', () => {
  it('FIN where remote close is printed', () => expect(ends(log(connecting(0, 4), connected(0.01, 4), remoteClose(5, 4), closing(5, 4, 0)))).toEqual([[4, 'fin', null]]))
  it('RST where only `closing socket: 0` is', () => expect(ends(log(connecting(0, 4), connected(0.01, 4), closing(5, 4, 0)))).toEqual([[4, 'rst', null]]))
  it('RST where it is said', () =>
    expect(ends(log(connecting(0, 4), connected(0.01, 4), line(5, 'connection', 'write: rst close from peer.', 4), closing(5, 4, 0)))).toEqual([[4, 'rst', 104]]))
  it('itself', () =>
    expect(ends(log(connecting(0, 4), connected(0.01, 4), line(5, 'connection', 'closing data_to_write=0 type=1', 4), closing(5, 4, 1)))).toEqual([[4, 'local', null]]))
  it('itself after a GOAWAY', () => expect(ends(log(connecting(0, 4), connected(0.01, 4), line(5, 'pool', 'remote goaway', 4), closing(6, 4, 1)))).toEqual([[4, 'goaway', null]]))
  it('its idle timeout', () =>
    expect(ends(log(connecting(0, 4), connected(0.01, 4), line(60, 'pool', 'per client idle timeout', 4), closing(60, 4, 1)))).toEqual([[4, 'idle', null]]))
  it('nothing, when the log ends before', () => expect(ends(log(connecting(0, 4), connected(0.01, 4)))).toEqual([[4, 'open', null]]))
  it.each([
    [110, 'Connection timed out'],
    [113, 'No route to host'],
  ])('a retransmission timeout, errno %i, with and without remote close', (code, text) => {
    expect(ends(log(connecting(0, 4), connected(0.01, 4), errno(99, code, text), remoteClose(99, 4), closing(99, 4, 0)))).toEqual([[4, 'timeout', code]])
    expect(ends(log(connecting(0, 4), connected(0.01, 4), errno(99, code, text), closing(99, 4, 0)))).toEqual([[4, 'timeout', code]])
  })
  it('the errno that trace prints with its id', () =>
    expect(ends(log(connecting(0, 4), connected(0.01, 4), line(99, 'connection', 'read error: Connection timed out, code: 13', 4), closing(99, 4, 0)))).toEqual([
      [4, 'timeout', 110],
    ]))
})

describe('errnos without an id', () => {
  it('go to the close of the same thread, with two workers interleaved', () => {
    const l = log(
      connecting(0, 4, '10.0.0.5:8080', 7),
      connected(0.01, 4, 7),
      connecting(0, 5, '10.0.0.6:8080', 8),
      connected(0.01, 5, 8),
      errno(99, 110, 'Connection timed out', 7),
      errno(99, 113, 'No route to host', 8),
      remoteClose(99, 5, 8),
      remoteClose(99, 4, 7),
      closing(99, 4, 0, 7),
      closing(99, 5, 0, 8),
    )
    expect(ends(l)).toEqual([
      [4, 'timeout', 110],
      [5, 'timeout', 113],
    ])
  })
  it('are used up by one close, and too old after 50 ms', () => {
    expect(
      ends(
        log(
          connecting(0, 4),
          connected(0, 4),
          connecting(0, 5),
          connected(0, 5),
          errno(9, 110, 'Connection timed out'),
          remoteClose(9, 4),
          closing(9, 4, 0),
          remoteClose(9, 5),
          closing(9, 5, 0),
        ),
      ),
    ).toEqual([
      [4, 'timeout', 110],
      [5, 'fin', null],
    ])
    expect(ends(log(connecting(0, 4), connected(0, 4), errno(9, 110, 'Connection timed out'), remoteClose(9.2, 4), closing(9.2, 4, 0)))).toEqual([[4, 'fin', null]])
  })
  it('of a refused connect explain no other close', () =>
    expect(
      ends(
        log(
          connecting(0, 3),
          connected(0, 3),
          connecting(9, 4),
          errno(9, 111, 'Connection refused'),
          line(9, 'connection', 'delayed connect error: Connection refused', 4),
          closing(9, 4, 0),
          remoteClose(9.001, 3),
          closing(9.001, 3, 0),
        ),
      ),
    ).toEqual([
      [3, 'fin', null],
      [4, 'rst', 111],
    ]))
})

describe('inside TLS', () => {
  const tls = (t: number, c: number, error: string) => line(t, 'connection', `remote address:10.0.0.5:15008,TLS_error:|${error}:TLS_error_end`, c)
  it('ECONNRESET is a reset, with remote close (to 1.36) or without', () => {
    const opened = [connecting(0, 4, '10.0.0.5:15008'), connected(0.01, 4)]
    const error = tls(9, 4, '33554536:system library:OPENSSL_internal:Connection reset by peer')
    expect(ends(log(...opened, error, closing(9, 4, 0)))).toEqual([[4, 'rst', 104]])
    expect(ends(log(...opened, error, remoteClose(9, 4), closing(9, 4, 0)))).toEqual([[4, 'rst', 104]])
  })
  it('ETIMEDOUT is a timeout', () =>
    expect(
      ends(
        log(
          connecting(0, 4),
          connected(0.01, 4),
          errno(9, 110, 'Connection timed out'),
          tls(9, 4, '33554542:system library:OPENSSL_internal:Connection timed out'),
          remoteClose(9, 4),
          closing(9, 4, 0),
        ),
      ),
    ).toEqual([[4, 'timeout', 110]]))
  it('a refused certificate is neither: it is why the connect failed', () => {
    const [c] = replay(
      log(connecting(0, 4), connected(0.01, 4), tls(0.02, 4, '268435581:SSL routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED'), closing(0.02, 4, 0)),
    ).connections
    expect([c?.closed, c?.errno, c?.failure]).toEqual(['local', null, expect.stringContaining('CERTIFICATE_VERIFY_FAILED')])
  })
  it('before 1.23 the line has no address', () => {
    const old = (t: number, error: string) => line(t, 'connection', `TLS error: ${error}`, 4)
    expect(
      ends(log(connecting(0, 4), connected(0.01, 4), old(9, '33554536:system library:OPENSSL_internal:Connection reset by peer'), remoteClose(9, 4), closing(9, 4, 0))),
    ).toEqual([[4, 'rst', 104]])
    const [c] = replay(log(connecting(0, 4), connected(0.01, 4), old(0.02, '268435581:SSL routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED'), closing(0.02, 4, 0))).connections
    expect([c?.closed, c?.failure]).toEqual(['local', '268435581:SSL routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED'])
  })
  it.each([
    ['TLS_error:|33554536:system library:OPENSSL_internal:Connection reset by peer:TLS_error_end', 104],
    ['TLS_error:|268435581:SSL routines:x:TLS_error_end|33554464:system library:OPENSSL_internal:Broken pipe:TLS_error_end', 32],
    ['268435703:SSL routines:OPENSSL_internal:WRONG_VERSION_NUMBER 33554542:system library:x', 110],
    ['268435581:SSL routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED', null],
    ['', null],
  ])('the system’s errno is read out of %s', (text, code) => expect(tlsErrno(text)).toBe(code))
})

describe('streams', () => {
  const one = (l: string) => replay(l).streams[0]?.attempts.map(a => [a.outcome, a.reason, a.connection === null ? null : Number(a.connection.id), a.reused, a.healed])

  it('get the connection that their thread picked', () => {
    const l = log(
      connecting(0, 4),
      connected(0.01, 4),
      creating(0.01, 4),
      ready(0.01, 3, 77),
      answered(0.02, 3, 77),
      use(1, 4),
      creating(1, 4),
      ready(1, 3, 78),
      remoteClose(1.001, 4),
      closing(1.001, 4, 0),
      reset(1.001, 3, 78, 'connection termination'),
    )
    expect(replay(l).streams.map(s => s.attempts.map(a => [a.outcome, Number(a.connection?.id), a.reused, a.joinedBy]))).toEqual([
      [['answered', 4, false, 'connection-id']],
      [['reset', 4, true, 'connection-id']],
    ])
  })
  it('of two interleaved workers are not mixed up', () => {
    const l = log(use(1, 4, 7), use(1, 5, 8), ready(1, 3, 77, 8), ready(1, 2, 78, 7))
    expect(replay(l).streams.map(s => [s.streamId, Number(s.attempts[0]?.connection?.id)])).toEqual([
      ['77', 5],
      ['78', 4],
    ])
  })
  it('are named with their connection by the line that names both', () =>
    expect(one(log(ready(1, 3, 77), line(1, 'router', 'Attached upstream connection [C9] to downstream connection [C3]'), reset(2, 3, 77, 'remote reset')))).toEqual([
      ['reset', 'remote reset', 9, false, false],
    ]))
  it('that wait for a connect fail with it: all that are reset in the same turn', () => {
    const l = log(
      connecting(0, 4),
      line(5, 'pool', 'connect timeout', 4),
      closing(5, 4, 1),
      reset(5, 3, 77, 'connection timeout'),
      reset(5, 3, 78, 'connection timeout'),
      reset(5.1, 3, 79, 'connection timeout'),
    )
    expect(replay(l).streams.map(s => s.attempts.map(a => [Number(a.connection?.id ?? -1), a.joinedBy]))).toEqual([[[4, 'time']], [[4, 'time']], [[-1, null]]])
  })
  it('are not blamed on a connection that just closed for something else', () =>
    expect(one(log(connecting(0, 4), connected(0, 4), closing(5, 4, 1), reset(5, 3, 77, 'overflow')))).toEqual([['reset', 'overflow', null, false, false]]))
  it('are healed by a later answer', () =>
    expect(
      one(
        log(
          use(1, 4),
          ready(1, 3, 77),
          reset(1, 3, 77, 'connection termination'),
          line(1, 'router', 'performing retry', 3, 77),
          use(1.1, 5),
          ready(1.1, 3, 77),
          answered(1.2, 3, 77),
        ),
      ),
    ).toEqual([
      ['reset', 'connection termination', 4, true, true],
      ['answered', null, 5, true, false],
    ]))
  it('that are retried after an answer have two attempts', () => {
    const l = log(
      use(1, 4),
      ready(1, 3, 77),
      answered(1.1, 3, 77),
      line(1.1, 'router', 'performing retry', 3, 77),
      reset(1.2, 3, 77, 'remote connection failure', 'delayed connect error: Connection refused'),
    )
    expect(one(l)?.map(a => a[0])).toEqual(['answered', 'reset'])
  })
  it('reset after their headers are one attempt that was cut off', () => {
    const [s] = replay(log(use(1, 4), ready(1, 3, 77), answered(1.1, 3, 77), remoteClose(2, 4), closing(2, 4, 0), reset(2, 3, 77, 'connection termination'))).streams
    expect(s?.attempts.map(a => [a.outcome, a.responded])).toEqual([['reset', true]])
  })
  it('end with their connection where the router’s line is cut off, and once where it is not', () => {
    const cut = [use(1, 4), ready(1, 3, 77), remoteClose(1, 4), closing(1, 4, 0), line(1, 'client', 'disconnect. resetting 1 pending requests', 4)]
    expect(one(log(...cut))).toEqual([['reset', 'connection termination', 4, true, false]])
    expect(one(log(...cut, reset(1, 3, 77, 'connection termination', 'x')))).toEqual([['reset', 'connection termination', 4, true, false]])
  })
  it('know their request id, their cluster, and what the client was told', () => {
    const [s] = replay(
      log(
        line(1, 'http', `request headers complete (end_stream=true):\n':path', '/'\n'x-request-id', 'of-the-client'`, 3, 77),
        line(1, 'router', "cluster 'outbound|80||web' match for URL '/'", 3, 77),
        line(1, 'router', `router decoding headers:\n':path', '/'\n'x-request-id', 'r-1'`, 3, 77),
        reset(1, 3, 77, 'overflow'),
        line(1, 'http', 'Sending local reply with details upstream_reset_before_response_started{overflow}', 3, 77),
        line(1, 'http', `encoding headers via codec (end_stream=false):\n':status', '503'\n'server', 'envoy'`, 3, 77),
        line(1, 'http', 'Codec completed encoding stream.', 3, 77),
      ),
    ).streams
    expect(s).toMatchObject({ requestId: 'r-1', cluster: 'outbound|80||web', localReply: 'upstream_reset_before_response_started{overflow}', status: 503 })
  })
})

describe('TCP sessions', () => {
  const session = [line(0, 'filter', 'Creating connection to cluster tcp', 3), connecting(0, 4), line(0, 'conn_handler', 'new connection from 10.9.9.9:5000', 3)]
  it('fail with their connect', () => {
    const [s] = replay(log(...session, line(0.001, 'connection', 'delayed connect error: Connection refused', 4), closing(0.001, 4, 0), closing(0.001, 3, 1))).streams
    expect([s?.cluster, s?.attempts.map(a => [a.outcome, a.reason, a.transport, Number(a.connection?.id)])]).toEqual([
      'tcp',
      [['reset', 'remote connection failure', 'Connection refused', 4]],
    ])
  })
  it('are healed by the next connect', () => {
    const [s] = replay(
      log(...session, line(5, 'pool', 'connect timeout', 4), closing(5, 4, 1), line(5, 'filter', 'Creating connection to cluster tcp', 3), connecting(5, 6), connected(5, 6)),
    ).streams
    expect(s?.attempts.map(a => [a.outcome, a.reason, a.healed])).toEqual([
      ['reset', 'connection timeout', true],
      ['answered', null, false],
    ])
  })
  it('are not failed again behind an internal listener, where a stream of the same proxy waits', () => {
    const internal = [
      line(0, 'conn_handler', 'new connection from envoy://internal_client_address/', 3),
      line(0, 'filter', 'Creating connection to cluster connect_originate', 3),
      connecting(0, 4),
    ]
    expect(replay(log(...internal, line(5, 'pool', 'connect timeout', 4), closing(5, 4, 1))).streams.flatMap(s => s.attempts.map(a => a.outcome))).toEqual(['open'])
  })
})

describe('ids', () => {
  it('begin anew with the process: what was open is open no more, and nothing is mixed', () => {
    const start = line(9, 'main', 'starting main dispatch loop')
    const { connections, mixed } = replay(log(connecting(0, 4), connected(0, 4), start, connecting(10, 4, '10.0.0.6:8080'), connected(10, 4), closing(11, 4, 0)))
    expect(connections.map(c => [c.process, c.remote.ip, c.closed])).toEqual([
      [0, '10.0.0.5', 'open'],
      [1, '10.0.0.6', 'rst'],
    ])
    expect(mixed).toEqual([])
  })
  it('that are opened twice while they live show two processes in one log', () =>
    expect(replay(log(connecting(0, 4), connected(0, 4), connecting(1, 4, '10.0.0.6:8080'))).mixed.map(l => Number(l.line))).toEqual([3]))
  it('that step far back show them too; a few out of order do not', () => {
    expect(replay(log(connecting(0, 4000), connecting(1, 12))).mixed).toHaveLength(1)
    expect(replay(log(connecting(0, 40), connecting(0, 38), connecting(0, 41))).mixed).toEqual([])
  })
  it('of connections that the log does not show opening have no address', () =>
    expect(replay(log(use(1, 4), remoteClose(2, 4), closing(2, 4, 0))).connections.map(c => [c.remote.ip, c.closed, c.tConnecting])).toEqual([[null, 'fin', null]]))
})

it('lines without a time are joined to their neighbours only', () => {
  const agent = (message: string, subsystem: string) => `level=debug msg="[${message}" subsys=envoy-${subsystem} threadID=72`
  const lines = [
    agent('[C11] connect timeout', 'pool'),
    agent('[C11] closing socket: 1', 'connection'),
    agent('[C10][S80] upstream reset: reset reason: connection failure, transport failure reason: ', 'router'),
  ]
  expect(replay(log(...lines)).streams[0]?.attempts.map(a => [Number(a.connection?.id), a.connection?.failure])).toEqual([[11, 'connect timeout']])
  const between = Array.from({ length: 20 }, () => agent('[C12] encode complete', 'client'))
  expect(replay(log(...lines.slice(0, 2), ...between, lines[2] as string)).streams[0]?.attempts.map(a => a.connection)).toEqual([null])
})
