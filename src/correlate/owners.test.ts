import { describe, expect, it } from 'vitest'
import { joinFiles } from '../../test/support/joined.js'
import { iso } from '../model/instant.js'
import type { Ownership } from './owners.js'
import { sameOwner } from './owners.js'

const DAY = '2026-03-04'
const at = (time: string): bigint => BigInt(Date.parse(`${DAY}T${time}Z`)) * 1_000_000n
const clock = (t: bigint | null): string | null => (t === null ? null : iso(t).slice(11, -1))

interface Pod {
  name?: string
  uid?: string
  ip?: string | null
  node?: string
  phase?: string
  /** When the sandbox got its network, and when it lost it. */
  ready?: string
  gone?: string
  created?: string
  exited?: string
  started?: string
  hostNetwork?: boolean
  terminating?: string
}
const pod = ({
  name = 'web-1',
  uid = 'u1',
  ip = '10.0.0.9',
  node = 'node-a',
  phase = 'Running',
  ready,
  gone,
  created = '09:00:00',
  exited,
  started,
  hostNetwork,
  terminating,
}: Pod) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name,
    namespace: 'shop',
    uid,
    creationTimestamp: `${DAY}T${created}Z`,
    ...(terminating ? { deletionTimestamp: `${DAY}T${terminating}Z`, deletionGracePeriodSeconds: 30 } : {}),
  },
  spec: { nodeName: node, containers: [], ...(hostNetwork ? { hostNetwork: true } : {}) },
  status: {
    phase,
    ...(ip ? { podIP: ip, podIPs: [{ ip }] } : {}),
    hostIP: '192.168.0.7',
    conditions: gone ? [condition('False', gone)] : ready ? [condition('True', ready)] : [],
    ...(started
      ? {
          containerStatuses: [
            {
              name: 'c',
              containerID: 'containerd://c1',
              state: exited
                ? { terminated: { startedAt: `${DAY}T${started}Z`, finishedAt: `${DAY}T${exited}Z`, exitCode: 0, containerID: 'containerd://c1' } }
                : { running: { startedAt: `${DAY}T${started}Z` } },
            },
          ],
        }
      : {}),
  },
})
const condition = (status: string, time: string) => ({ type: 'PodReadyToStartContainers', status, lastTransitionTime: `${DAY}T${time}Z` })
const list = (...pods: Pod[]) => `${JSON.stringify({ apiVersion: 'v1', kind: 'List', items: pods.map(pod) }, null, 1)}\n`
const timeline = (name: string, from: string | null, to: string | null, more = {}) =>
  JSON.stringify({ ip: '10.0.0.9', pod: name, from: from && `${DAY}T${from}Z`, to: to && `${DAY}T${to}Z`, ...more })

const ownersOf = async (files: Record<string, string>): Promise<Ownership> => (await joinFiles(files)).joined.owners
const shown = (o: Ownership, ip = '10.0.0.9') => o.of(ip).map(x => [x.name, clock(x.from), clock(x.to), x.certain])

describe('a timeline', () => {
  it('is taken by its word, and gaps stay', async () => {
    const owners = await ownersOf({ 't.jsonl': `${timeline('a', '09:00:00', '09:10:00')}\n${timeline('b', '09:11:00', null)}\n` })
    expect(shown(owners)).toEqual([
      ['a', '09:00:00', '09:10:00', true],
      ['b', '09:11:00', null, true],
    ])
    expect(['09:05:00', '09:10:30', '09:11:00'].map(t => owners.at('10.0.0.9', at(t))?.name ?? null)).toEqual(['a', null, 'b'])
  })
  it('that is about right is never certain', async () =>
    expect(shown(await ownersOf({ 't.jsonl': `${timeline('a', '09:00:00', '09:10:00', { note: 'approx' })}\n` }))).toEqual([['a', '09:00:00', '09:10:00', false]]))
  it('whose owners overlap keeps both: the later one is taken, and both may hold', async () => {
    const owners = await ownersOf({ 't.jsonl': `${timeline('a', '09:00:00', null)}\n${timeline('b', '09:11:00', null)}\n` })
    expect(shown(owners)).toEqual([
      ['a', '09:00:00', null, true],
      ['b', '09:11:00', null, true],
    ])
    expect(owners.at('10.0.0.9', at('09:12:00'))?.name).toBe('b')
    expect(owners.maybe('10.0.0.9', at('09:12:00')).map(o => o.name)).toEqual(['a', 'b'])
  })
})

describe('a pod object', () => {
  it('bounds its start by when its sandbox got a network, within what the API’s whole seconds are worth', async () => {
    const [o] = (await ownersOf({ 'pods.json': list({ ready: '09:00:05' }) })).of('10.0.0.9')
    expect([clock(o?.fromEarliest ?? null), clock(o?.from ?? null), clock(o?.fromLatest ?? null), o?.certain, o?.to]).toEqual([
      '09:00:04.090',
      '09:00:05',
      '09:00:05.840',
      true,
      null,
    ])
  })
  it('without that condition is bounded by its creation, and not certain', async () => {
    const [o] = (await ownersOf({ 'pods.json': list({}) })).of('10.0.0.9')
    expect([clock(o?.fromEarliest ?? null), clock(o?.fromLatest ?? null), o?.certain]).toEqual(['09:00:00.310', '09:00:35.800', false])
  })
  it('that is over ended when its sandbox went, or when its last container exited', async () => {
    const of = async (p: Pod) => {
      const [o] = (await ownersOf({ 'pods.json': list(p) })).of('10.0.0.9')
      return [clock(o?.toEarliest ?? null), clock(o?.to ?? null), clock(o?.toLatest ?? null)]
    }
    expect(await of({ phase: 'Succeeded', gone: '09:30:00', started: '09:00:05', exited: '09:29:59' })).toEqual(['09:30:00.050', '09:30:00.570', '09:30:00.900'])
    expect(await of({ phase: 'Succeeded', ready: '09:00:05', started: '09:00:05', exited: '09:29:59' })).toEqual(['09:29:59.050', '09:29:59.630', '09:30:01.400'])
  })
  it('whose container exits and is restarted goes on', async () =>
    expect(shown(await ownersOf({ 'pods.json': list({ ready: '09:00:05', started: '09:10:00', exited: '09:09:00' }) }))).toEqual([['shop/web-1', '09:00:05', null, true]]))
  it('owns no address before it has one', async () => expect((await ownersOf({ 'pods.json': list({ ip: null, phase: 'Pending' }) })).all.filter(o => o.kind === 'pod')).toEqual([]))
  it('on the host network owns no address: its node does', async () => {
    const owners = await ownersOf({
      'pods.json': list({ ip: '192.168.0.7', hostNetwork: true, ready: '09:00:05' }, { name: 'agent-2', uid: 'u2', ip: '192.168.0.7', hostNetwork: true, ready: '09:20:00' }),
    })
    expect(owners.of('192.168.0.7').map(o => [o.kind, o.name, o.certain])).toEqual([['node', 'node-a', false]])
  })
})

describe('the next owner of an address', () => {
  const forced = { 'a.json': list({ name: 'old', uid: 'u1', ready: '09:00:05', started: '09:00:06' }), 'b.json': list({ name: 'new', uid: 'u2', ready: '09:31:00' }) }

  it('ends the interval of a pod that was force-deleted: it was last seen at work, and gone when the next one began', async () => {
    const owners = await ownersOf(forced)
    expect(shown(owners)).toEqual([
      ['shop/old', '09:00:05', '09:31:00', true],
      ['shop/new', '09:31:00', null, true],
    ])
    const [old, young] = owners.of('10.0.0.9')
    expect([clock(old?.toEarliest ?? null), clock(old?.toLatest ?? null)]).toEqual(['09:00:06', '09:31:00.840'])
    expect(old && owners.surely(old, at('09:00:06'))).toBe(true)
    expect(old && owners.surely(old, at('09:20:00'))).toBe(false)
    expect(young && owners.surely(young, at('09:31:01'))).toBe(true)
    expect(owners.maybe('10.0.0.9', at('09:31:00')).map(o => o.name)).toEqual(['shop/old', 'shop/new'])
  })
  it('is cited as its end', async () => {
    const owners = await ownersOf(forced)
    expect(owners.of('10.0.0.9')[0]?.places.map(p => [p.role, p.place.source])).toEqual([
      ['start', 1],
      ['end', 2],
    ])
  })
  it('ends nothing where one listing shows both at work: that is a contradiction', async () => {
    const owners = await ownersOf({ 'pods.json': list({ name: 'old', uid: 'u1', ready: '09:00:05' }, { name: 'new', uid: 'u2', ready: '09:31:00' }) })
    expect(shown(owners).map(([name, , to]) => [name, to])).toEqual([
      ['shop/old', null],
      ['shop/new', null],
    ])
  })
  it('ends one that the same listing shows as terminating, or as over', async () => {
    for (const more of [{ terminating: '09:30:30' }, { phase: 'Failed' }]) {
      const owners = await ownersOf({ 'pods.json': list({ name: 'old', uid: 'u1', ready: '09:00:05', ...more }, { name: 'new', uid: 'u2', ready: '09:31:00' }) })
      expect(shown(owners).map(([, , to]) => to)).toEqual(['09:31:00', null])
    }
  })
})

describe('a deleted object', () => {
  const deleted = (grace: number) => {
    const o = pod({ ready: '09:00:05', terminating: '09:30:30' })
    return `${JSON.stringify({ type: 'ADDED', object: pod({ ready: '09:00:05' }) })}\n${JSON.stringify({ type: 'DELETED', object: { ...o, metadata: { ...o.metadata, deletionGracePeriodSeconds: grace } } })}\n`
  }
  it('that was force-deleted ends, its ownership need not: somebody may still hold the address', async () => {
    const owners = await ownersOf({ 'watch.jsonl': deleted(0) })
    const [o] = owners.of('10.0.0.9')
    expect([o?.to !== null, clock(o?.toEarliest ?? null), o?.toLatest]).toEqual([true, '09:27:13', null])
    expect(owners.maybe('10.0.0.9', at('10:00:00')).map(x => x.name)).toEqual(['shop/web-1'])
  })
  it('is bounded by the next owner', async () => {
    const owners = await ownersOf({ 'watch.jsonl': deleted(0), 'pods.json': list({ name: 'new', uid: 'u2', ready: '09:31:00' }) })
    expect(owners.maybe('10.0.0.9', at('10:00:00')).map(x => x.name)).toEqual(['shop/new'])
    expect(clock(owners.of('10.0.0.9')[0]?.toLatest ?? null)).toBe('09:31:00.840')
  })
})

describe('one pod', () => {
  it('whose sandbox was replaced is another owner, at the same address', async () => {
    const owners = await ownersOf({ 'a.json': list({ ready: '09:00:05', started: '09:00:06' }), 'b.json': list({ ready: '09:31:00', started: '09:31:01' }) })
    expect(shown(owners)).toEqual([
      ['shop/web-1', '09:00:05', '09:31:00', true],
      ['shop/web-1', '09:31:00', null, true],
    ])
    const [a, b] = owners.of('10.0.0.9')
    expect(a && b && sameOwner(a, b)).toBe(false)
  })
  it('that is listed twice is one owner, in a table too', async () => {
    const table =
      'NAMESPACE   NAME    READY   STATUS    RESTARTS   AGE   IP         NODE     NOMINATED NODE   READINESS GATES\nshop        web-1   1/1     Running   0          19s   10.0.0.9   node-a   <none>           <none>\n'
    expect(shown(await ownersOf({ 'a.json': list({ ready: '09:00:05' }), 'b.json': list({ ready: '09:00:05' }), 'wide.txt': table }))).toEqual([
      ['shop/web-1', '09:00:05', null, true],
    ])
  })
  it('in a timeline and in a listing is the same owner', async () => {
    const owners = await ownersOf({ 't.jsonl': `${timeline('shop/web-1', '09:00:05', null)}\n`, 'a.json': list({ ready: '09:00:05' }) })
    const [a, b] = owners.of('10.0.0.9')
    expect(a && b && sameOwner(a, b)).toBe(true)
  })
})

it('gives the same owners for files in another order', async () => {
  const a = list({ name: 'old', uid: 'u1', ready: '09:00:05' })
  const b = list({ name: 'new', uid: 'u2', ready: '09:31:00' })
  expect(shown(await ownersOf({ 'x.json': b, 'y.json': a }))).toEqual(shown(await ownersOf({ 'x.json': a, 'y.json': b })))
})
