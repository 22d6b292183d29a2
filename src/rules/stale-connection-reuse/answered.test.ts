import { describe, expect, it } from 'vitest'
import { analyzeFiles } from '../../../test/support/analyze.js'
import type { Report } from '../../model/report.js'
import { serviceOf } from './service.js'

const text = (...lines: string[]): string => `${lines.join('\n')}\n`
const owner = (pod: string, from: string, to: string | null, more: object = {}): string =>
  JSON.stringify({ ip: '10.0.0.9', pod, from: `2026-01-02T${from}Z`, to: to && `2026-01-02T${to}Z`, ...more })
const request = (
  start: string,
  { cluster = 'outbound|8080||cart.shop.svc.cluster.local', code = 200, details = 'via_upstream', flags = '-', host = '10.0.0.9:8080' } = {},
): string =>
  JSON.stringify({
    start_time: `2026-01-02T${start}Z`,
    method: 'GET',
    path: '/',
    protocol: 'HTTP/1.1',
    response_code: code,
    response_flags: flags,
    response_code_details: details,
    bytes_received: 0,
    bytes_sent: 9,
    duration: 3,
    upstream_host: host,
    upstream_cluster: cluster,
    request_id: `r-${start}`,
  })
const slices = (of: Record<string, [ip: string, pod: string, uid: string][]>): string =>
  JSON.stringify(
    {
      apiVersion: 'v1',
      kind: 'List',
      items: Object.entries(of).map(([service, endpoints]) => ({
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: { name: `${service.replace('/', '-')}-x`, namespace: service.split('/')[0], labels: { 'kubernetes.io/service-name': service.split('/')[1] } },
        endpoints: endpoints.map(([ip, pod, uid]) => ({
          addresses: [ip],
          conditions: { ready: true },
          targetRef: { kind: 'Pod', namespace: service.split('/')[0], name: pod, uid },
        })),
      })),
    },
    null,
    1,
  )

const found = (r: Report) => r.findings.filter(f => f.code === 'WC102.answered-by-new-owner')
const elsewhere = text(owner('shop/cart-1', '09:00:00', '09:30:00'), owner('bank/ledger-1', '09:31:00', null))
const access = text(request('09:20:00.000'), request('09:40:00.000'), request('09:41:00.000'))

it('fires where a pod of another namespace answers for the service, at an address that was answered for it before', async () => {
  const r = await analyzeFiles({ 'access.json': access, 'pods.jsonl': elsewhere })
  expect(found(r)).toMatchObject([
    {
      count: 2,
      confidence: { level: 'likely' },
      severity: 'high',
      subject: { remote: '10.0.0.9:8080', pod: 'bank/ledger-1', previous_pod: 'shop/cart-1', cluster: 'outbound|8080||cart.shop.svc.cluster.local' },
    },
  ])
  expect(found(r)[0]?.claims[0]?.evidence.map(e => e.line)).toEqual([1])
  expect(found(r)[0]?.claims[1]?.evidence.map(e => e.line)).toEqual([2, 3])
  expect(r.failures.total).toBe(0)
})

it('explains errors that the wrong application answered', async () => {
  const r = await analyzeFiles({ 'access.json': text(request('09:20:00.000'), request('09:40:00.000', { code: 500 })), 'pods.jsonl': elsewhere })
  expect(r.failures.list.map(f => f.cause)).toEqual(['WC102.answered-by-new-owner'])
})

describe('within the namespace', () => {
  const pods = text(owner('shop/cart-1', '09:00:00', '09:30:00', { uid: 'u1' }), owner('shop/ledger-1', '09:31:00', null, { uid: 'u2' }))
  const before: [string, string, string][] = [['10.0.0.9', 'cart-1', 'u1']]
  const after: [string, string, string][] = [['10.0.0.9', 'ledger-1', 'u2']]

  it('fires where a listing has the new owner behind another service, and this one without it', async () => {
    const r = await analyzeFiles({
      'access.json': access,
      'pods.jsonl': pods,
      'a.json': slices({ 'shop/cart': before }),
      'b.json': slices({ 'shop/cart': [['10.0.0.7', 'cart-2', 'u3']], 'shop/ledger': after }),
    })
    expect(found(r)).toMatchObject([{ count: 2, confidence: { level: 'likely' } }])
    expect(found(r)[0]?.claims.flatMap(c => c.evidence.map(e => e.path))).toContain('b.json')
  })
  it.each([
    ['the new owner is an endpoint of the service too', { 'shop/cart': after, 'shop/ledger': after }],
    ['no service names the new owner: the names of workloads prove nothing', { 'shop/cart': [['10.0.0.7', 'cart-2', 'u3']] }],
    ['the service is not in that listing', { 'shop/ledger': after }],
  ] as [string, Record<string, [string, string, string][]>][])('not where %s', async (_, listing) => {
    expect(found(await analyzeFiles({ 'access.json': access, 'pods.jsonl': pods, 'a.json': slices({ 'shop/cart': before }), 'b.json': slices(listing) }))).toEqual([])
  })
})

describe('does not fire', () => {
  it.each([
    [
      'the new owner is a pod of the service’s namespace, as after a rollout',
      access,
      text(owner('shop/cart-1', '09:00:00', '09:30:00'), owner('shop/cart-v2-1', '09:31:00', null)),
    ],
    ['the address had never answered for the service: the cluster is of the new owner', text(request('09:40:00.000')), elsewhere],
    ['the answers came before the change', text(request('09:10:00.000'), request('09:20:00.000')), elsewhere],
    ['the change and the answer are closer than the clocks may differ', text(request('09:20:00.000'), request('09:31:01.000')), elsewhere],
    [
      'nothing was answered',
      text(request('09:20:00.000'), request('09:40:00.000', { code: 503, flags: 'UC', details: 'upstream_reset_before_response_started{connection_termination}' })),
      elsewhere,
    ],
    [
      'the cluster’s name tells of no one service',
      text(request('09:20:00.000', { cluster: 'httproute/shop/cart/rule/0' }), request('09:40:00.000', { cluster: 'httproute/shop/cart/rule/0' })),
      elsewhere,
    ],
    ['the address has one owner', access, text(owner('shop/cart-1', '09:00:00', null))],
  ])('where %s', async (_, lines, pods) => expect(found(await analyzeFiles({ 'access.json': lines, 'pods.jsonl': pods }))).toEqual([]))
})

it.each([
  ['outbound|8080||cart.shop.svc.cluster.local', 'shop/cart'],
  ['outbound|8080|v2|cart.shop.svc.cluster.local', 'shop/cart'],
  ['inbound-vip|8080|http|cart.shop.svc.cluster.local', 'shop/cart'],
  ['shop/cart/8080/6a5b', 'shop/cart'],
  ['shop/cart:8080', 'shop/cart'],
  ['httproute/shop/cart/rule/0', null],
  ['tcproute/default/tcp-fbit/rule/-1', null],
  ['inbound|8080||', null],
  ['connect_originate', null],
  ['cart', null],
])('cluster %s is of service %s', (cluster, service) => expect(serviceOf(cluster)).toBe(service))
