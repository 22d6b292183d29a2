import { describe, expect, it } from 'vitest'
import { analyzeFiles } from '../../../test/support/analyze.js'
import type { Report } from '../../model/report.js'

const line = (time: string, id: number, logger: string, message: string, thread = 22): string =>
  `2025-10-22T${time}Z\tdebug\tenvoy ${logger} x.cc:1\t[Tags: "ConnectionId":"${id}"] ${message}\tthread=${thread}`
const opened = (time: string, id: number, ip = '10.0.0.9') => line(time, id, 'connection', `connecting to ${ip}:15008`)
const reset = (time: string, id: number, ip = '10.0.0.9') =>
  line(time, id, 'connection', `remote address:${ip}:15008,TLS_error:|33554536:system library:OPENSSL_internal:Connection reset by peer:TLS_error_end`)
const owner = (pod: string, from: string, to: string | null, more = {}) =>
  JSON.stringify({ ip: '10.0.0.9', pod, from: `2025-10-22T${from}Z`, to: to && `2025-10-22T${to}Z`, ...more })
const text = (...lines: string[]) => `${lines.join('\n')}\n`

const OLD_AND_NEW = text(owner('app-old', '09:00:00', '09:33:00'), owner('app-new', '09:34:30', null))
const stale = (r: Report) => r.findings.filter(f => f.rule === 'WC102')
const verdict = (r: Report) => r.verdicts.find(v => v.rule === 'WC102')?.verdict

describe('fires', () => {
  it('on a connection opened under one owner and reset under another', async () => {
    const r = await analyzeFiles({ 'w.log': text(opened('09:25:18.622171', 4255), reset('09:35:03.033051', 4255)), 'pods.jsonl': OLD_AND_NEW })
    expect(stale(r)).toMatchObject([
      { code: 'WC102.reset-by-new-owner', confidence: { level: 'certain' }, subject: { connection_id: '4255', previous_pod: 'app-old', pod: 'app-new' } },
    ])
    expect(verdict(r)).toBe('violated')
  })

  it('less surely where the times of the owners are approximate', async () => {
    const pods = text(owner('app-old', '09:00:00', '09:33:00', { note: 'approx' }), owner('app-new', '09:34:30', null, { note: 'approx' }))
    expect(stale(await analyzeFiles({ 'w.log': text(opened('09:25:18.622171', 1), reset('09:35:03.033051', 1)), 'pods.jsonl': pods }))[0]?.confidence.level).toBe('likely')
  })

  it('and only possibly where owners overlap', async () => {
    const pods = text(owner('app-old', '09:00:00', '09:40:00'), owner('app-new', '09:34:30', null))
    expect(stale(await analyzeFiles({ 'w.log': text(opened('09:25:18.622171', 1), reset('09:35:03.033051', 1)), 'pods.jsonl': pods }))).toMatchObject([
      { confidence: { level: 'possible' }, severity: 'low' },
    ])
  })

  it('the same with all clocks shifted, and files in another order', async () => {
    const shift = (s: string) => s.replaceAll('2025-10-22T09', '2025-10-23T03')
    const log = text(opened('09:25:18.622171', 4255), reset('09:35:03.033051', 4255))
    const r = await analyzeFiles({ 'z.log': shift(log), 'a.jsonl': shift(OLD_AND_NEW) })
    expect(stale(r).map(f => [f.code, f.confidence.level])).toEqual([['WC102.reset-by-new-owner', 'certain']])
  })

  it('with a fingerprint that other evidence does not change', async () => {
    const log = text(opened('09:25:18.622171', 4255), reset('09:35:03.033051', 4255))
    const one = await analyzeFiles({ 'w.log': log, 'pods.jsonl': OLD_AND_NEW })
    const two = await analyzeFiles({
      'w.log': text(opened('09:01:00.000000', 7, '10.0.0.8'), ...log.trim().split('\n')),
      'pods.jsonl': OLD_AND_NEW,
      'app.log': '[2025/10/22 09:00:00] [ info] hello\n',
    })
    expect(stale(two)[0]?.fingerprint).toBe(stale(one)[0]?.fingerprint)
  })
})

describe('silence', () => {
  const stream = (time: string, message: string) => `2025-10-22T${time}Z\tdebug\tenvoy router x.cc:1\t[Tags: "ConnectionId":"3","StreamId":"77"] ${message}\tthread=22`
  const open = [opened('09:25:18.622171', 4), line('09:35:03.000000', 4, 'pool', 'using existing fully connected connection'), stream('09:35:03.000001', 'pool ready')]

  it('is a request on the old connection that timed out under the new owner', async () => {
    const r = await analyzeFiles({ 'w.log': text(...open, stream('09:35:07.000001', 'upstream timeout')), 'pods.jsonl': OLD_AND_NEW })
    expect(stale(r)).toMatchObject([{ code: 'WC102.silent-after-reuse', subject: { connection_id: '4' } }])
    expect(r.failures.list.map(f => f.cause)).toEqual(['WC102.silent-after-reuse'])
  })
  it('is the kernel giving up', async () => {
    const died = [
      '2025-10-22T09:50:41.000000Z\tdebug\tenvoy misc x.cc:1\tUnknown error code 110 details Connection timed out\tthread=22',
      line('09:50:41.000001', 4, 'connection', 'remote close'),
      line('09:50:41.000002', 4, 'connection', 'closing socket: 0'),
    ]
    expect(stale(await analyzeFiles({ 'w.log': text(...open, ...died), 'pods.jsonl': OLD_AND_NEW }))).toMatchObject([{ code: 'WC102.silent-after-reuse' }])
  })
  it('is no answer by the peer: a stream that it reset', async () => {
    expect(
      stale(
        await analyzeFiles({
          'w.log': text(...open, stream('09:35:03.010000', 'upstream reset: reset reason: remote reset, transport failure reason: ')),
          'pods.jsonl': OLD_AND_NEW,
        }),
      ),
    ).toEqual([])
  })
})

it('a waypoint’s request that names only the address behind an internal listener is linked by the instant', async () => {
  const access = (start: string, ip: string) =>
    text(
      JSON.stringify({
        start_time: `2025-10-22T${start}Z`,
        method: 'GET',
        path: '/',
        protocol: 'HTTP/1.1',
        response_code: 503,
        response_flags: 'UC',
        response_code_details: 'upstream_reset_before_response_started{connection_termination}',
        bytes_received: 0,
        bytes_sent: 95,
        duration: 1,
        upstream_host: `envoy://connect_originate/${ip}:8080`,
        upstream_local_address: 'envoy://internal_client_address/',
        upstream_cluster: 'inbound-vip|80|http|s',
        request_id: `${start} ${ip}`,
      }),
    )
  const log = text(opened('09:25:18.622171', 4255), reset('09:35:03.033051', 4255))
  const r = await analyzeFiles({
    'w.log': log,
    'pods.jsonl': OLD_AND_NEW,
    'access.json': access('09:35:03.032', '10.0.0.9') + access('09:35:03.032', '10.0.0.8') + access('09:36:00.000', '10.0.0.9'),
  })
  expect(r.failures.list.map(f => f.cause)).toEqual(['WC102.reset-by-new-owner', 'WC104.reset-before-response', 'WC104.reset-before-response'])
})

it('a new sandbox of the same pod is another owner', async () => {
  const pod = (ready: string) =>
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'app', namespace: 'shop', uid: 'u1' },
      spec: { nodeName: 'n', containers: [] },
      status: { phase: 'Running', podIP: '10.0.0.9', conditions: [{ type: 'PodReadyToStartContainers', status: 'True', lastTransitionTime: `2025-10-22T${ready}Z` }] },
    })
  const log = text(opened('09:25:18.622171', 1), reset('09:35:03.033051', 1))
  expect(stale(await analyzeFiles({ 'w.log': log, 'a.json': pod('09:00:00'), 'b.json': pod('09:34:30') }))).toMatchObject([{ code: 'WC102.reset-by-new-sandbox' }])
  expect(stale(await analyzeFiles({ 'w.log': log, 'a.json': pod('09:00:00'), 'b.json': pod('09:00:00') }))).toEqual([])
})

describe('clocks', () => {
  const log = text(opened('09:25:18.622171', 4255), reset('09:35:03.033051', 4255))
  it('that may differ by more than the order is apart make it possible at most', async () => {
    const late = text(owner('app-old', '09:00:00', '09:33:00'), owner('app-new', '09:35:02', null))
    expect(stale(await analyzeFiles({ 'w.log': log, 'pods.jsonl': late }))).toMatchObject([{ confidence: { level: 'possible' }, severity: 'low' }])
    expect(stale(await analyzeFiles({ 'w.log': log, 'pods.jsonl': late }, { clockError: 500_000_000n }))).toMatchObject([{ confidence: { level: 'certain' } }])
    const early = text(owner('app-old', '09:00:00', '09:25:10'), owner('app-new', '09:25:19', null))
    expect(stale(await analyzeFiles({ 'w.log': log, 'pods.jsonl': early })).map(f => f.confidence.level)).toEqual([])
  })
  it('of which one is hours off show nothing', async () => {
    const shifted = log.replaceAll('T09:', 'T12:')
    expect(stale(await analyzeFiles({ 'w.log': shifted, 'pods.jsonl': OLD_AND_NEW }))).toEqual([])
  })
})

it('says which changes of owner nothing is known about', async () => {
  const missing = (await analyzeFiles({ 'pods.jsonl': OLD_AND_NEW })).verdicts.find(v => v.rule === 'WC102')?.missing ?? []
  expect(missing.map(m => m.needs)).toEqual(['upstream-connections'])
  expect(missing[0]?.why).toMatch(/^10\.0\.0\.9 passed from app-old .* to app-new/)
})

it('judges each proxy of a log that names them', async () => {
  const prefixed = (pod: string, lines: string[]) => lines.map(l => `[pod/${pod}/istio-proxy] ${l}`)
  const log = text(
    ...prefixed('gw-1', [opened('09:25:18.622171', 4255)]),
    ...prefixed('gw-2', [opened('09:34:40.000000', 4255)]),
    ...prefixed('gw-1', [reset('09:35:03.033051', 4255)]),
  )
  const r = await analyzeFiles({ 'all.log': log, 'pods.jsonl': OLD_AND_NEW })
  expect(stale(r).map(f => f.subject.connection_id)).toEqual(['4255'])
  expect(r.verdicts.find(v => v.rule === 'WC102')?.checked).toBe(2)
})

describe('does not fire', () => {
  it.each([
    ['the owner is the same all along', OLD_AND_NEW, text(opened('09:10:00.000000', 1), reset('09:20:00.000000', 1))],
    ['the connection was opened to the new owner', OLD_AND_NEW, text(opened('09:34:40.000000', 1), reset('09:35:03.033051', 1))],
    [
      'the peer closed it in order',
      OLD_AND_NEW,
      text(opened('09:25:18.622171', 1), line('09:35:03.033051', 1, 'connection', 'remote close'), line('09:35:03.033061', 1, 'connection', 'closing socket: 0')),
    ],
    ['nobody has the address yet', text(owner('app-old', '09:00:00', '09:33:00')), text(opened('09:25:18.622171', 1), reset('09:35:03.033051', 1))],
  ])('where %s', async (_, pods, log) => {
    const r = await analyzeFiles({ 'w.log': log, 'pods.jsonl': pods })
    expect(stale(r)).toEqual([])
    expect(verdict(r)).toBe('held')
  })

  it('where two processes share the log', async () => {
    const log = text(opened('09:10:00.000000', 4255, '10.0.0.7'), opened('09:25:18.622171', 4255), opened('09:26:00.000000', 4255, '10.0.0.6'), reset('09:35:03.033051', 4255))
    const r = await analyzeFiles({ 'w.log': log, 'pods.jsonl': OLD_AND_NEW })
    expect(stale(r)).toEqual([])
    expect(verdict(r)).toBe('not-evaluable')
    expect(r.findings.map(f => f.code)).toContain('WC100.id-conflict')
  })
})

describe('cannot be evaluated', () => {
  it.each(['w.log', 'pods.jsonl'])('without %s', async gone => {
    const files: Record<string, string> = {
      'w.log': text(opened('09:25:18.622171', 1), reset('09:35:03.033051', 1)),
      'pods.jsonl': OLD_AND_NEW,
      'app.log': '[2025/10/22 09:00:00] [ info] hello\n',
    }
    delete files[gone]
    const r = await analyzeFiles(files)
    expect(verdict(r)).toBe('not-evaluable')
    expect(r.verdicts.find(v => v.rule === 'WC102')?.missing.length).toBeGreaterThan(0)
  })
})
