import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { collect, context } from '../../../test/support/collect.js'
import { readWell, survives } from '../../../test/support/robust.js'
import type { Format } from '../format.js'
import { formatById } from '../index.js'

const format = formatById('k8s-objects') as Format
const bytes = (name: string) => readFileSync(new URL(`samples/${name}`, import.meta.url))
const sample = (name: string) => (name.endsWith('.gz') ? gunzipSync(bytes(name)) : bytes(name))
const at = (text: string) => BigInt(Date.parse(text)) * 1_000_000n
const facts = (object: unknown) => {
  const text = JSON.stringify(object)
  return readWell(format, `${text}\n`).rows.pod_fact
}

const POD = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web-1', namespace: 'shop', uid: 'u-1', creationTimestamp: '2026-11-30T21:47:26Z' },
  spec: { nodeName: 'node-a', containers: [{ name: 'web' }] },
  status: { phase: 'Running', podIP: '10.244.0.3', podIPs: [{ ip: '10.244.0.3' }, { ip: 'FD00:10:244:0::3' }], hostIP: '192.168.10.11', startTime: '2026-11-30T21:47:27Z' },
}

describe('pods', () => {
  it('reads a real one: addresses, sandbox, containers (Kubernetes 1.35.4)', () => {
    const { rows, records, problems } = readWell(format, sample('pod-single-06.json'))
    expect([records.length, problems.length]).toEqual([1, 0])
    const base = { subject: 'shop/cache-d6fc58dc-xb5ks', kind: 'pod', uid: expect.stringMatching(/^[0-9a-f-]{36}$/), node: 'node-b', exact: true }
    const of = (what: string) => rows.pod_fact.filter(f => f.what === what && f.kind === 'pod')
    expect(of('listed')).toMatchObject([
      { ...base, ip: '10.244.1.6', t: null, t_earliest: null, t_latest: null, reason: 'Running' },
      { ...base, ip: 'fd00:10:244:1::6', t: null },
    ])
    expect(of('created')).toMatchObject([{ ...base, t: at('2026-11-30T21:47:26Z'), t_earliest: at('2026-11-30T21:47:26Z'), t_latest: at('2026-11-30T21:47:26Z'), ip: null }])
    expect(of('started')).toMatchObject([{ ...base, t: at('2026-11-30T21:47:26Z') }])
    expect(of('ready-sandbox').map(f => [f.ip, f.t])).toEqual([
      ['10.244.1.6', at('2026-11-30T21:49:18Z')],
      ['fd00:10:244:1::6', at('2026-11-30T21:49:18Z')],
    ])
    expect(of('container-exited')).toMatchObject([{ ...base, t: at('2026-11-30T21:49:17Z'), reason: 'cache: exit 137 Error', sandbox: expect.stringMatching(/^[0-9a-f]{64}$/) }])
    expect(of('container-started').map(f => f.t)).toEqual([at('2026-11-30T21:49:17Z'), at('2026-11-30T21:47:27Z')])
    expect(rows.pod_fact.filter(f => f.kind === 'node')[0]).toMatchObject({ subject: 'node-b', ip: '192.168.10.12', uid: null, reason: 'hostIP' })
  })

  it('marks pods that use the network of their node', () => {
    expect(facts({ ...POD, spec: { ...POD.spec, hostNetwork: true } }).filter(f => f.what === 'listed' && f.kind === 'pod')).toMatchObject([
      { kind: 'pod', reason: 'Running hostNetwork' },
      { reason: 'Running hostNetwork' },
    ])
  })

  it('puts a deletion where it was asked for, up to its end in the future', () => {
    const deleted = facts({ ...POD, metadata: { ...POD.metadata, deletionTimestamp: '2026-11-30T21:50:30Z', deletionGracePeriodSeconds: 30 } })
    expect(deleted.find(f => f.what === 'deletion')).toMatchObject({
      t: at('2026-11-30T21:50:30Z'),
      t_earliest: at('2026-11-30T21:50:00Z'),
      t_latest: at('2026-11-30T21:50:30Z'),
      reason: 'grace 30s',
    })
    expect(deleted[0]).toMatchObject({ what: 'listed', reason: 'Running terminating' })
  })

  it('tells a sandbox that is gone from one that is not there yet', () => {
    const condition = { type: 'PodReadyToStartContainers', status: 'False', lastTransitionTime: '2026-11-30T21:47:44Z' }
    const gone = facts({ ...POD, status: { ...POD.status, phase: 'Succeeded', conditions: [condition] } }).filter(f => f.what === 'sandbox-gone')
    expect(gone).toMatchObject([{ t: at('2026-11-30T21:47:44Z'), ip: '10.244.0.3' }, { ip: 'fd00:10:244::3' }])
    expect(facts({ ...POD, status: { phase: 'Pending', conditions: [condition] } }).filter(f => String(f.what).endsWith('sandbox'))).toEqual([])
    expect(
      facts({ ...POD, status: { ...POD.status, conditions: [{ ...condition, type: 'PodHasNetwork', status: 'True' }] } }).filter(f => f.what === 'ready-sandbox'),
    ).toHaveLength(2)
  })

  it('lists a pod without an address, and knows an item of a PodList by its list or its shape', () => {
    const { apiVersion: _, kind: __, ...item } = { ...POD, status: { phase: 'Pending' } }
    expect(facts(item)[0]).toMatchObject({ what: 'listed', ip: null, reason: 'Pending' })
    expect(facts({ kind: 'PodList', apiVersion: 'v1', metadata: {}, items: [item, item] }).filter(f => f.what === 'listed')).toHaveLength(2)
  })

  it('does not take a manifest for a pod that ran', () => {
    const { rows } = readWell(format, `${JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x', namespace: 'extra' }, spec: { containers: [] } })}\n`)
    expect([rows.pod_fact.length, rows.event.length]).toEqual([0, 1])
  })

  it('says the same in JSON and in YAML, where each item has its own span', () => {
    const json = readWell(format, sample('pods-15-final.json.gz'))
    const yaml = readWell(format, sample('pods-15-final.yaml.gz'))
    const bare = (c: typeof json) => c.rows.pod_fact.map(({ span: _, ...f }) => f)
    expect(bare(yaml)).toEqual(bare(json))
    expect([json.records.length, yaml.records.length, yaml.problems.length]).toEqual([24, 24, 0])
    expect(sample('pods-15-final.yaml.gz').subarray(yaml.records[1]?.byteStart, yaml.records[1]?.byteEnd).toString()).toMatch(/^- apiVersion: v1\n {2}kind: Pod\n/)
  })
})

describe('services, endpoints and nodes', () => {
  it('reads EndpointSlices', () => {
    const { rows, records, problems } = readWell(format, sample('endpointslices-final.yaml'))
    expect([records.length, problems.length]).toEqual([6, 0])
    const agent = rows.pod_fact.filter(f => f.ip === '192.168.10.13')
    expect(agent).toMatchObject([
      { kind: 'endpoint', subject: 'infra/node-agent', what: 'endpoint', node: 'node-c', reason: 'ready=true serving=true terminating=false', t: null, t_earliest: null },
      { kind: 'pod', subject: 'infra/node-agent-cpxkp', what: 'endpoint', uid: agent[0]?.uid },
    ])
    expect(rows.pod_fact.filter(f => f.what === 'endpoints-changed').length).toBeGreaterThan(0)
    expect(rows.pod_fact.find(f => f.ip === '192.168.10.1')).toMatchObject({ subject: 'default/kubernetes', uid: null, reason: 'ready=true' })
  })

  it('reads Endpoints, Services, nodes and what Cilium keeps', () => {
    expect(
      facts({
        apiVersion: 'v1',
        kind: 'Endpoints',
        metadata: { name: 'web', namespace: 'shop' },
        subsets: [{ addresses: [{ ip: '10.0.0.1' }], notReadyAddresses: [{ ip: '10.0.0.2', nodeName: 'n' }] }],
      }),
    ).toMatchObject([
      { kind: 'endpoint', subject: 'shop/web', ip: '10.0.0.1', reason: 'ready=true' },
      { ip: '10.0.0.2', node: 'n', reason: 'ready=false' },
    ])
    expect(
      facts({
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'web', namespace: 'shop' },
        spec: { type: 'LoadBalancer', clusterIP: '10.96.0.9', clusterIPs: ['10.96.0.9'], ports: [{ port: 80, protocol: 'TCP' }] },
        status: { loadBalancer: { ingress: [{ ip: '203.0.113.10' }] } },
      }),
    ).toMatchObject([
      { kind: 'service', subject: 'shop/web', ip: '10.96.0.9', what: 'listed', reason: 'LoadBalancer 80/TCP' },
      { ip: '203.0.113.10', reason: 'external LoadBalancer 80/TCP' },
    ])
    expect(facts({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'db', namespace: 'shop' }, spec: { clusterIP: 'None' } })).toMatchObject([{ ip: null }])
    expect(
      facts({
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name: 'node-a' },
        status: {
          addresses: [
            { type: 'InternalIP', address: '192.168.10.11' },
            { type: 'Hostname', address: 'node-a' },
          ],
          conditions: [{ type: 'Ready', status: 'Unknown', lastTransitionTime: '2026-11-30T21:49:47Z' }],
        },
      }),
    ).toMatchObject([
      { kind: 'node', subject: 'node-a', ip: '192.168.10.11', reason: 'InternalIP' },
      { what: 'not-ready', t: at('2026-11-30T21:49:47Z') },
    ])
    const cilium = readWell(format, sample('ciliumnodes.json')).rows.pod_fact
    expect(cilium.filter(f => f.subject === 'node-1').map(f => [f.ip, f.reason])).toEqual([
      ['10.0.0.11', 'InternalIP'],
      ['10.244.1.1', 'CiliumInternalIP'],
      ['10.244.1.200', 'IngressIP'],
    ])
    expect(
      facts({
        apiVersion: 'cilium.io/v2',
        kind: 'CiliumEndpoint',
        metadata: { name: 'web-1', namespace: 'shop', ownerReferences: [{ kind: 'Pod', uid: 'u-1' }] },
        status: { state: 'ready', networking: { addressing: [{ ipv4: '10.0.0.3', ipv6: 'fd00::3' }] } },
      }),
    ).toMatchObject([{ subject: 'shop/web-1', uid: 'u-1', ip: '10.0.0.3', kind: 'pod' }, { ip: 'fd00::3' }])
  })
})

describe('YAML whose indentation is lost (envoyproxy/gateway#4843)', () => {
  it('knows each object and what it is about', () => {
    const { rows, records, problems } = readWell(format, sample('gateway-4843.yaml'))
    expect(rows.event.map(e => [e.subject, e.kind, e.reason, e.t])).toEqual([
      ['eg', 'GatewayClass', 'object', null],
      ['default/tcp', 'Gateway', 'object', null],
      ['default/tcp-fbit', 'TCPRoute', 'object', null],
    ])
    expect(rows.event[2]?.text).toMatch(/^TCPRoute default\/tcp-fbit → Service fbit:5190/)
    expect(rows.event[1]?.text).toBe('Gateway default/tcp (class eg, listeners tcpterm 6514/TCP) created 2024-12-03T05:48:48Z')
    expect([records.length, problems]).toEqual([3, []])
    expect(sample('gateway-4843.yaml').subarray(records[2]?.byteStart, records[2]?.byteEnd).toString()).toMatch(
      /^- apiVersion: gateway\.networking\.k8s\.io\/v1alpha2\nkind: TCPRoute\n[\s\S]*sectionName: tcpterm\n$/,
    )
  })

  it('manages without what was applied', () => {
    const without = sample('gateway-4843.yaml')
      .toString()
      .split('\n')
      .filter(l => !l.startsWith('{') && !l.includes('last-applied'))
      .join('\n')
    expect(readWell(format, without).rows.event.map(e => e.text)).toEqual([
      'GatewayClass eg (controller gateway.envoyproxy.io/gatewayclass-controller) created 2024-12-02T12:57:37Z',
      'Gateway default/tcp (class eg, listeners tcpterm 6514/TCP) created 2024-12-03T05:48:48Z',
      'TCPRoute default/tcp-fbit → Service fbit:5190 created 2024-12-03T05:49:30Z',
    ])
  })
})

describe('YAML', () => {
  it('keeps block scalars and indented text within their object, whatever they look like', () => {
    const text = `apiVersion: v1
kind: ConfigMap
metadata:
  name: notes
  namespace: shop
data:
  timeline: |
    {"pod":"a","ip":"10.0.0.66","from":"2024-12-03T13:17:00Z","to":null}

    2024-12-03T13:31:05Z pod fluent-bit killed
  more: >-
    13:32:04.538539 IP 10.0.0.5.1 > 10.0.0.6.2: Flags [S], seq 1, win 1, length 0
---
kind: Service
apiVersion: v1
metadata: {name: web, namespace: shop}
spec: {clusterIP: 10.96.0.9}
`
    const { rows, records, problems } = readWell(format, text)
    expect([records.length, problems.length, rows.packet.length]).toEqual([2, 0, 0])
    expect(rows.event.map(e => e.text)).toEqual(['ConfigMap shop/notes'])
    expect(rows.pod_fact).toMatchObject([{ subject: 'shop/web', ip: '10.96.0.9' }])
  })

  it('ends an object where prose, a fence or a prompt begins', () => {
    const { rows, problems } = readWell(
      format,
      '```yaml\napiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  clusterIP: 10.96.0.9\n```\nThen: it broke.\n\n$ kubectl get pods\n',
    )
    expect(rows.pod_fact).toMatchObject([{ subject: 'web', ip: '10.96.0.9' }])
    expect(problems.map(p => p.span.line)).toEqual([9])
  })

  it('bounds aliases and depth', () => {
    const laughs = `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\na: &a [x,x,x,x,x,x,x,x,x,x]\n${Array.from({ length: 12 }, (_, i) => `${'bcdefghijklm'[i]}: &${'bcdefghijklm'[i]} [${Array(12).fill(`*${'abcdefghijkl'[i]}`).join(',')}]`).join('\n')}\n`
    const deep = `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\ndata: ${'['.repeat(5000)}\n`
    const started = performance.now()
    for (const text of [laughs, deep]) collect(format, text)
    expect(performance.now() - started).toBeLessThan(1000)
  })

  it('leaves other YAML alone', () => {
    const { records, problems } = collect(format, 'services:\n  web:\n  - name: a\n')
    expect([records.length, problems.length]).toEqual([0, 3])
    expect(readWell(format, sample('ciliumnetworkpolicy.yaml')).rows.event).toMatchObject([{ subject: 'app/shop-from-ingress', kind: 'CiliumNetworkPolicy' }])
  })
})

describe('JSON that is for others, or broken', () => {
  it.each([
    { kind: 'Event', apiVersion: 'audit.k8s.io/v1', metadata: { name: 'x' }, verb: 'patch' },
    { type: 'CHANGED', object: POD },
    { kind: 'Status', apiVersion: 'v1', metadata: { name: 'x' }, code: 410 },
    { kind: 'Pod', metadata: { name: 'x' } },
    { apiVersion: 'v1', kind: 'Pod' },
  ])('%j', object => {
    const { records, rows } = collect(format, `${JSON.stringify(object)}\n`)
    expect([records.length, rows.pod_fact.length, rows.event.length]).toEqual([0, 0, 0])
  })

  it('reads what is there of objects of the wrong shape', () => {
    for (const status of [null, [], 'x', { podIPs: 'x', conditions: [null, { type: 'Ready' }], containerStatuses: [{ state: [] }] }])
      expect(facts({ ...POD, status }).length).toBeLessThan(9)
    expect(readWell(format, `${JSON.stringify({ kind: 'List', apiVersion: 'v1', items: [POD, { x: 1 }] })}\n`).problems).toMatchObject([{ kind: 'not-recognised' }])
  })
})

it('is recognised by content', () => {
  for (const name of ['pod-single-06.json', 'endpointslices-final.yaml', 'pods-15-final.yaml.gz', 'ciliumnodes.json', 'ciliumnetworkpolicy.yaml', 'gateway-4843.yaml'])
    expect(format.sniff(sample(name).subarray(0, 65_536), context()), name).toBeGreaterThan(0.9)
})

it('survives cuts and flips', () => {
  survives(format, sample('gateway-4843.yaml'), {}, 3)
  survives(format, sample('endpointslices-final.yaml').subarray(0, 3000), {}, 7)
  survives(format, sample('ciliumnodes.json'), {}, 5)
  survives(format, `${JSON.stringify(POD)}\n`, {}, 3)
})
