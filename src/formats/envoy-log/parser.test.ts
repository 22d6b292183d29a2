import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { collect, context, type Row } from '../../../test/support/collect.js'
import { readWell, survives } from '../../../test/support/robust.js'
import { formats } from '../index.js'
import { connectionId, isKnown, templateOf, untag } from './message.js'
import { templates } from './templates.js'

const format = formats.find(f => f.id === 'envoy-log')
if (!format) throw new Error('envoy-log is not registered')
const sample = (name: string): Buffer => readFileSync(new URL(`samples/${name}`, import.meta.url))
const rowsOf = (text: string | Buffer): Row[] => collect(format, text).rows.proxy_line
const rowOf = (text: string): Row => {
  const [row, ...more] = rowsOf(text)
  if (!row || more.length > 0) throw new Error(`${more.length + (row ? 1 : 0)} rows`)
  return row
}

const SAMPLES = [
  'cilium-agent.log',
  'cilium-envoy-1.32.log',
  'cilium-filter-trace.log',
  'cri-mixed.log',
  'docker.jsonl',
  'envoy-1.11-grep.log',
  'envoy-epoch-prefix.log',
  'istio-1.20-pasted.log',
  'istio-1.26-text.log',
  'istio-1.40-switch.log',
  'istio-1.40.json',
  'istio-1.6-text.log',
  'istio-1.8-pasted.log',
  'tcp-retransmission-death.log',
]

describe('samples', () => {
  it.each(SAMPLES)('%s: every message is of a known template, every byte is accounted for', name => {
    const bytes = sample(name)
    const out = collect(format, bytes)
    expect(out.rows.proxy_line.length).toBeGreaterThan(1)
    expect(out.rows.proxy_line.filter(r => !isKnown(r.template as string)).map(r => r.template)).toEqual([])
    expect(out.holes(bytes.length)).toEqual([])
    expect(format.sniff(bytes, context())).toBeGreaterThan(0.5)
  })

  it.each(SAMPLES)('%s: reads the same in blocks of any size', name => void readWell(format, sample(name)))

  it.each(SAMPLES)('%s: survives cuts and changed bytes', name => survives(format, sample(name), {}, sample(name).length > 1500 ? 97 : 1))

  it('gives every record of a debug log a thread', () => {
    expect(rowsOf(sample('istio-1.40-switch.log')).filter(r => r.thread === null)).toEqual([])
  })
})

describe('envelopes', () => {
  it('reads the default of Envoy, whose time has no zone', () => {
    expect(
      rowOf(
        '[2024-12-25 03:19:35.262][17][debug][router] [external/envoy/source/common/router/router.cc:515] [Tags: "ConnectionId":"1437","StreamId":"9561180451705422794"] pool ready\n',
      ),
    ).toMatchObject({
      t: 1_735_096_775_262_000_000n,
      guess: 'zone',
      proxy: null,
      thread: '17',
      level: 'debug',
      logger: 'router',
      file: 'router.cc',
      file_line: 515,
      connection_id: 1437n,
      stream_id: '9561180451705422794',
      request_id: null,
      template: 'pool ready',
      args: '[]',
      text: 'pool ready',
    })
  })

  it('takes the zone of such times from the context', () => {
    const line = '[2024-12-25 03:19:35.262][17][info][main] exiting\n'
    expect(collect(format, line, { zoneMinutes: 60 }).rows.proxy_line[0]).toMatchObject({ t: 1_735_093_175_262_000_000n, guess: null })
  })

  it.each([
    ['without a file', '[2024-12-25 03:19:35.262][17][debug][pool] [C11] connect timeout', { thread: '17', logger: 'pool', file: null, connection_id: 11n }],
    [
      'fine-grain, without a logger',
      '[2024-12-25 03:19:35.262][17][debug] [source/common/conn_pool/conn_pool_base.cc:878] [C11] connect timeout',
      { logger: null, file: 'conn_pool_base.cc', file_line: 878, connection_id: 11n },
    ],
    [
      'of an Istio with epochs',
      '[Envoy (Epoch 0)] [2020-08-10 07:51:42.368][34][debug][pool] [a/conn_pool.cc:95] [C11] connect timeout',
      { thread: '34', file: 'conn_pool.cc', connection_id: 11n },
    ],
    [
      'of Envoy 1.8, its file in the message',
      '[2018-11-12 16:38:36.024][37][debug][pool] external/envoy/source/common/http/http1/conn_pool.cc:190] [C11] connect timeout',
      { file: 'conn_pool.cc', file_line: 190, connection_id: 11n },
    ],
    ['with colours', '[2020-01-01 00:00:00.000][1][\u001b[36mdebug\u001b[m][pool] [C11] connect timeout', { level: 'debug', logger: 'pool', connection_id: 11n }],
    [
      'of Istio in tabs',
      '2025-10-22T09:25:18.622171Z\tdebug\tenvoy pool external/envoy/source/common/conn_pool/conn_pool_base.cc:844\t[Tags: "ConnectionId":"11"] connect timeout\tthread=22',
      { thread: '22', file: 'conn_pool_base.cc', file_line: 844, guess: null },
    ],
    ['of Istio, older', '2024-01-04T10:59:53.717029Z\tdebug\tenvoy pool\t[C11] connect timeout', { thread: null, logger: 'pool', file: null }],
    [
      'of Istio 1.9, pasted',
      '2021-03-11T08:38:24.776131Z     debug   envoy pool      [external/envoy/source/common/http/conn_pool_base.cc:265] [C11] connect timeout',
      { file: 'conn_pool_base.cc', file_line: 265 },
    ],
    [
      'of Istio, tabs turned into single blanks',
      '2023-12-08T07:39:50.405770Z debug envoy pool external/envoy/source/common/conn_pool/conn_pool_base.cc:291 [C11] connect timeout thread=23',
      { thread: '23', file_line: 291 },
    ],
    [
      'of Istio JSON',
      '{"level":"debug","time":"2024-01-04T10:59:53.717029Z","scope":"envoy pool","msg":"connect timeout","caller":"a/b/conn_pool_base.cc:844","thread":"22","ConnectionId":"11"}',
      { thread: '22', file: 'conn_pool_base.cc', file_line: 844 },
    ],
    [
      'of Istio JSON with numbers',
      '{"level":"debug","time":"2024-01-04T10:59:53.717029Z","scope":"envoy pool","msg":"connect timeout","caller":"conn_pool_base.cc:844","thread":22,"ConnectionId":11}',
      { thread: '22' },
    ],
    [
      'of Istio JSON with tags in the message',
      '{"level":"debug","time":"2024-01-04T10:59:53.717029Z","scope":"envoy pool","msg":"[Tags: \\"ConnectionId\\":\\"11\\"] connect timeout","thread":22}',
      { thread: '22', file: null },
    ],
    ['of the Cilium agent', 'level=debug msg="[[C11] connect timeout" subsys=envoy-pool threadID=72', { t: null, thread: '72', logger: 'pool' }],
    [
      'of the Cilium agent, with a time',
      'time="2023-04-19T07:41:07Z" level=debug msg="[[Tags: \\"ConnectionId\\":\\"11\\"] connect timeout" subsys=envoy-pool threadID=72',
      { t: 1_681_890_067_000_000_000n, logger: 'pool' },
    ],
    [
      'of the Cilium agent, JSON',
      '{"level":"debug","msg":"[[C11] connect timeout","subsys":"envoy-pool","threadID":"72","time":"2023-04-19T07:41:07Z"}',
      { thread: '72', logger: 'pool' },
    ],
    [
      'of GKE',
      'D1225 03:19:35.262 17 envoy/source/common/conn_pool/conn_pool_base.cc:844] [17][pool][C11] connect timeout',
      { guess: 'year,zone', thread: '17', logger: 'pool', file: 'conn_pool_base.cc', file_line: 844 },
    ],
    [
      'of the Consul dataplane',
      '2023-06-03T00:02:31.105Z+00:00 [debug] envoy.pool(29) [C11] connect timeout',
      { t: 1_685_750_551_105_000_000n, guess: null, thread: '29', logger: 'pool' },
    ],
    [
      'of a table export',
      '2023-07-25 09:26:40.9940766\t   conn_pool_base.cc:139\t              debug\t  82\t\t [C11] connect timeout',
      { thread: '82', file: 'conn_pool_base.cc', file_line: 139 },
    ],
  ])('reads a line %s', (_, line, want) => {
    expect(rowOf(`${line}\n`)).toMatchObject({ level: 'debug', connection_id: 11n, stream_id: null, template: 'connect timeout', text: 'connect timeout', ...want })
  })

  it('changes envelope within a file', () => {
    const rows = rowsOf(sample('istio-1.40.json'))
    expect(rows.map(r => r.guess)).toEqual(['zone', 'zone', null, null, null, null])
    expect(rows[4]).toMatchObject({ template: 'router decoding headers:', args: '[]', logger: 'router', request_id: expect.stringMatching(/^[0-9a-f-]{36}$/) })
  })

  it('names levels as Envoy does', () => {
    expect(rowOf('2025-10-22T09:25:18.622171Z\twarn\tenvoy main\tcaught ENVOY_SIGTERM\n')).toMatchObject({ level: 'warning' })
  })

  it('notes a line without a time, and takes none from its wrapper', () => {
    const out = collect(format, '2026-11-30T21:17:40.032957635Z stderr F level=debug msg="[[C11] connect timeout" subsys=envoy-pool threadID=72\n')
    expect(out.rows.proxy_line[0]).toMatchObject({ t: null })
    expect(out.notes.map(n => n.kind)).toEqual(['no-time'])
  })

  it('takes the proxy from the wrapper', () => {
    expect(rowOf('[pod/shop/istio-proxy] [2024-12-25 03:19:35.262][17][info][main] exiting\n')).toMatchObject({ proxy: 'shop' })
  })
})

describe('what is not an application log', () => {
  it.each([
    ['the default access log', '[2024-12-25T03:19:35.262Z] "GET / HTTP/1.1" 200 - 0 61 101 101 "-" "curl" "rid" "host" "10.0.0.1:80"'],
    ['an access log of one’s own', 'ACCESS ts=1796073459.931 [2026-11-30T21:17:39.931Z] "GET /warm HTTP/1.1" 200 -'],
    ['ztunnel', '2024-04-11T15:38:42.182974Z\tinfo\taccess\tconnection complete\tsrc.addr=10.244.0.24:46238'],
    ['the Istio agent', '2024-04-11T15:38:42.182974Z\tinfo\txdsproxy\tconnected to upstream XDS server'],
    ['the Cilium agent itself', 'level=debug msg="Pod metadata: {}" container-cgroup-id=601 subsys=cgroup-manager'],
    ['a JSON access log', '{"start_time":"2024-12-25T03:19:35.262Z","method":"GET","response_code":200}'],
  ])('declines %s, also after a message that may go on', (_, line) => {
    const before = '[2024-12-25 03:19:35.262][17][debug][router] [router.cc:515] router decoding headers:\n'
    const rows = rowsOf(`${before}${line}\n${before}`)
    expect(rows.map(r => r.text)).toEqual(['router decoding headers:', 'router decoding headers:'])
  })
})

describe('messages of several lines', () => {
  it('keeps the whole message, the first line’s template and the request id', () => {
    const rows = rowsOf(sample('envoy-1.11-grep.log'))
    const dump = rows.find(r => r.template === 'router decoding headers:')
    expect(dump).toMatchObject({ args: '[]', connection_id: 523429n })
    expect(String(dump?.text).split('\n')).toEqual([
      'router decoding headers:',
      "':authority', 'apigw-back-stag.example.com'",
      "':path', '/public/js/app.06abacd6.js'",
      "':method', 'GET'",
      "':scheme', 'http'",
      `'if-none-match', '"K6/i3mgI38hs45GHBu2GzQ=="'`,
    ])
  })

  it('finds Istio’s thread on the last line', () => {
    const row = rowsOf(sample('istio-1.40-switch.log')).find(r => r.template === 'router decoding headers:')
    expect(row).toMatchObject({ thread: '16543', request_id: 'f6d262c1-570c-44d4-91cb-29553d0dcc8d', text: expect.stringMatching(/'15000'$/) })
  })

  it('joins what the Cilium agent logs line by line', () => {
    const out = collect(format, sample('cilium-agent.log'))
    expect(out.rows.proxy_line).toHaveLength(8)
    expect(out.rows.proxy_line.at(-1)).toMatchObject({
      template: 'encoding headers via codec (end_stream={}):',
      args: '["false"]',
      text: "encoding headers via codec (end_stream=false):\n':status', '503'\n'content-length', '91'\n'content-type', 'text/plain'",
    })
    expect(out.problems).toHaveLength(1)
  })

  it('keeps lines of two pods and of two streams apart', () => {
    const dump = '[2024-12-25 03:19:35.262][17][debug][router] [router.cc:515] router decoding headers:'
    const pods = collect(format, `[pod/a/envoy] ${dump}\n[pod/b/envoy] 'x-request-id', 'of-b'\n`)
    expect(pods.rows.proxy_line.map(r => r.request_id)).toEqual([null])
    expect(pods.problems).toHaveLength(1)
    const time = '2026-11-30T21:17:39.931541189Z'
    const streams = collect(format, `${time} stderr F ${dump}\n${time} stdout F something else\n`)
    expect(streams.problems).toHaveLength(1)
  })

  it('does not take a torn record for a continuation', () => {
    const out = collect(format, '[2024-12-25 03:19:35.262][17][info][main] exiting\n[2024-12-25 03:1')
    expect(out.rows.proxy_line).toMatchObject([{ text: 'exiting' }])
    expect(out.problems).toHaveLength(1)
  })

  it('takes nested values of a dump', () => {
    const rows = rowsOf(
      '[2026-11-30 21:22:47.497][24235][info][main] [source/server/server.cc:989] runtime: layers:\n  - name: adm\n    admin_layer:\n      {}\n[2026-11-30 21:22:47.498][24235][info][main] exiting\n',
    )
    expect(rows.map(r => r.text)).toEqual(['runtime: layers:\n  - name: adm\n    admin_layer:\n      {}', 'exiting'])
  })
})

describe('ids', () => {
  it.each([
    ['[Tags: "ConnectionId":"4255"] remote close', '4255', null, 'remote close'],
    ['[Tags: "ConnectionId":"1","StreamId":"18446744073709551615"] new', '1', '18446744073709551615', 'new'],
    ['[Tags: "ClusterName":"a","ConnectionId":"7"] x', '7', null, 'x'],
    ['[C1][S2] x', '1', '2', 'x'],
    ['[C1] x', '1', null, 'x'],
    ['[Tags: "ConnectionId":"4255', null, null, '[Tags: "ConnectionId":"4255'],
    ['Attached upstream connection [C5] to downstream connection [C10]', null, null, 'Attached upstream connection [C5] to downstream connection [C10]'],
  ])('%s', (text, connection, stream, message) => expect(untag(text)).toEqual({ connection, stream, message }))

  it('reads 0 as no connection only on a stream', () => {
    expect(connectionId('0', null)).toBe(0n)
    expect(connectionId('0', '5')).toBeNull()
    expect(connectionId('99999999999999999999', null)).toBeNull()
  })
})

describe('templates', () => {
  it('each finds itself, with its values', () => {
    const wrong = templates.filter(t => {
      let n = 0
      const values: string[] = []
      const found = templateOf(
        t.replace(/\{\}/g, () => {
          values.push(`v${n}`)
          return `v${n++}`
        }),
      )
      return found.template !== t || found.args.join() !== values.join()
    })
    expect(wrong).toEqual([])
  })

  it.each([
    ['connecting to 10.0.0.1:80', 'connecting to {}', ['10.0.0.1:80']],
    ['connected', 'connected', []],
    ['closing data_to_write=31 type=0   ', 'closing data_to_write={} type={}', ['31', '0']],
    [
      'remote address:10.0.0.1:15008,TLS_error:|33554536:system library:OPENSSL_internal:Connection reset by peer:TLS_error_end',
      'remote address:{},{}',
      ['10.0.0.1:15008', 'TLS_error:|33554536:system library:OPENSSL_internal:Connection reset by peer:TLS_error_end'],
    ],
    ['TLS error: 268435581:SSL routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED', 'TLS error: {}', ['268435581:SSL routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED']],
    ['Unknown error code 110 details Connection timed out', 'Unknown error code {} details {}', ['110', 'Connection timed out']],
    ['read error: Connection timed out, code: 13', 'read error: {}, code: {}', ['Connection timed out', '13']],
    ['delayed connect error: Connection refused', 'delayed connect error: {}', ['Connection refused']],
    [
      'immediate connect error: Cannot assign requested address|remote address:10.0.0.1:80',
      'immediate connect error: {}',
      ['Cannot assign requested address|remote address:10.0.0.1:80'],
    ],
    ['client disconnected, failure reason: ', 'client disconnected, failure reason: {}', ['']],
    ['client disconnected, failure reason:', 'client disconnected, failure reason: {}', ['']],
    ['client disconnected', 'client disconnected', []],
    [
      'upstream reset: reset reason: connection termination, transport failure reason: ',
      'upstream reset: reset reason: {}, transport failure reason: {}',
      ['connection termination', ''],
    ],
    [
      'upstream reset: reset reason: connection termination, transport failure reason:',
      'upstream reset: reset reason: {}, transport failure reason: {}',
      ['connection termination', ''],
    ],
    ['upstream reset: reset reason: connection failure', 'upstream reset: reset reason: {}', ['connection failure']],
    ['upstream reset: reset reason connection termination', 'upstream reset: reset reason {}', ['connection termination']],
    [
      'destroying stream: 0 active remaining, readyForStream false, currentUnusedCapacity 1',
      'destroying stream: {} active remaining, readyForStream {}, currentUnusedCapacity {}',
      ['0', 'false', '1'],
    ],
    ['destroying stream: 0 remaining', 'destroying stream: {} remaining', ['0']],
    ['Attached upstream connection [C11] to downstream connection [C20]', 'Attached upstream connection [C{}] to downstream connection [C{}]', ['11', '20']],
    ["cluster 'outbound|80||a' match for URL '/x?q='1''", "cluster '{}' match for URL '{}'", ['outbound|80||a', "/x?q='1'"]],
    ['Sending local reply with details response_timeout', 'Sending local reply with details {}', ['response_timeout']],
    ['Sending local reply with details x directly to the encoder', 'Sending local reply with details {} directly to the encoder', ['x']],
    ['closing idle client 5 for cluster outbound|80||a', 'closing idle client {} for cluster {}', ['5', 'outbound|80||a']],
    ['draining ready client 5 for cluster a', 'draining ready client {} for cluster {}', ['5', 'a']],
    ['draining busy client 5 for cluster a', 'draining busy client {} for cluster {}', ['5', 'a']],
    [
      'EDS hosts or locality weights changed for cluster: a current hosts 1 priority 0',
      'EDS hosts or locality weights changed for cluster: {} current hosts {} priority {}',
      ['a', '1', '0'],
    ],
    ['membership update for TLS cluster a added 1 removed 0', 'membership update for TLS cluster {} added {} removed {}', ['a', '1', '0']],
    [
      'Skipping restore of local address on socket: 36 - destination is local 10.1.3.5',
      'Skipping restore of local address on socket: {} - destination is local {}',
      ['36', '10.1.3.5'],
    ],
    [
      'Restoring local address (original source) on socket: 70 (n/a -> 10.244.1.200:0)',
      'Restoring local address (original source) on socket: {} ({} -> {})',
      ['70', 'n/a', '10.244.1.200:0'],
    ],
    ['cilium.network: destination address: 10.2.3.4:8080', 'cilium.network: destination address: {}', ['10.2.3.4:8080']],
    ['Erasing idle pool for host 10.0.0.1:80', 'Erasing idle pool for host {}', ['10.0.0.1:80']],
    ['initializing epoch 0 (base id=0, hot restart version=11.104)', 'initializing epoch {} (base id={}, hot restart version={})', ['0', '0', '11.104']],
    ['initializing epoch 0 (hot restart version=11.104)', 'initializing epoch {} (hot restart version={})', ['0', '11.104']],
    ['closing connection from 10.244.1.20:58898: no matching filter chain found', 'closing connection from {}: no matching filter chain found', ['10.244.1.20:58898']],
  ])('%s', (message, template, args) => {
    expect(templateOf(message)).toEqual({ template, args })
    expect(isKnown(template)).toBe(true)
  })

  it.each([
    ['a new wording with 3 hosts at 10.0.0.1:80.', 'a new wording with {} hosts at {}.', ['3', '10.0.0.1:80']],
    [`says 'x y' and "z" to [2001:db8::1]:443`, `says '{}' and "{}" to {}`, ['x y', 'z', '[2001:db8::1]:443']],
    ['id f6d262c1-570c-44d4-91cb-29553d0dcc8d, HTTP/1.1 via http2', 'id {}, HTTP/{} via http2', ['f6d262c1-570c-44d4-91cb-29553d0dcc8d', '1.1']],
    ["can't do it", "can't do it", []],
  ])('generalises an unknown message: %s', (message, template, args) => {
    expect(templateOf(message)).toEqual({ template, args })
    expect(isKnown(template)).toBe(false)
  })

  it('takes time in proportion to a hostile message', () => {
    const head = '[2024-12-25 03:19:35.262][17][debug][router] [router.cc:515] '
    const lines = [' ', '"', "'", '[', '0', '0.', '[Tags: "', 'upstream reset: reset reason: ', 'cilium.l7policy: Pod ', '\tthread=1 ', "'x-request-id', '"].map(
      s => head + s.repeat(200_000 / s.length),
    )
    const started = performance.now()
    expect(rowsOf(lines.join('\n'))).toHaveLength(lines.length)
    expect(performance.now() - started).toBeLessThan(3000)
  })
})
