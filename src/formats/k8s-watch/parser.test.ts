import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { context } from '../../../test/support/collect.js'
import { readWell, survives } from '../../../test/support/robust.js'
import type { Format } from '../format.js'
import { formatById, formats } from '../index.js'

const format = formatById('k8s-watch') as Format
const bytes = (name: string) => readFileSync(new URL(`samples/${name}`, import.meta.url))
const sample = (name: string) => (name.endsWith('.gz') ? gunzipSync(bytes(name)) : bytes(name))
const at = (text: string) => BigInt(Date.parse(text)) * 1_000_000n
const best = (text: string | Buffer) => {
  const head = Buffer.from(text).subarray(0, 65_536)
  return formats.map(f => [f.id, f.sniff(head, context())] as const).sort((a, b) => b[1] - a[1])[0]?.[0]
}
type Object = Record<string, unknown>
const lines = (...changes: [string, Object][]) => changes.map(([type, object]) => `${JSON.stringify({ type, object })}\n`).join('')
const read = (...changes: [string, Object][]) => readWell(format, lines(...changes)).rows
const said = (rows: ReturnType<typeof read>) => rows.pod_fact.map(f => [f.span.line, f.what, f.reason])

const pod = (status: Object, metadata: Object = {}): Object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web-1', namespace: 'shop', uid: 'u-1', ...metadata },
  spec: { nodeName: 'node-a', containers: [] },
  status: { podIP: '10.244.0.3', ...status },
})
const RUNNING = pod({ phase: 'Running' })
const ended = (finishedAt: string) => ({ phase: 'Failed', containerStatuses: [{ name: 'web', state: { terminated: { exitCode: 137, finishedAt } } }] })
const slice = (...endpoints: [string, string][]): Object => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  addressType: 'IPv4',
  metadata: { name: 'web-x', namespace: 'shop', uid: 's-1', labels: { 'kubernetes.io/service-name': 'web' } },
  endpoints: endpoints.map(([ip, ready]) => ({
    addresses: [ip],
    conditions: { ready: ready === 'ready' },
    targetRef: { kind: 'Pod', namespace: 'shop', name: `pod-${ip}`, uid: `uid-${ip}` },
  })),
})

describe('what is printed', () => {
  it('reads typed changes, a record a line, in their order', () => {
    const { rows, records, problems } = readWell(format, sample('pods-watch.jsonl.gz'))
    expect([records.length, problems.length]).toEqual([13, 0])
    const old = rows.pod_fact.filter(f => f.uid === rows.pod_fact.find(g => g.what === 'deleted')?.uid)
    expect(old.map(f => [f.span.line, f.what])).toEqual([
      [1, 'listed'],
      [1, 'created'],
      [1, 'started'],
      [1, 'ready-sandbox'],
      [1, 'ready'],
      [1, 'container-started'],
      [4, 'listed'],
      [4, 'deletion'],
      [5, 'listed'],
      [5, 'sandbox-gone'],
      [5, 'not-ready'],
      [5, 'container-exited'],
      [5, 'terminal'],
      [6, 'deletion'],
      [6, 'deleted'],
    ])
    expect(old.at(-1)).toMatchObject({
      subject: 'default/fluent-bit-7xk2p',
      ip: '10.244.2.21',
      t: at('2026-11-30T21:18:58Z'),
      t_earliest: at('2026-11-30T21:18:58Z'),
      t_latest: null,
      reason: 'Failed grace 0s',
    })
  })

  it('reads the same from objects one after another, in JSON and in YAML', () => {
    const facts = (name: string) => readWell(format, sample(name)).rows.pod_fact.map(({ span: _, ...f }) => f)
    expect(facts('plain.yaml.gz')).toEqual(facts('plain.json.gz'))
    expect(facts('plain.json.gz')).toHaveLength(32)
    expect(facts('typed.yaml.gz').filter(f => f.what !== 'deleted')).toHaveLength(32)
    expect(facts('typed.yaml.gz').filter(f => f.what === 'deleted')).toHaveLength(2)
  })

  it('skips bookmarks of raw watches and keeps the error that ends one', () => {
    const raw = readWell(format, sample('raw.jsonl.gz'))
    expect([raw.records.length, raw.skips.length, raw.problems.length]).toEqual([8, 1, 0])
    expect(readWell(format, sample('raw-expired.jsonl')).rows.event).toMatchObject([{ t: null, kind: 'watch', reason: 'Expired', text: 'too old resource version: 1 (1924)' }])
  })

  it('gives up one line that is torn', () => {
    const text = lines(['ADDED', RUNNING], ['DELETED', RUNNING])
    const { records, problems } = readWell(format, `${text.slice(0, 60)}\n${text}`)
    expect([records.length, problems.length]).toEqual([2, 1])
    expect(readWell(format, 'object:\n  apiVersion: v1\n  kind: Pod\n').problems).toHaveLength(1)
  })

  it('survives cuts and changed bytes', () => {
    survives(format, sample('endpointslices-watch.jsonl'), {}, 23)
    survives(format, sample('typed.yaml.gz').subarray(0, 3000), {}, 53)
  })
})

describe('what it is told by', () => {
  it('is content', () => {
    for (const name of ['pods-watch.jsonl.gz', 'endpointslices-watch.jsonl', 'plain.json.gz', 'plain.yaml.gz', 'typed.yaml.gz', 'raw.jsonl.gz', 'raw-expired.jsonl'])
      expect(best(sample(name)), name).toBe('k8s-watch')
  })
  it('is an object that comes twice', () => {
    const object = JSON.stringify(RUNNING, null, 4)
    expect(best(`${object}\n${object}\n`)).toBe('k8s-watch')
    expect(best(`${object}\n${JSON.stringify(pod({}, { uid: 'u-2' }), null, 4)}\n`)).toBe('k8s-objects')
    expect(best(JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [RUNNING, RUNNING] }, null, 4))).toBe('k8s-objects')
  })
  it('is a run of objects of one kind without a list that is longer than what is looked at', () => {
    const many = (kinds: string[]) =>
      Array.from({ length: 60 }, (_, i) => `${JSON.stringify({ ...pod({ message: 'x'.repeat(1500) }, { uid: `u-${i}` }), kind: kinds[i % kinds.length] }, null, 4)}\n`).join('')
    expect(best(many(['Pod']))).toBe('k8s-watch')
    expect(best(many(['Pod', 'Service']))).toBe('k8s-objects')
  })
  it('is nothing that only has a type and an object', () => {
    expect(readWell(format, '{"type":"MODIFIED","object":{"a":1}}\n').problems).toHaveLength(1)
    expect(readWell(format, '{"type":"request","object":{"kind":"Pod"}}\n').records).toEqual([])
  })
})

describe('what is said', () => {
  it('once, however often the object comes', () => {
    expect(said(read(['ADDED', RUNNING], ['MODIFIED', RUNNING], ['MODIFIED', { ...RUNNING }]))).toEqual([[1, 'listed', 'Running']])
  })

  it('again where a state comes back', () => {
    const endpoint = said(read(['ADDED', slice(['10.0.0.1', 'ready'])], ['MODIFIED', slice(['10.0.0.1', 'not'])], ['MODIFIED', slice(['10.0.0.1', 'ready'])]))
    expect(endpoint.filter((_, i) => i % 2 === 0)).toEqual([
      [1, 'endpoint', 'ready=true'],
      [2, 'endpoint', 'ready=false'],
      [3, 'endpoint', 'ready=true'],
    ])
  })

  it('is that an endpoint left, and came back', () => {
    const rows = read(
      ['ADDED', slice(['10.0.0.1', 'ready'], ['10.0.0.2', 'ready'])],
      ['MODIFIED', slice(['10.0.0.2', 'ready'])],
      ['MODIFIED', slice(['10.0.0.1', 'ready'], ['10.0.0.2', 'ready'])],
      ['DELETED', slice(['10.0.0.1', 'ready'], ['10.0.0.2', 'ready'])],
    )
    expect(rows.pod_fact.filter(f => f.kind === 'endpoint').map(f => [f.span.line, f.what, f.ip, f.uid, f.subject])).toEqual([
      [1, 'endpoint', '10.0.0.1', 'uid-10.0.0.1', 'shop/web'],
      [1, 'endpoint', '10.0.0.2', 'uid-10.0.0.2', 'shop/web'],
      [2, 'endpoint-gone', '10.0.0.1', 'uid-10.0.0.1', 'shop/web'],
      [3, 'endpoint', '10.0.0.1', 'uid-10.0.0.1', 'shop/web'],
      [4, 'endpoint-gone', '10.0.0.1', 'uid-10.0.0.1', 'shop/web'],
      [4, 'endpoint-gone', '10.0.0.2', 'uid-10.0.0.2', 'shop/web'],
    ])
  })

  it('is when the last container ended, for a phase that became terminal', () => {
    const terminal = read(['MODIFIED', pod(ended('2026-11-30T21:18:58Z'))]).pod_fact.find(f => f.what === 'terminal')
    expect(terminal).toMatchObject({ ip: '10.244.0.3', t: at('2026-11-30T21:18:58Z'), t_earliest: at('2026-11-30T21:18:58Z'), t_latest: null, reason: 'Failed' })
    expect(read(['MODIFIED', pod({ phase: 'Failed', reason: 'Evicted', podIP: null })]).pod_fact.find(f => f.what === 'terminal')).toMatchObject({
      ip: null,
      t: null,
      reason: 'Failed Evicted',
    })
    expect(read(['MODIFIED', pod({ phase: 'Failed', containerStatuses: [{ name: 'web', state: { running: {} } }] })]).pod_fact.find(f => f.what === 'terminal')).toMatchObject({
      t: null,
    })
  })

  it('is that an object is gone, at its deletionTimestamp only without grace', () => {
    const gone = (metadata: Object, status: Object = { phase: 'Running' }) =>
      read(['DELETED', pod(status, metadata)]).pod_fact.filter(f => f.what === 'deleted' || f.what === 'listed')
    expect(gone({})).toMatchObject([{ what: 'deleted', t: null, t_earliest: null, t_latest: null, ip: '10.244.0.3', reason: 'Running' }])
    expect(gone({ deletionTimestamp: '2026-11-30T21:29:46Z', deletionGracePeriodSeconds: 30 })).toMatchObject([{ t: null, reason: 'Running grace 30s' }])
    expect(gone({ deletionTimestamp: '2026-11-30T21:29:16Z', deletionGracePeriodSeconds: 0 })).toMatchObject([
      { t: at('2026-11-30T21:29:16Z'), t_latest: null, reason: 'Running grace 0s' },
    ])
  })

  it('does not make a host-network pod the owner of its address', () => {
    const host = { ...pod(ended('2026-11-30T21:18:58Z')), spec: { hostNetwork: true, containers: [] } }
    for (const f of read(['DELETED', host]).pod_fact.filter(g => g.ip !== null)) expect(f.reason).toContain('hostNetwork')
  })

  it('is that nodes, services and other objects are gone', () => {
    const other = (kind: string): Object => ({ apiVersion: 'v1', kind, metadata: { name: 'x', uid: 'u' }, spec: {}, status: {} })
    expect(read(['DELETED', other('Node')]).pod_fact).toMatchObject([{ kind: 'node', what: 'deleted', subject: 'x' }])
    expect(read(['DELETED', other('Service')]).pod_fact).toMatchObject([{ kind: 'service', what: 'deleted' }])
    expect(read(['ADDED', other('ConfigMap')], ['MODIFIED', other('ConfigMap')], ['DELETED', other('ConfigMap')]).event.map(e => [e.span.line, e.reason])).toEqual([
      [1, 'object'],
      [3, 'deleted'],
    ])
  })

  it('is each event once', () => {
    const event: Object = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'e' },
      involvedObject: { kind: 'Pod', name: 'p', namespace: 'n' },
      reason: 'Killing',
      message: 'Stopping',
      lastTimestamp: '2026-11-30T21:47:52Z',
    }
    const rows = read(['ADDED', event], ['MODIFIED', event], ['MODIFIED', { ...event, lastTimestamp: '2026-11-30T21:48:52Z' }], ['DELETED', event])
    expect(rows.event.map(e => e.span.line)).toEqual([1, 3])
    expect(rows.pod_fact.map(f => [f.span.line, f.what])).toEqual([
      [1, 'stopping'],
      [3, 'stopping'],
    ])
  })

  it('holds when it arrived, where a container runtime says so', () => {
    const stamped = `2026-11-30T21:47:52.123456789Z stdout F ${lines(['ADDED', RUNNING])}2026-11-30T21:47:53.5Z stdout F ${lines(['DELETED', RUNNING])}`
    expect(readWell(format, stamped).rows.pod_fact).toMatchObject([
      { what: 'listed', t: at('2026-11-30T21:47:52.123Z') + 456_789n, t_earliest: at('2026-11-30T21:47:52.123Z') + 456_789n },
      { what: 'deleted', t: at('2026-11-30T21:47:53.500Z'), t_earliest: null, t_latest: at('2026-11-30T21:47:53.500Z') },
    ])
  })
})
