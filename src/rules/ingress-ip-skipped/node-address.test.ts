import { describe, expect, it } from 'vitest'
import { analyzeFiles } from '../../../test/support/analyze.js'
import { BASE, connection, handshake, pcapFile } from '../../../test/support/packets.js'
import type { Report } from '../../model/report.js'

const iso = (s: number): string => new Date((BASE + s) * 1000).toISOString()
const text = (...lines: string[]): string => `${lines.join('\n')}\n`
const INGRESS = '10.1.0.200'
const NODE = '10.1.0.7'

const request = (s: number, to: string, local: string): string =>
  JSON.stringify({
    start_time: iso(s),
    method: 'GET',
    path: '/',
    protocol: 'HTTP/1.1',
    response_code: 200,
    response_flags: '-',
    response_code_details: 'via_upstream',
    bytes_received: 0,
    bytes_sent: 9,
    duration: 1,
    upstream_host: `${to}:8080`,
    upstream_local_address: local,
    upstream_cluster: 'shop/web:8080',
    request_id: `r-${s}`,
  })
const nodes = JSON.stringify({
  apiVersion: 'cilium.io/v2',
  kind: 'CiliumNode',
  metadata: { name: 'node-1' },
  spec: { addresses: [{ ip: NODE, type: 'InternalIP' }], ingress: { ipv4: INGRESS } },
})
const line = (s: number, logger: string, message: string): string => `[${iso(s).slice(0, 23).replace('T', ' ')}][7][trace][${logger}] [cilium/x.cc:96] ${message}`
const connect = (s: number, id: number, to: string): string => line(s, 'connection', `[Tags: "ConnectionId":"${id}"] connecting to ${to}:8080`)
const bound = (s: number): string => line(s, 'filter', `Restoring local address (original source) on socket: 39 (n/a -> ${INGRESS}:0)`)
const skipped = (s: number, local: string): string => line(s, 'filter', `Skipping restore of local address on socket: 39 - destination is local ${local}`)
const flow = (s: number, identity: number, source: string, port: number, verdict = 'FORWARDED'): string =>
  JSON.stringify({
    flow: {
      time: iso(s),
      verdict,
      ...(verdict === 'DROPPED' ? { drop_reason_desc: 'POLICY_DENIED' } : {}),
      IP: { source, destination: '10.2.3.4', ipVersion: 'IPv4' },
      l4: { TCP: { source_port: port, destination_port: 8080, flags: { SYN: true } } },
      source: { identity },
      destination: { identity: 187_427, namespace: 'app', pod_name: 'web-1' },
      Type: 'L3_L4',
      node_name: 'c/node-2',
      traffic_direction: 'INGRESS',
      event_type: { type: verdict === 'DROPPED' ? 1 : 4 },
    },
  })
const found = (r: Report) => r.findings.filter(f => f.rule === 'WC101')
const verdict = (r: Report) => r.verdicts.find(v => v.rule === 'WC101')?.verdict

/** The remote pod reached both ways, a local pod rightly without. */
const access = text(
  request(0, '10.2.3.4', `${INGRESS}:40000`),
  request(1, '10.1.3.5', `${NODE}:40001`),
  request(2, '10.2.3.4', `${NODE}:40002`),
  request(3, '10.2.3.4', `${NODE}:40002`),
  request(4, '10.2.3.4', `${NODE}:40003`),
  request(5, '10.2.3.5', `${INGRESS}:40004`),
)

describe('an access log', () => {
  it('shows connections to a pod under the node’s address, while the same pod is reached with the ingress address', async () => {
    const r = await analyzeFiles({ 'access.json': access, 'nodes.json': nodes })
    expect(found(r)).toMatchObject([
      {
        code: 'WC101.node-address',
        count: 2,
        severity: 'low',
        confidence: { level: 'likely' },
        subject: { remote: '10.2.3.4:8080', local: NODE },
        controls: [{ checked: 3, passed: 1 }],
      },
    ])
    expect(found(r)[0]?.claims[0]?.says).toContain('40002, 40003')
  })
  it.each([
    ['bound in the proxy’s log', { 'cilium-envoy.log': text(bound(0), connect(0, 1, '10.2.3.4')) }],
    ['seen by Hubble under identity 8', { 'flows.json': text(flow(0, 8, INGRESS, 40_000)) }],
  ])('where the ingress address is %s', async (_, more) => expect(found(await analyzeFiles({ 'access.json': access, ...more })).map(f => f.code)).toEqual(['WC101.node-address']))
  it.each([
    ['of a proxy whose ingress address nobody names', access, {}],
    [
      'that reaches a pod by the node’s address only: it is local',
      text(request(0, '10.2.3.5', `${INGRESS}:40000`), request(1, '10.1.3.5', `${NODE}:40001`)),
      { 'nodes.json': nodes },
    ],
    ['in which every connection is bound', text(request(0, '10.2.3.4', `${INGRESS}:40000`), request(1, '10.2.3.4', `${INGRESS}:40001`)), { 'nodes.json': nodes }],
  ])('accuses nobody, %s', async (_, log, more) => expect(found(await analyzeFiles({ 'access.json': log, ...more }))).toEqual([]))
  it('gives the same for shuffled lines and shifted clocks', async () => {
    const lines = access.trim().split('\n')
    const plain = found(await analyzeFiles({ 'access.json': access, 'nodes.json': nodes }))
    const shuffled = found(await analyzeFiles({ 'z.json': text(...[4, 0, 3, 5, 1, 2].map(i => lines[i] as string)), 'a.json': nodes }))
    expect(shuffled.map(f => [f.fingerprint, f.count])).toEqual(plain.map(f => [f.fingerprint, f.count]))
    expect(found(await analyzeFiles({ 'access.json': access.replaceAll('T21:', 'T13:'), 'nodes.json': nodes })).map(f => f.count)).toEqual([2])
  })
})

describe('a log and a capture', () => {
  const session = (s: number, client: string) => connection(handshake(s + 0.0002), { client, server: '10.2.3.4:8080', isn: Math.round(s * 1000) + 7 })
  const log = text(connect(0, 1, '10.2.3.4'), connect(2, 2, '10.2.3.4'), connect(4, 3, '10.2.3.4'))
  const pcap = (...frames: ReturnType<typeof session>[]) => pcapFile(frames.flat().sort((a, b) => a.t - b.t))

  it('together show whose the connections are, and their address', async () => {
    const r = await analyzeFiles({
      'cilium-envoy.log': log,
      'node.pcap': pcap(session(0, `${INGRESS}:40000`), session(2, `${NODE}:40002`), session(4, `${NODE}:40003`)),
      'nodes.json': nodes,
    })
    expect(found(r)).toMatchObject([{ code: 'WC101.node-address', count: 2, severity: 'low' }])
  })
  it('accuse no client of the node’s own that the proxy’s log does not know', async () => {
    const r = await analyzeFiles({
      'cilium-envoy.log': text(connect(0, 1, '10.2.3.4')),
      'node.pcap': pcap(session(0, `${INGRESS}:40000`), session(2, `${NODE}:50002`)),
      'nodes.json': nodes,
    })
    expect(found(r)).toEqual([])
  })
  it('do not repeat what the trace shows as a skip, or Hubble as a denial', async () => {
    const where = { 'node.pcap': pcap(session(0, `${INGRESS}:40000`), session(2, `${NODE}:40002`)), 'nodes.json': nodes }
    const trace = text(bound(0), connect(0, 1, '10.2.3.4'), skipped(2, '10.1.3.5'), connect(2, 2, '10.2.3.4'))
    expect(found(await analyzeFiles({ 'cilium-envoy.log': trace, ...where })).map(f => f.code)).toEqual(['WC101.skipped'])
    const flows = text(flow(0, 8, INGRESS, 40_000), flow(2, 6, NODE, 40_002, 'DROPPED'))
    expect(found(await analyzeFiles({ 'cilium-envoy.log': text(connect(0, 1, '10.2.3.4'), connect(2, 2, '10.2.3.4')), 'flows.json': flows, ...where })).map(f => f.code)).toEqual([
      'WC101.denied-as-node',
    ])
  })
})

it('without flows, trace and access log is not evaluable', async () => {
  const r = await analyzeFiles({ 'nodes.json': nodes })
  expect([verdict(r), found(r)]).toEqual(['not-evaluable', []])
})
