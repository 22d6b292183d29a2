import { describe, expect, it } from 'vitest'
import { analyzeFiles } from '../../../test/support/analyze.js'
import type { Report } from '../../model/report.js'

interface Flow {
  t?: string
  identity?: number
  verdict?: string
  reason?: string
  src?: string
  port?: number
  dst?: string
  flags?: object
  direction?: string
}
const flow = ({
  t = '10:53:22.338',
  identity = 6,
  verdict = 'DROPPED',
  reason = 'POLICY_DENIED',
  src = '10.1.0.7',
  port = 40_312,
  dst = '10.2.3.4',
  flags = { SYN: true },
  direction = 'INGRESS',
}: Flow): string =>
  JSON.stringify({
    flow: {
      time: `2026-09-10T${t}Z`,
      verdict,
      ...(verdict === 'DROPPED' ? { drop_reason_desc: reason } : {}),
      IP: { source: src, destination: dst, ipVersion: 'IPv4' },
      l4: { TCP: { source_port: port, destination_port: 8080, flags } },
      source: { identity },
      destination: { identity: 187_427, namespace: 'app', pod_name: 'web-1' },
      Type: 'L3_L4',
      node_name: 'c/node-b',
      traffic_direction: direction,
      event_type: { type: verdict === 'DROPPED' ? 1 : 4 },
    },
  })
const envoy = (t: string, logger: string, message: string, thread = 7): string => `[2026-09-10 ${t}][${thread}][trace][${logger}] [cilium/x.cc:96] ${message}`
const skip = (t: string, local: string, thread = 7) => envoy(t, 'filter', `Skipping restore of local address on socket: 39 - destination is local ${local}`, thread)
const bind = (t: string, thread = 7) => envoy(t, 'filter', 'Restoring local address (original source) on socket: 39 (n/a -> 10.1.0.200:0)', thread)
const connect = (t: string, id: number, to: string, thread = 7) => envoy(t, 'connection', `[Tags: "ConnectionId":"${id}"] connecting to ${to}:8080`, thread)
const pods = (nodes: Record<string, string>) =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'List',
    items: Object.entries(nodes).map(([ip, node], i) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: `p${i}`, namespace: 'app', uid: `u${i}`, creationTimestamp: '2026-09-10T09:00:00Z' },
      spec: { nodeName: node, containers: [] },
      status: { phase: 'Running', podIP: ip },
    })),
  })
const text = (...lines: string[]) => `${lines.join('\n')}\n`
const found = (r: Report) => r.findings.filter(f => f.rule === 'WC101')
const verdict = (r: Report) => r.verdicts.find(v => v.rule === 'WC101')

describe('denied-as-node', () => {
  it('is possible from flows alone, however many', async () => {
    const flows = Array.from({ length: 40 }, (_, i) => flow({ t: `10:${String(10 + i)}:${String((i * 7) % 60).padStart(2, '0')}.100`, port: 40_000 + i }))
    const r = await analyzeFiles({ 'f.json': text(...flows) })
    expect(found(r)).toMatchObject([{ code: 'WC101.denied-as-node', count: 40, severity: 'low', confidence: { level: 'possible' }, subject: { pod: 'app/web-1' } }])
  })

  it('counts the drop, the verdict and the repetitions of one SYN once', async () => {
    const r = await analyzeFiles({ 'f.json': text(flow({ t: '10:00:00.000100' }), flow({ t: '10:00:00.000200' }), flow({ t: '10:00:01.000' }), flow({ t: '10:00:03.000' })) })
    expect(found(r).map(f => f.count)).toEqual([1])
  })

  it('is likely where requests of the proxy failed to connect to the same address', async () => {
    const access = JSON.stringify({
      start_time: '2026-09-10T10:00:00.000Z',
      response_code: 503,
      response_flags: 'UF',
      response_code_details: 'upstream_reset_before_response_started{connection_timeout}',
      duration: 5000,
      method: 'GET',
      protocol: 'HTTP/1.1',
      upstream_host: '10.2.3.4:8080',
      upstream_cluster: 'c',
      bytes_sent: 0,
      bytes_received: 0,
      request_id: 'r-1',
    })
    const flows = text(flow({ t: '10:00:00.010' }), flow({ t: '10:00:01.010' }), flow({ t: '10:00:03.010' }))
    const r = await analyzeFiles({ 'f.json': flows, 'access.json': text(access) })
    expect(found(r)).toMatchObject([{ confidence: { level: 'likely' }, severity: 'high' }])
    expect(r.failures.list).toMatchObject([{ request_id: 'r-1', cause: 'WC101.denied-as-node' }])
    expect(r.findings.filter(f => f.rule === 'WC104')).toEqual([])
  })

  it.each([
    ['ingress identity forwarded', flow({ identity: 8, verdict: 'FORWARDED' })],
    ['host identity: the same node', flow({ identity: 1 })],
    ['a drop for another reason than policy', flow({ reason: 'CT_MAP_INSERTION_FAILED' })],
    ['the SYN-ACK denied', flow({ flags: { SYN: true, ACK: true } })],
    ['egress', flow({ direction: 'EGRESS' })],
    ['world', flow({ identity: 2 })],
  ])('is not %s', async (_, line) => {
    const r = await analyzeFiles({ 'f.json': text(line) })
    expect(found(r)).toEqual([])
    expect(['held', 'not-evaluable']).toContain(verdict(r)?.verdict)
  })

  it('names the connections under the ingress identity as controls', async () => {
    const r = await analyzeFiles({ 'f.json': text(flow({}), flow({ identity: 8, verdict: 'FORWARDED', src: '10.1.0.200', port: 50_000, t: '10:53:20.000' })) })
    expect(found(r)[0]?.controls).toMatchObject([{ checked: 1, passed: 1 }])
  })
})

describe('skipped', () => {
  const log = text(skip('10:00:00.100', '10.1.3.5'), connect('10:00:00.101', 12, '10.2.3.4'))

  it('is certain where the two pods are on different nodes', async () => {
    const r = await analyzeFiles({ 'e.log': log, 'pods.json': pods({ '10.1.3.5': 'node-a', '10.2.3.4': 'node-b' }) })
    expect(found(r)).toMatchObject([{ code: 'WC101.skipped', confidence: { level: 'certain' }, subject: { connection_id: '12', remote: '10.2.3.4:8080' } }])
  })

  it('takes the denial of its SYN as its own', async () => {
    const r = await analyzeFiles({ 'e.log': log, 'pods.json': pods({ '10.1.3.5': 'node-a', '10.2.3.4': 'node-b' }), 'f.json': text(flow({ t: '10:00:00.102' })) })
    expect(found(r).map(f => [f.code, f.subject.local])).toEqual([['WC101.skipped', '10.1.0.7:40312']])
  })

  it('is certain where the log binds the ingress address for the same pod at other times', async () => {
    const r = await analyzeFiles({ 'e.log': text(bind('09:59:00.000'), connect('09:59:00.001', 11, '10.2.3.4'), ...log.trim().split('\n')) })
    expect(found(r)).toMatchObject([{ confidence: { level: 'certain' } }])
  })

  it('is only possible where the node of the pod is unknown', async () => {
    expect(found(await analyzeFiles({ 'e.log': log }))).toMatchObject([{ confidence: { level: 'possible' }, severity: 'low' }])
  })

  it('joins by thread, with two workers interleaved', async () => {
    const two = text(skip('10:00:00.100', '10.1.3.5', 7), bind('10:00:00.100', 8), connect('10:00:00.101', 13, '10.9.9.9', 8), connect('10:00:00.101', 12, '10.2.3.4', 7))
    const r = await analyzeFiles({ 'e.log': two, 'pods.json': pods({ '10.1.3.5': 'node-a', '10.2.3.4': 'node-b' }) })
    expect(found(r).map(f => f.subject.connection_id)).toEqual(['12'])
  })

  it.each([
    ['the destination itself', text(skip('10:00:00.100', '10.2.3.4'), connect('10:00:00.101', 12, '10.2.3.4')), {}],
    ['another pod of the same node', log, { '10.1.3.5': 'node-a', '10.2.3.4': 'node-a' }],
    ['nothing: the address was bound', text(bind('10:00:00.100'), connect('10:00:00.101', 12, '10.2.3.4')), {}],
  ])('is not a skip for %s', async (_, lines, nodes) => {
    const r = await analyzeFiles({ 'e.log': lines, 'pods.json': pods(nodes) })
    expect(found(r)).toEqual([])
    expect(verdict(r)?.verdict).toBe('held')
  })
})

describe('looks like it', () => {
  const uf = (details: string, more: object = {}) =>
    text(
      JSON.stringify({
        start_time: '2026-09-10T10:00:00.000Z',
        response_code: 503,
        response_flags: 'UF',
        response_code_details: details,
        duration: 5000,
        method: 'GET',
        protocol: 'HTTP/1.1',
        upstream_host: '10.2.3.4:8080',
        upstream_cluster: 'c',
        bytes_sent: 0,
        bytes_received: 0,
        request_id: 'r-1',
        ...more,
      }),
    )
  const admitted = text(flow({ identity: 8, verdict: 'FORWARDED', src: '10.1.0.200' }))

  it.each([
    ['a stale endpoint: a connect timeout without any denial', uf('upstream_reset_before_response_started{connection_timeout}'), 'WC104.connect-timeout'],
    [
      'a 5-tuple collision: refused at once',
      uf('upstream_reset_before_response_started{local_connection_failure|immediate_connect_error:_Cannot_assign_requested_address}', { duration: 0 }),
      'WC104.bind-failed',
    ],
    ['a denial by Envoy’s own policy', uf('rbac_access_denied_matched_policy[none]', { response_code: 403, response_flags: '-', duration: 0 }), 'WC104.refused-by-policy'],
  ])('%s', async (_, access, cause) => {
    const r = await analyzeFiles({ 'f.json': admitted, 'access.json': access })
    expect([found(r), verdict(r)?.verdict, r.failures.list[0]?.cause]).toEqual([[], 'held', cause])
  })
  it('a denial that was let in a moment later', async () => {
    expect(found(await analyzeFiles({ 'f.json': text(flow({ t: '10:00:00.000' }), flow({ t: '10:00:01.000', verdict: 'FORWARDED' })) }))).toEqual([])
  })
  it('a host-network client of a port that no ingress traffic uses', async () => {
    const other = flow({ t: '10:00:05.000' }).replace('"destination_port":8080', '"destination_port":9100')
    const r = await analyzeFiles({ 'f.json': text(flow({ identity: 8, verdict: 'FORWARDED', src: '10.1.0.200', t: '10:00:00.000' }), other) })
    expect([found(r), verdict(r)?.verdict]).toEqual([[], 'held'])
  })
})

describe('clocks and order', () => {
  const flows = [flow({ t: '10:00:00.010' }), flow({ t: '10:00:01.010' }), flow({ t: '10:00:03.010' })]
  const access = (start: string) =>
    text(
      JSON.stringify({
        start_time: `2026-09-10T${start}Z`,
        response_code: 503,
        response_flags: 'UF',
        response_code_details: 'upstream_reset_before_response_started{connection_timeout}',
        duration: 5000,
        method: 'GET',
        protocol: 'HTTP/1.1',
        upstream_host: '10.2.3.4:8080',
        upstream_cluster: 'c',
        bytes_sent: 0,
        bytes_received: 0,
        request_id: 'r-1',
        user_agent: 'kube-probe/1.30',
      }),
    )

  it('of lines and files change nothing', async () => {
    const plain = found(await analyzeFiles({ 'f.json': text(...flows), 'access.json': access('10:00:00.000') }))
    const mixed = found(await analyzeFiles({ 'z.json': text(...flows), 'a.json': access('10:00:00.000') }))
    expect(mixed.map(f => [f.fingerprint, f.confidence.level])).toEqual(plain.map(f => [f.fingerprint, f.confidence.level]))
    const shifted = found(await analyzeFiles({ 'f.json': text(...flows).replaceAll('T10:', 'T17:'), 'access.json': access('17:00:00.000') }))
    expect(shifted.map(f => f.confidence.level)).toEqual(['likely'])
  })
  it('that are hours apart link no request to a denial', async () => {
    const r = await analyzeFiles({ 'f.json': text(...flows), 'access.json': access('13:00:00.000') })
    expect(found(r).map(f => f.confidence.level)).toEqual(['possible'])
    expect(r.failures.list.map(f => f.cause)).toEqual(['WC104.connect-timeout'])
  })
  it('health checks that failed are counted apart', async () => {
    const r = await analyzeFiles({ 'f.json': text(...flows), 'access.json': access('10:00:00.000') })
    expect(found(r)).toMatchObject([{ severity: 'medium' }])
    expect(r.incidents.find(i => i.rule === 'WC101')?.impact).toEqual({ failed: 0, reached_client: 0, probes: 1 })
  })
})

it('cannot be evaluated without flows and without the trace', async () => {
  const r = await analyzeFiles({ 'app.log': '[2025/10/22 09:00:00] [ info] hello\n' })
  expect(verdict(r)).toMatchObject({ verdict: 'not-evaluable', applies: false })
  expect(verdict(r)?.missing.map(m => m.needs)).toEqual(['ingress-flows', 'bind-decisions'])
})
