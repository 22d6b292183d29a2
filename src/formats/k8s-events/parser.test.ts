import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { context } from '../../../test/support/collect.js'
import { readWell, survives } from '../../../test/support/robust.js'
import type { Format } from '../format.js'
import { formatById, formats } from '../index.js'

const format = formatById('k8s-events') as Format
const bytes = (name: string) => readFileSync(new URL(`samples/${name}`, import.meta.url))
const sample = (name: string) => (name.endsWith('.gz') ? gunzipSync(bytes(name)) : bytes(name))
const at = (text: string) => BigInt(Date.parse(text)) * 1_000_000n
const best = (text: string | Buffer) => {
  const head = Buffer.from(text)
  return formats.map(f => [f.id, f.sniff(head, context())] as const).sort((a, b) => b[1] - a[1])[0]?.[0]
}
const EVENT = {
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { name: 'web-1.18ec', namespace: 'shop', uid: 'e-1', creationTimestamp: '2026-11-30T21:50:00Z' },
  involvedObject: { kind: 'Pod', namespace: 'shop', name: 'web-1', uid: 'dcad8659-94a7-4d0d-a0e6-e4f6fb783f46', fieldPath: 'spec.containers{web}' },
  reason: 'Killing',
  message: 'Stopping container web',
  source: { component: 'kubelet', host: 'node-a' },
  firstTimestamp: '2026-11-30T21:47:52Z',
  lastTimestamp: '2026-11-30T21:47:52Z',
  eventTime: null,
  count: 1,
}
const read = (...events: unknown[]) => readWell(format, events.map(e => `${JSON.stringify(e)}\n`).join(''))
const fact = (more: object) => read({ ...EVENT, ...more }).rows.pod_fact[0]

describe('lists', () => {
  it('reads kubectl get events, one record an event', () => {
    const { rows, records, problems } = readWell(format, sample('events.json.gz'))
    expect([records.length, problems.length, rows.event.length]).toEqual([16, 0, 16])
    expect(rows.event[0]).toMatchObject({
      t: at('2026-11-30T21:29:10Z'),
      subject: 'shop/waypoint-6d5c4f7b9-qz4lm',
      kind: 'Pod',
      reason: 'Scheduled',
      text: 'Successfully assigned shop/waypoint-6d5c4f7b9-qz4lm to node-1',
    })
    expect(rows.event[0]?.span.line).toBe(4)
    expect(rows.pod_fact.map(f => f.what)).toEqual(['stopping'])
  })

  it('reads events.k8s.io/v1 and an EventList alike', () => {
    const texts = (name: string) =>
      readWell(format, sample(name))
        .rows.event.map(e => [e.t, e.subject, e.kind, e.reason, e.text].map(String).join(' '))
        .sort()
    expect(texts('events-v1.json')).toEqual(texts('kubectl-events.json'))
    expect(readWell(format, sample('events-v1.json')).rows.event).toHaveLength(8)
  })

  it('are told from lists of other objects by their content', () => {
    for (const name of ['events.json.gz', 'events-v1.json', 'kubectl-events.json']) expect(best(sample(name)), name).toBe('k8s-events')
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a', namespace: 'b' }, status: {} }
    expect(best(JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [EVENT, pod] }))).toBe('k8s-objects')
    expect(best(`${JSON.stringify(EVENT)}\n`)).toBe('k8s-events')
    expect(best(JSON.stringify({ kind: 'Event', apiVersion: 'audit.k8s.io/v1', level: 'Metadata', auditID: 'x', verb: 'get' }))).not.toBe('k8s-events')
  })

  it('reads YAML, also where an item begins with its action', () => {
    const yaml = `apiVersion: v1
items:
- action: Binding
  apiVersion: v1
  eventTime: "2026-11-30T21:48:03.013500Z"
  firstTimestamp: null
  involvedObject:
    kind: Pod
    name: bad-bdlqk
    namespace: batch
  kind: Event
  lastTimestamp: null
  message: |-
    Successfully assigned
    batch/bad-bdlqk to node-b
  metadata:
    name: bad-bdlqk.18ec
    namespace: batch
  reason: Scheduled
kind: List
metadata:
  resourceVersion: ""
`
    expect(best(yaml)).toBe('k8s-events')
    const { rows, problems } = readWell(format, yaml)
    expect(problems).toEqual([])
    expect(rows.event).toMatchObject([
      { subject: 'batch/bad-bdlqk', reason: 'Scheduled', t: at('2026-11-30T21:48:03.013Z') + 500_000n, text: 'Successfully assigned\nbatch/bad-bdlqk to node-b' },
    ])
    expect(rows.pod_fact).toEqual([])
  })

  it('reads an item of an EventList, which names no kind, and leaves other objects to their format', () => {
    const { kind: _, apiVersion: __, ...item } = EVENT
    const { rows, records, problems } = readWell(format, `${JSON.stringify({ kind: 'EventList', apiVersion: 'v1', metadata: {}, items: [item, item] }, null, 2)}\n`)
    expect([records.length, rows.event.length, problems.length]).toEqual([2, 2, 0])
    expect(read(EVENT, { apiVersion: 'v1', kind: 'Service', metadata: { name: 'x', namespace: 'y' }, spec: {} }).rows.pod_fact.map(f => f.kind)).toEqual(['pod', 'service'])
  })

  it('survives cuts and changed bytes', () => survives(format, sample('events-v1.json').subarray(0, 4000), {}, 61))
})

describe('ends of pods', () => {
  it('says who was stopped, when and by which node', () => {
    expect(fact({})).toMatchObject({
      what: 'stopping',
      kind: 'pod',
      subject: 'shop/web-1',
      uid: 'dcad8659-94a7-4d0d-a0e6-e4f6fb783f46',
      node: 'node-a',
      reason: 'Stopping container web',
      t: at('2026-11-30T21:47:52Z'),
      t_earliest: at('2026-11-30T21:47:52Z'),
      t_latest: at('2026-11-30T21:47:52Z'),
    })
  })

  it.each([
    ['Evicted', 'evicted'],
    ['TaintManagerEviction', 'evicted'],
    ['Preempted', 'evicted'],
    ['OOMKilling', 'OOMKilled'],
  ])('takes %s for %s', (reason, what) => expect(fact({ reason, message: 'x' })).toMatchObject({ what }))

  it.each(['BackOff', 'Unhealthy', 'Started', 'Created', 'Scheduled', 'NodeNotReady'])('keeps %s as an event only', reason => {
    const { rows } = read({ ...EVENT, reason })
    expect([rows.event.length, rows.pod_fact.length]).toEqual([1, 0])
  })

  it('does not take an eviction that was called off for one', () =>
    expect(fact({ reason: 'TaintManagerEviction', message: 'Cancelling deletion of Pod shop/web-1' })).toBeUndefined())

  it('knows the time of one that happened again only as an interval', () =>
    expect(fact({ firstTimestamp: '2026-11-30T21:40:00Z', count: 3 })).toMatchObject({
      t: at('2026-11-30T21:47:52Z'),
      t_earliest: at('2026-11-30T21:40:00Z'),
      t_latest: at('2026-11-30T21:47:52Z'),
    }))

  it('does not take the hash of a static pod for its uid', () =>
    expect(fact({ involvedObject: { ...EVENT.involvedObject, uid: '0a3f2f3d6e8f4b6f8f0e1d2c3b4a5968' } })).toMatchObject({ uid: null }))

  it('tells of a node what is about a node', () => {
    const oom = { ...EVENT, reason: 'OOMKilling', involvedObject: { kind: 'Node', name: 'node-a', uid: 'node-a' }, source: {} }
    expect(read(oom).rows.pod_fact).toMatchObject([{ kind: 'node', subject: 'node-a', node: 'node-a', uid: null, what: 'OOMKilled' }])
    expect(read({ ...EVENT, involvedObject: { kind: 'Job', name: 'j', namespace: 'n' } }).rows.pod_fact).toEqual([])
  })

  it('has the time of the object where no other is set, or none', () => {
    expect(read({ ...EVENT, firstTimestamp: null, lastTimestamp: null }).rows.event[0]?.t).toBe(at('2026-11-30T21:50:00Z'))
    expect(read({ ...EVENT, firstTimestamp: null, lastTimestamp: null, metadata: { name: 'x' } }).rows.event[0]?.t).toBeNull()
  })
})
