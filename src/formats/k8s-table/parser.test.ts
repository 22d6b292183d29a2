import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { collect, context } from '../../../test/support/collect.js'
import { readWell, survives } from '../../../test/support/robust.js'
import type { Format } from '../format.js'
import { formatById } from '../index.js'

const format = formatById('k8s-table') as Format
const sample = (name: string) => readFileSync(new URL(`samples/${name}.txt`, import.meta.url))
const at = (text: string) => BigInt(Date.parse(text)) * 1_000_000n
const day = { reference: { from: 1_733_230_000_000_000_000n, to: 1_733_240_000_000_000_000n } }
const facts = (text: string, more = {}) => readWell(format, `${text}\n`, more).rows.pod_fact

describe('notes of what happened when', () => {
  it('reads a line a moment', () => {
    expect(facts(sample('pod-timeline').toString())).toMatchObject([
      {
        t: at('2024-12-03T13:31:05Z'),
        subject: 'fluent-bit',
        kind: 'pod',
        what: 'killed',
        reason: null,
        exact: true,
        t_earliest: at('2024-12-03T13:31:05Z'),
        t_latest: at('2024-12-03T13:31:05Z'),
      },
      { t: at('2024-12-03T13:31:17Z'), subject: 'fluent-bit', what: 'ready', reason: 'new IP' },
    ])
  })

  it.each([
    ['2024-12-03T13:31:05Z pod shop/web-1 deleted', { subject: 'shop/web-1', kind: 'pod', what: 'deleted', reason: null }],
    ['2024-12-03T13:31:05Z pod shop/web-1 OOMKilled (exit 137)', { what: 'killed', reason: 'exit 137' }],
    ['2024-12-03T13:31:05Z pod shop/web-1 was force-deleted', { what: 'deleted', reason: 'force-deleted' }],
    ['2024-12-03T13:31:05Z pod shop/web-1 not ready: probe failed', { what: 'not-ready', reason: 'probe failed' }],
    ['2024-12-03T13:31:05Z pod shop/web-1 started on node-b with 10.0.0.148', { what: 'started', ip: '10.0.0.148', node: 'node-b' }],
    ['2024-12-03T13:31:05Z pod shop/web-1 evicted, about then', { what: 'evicted', exact: false }],
    ['2024-12-03 13:31:05 node node-c notready', { kind: 'node', subject: 'node-c', node: 'node-c', what: 'not-ready', guess: 'zone' }],
    ['2024-12-03T13:31:05Z: container web terminated', { kind: 'pod', subject: 'web', what: 'terminated' }],
  ])('%s', (line, fact) => {
    expect(facts(line)).toMatchObject([{ t: at('2024-12-03T13:31:05Z'), ...fact }])
  })

  it('reads sentences (envoyproxy/gateway#4843)', () => {
    const [killed, back] = facts('> Pod killed at 13:31:05 and came back at 13:31:17.', day)
    expect(killed).toMatchObject({ t: at('2024-12-03T13:31:05Z'), guess: 'date,zone', kind: 'pod', subject: null, what: 'killed', exact: true })
    expect(back).toMatchObject({ t: at('2024-12-03T13:31:17Z'), what: 'ready', reason: 'came back' })
    expect(facts('The pod fluent-bit-x was killed around 13:31, then restarted at ~2024-12-03T13:31:17Z', day)).toMatchObject([
      { t: at('2024-12-03T13:31:00Z'), subject: 'fluent-bit-x', what: 'killed', exact: false },
      { t: at('2024-12-03T13:31:17Z'), subject: 'fluent-bit-x', what: 'restarted', exact: false, guess: null },
    ])
  })

  it('says that a time of day is none without a reference', () => {
    const { rows, notes } = readWell(format, 'Pod killed at 13:31:05 and came back at 13:31:17.\n')
    expect(rows.pod_fact.map(f => [f.what, f.t, f.t_earliest])).toEqual([
      ['killed', null, null],
      ['ready', null, null],
    ])
    expect(notes.map(n => n.kind)).toEqual(['no-time', 'no-time'])
  })

  it.each([
    '2024-12-03T13:31:05Z node server started',
    'Pod killed the mood',
    'Restart the fluentbit pod.',
    '2024-12-03T13:31:05Z pod fluent-bit',
    'pods are ready at 13:31:05',
    '13:31:05 connection killed',
  ])('does not take %s', line => {
    expect(collect(format, `${line}\n`, day).records).toEqual([])
  })
})

describe('kubectl get pods', () => {
  it('reads a table of one namespace; without a clock the rows have no time', () => {
    const { rows, records, problems, skips } = readWell(format, sample('pods-wide-shop-01'))
    expect([records.length, problems.length, skips.length]).toEqual([16, 0, 1])
    expect(rows.pod_fact[0]).toMatchObject({
      subject: 'cache-d6fc58dc-95l8b',
      kind: 'pod',
      what: 'listed',
      ip: '10.244.0.3',
      node: 'node-a',
      reason: 'Running',
      t: null,
      t_earliest: null,
      t_latest: null,
    })
    expect(rows.pod_fact[2]).toMatchObject({ subject: 'cni-trouble', ip: null, node: 'node-b', reason: 'ContainerCreating' })
  })

  it('takes the time that a loop prints before each table', () => {
    const { rows, problems } = readWell(format, sample('pods-wide-loop'))
    expect(problems).toEqual([])
    expect(rows.pod_fact[0]).toMatchObject({ t: at('2026-11-30T21:47:33Z'), subject: 'batch/bad-txv8g', ip: '10.244.2.6', reason: 'Error' })
    expect(new Set(rows.pod_fact.map(f => f.t)).size).toBe(2)
    const date = 'Mon Nov 30 21:47:33 UTC 2026\nNAME   READY   STATUS    RESTARTS   AGE   IP           NODE\nweb    1/1     Running   0          5s    10.244.0.3   node-a'
    expect(facts(date)).toMatchObject([{ t: at('2026-11-30T21:47:33Z'), ip: '10.244.0.3' }])
  })

  it('reads a watch with its events, and one with times before each row', () => {
    const { rows, problems } = readWell(format, sample('pods-watch-events-wide'))
    expect([problems.length, new Set(rows.pod_fact.map(f => f.what)).has('listed')]).toEqual([0, true])
    expect(facts('DELETED    shop   web-1   2/2   Terminating   0   9s   10.244.1.2   node-b   <none>   <none>')).toMatchObject([
      { subject: 'shop/web-1', what: 'deleted', reason: 'Terminating', t: null },
    ])
    expect(facts('2026-11-30T21:47:26.859Z shop   web-1   0/2   Pending   0   0s   <none>   <none>   <none>   <none>')).toMatchObject([
      { t: at('2026-11-30T21:47:26.859Z'), ip: null, node: null },
    ])
  })

  it.each([
    ['shop   cache-1   0/1   Completed   1 (2m26s ago)   4m17s   10.244.0.3   node-a   <none>   <none>', { subject: 'shop/cache-1', ip: '10.244.0.3', reason: 'Completed' }],
    ['pod/db-0   1/1   Running   0   4m19s   10.244.0.6   node-a', { subject: 'db-0', node: 'node-a' }],
    ['shop web-1 2/2 Running 4 (68s ago) 5d3h 10.244.0.8 node-a <none> <none>', { subject: 'shop/web-1', ip: '10.244.0.8' }],
    ['web-1   0/2   Init:CrashLoopBackOff   7 (3h ago)   2d', { subject: 'web-1', ip: null, reason: 'Init:CrashLoopBackOff' }],
  ])('%s', (line, fact) => {
    expect(facts(line)).toMatchObject([{ what: 'listed', ...fact }])
  })

  it('does not take rows of other tables and texts', () => {
    for (const line of ['web   2/2   2   2   5m32s', 'shop   db   2/2   5m33s', 'progress 1/2 Running fast', 'a b c 1/1 Running 0 5s'])
      expect(collect(format, `${line}\n`).records, line).toEqual([])
  })
})

describe('other tables, by their header', () => {
  it.each([
    [
      'nodes',
      'NAME     STATUS     ROLES    AGE     VERSION   INTERNAL-IP     EXTERNAL-IP   OS-IMAGE\nnode-c   NotReady   <none>   2m40s   v1.35.4   192.168.10.13   <none>        lab fake node',
      [{ kind: 'node', subject: 'node-c', ip: '192.168.10.13', reason: 'InternalIP NotReady' }],
    ],
    [
      'services',
      'NAMESPACE   NAME    TYPE        CLUSTER-IP     EXTERNAL-IP   PORT(S)    AGE\nshop        cache   ClusterIP   10.96.63.241   <none>        6379/TCP   5m33s\nshop        db      ClusterIP   None           <none>        5432/TCP   5m32s',
      [{ kind: 'service', subject: 'shop/cache', ip: '10.96.63.241', reason: 'ClusterIP 6379/TCP' }],
    ],
    [
      'endpoints',
      'NAME   ENDPOINTS                            AGE\nweb    10.244.0.8:8080,[fd00::1]:8080 + 2 more...   5m33s',
      [{ kind: 'endpoint', subject: 'web', ip: '10.244.0.8', reason: 'port 8080' }, { ip: 'fd00::1' }],
    ],
    [
      'custom columns',
      'NS      NAME       IP           IPS                         NODE\nbatch   deadline   10.244.0.7   10.244.0.7,fd00:10:244::7   node-a',
      [{ kind: 'pod', subject: 'batch/deadline', ip: '10.244.0.7', node: 'node-a' }, { ip: 'fd00:10:244::7' }],
    ],
    ['deployments', 'NAME   READY   UP-TO-DATE   AVAILABLE   AGE\nweb    5/5     5            5           5m33s', []],
  ])('%s', (_, text, wanted) => {
    const { rows, problems } = readWell(format, `${text}\n`)
    expect(problems).toEqual([])
    expect(rows.pod_fact).toMatchObject(wanted)
    expect(rows.pod_fact).toHaveLength(wanted.length)
  })

  it('leaves tables of events to their format', () => {
    expect(collect(format, 'LAST SEEN   TYPE     REASON   OBJECT      MESSAGE\n5s          Normal   Killing  pod/web-1   Stopping container web\n').records).toEqual([])
  })
})

describe('kubectl describe', () => {
  it('reads a service whose indentation is lost (envoyproxy/gateway#4843)', () => {
    const { rows, records, problems } = readWell(format, sample('gateway-4843-describe'))
    expect([records.length, problems.length]).toEqual([1, 0])
    expect(rows.pod_fact).toMatchObject([
      { kind: 'service', subject: 'default/fbit', ip: null, what: 'listed', reason: 'ClusterIP', t: null },
      { kind: 'endpoint', subject: 'default/fbit', ip: '10.0.0.148', what: 'endpoint', reason: 'port 5190', t: null, t_earliest: null, t_latest: null },
    ])
  })

  it('reads a pod', () => {
    const { rows, records } = readWell(format, sample('pod-single-06-describe'))
    expect(records).toHaveLength(1)
    expect(rows.pod_fact.map(f => [f.kind, f.what, f.ip, f.t, f.reason])).toEqual([
      ['pod', 'listed', '10.244.1.6', null, 'Running'],
      ['pod', 'listed', 'fd00:10:244:1::6', null, 'Running'],
      ['node', 'listed', '192.168.10.12', null, 'hostIP'],
      ['pod', 'started', null, at('2026-11-30T21:47:26Z'), null],
      ['pod', 'container-started', null, at('2026-11-30T21:49:17Z'), 'cache'],
      ['pod', 'container-started', null, at('2026-11-30T21:47:27Z'), 'cache'],
      ['pod', 'container-exited', null, at('2026-11-30T21:49:17Z'), 'cache: exit 137 Error'],
    ])
  })

  it('does not swallow what only begins with a name', () => {
    const { records, problems, rows } = readWell(format, 'Name: web\n2024-12-03T13:31:05Z pod web killed\n')
    expect([records.length, problems.length, rows.pod_fact.length]).toEqual([1, 1, 1])
  })
})

it('is recognised by content', () => {
  for (const name of ['pod-timeline', 'pods-wide-shop-01', 'pods-wide-loop', 'pods-watch-events-wide', 'gateway-4843-describe', 'pod-single-06-describe'])
    expect(format.sniff(sample(name), context()), name).toBeGreaterThan(0.9)
})

it('survives cuts and flips', () => {
  for (const name of ['pod-timeline', 'pods-wide-shop-01', 'gateway-4843-describe']) survives(format, sample(name), day)
  survives(format, sample('pod-single-06-describe'), day, 3)
})

it('is linear in hostile lines', () => {
  const started = performance.now()
  for (const line of [
    `Pod killed at 13:31:05${', then x at 13:31:05'.repeat(20_000)}`,
    `NAME  ${'A  '.repeat(100_000)}`,
    `a 1/1 Running 0 ${'5s'.repeat(50_000)}`,
    ' '.repeat(100_000),
    `Name: a\n${' : '.repeat(100_000)}`,
  ])
    collect(format, `${line}\n`, day)
  expect(performance.now() - started).toBeLessThan(500)
})
