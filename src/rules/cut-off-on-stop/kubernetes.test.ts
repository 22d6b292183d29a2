import { describe, expect, it } from 'vitest'
import { analyzeFiles } from '../../../test/support/analyze.js'
import type { Report } from '../../model/report.js'

const NOON = Date.parse('2026-11-30T12:00:00Z')
const at = (seconds: number): string => new Date(NOON + Math.floor(seconds) * 1000).toISOString().replace('.000', '')
const stamp = (ms: number): string => new Date(NOON + ms).toISOString()
const UID = '304417d7-fdd3-40f0-8f0a-80a8aabafc42'

interface Terminated {
  readonly container?: string
  readonly code: number
  readonly reason: string
  readonly finished: number
  readonly state?: 'state' | 'lastState'
}

/** A pod that ran from noon, was perhaps deleted, and whose container ended. */
const pod = (ended: readonly Terminated[], deleted: number | null, name = 'web-1', ip = '10.244.4.21', uid = UID) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'shop', uid, creationTimestamp: at(-10), ...(deleted === null ? {} : { deletionTimestamp: at(deleted + 30), deletionGracePeriodSeconds: 30 }) },
  spec: { nodeName: 'node-4' },
  status: {
    phase: 'Running',
    podIP: ip,
    podIPs: [{ ip }],
    startTime: at(-9),
    conditions: [{ type: 'PodReadyToStartContainers', status: 'True', lastTransitionTime: at(-8) }],
    containerStatuses: ended.map(e => ({
      name: e.container ?? 'web',
      [e.state ?? 'state']: { terminated: { exitCode: e.code, reason: e.reason, startedAt: at(-8), finishedAt: at(e.finished) } },
    })),
  },
})

interface Request {
  readonly id: string
  readonly start: number
  readonly took: number
  readonly flags?: string
  readonly details?: string
  readonly status?: number
  readonly ip?: string
}

const access = (r: Request): string =>
  JSON.stringify({
    start_time: stamp(r.start),
    method: 'GET',
    'x-envoy-origin-path': '/report',
    protocol: 'HTTP/1.1',
    response_code: r.status ?? 200,
    response_flags: r.flags ?? '-',
    response_code_details: r.details ?? 'via_upstream',
    connection_termination_details: null,
    upstream_transport_failure_reason: null,
    bytes_received: 0,
    bytes_sent: 30,
    duration: r.took,
    'x-envoy-upstream-service-time': '1',
    'x-forwarded-for': '10.244.1.20',
    'user-agent': 'client/1.0',
    'x-request-id': r.id,
    ':authority': 'shop.example',
    upstream_host: `${r.ip ?? '10.244.4.21'}:8080`,
    upstream_cluster: 'shop/web',
    upstream_local_address: '10.244.1.5:40000',
    downstream_local_address: '10.244.1.5:10080',
    downstream_remote_address: '10.244.1.20:50000',
    requested_server_name: null,
    route_name: 'shop/web',
  })

const CUT = { status: 503, flags: 'UC', details: 'upstream_reset_before_response_started{connection_termination}' }
const REFUSED = { status: 503, flags: 'UF', details: 'upstream_reset_before_response_started{remote_connection_failure|delayed_connect_error:_Connection_refused}' }
const fine = [1000, 2000, 3000].flatMap(t => [access({ id: `f${t}`, start: t, took: 20 }), access({ id: `o${t}`, start: t, took: 20, ip: '10.244.4.22' })])
const cut = [0, 100, 200].map(i => access({ id: `c${i}`, start: 8000 + i, took: 2800 - i, ...CUT }))
const lines = (...list: readonly (string | readonly string[])[]): string => `${list.flat().join('\n')}\n`
const world = (object: object, requests: readonly string[]) =>
  analyzeFiles({ 'access.json': lines(fine, requests), 'pods.json': JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [object] }) })
const brief = (r: Report) => r.findings.filter(f => f.rule === 'WC105').map(f => [f.code.slice(6), f.confidence.level, f.severity, f.count])
const verdict = (r: Report) => r.verdicts.find(v => v.rule === 'WC105')?.verdict

describe('a pod behind Envoy', () => {
  it('cuts the requests that it was serving when it was deleted', async () => {
    const r = await world(pod([{ code: 143, reason: 'Error', finished: 10 }], 9), cut)
    expect(brief(r)).toEqual([['in-flight-cut', 'certain', 'high', 3]])
    expect(r.findings[0]?.subject).toMatchObject({ pod: 'shop/web-1', pod_uid: UID, remote: '10.244.4.21:8080', node: 'node-4' })
    expect(r.findings[0]?.rivals.every(x => !x.says.includes('certificate'))).toBe(true)
  })

  it('loses them when it runs out of memory, and when it crashes', async () => {
    const oom = await world(pod([{ code: 137, reason: 'OOMKilled', finished: 10, state: 'lastState' }], null), cut)
    expect(brief(oom)).toEqual([['out-of-memory', 'certain', 'high', 3]])
    const crash = await world(pod([{ code: 134, reason: 'Error', finished: 10, state: 'lastState' }], null), cut)
    expect(brief(crash)).toEqual([['crashed', 'certain', 'high', 3]])
  })

  it('is refused while it is still an endpoint', async () => {
    const r = await world(pod([{ code: 0, reason: 'Completed', finished: 10 }], 9), [access({ id: 'r', start: 14_000, took: 1, ...REFUSED })])
    expect(brief(r).map(b => b[0])).toEqual(['refused-while-stopping'])
  })

  it('drains, and the rule holds', async () => {
    const r = await world(pod([{ code: 0, reason: 'Completed', finished: 10 }], 8), [access({ id: 'd', start: 7000, took: 2000 })])
    expect([verdict(r), brief(r)]).toEqual(['held', []])
  })

  it('whose init container has ended refuses at its start: that is no stop', async () => {
    const object = pod([{ container: 'init', code: 0, reason: 'Completed', finished: 0 }], null)
    const r = await analyzeFiles({
      'access.json': lines(access({ id: 'early', start: 3000, took: 1, ...REFUSED }), access({ id: 'later', start: 9000, took: 20 })),
      'pods.json': JSON.stringify(object),
    })
    expect(brief(r)).toEqual([])
  })

  it('is not accused of what another owner of its address does', async () => {
    const old = pod([{ code: 143, reason: 'Error', finished: 10 }], 9)
    const late = pod([], null, 'web-2', '10.244.4.21', 'other-uid')
    late.status.conditions[0]!.lastTransitionTime = at(20)
    const r = await analyzeFiles({
      'access.json': lines(fine, access({ id: 'n', start: 30_000, took: 50, ...CUT })),
      'pods.json': JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [old, late] }),
    })
    expect(brief(r)).toEqual([])
  })

  it('without anything that tells of its stop is left to the rule for failures', async () => {
    const r = await analyzeFiles({ 'access.json': lines(fine, cut) })
    expect([verdict(r), brief(r)]).toEqual(['not-evaluable', []])
    expect(new Set(r.failures.list.map(f => f.cause))).toEqual(new Set(['WC104.reset-before-response']))
  })
})
