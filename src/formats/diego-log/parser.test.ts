import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { collect, context, type Row } from '../../../test/support/collect.js'
import { readWell, survives } from '../../../test/support/robust.js'
import type { Format } from '../format.js'
import { formatById, formats } from '../index.js'

const format = formatById('diego-log') as Format
const sample = (name: string): Buffer => readFileSync(new URL(`samples/${name}`, import.meta.url))
const stop = sample('stop.log')
const facts = (bytes: Buffer | string) => collect(format, bytes).rows.pod_fact

const RUN = 'rep.executing-container-operation.ordinary-lrp-processor.process-reserved-container.run-container.containerstore-run.node-run'
const lager = (message: string, data: object = { guid: 'abc' }, more: object = {}): string =>
  JSON.stringify({ timestamp: '1476379410.654025555', source: message.split('.')[0], message, log_level: 1, data, ...more })

describe('what a line says', () => {
  it('is an event of the instance', () => {
    const row = collect(format, stop).rows.event[1] as Row
    expect(row).toMatchObject({ t: 1796075388786126876n, subject: 'cc3f142b-3c4f-4d8c-aa39-1d88d1587c55', kind: 'log', reason: 'info' })
    expect(row.text).toMatch(/^rep\.request\.handling-stop-lrp-instance\.stop-container\.starting \{"instance-guid":"cc3f142b-/)
  })

  it('has the older shape of lager too', () => {
    const got = collect(format, [0, 1, 2, 3].map(log_level => lager('rep.x', {}, { log_level })).join('\n')).rows.event
    expect(got.map(r => [r.t, r.reason, r.subject, r.text])).toEqual(['debug', 'info', 'error', 'fatal'].map(level => [1476379410654025555n, level, 'rep', 'rep.x {}']))
  })

  it('is no fact where the time cannot be read', () => {
    const got = collect(format, lager(`${RUN}.action.run-step.process-exit`, { guid: 'abc', exitStatus: 0 }, { timestamp: '' }))
    expect([got.rows.event.length, got.rows.pod_fact.length, got.notes.map(n => n.kind)]).toEqual([1, 0, ['no-time']])
  })
})

describe('what happens to an instance', () => {
  it('is told by a stop from its beginning to its end', () => {
    expect(facts(stop).map(f => [f.what, f.reason])).toEqual([
      ['stopping', 'stop-container.starting'],
      ['signalled', 'node-stop.signalled-process'],
      ['certificate-invalidated', 'cred-manager-runner.on-signal'],
      ['signalled', 'run-step.signalling-terminate'],
      ['exited', 'exit status 143, cancelled'],
      ['completed', null],
      ['destroying', 'destroying-garden-container'],
      ['destroyed', 'destroyed-container-in-garden'],
    ])
    for (const f of facts(stop)) expect(f).toMatchObject({ subject: 'cc3f142b-3c4f-4d8c-aa39-1d88d1587c55', kind: 'instance', t_earliest: f.t, t_latest: f.t })
  })

  it('tells that memory ran out', () => {
    expect(facts(sample('out-of-memory.log')).map(f => [f.what, f.reason])).toEqual([
      ['exited', 'exit status 137'],
      ['exited', 'Exit status 137 (out of memory)'],
      ['certificate-invalidated', 'cred-manager-runner.on-signal'],
    ])
  })

  it('tells that the grace period ran out', () => {
    expect(facts(lager(`${RUN}.action.run-step.graceful-shutdown-timeout-exceeded.signalling-kill`))).toMatchObject([{ what: 'killed', subject: 'abc' }])
  })

  it('is not told by the exit of its proxy, a health check or its setup', () => {
    for (const session of ['proxy', 'setup', 'monitor-run', 'liveness-check', 'envoy-startup-check', 'sidecar'])
      expect(facts(lager(`${RUN}.${session}.run-step.process-exit`, { guid: 'abc', exitStatus: 137 }))).toEqual([])
  })

  it('is creation, destruction and evacuation as well', () => {
    const told = ['x.creating-container-in-garden', 'x.created-container-in-garden', 'x.stopping-container', 'x.bbs-evacuate-running-actual-lrp'].map(
      m => facts(lager(`rep.${m}`, { 'container-guid': 'abc', 'cell-id': 'cell-7' }))[0],
    )
    expect(told.map(f => [f?.what, f?.subject, f?.node])).toEqual(['creating', 'created', 'stopping', 'evacuating'].map(what => [what, 'abc', 'cell-7']))
  })

  it('is told by the completion with its reason', () => {
    const reasons = [
      { failed: true, reason: 'instance proxy failed to start' },
      { failed: true, reason: '' },
      { failed: false, reason: '' },
    ].map(data => facts(lager(`${RUN}.node-complete`, { guid: 'abc', ...data }))[0]?.reason)
    expect(reasons).toEqual(['instance proxy failed to start', 'failed', null])
  })

  it('needs a line that names the instance, of a program of the cell', () => {
    expect(facts(lager('rep.x.stopping-container', {}))).toEqual([])
    expect(facts(lager('bbs.x.stopping-container'))).toEqual([])
  })
})

describe('the format', () => {
  it('is recognised by content', () => {
    expect(
      formats
        .map(f => [f.id, f.sniff(stop, context())] as const)
        .filter(([, s]) => s > 0)
        .map(([id]) => id),
    ).toEqual(['diego-log'])
  })

  it('leaves other JSON alone', () => {
    for (const text of [
      '{"timestamp":"1476379410.6","source":"rep","message":"not.rep","log_level":1}',
      '{"level":"info","ts":1476379410,"msg":"x"}',
      '{"timestamp":"1476379410.6","source":"rep","message":"rep.x"}',
    ])
      expect(collect(format, text).rows.event).toEqual([])
  })

  it('keeps its promises on any bytes', () => {
    const few = sample('out-of-memory.log')
    readWell(format, few)
    survives(format, few)
    readWell(format, stop)
  })
})
