import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { analyzeFiles } from '../../../test/support/analyze.js'
import { collect, context } from '../../../test/support/collect.js'
import { readWell, survives } from '../../../test/support/robust.js'
import type { Format } from '../format.js'
import { formatById, formats } from '../index.js'
import { accessLogFormatsOf } from './formats.js'

const format = formatById('envoy-config') as Format
const sample = (name: string) => readFileSync(new URL(`samples/${name}`, import.meta.url))
const best = (text: string | Buffer) => {
  const head = Buffer.from(text)
  return formats
    .map(f => [f.id, f.sniff(head, context())] as const)
    .filter(([, score]) => score > 0)
    .sort((a, b) => b[1] - a[1])[0]?.[0]
}
const settings = (text: string | Buffer) => readWell(format, text, { path: 'input/envoy.yaml.gz' }).rows.setting
const short = (text: string | Buffer) => settings(text).map(s => [s.subject, s.name, s.value, s.unit])
/** A bootstrap with one listener whose TCP proxy has `lines` in it. */
const bootstrap = (cluster: string) => `static_resources:\n  clusters:\n  - name: app\n${cluster.replace(/^/gm, '    ')}\n`

describe('bootstraps', () => {
  it('give each setting the line that it stands on', () => {
    const text = sample('bootstrap-text-format.yaml')
    const found = settings(text)
    expect(found.map(s => [s.span.line, s.subject, s.name, s.value, s.unit])).toMatchObject([
      [24, 'ingress_http', 'access_log_format', expect.stringMatching(/^ACCESS ts=%START_TIME\(%s\.%3f\)% .* ds="%DOWNSTREAM_REMOTE_ADDRESS%"\n$/), null],
      [44, 'shop/orders/8080/6a5b', 'request_timeout', '10', 's'],
      [46, 'shop/orders/8080/6a5b', 'retry_on', 'reset,connect-failure,refused-stream', null],
      [47, 'shop/orders/8080/6a5b', 'max_retries', '2', null],
      [52, 'shop/orders/8080/6a5b', 'request_timeout', '10', 's'],
      [62, 'shop/stock/8080/77aa', 'request_timeout', '10', 's'],
      [70, 'shop/orders/8080/6a5b', 'connect_timeout', '5', 's'],
      [82, 'shop/stock/8080/77aa', 'connect_timeout', '5', 's'],
    ])
    const cited = found.map(s => text.subarray(s.span.byteStart, s.span.byteEnd).toString())
    expect(cited.slice(1, 4)).toEqual(['timeout: 10s', 'retry_on: reset,connect-failure,refused-stream', 'num_retries: 2'])
    expect(cited[7]).toBe('connect_timeout: 5s')
  })

  it('keep a json_format as one JSON string, and the format of the own log apart', () => {
    const found = settings(sample('bootstrap-json-format.yaml')).filter(s => String(s.name).endsWith('format'))
    expect(found.map(s => [s.name, s.subject])).toEqual([
      ['access_log_format', '0.0.0.0_8080'],
      ['application_log_format', 'envoy.yaml'],
    ])
    expect(JSON.parse(String(found[0]?.value))).toMatchObject({ start_time: '%START_TIME%', response_flags: '%RESPONSE_FLAGS%' })
  })

  it('are the same with CR LF, in JSON, and in parts', () => {
    const text = sample('bootstrap-text-format.yaml').toString()
    const windows = text.replaceAll('\n', '\r\n')
    expect(short(windows)).toEqual(short(text))
    const last = settings(windows).at(-1)?.span
    expect(windows.slice(last?.byteStart, last?.byteEnd)).toBe('connect_timeout: 5s')
    const json = '{"static_resources":{"clusters":[{"name":"app","connect_timeout":"0.25s","type":"STATIC"}]}}\n'
    expect(settings(json)).toMatchObject([{ subject: 'app', name: 'connect_timeout', value: '0.25', unit: 's', span: { byteStart: 47, byteEnd: 72, line: 1 } }])
    expect(settings(JSON.stringify(JSON.parse(json), null, 2))[0]?.span).toMatchObject({ line: 6 })
  })

  it('know what bounds a connection that has nothing to say', () => {
    const options = `connect_timeout: {seconds: 5}
upstream_connection_options: {tcp_keepalive: {keepalive_time: 30, keepalive_interval: 5, keepalive_probes: 3}}
upstream_bind_config:
  socket_options:
  - {level: 6, name: 18, int_value: 30000, state: STATE_PREBIND}
  - {level: 1, name: 9, int_value: 1}
typed_extension_protocol_options:
  envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
    '@type': type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
    common_http_protocol_options: {idle_timeout: 3600s, max_requests_per_connection: 1}
    explicit_http_config:
      http2_protocol_options: {connection_keepalive: {interval: 30s, timeout: 5s}}
health_checks:
- {timeout: 1s, interval: 10s, unhealthy_threshold: 2}`
    expect(short(bootstrap(options))).toEqual([
      ['app', 'connect_timeout', '5', 's'],
      ['app', 'keepalive_time', '30', 's'],
      ['app', 'keepalive_interval', '5', 's'],
      ['app', 'keepalive_probes', '3', null],
      ['app', 'tcp_user_timeout', '30000', 'ms'],
      ['app', 'idle_timeout', '3600', 's'],
      ['app', 'max_requests_per_connection', '1', null],
      ['app', 'http2_keepalive_interval', '30', 's'],
      ['app', 'http2_keepalive_timeout', '5', 's'],
      ['app', 'health_check_timeout', '1', 's'],
      ['app', 'health_check_interval', '10', 's'],
      ['app', 'health_check_unhealthy_threshold', '2', null],
    ])
    expect(short(bootstrap('upstream_connection_options: {tcp_keepalive: {}}'))).toEqual([['app', 'tcp_keepalive', 'on', null]])
  })

  it('tell the time for a request from that for a response, and a stream from a connection', () => {
    const listener = `static_resources:
  listeners:
  - address: {socket_address: {address: 0.0.0.0, port_value: 8080}}
    filter_chains:
    - name: chain
      filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          '@type': type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          request_timeout: 30s
          stream_idle_timeout: 300s
          common_http_protocol_options: {idle_timeout: 600s}
          route_config:
            virtual_hosts:
            - name: all
              routes:
              - {match: {prefix: /}, route: {cluster: app, timeout: 15s, idle_timeout: 20s}}
`
    expect(short(listener)).toEqual([
      ['0.0.0.0:8080', 'request_received_timeout', '30', 's'],
      ['0.0.0.0:8080', 'stream_idle_timeout', '300', 's'],
      ['0.0.0.0:8080', 'idle_timeout', '600', 's'],
      ['app', 'request_timeout', '15', 's'],
      ['app', 'stream_idle_timeout', '20', 's'],
    ])
  })

  it('are read where an anchor is, once', () => {
    expect(short(`static_resources:\n  clusters:\n  - &a\n    name: app\n    connect_timeout: &t 5s\n  - *a\n  - name: b\n    connect_timeout: *t\n`)).toEqual([
      ['app', 'connect_timeout', '5', 's'],
      ['b', 'connect_timeout', '5', 's'],
    ])
  })

  it('that are malformed are one problem', () => {
    expect(collect(format, 'static_resources:\n  clusters: [\n').problems).toMatchObject([{ kind: 'bad-record' }])
    expect(collect(format, 'admin:\n  user: root\n').problems).toMatchObject([{ kind: 'not-recognised' }])
  })
})

describe('dumps and objects', () => {
  it('reads a config dump section by section', () => {
    const text = sample('config_dump.json')
    const { rows, records, problems } = readWell(format, text)
    expect([records.length, problems.length]).toEqual([11, 0])
    expect(rows.setting.map(s => [s.name, s.value, s.unit])).toEqual([
      ['connect_timeout', '10', 's'],
      ['max_connections', '4294967295', null],
      ['circuit_breaker_max_retries', '3', null],
      ['keepalive_probes', '3', null],
      ['keepalive_time', '60', 's'],
      ['keepalive_interval', '5', 's'],
      ['ignore_health_on_host_removal', 'true', null],
      ['idle_timeout', '3600', 's'],
      ['max_connect_attempts', '3', null],
      ['access_log_format', '%START_TIME% %DURATION% %UPSTREAM_HOST% %RESPONSE_FLAGS%\n', null],
    ])
    expect(new Set(rows.setting.map(s => s.subject))).toEqual(new Set(['outbound|5190||fbit.shop.svc.cluster.local']))
    expect(rows.setting[7]?.span.line).toBe(73)
    expect(text.subarray(rows.setting[7]?.span.byteStart, rows.setting[7]?.span.byteEnd).toString()).toBe('"idle_timeout": "3600s"')
  })

  it('reads resources as istioctl prints them', () => {
    const text = JSON.stringify([{ name: 'outbound|80||web', type: 'EDS', connectTimeout: '10s', upstreamConnectionOptions: { tcpKeepalive: { keepaliveTime: 10 } } }], null, 4)
    expect(best(`${text}\n`)).toBe('envoy-config')
    expect(short(text)).toEqual([
      ['outbound|80||web', 'connect_timeout', '10', 's'],
      ['outbound|80||web', 'keepalive_time', '10', 's'],
    ])
    const span = settings(text)[0]?.span
    expect(text.slice(span?.byteStart, span?.byteEnd)).toBe('"connectTimeout": "10s"')
  })

  it('reads what Envoy Gateway is configured by', () => {
    expect(short(sample('envoyproxy.yaml'))).toEqual([
      ['envoy-gateway-system/edge', 'access_log_format', expect.stringMatching(/^\[%START_TIME%\] .*"%UPSTREAM_HOST%"\n$/), null],
      ['envoy-gateway-system/edge', 'access_log_format', '{"start_time":"%START_TIME%","status":"%RESPONSE_CODE%","took":"%DURATION%","upstream":"%UPSTREAM_HOST%"}', null],
      ['shop/fbit', 'keepalive_probes', '3', null],
      ['shop/fbit', 'keepalive_time', '60', 's'],
      ['shop/fbit', 'keepalive_interval', '5', 's'],
      ['shop/fbit', 'connect_timeout', '10', 's'],
      ['shop/fbit', 'idle_timeout', '1', 'h'],
      ['shop/fbit', 'request_timeout', '15', 's'],
      ['shop/fbit', 'max_retries', '2', null],
      ['shop/fbit', 'retry_on', 'connect-failure,reset', null],
      ['shop/fbit', 'per_try_timeout', '250', 'ms'],
    ])
  })

  it('reads what Istio is configured by, also inside a ConfigMap', () => {
    expect(short(sample('istio.yaml')).map(s => s.slice(0, 3))).toEqual([
      ['istio-system/mesh-default', 'access_log_provider', 'envoy'],
      ['istio-system/istio', 'access_log_format', '{"start_time":"%START_TIME%","code":"%RESPONSE_CODE%","took":"%DURATION%","flags":"%RESPONSE_FLAGS%"}'],
      ['istio-system/istio', 'connect_timeout', '10'],
      ['istio-system/istio', 'keepalive_time', '10'],
      ['istio-system/istio', 'keepalive_interval', '10'],
      ['istio-system/istio', 'keepalive_probes', '9'],
    ])
    const service = `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: web, namespace: shop}
spec:
  http:
  - timeout: 5s
    retries: {attempts: 3, perTryTimeout: 2s, retryOn: "connect-failure,reset"}
    route: [{destination: {host: web}}]
`
    const objects = formatById('k8s-objects') as Format
    expect(collect(objects, service).rows.setting.map(s => [s.subject, s.name, s.value])).toEqual([
      ['shop/web', 'request_timeout', '5'],
      ['shop/web', 'max_retries', '3'],
      ['shop/web', 'per_try_timeout', '2'],
      ['shop/web', 'retry_on', 'connect-failure,reset'],
    ])
  })

  it('is recognised by content, and what only resembles it is not', () => {
    for (const name of ['bootstrap-text-format.yaml', 'bootstrap-json-format.yaml', 'config_dump.json', 'envoyproxy.yaml', 'istio.yaml'])
      expect(best(sample(name)), name).toBe('envoy-config')
    expect(best('admin:\n  user: root\nnode:\n  count: 3\n')).toBeUndefined()
    expect(best('{"cluster":"outbound|80||web","timeout":"60s","retry_policy":{"num_retries":2}}\n')).toBeUndefined()
    expect(best('{"configs":[{"name":"a"}]}\n')).toBeUndefined()
    expect(best('apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\ndata:\n  key: value\n')).toBe('k8s-objects')
  })

  it('survives cuts and changed bytes', () => {
    survives(format, sample('config_dump.json'), {}, 41)
    survives(format, sample('bootstrap-text-format.yaml').subarray(0, 3000), {}, 53)
  })
})

describe('access-log formats', () => {
  it('are those of all proxies, each once, in order', () => {
    const text = accessLogFormatsOf(sample('envoyproxy.yaml'))
    expect(text).toHaveLength(2)
    expect(text[0]?.endsWith('\n')).toBe(true)
    expect(JSON.parse(text[1] as string)).toMatchObject({ status: '%RESPONSE_CODE%' })
    expect(accessLogFormatsOf(sample('config_dump.json'))).toEqual(['%START_TIME% %DURATION% %UPSTREAM_HOST% %RESPONSE_FLAGS%\n'])
    expect(accessLogFormatsOf(sample('istio.yaml'))[0]?.endsWith('}')).toBe(true)
    const twice = sample('bootstrap-text-format.yaml').toString()
    expect(accessLogFormatsOf(Buffer.from(`\ufeff${twice}---\n${twice}---\n{ broken\n`))).toHaveLength(1)
  })

  it('are read in all spellings', () => {
    const log = (config: string) => accessLogFormatsOf(Buffer.from(`access_log:\n- typed_config:\n    path: /dev/stdout\n    ${config}\n`))
    expect(log('log_format: {text_format: "%A%"}')).toEqual(['%A%'])
    expect(log('format: "%B%"')).toEqual(['%B%'])
    expect(log('typed_json_format: {a: "%C%", n: 3, nested: {b: ["%D%"]}}')).toEqual(['{"a":"%C%","n":3,"nested":{"b":["%D%"]}}'])
    expect(log('other_format: "%E%"')).toEqual([])
    expect(accessLogFormatsOf(Buffer.from('spec: {telemetry: {accessLogs: {format: JSON, json: {a: "%F%"}}}}'))).toEqual(['{"a":"%F%"}'])
    expect(accessLogFormatsOf(Buffer.from('extensionProviders: [{name: x, envoyFileAccessLog: {logFormat: {labels: {a: "%G%"}}}}]'))).toEqual(['{"a":"%G%"}'])
    expect(accessLogFormatsOf(Buffer.from('accesslog-format-string: "%H%\\n"'))).toEqual(['%H%\n'])
    expect(accessLogFormatsOf(Buffer.from('local_reply_config: {body_format: {text_format: "%I%"}}'))).toEqual([])
  })

  it('of nonsense are none', () => {
    for (const text of ['', '{', '[', '{"a":', '- [', '\0\0', '{"a":1}}', `${'['.repeat(5000)}`, `{"access_log_format":"%X%"`])
      expect(accessLogFormatsOf(Buffer.from(text)), text.slice(0, 20)).toEqual([])
  })

  it('make the logs of the bundle readable', async () => {
    const log = '2026-11-30T21:47:33.123Z 12 10.0.0.1:80 UF\n'.repeat(3)
    const formatOf = async (files: Record<string, string | Buffer>) => (await analyzeFiles(files)).sources.find(s => s.path === 'proxy.log')
    expect(await formatOf({ 'proxy.log': log, 'config_dump.json': sample('config_dump.json') })).toMatchObject({ format: 'envoy-access', records: 3 })
    expect((await formatOf({ 'proxy.log': log }))?.format).not.toBe('envoy-access')
  })
})
