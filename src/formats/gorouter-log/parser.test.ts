import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { collect, context, type Row } from '../../../test/support/collect.js'
import { readWell, survives } from '../../../test/support/robust.js'
import type { Format } from '../format.js'
import { formatById, formats } from '../index.js'

const format = formatById('gorouter-log') as Format
const sample = (name: string): Buffer => readFileSync(new URL(`samples/${name}`, import.meta.url))
const lab = sample('lab.log')

describe('what a line says', () => {
  it('is a line of the proxy’s log', () => {
    const row = collect(format, lab).rows.proxy_line[4] as Row
    expect(row).toMatchObject({
      t: 1796075393939090229n,
      proxy: 'gorouter',
      level: 'error',
      logger: 'vcap.gorouter',
      template: 'backend-endpoint-failed',
      text: 'backend-endpoint-failed: EOF',
      request_id: '96aef932-dafe-4ab2-4c30-160a45636c4a',
      connection_id: null,
      thread: null,
    })
    const args = JSON.parse(String(row.args)) as string[]
    expect(args).toHaveLength(1)
    expect(args[0]).toMatch(/^\{"attempt":1,"conn-reused":false,"dial-time":0\.000063574,/)
    expect(JSON.parse(args.join())).toMatchObject({ 'got-connection': true, 'route-endpoint': { Addr: '10.0.16.12:61016', AZ: 'z1' } })
  })

  it('keeps every digit of a time that is a number', () => {
    expect(collect(format, sample('epoch.log')).rows.proxy_line.map(r => r.t)).toEqual([
      1648568063717239100n,
      1648568063717316200n,
      1648568063717377000n,
      1648568072828989000n,
      1648568072829365000n,
      1648568072830132000n,
    ])
  })

  it('is not misled by another timestamp inside the data', () => {
    const text = '{"data":{"timestamp":1500000000.25},"log_level":1,"timestamp":1648568063.7172391,"message":"m","source":"vcap.gorouter"}'
    expect(collect(format, text).rows.proxy_line[0]).toMatchObject({ t: 1648568063717239100n })
  })

  it('has the levels of zap by number, of old lager by number, and by name', () => {
    const levels = (timestamp: string, values: (number | string)[], key = 'log_level') =>
      collect(format, values.map(v => `{"timestamp":${timestamp},"source":"vcap.gorouter","message":"m","${key}":${JSON.stringify(v)}}`).join('\n')).rows.proxy_line.map(
        r => r.level,
      )
    expect(levels('1648568063.7', [0, 1, 2, 3, 4, 6, 9])).toEqual(['debug', 'info', 'warning', 'error', 'fatal', 'fatal', null])
    expect(levels('"1476379410.654025555"', [0, 1, 2, 3])).toEqual(['debug', 'info', 'error', 'fatal'])
    expect(levels('"2026-11-30T21:49:38Z"', ['debug', 'WARN', 'error', 'panic'], 'level')).toEqual(['debug', 'warning', 'error', 'fatal'])
  })

  it('splits the message of releases that put the logger before it', () => {
    const text =
      '{"timestamp":"1476379410.654025555","source":"vcap.gorouter","message":"vcap.gorouter.proxy.request-handler.backend-endpoint-failed","log_level":2,"data":{"error":"EOF","session":"1"}}'
    expect(collect(format, text).rows.proxy_line[0]).toMatchObject({
      t: 1476379410654025555n,
      level: 'error',
      logger: 'vcap.gorouter.proxy.request-handler',
      template: 'backend-endpoint-failed',
    })
  })

  it('takes the literal Z for UTC unless the zone of the member is given', () => {
    expect(collect(format, lab, { zoneMinutes: 60 }).rows.proxy_line[0]).toMatchObject({ t: 1796075378092819264n - 3_600_000_000_000n })
  })

  it('notes a line whose time cannot be read, and states no fact from it', () => {
    const got = collect(format, '{"log_level":1,"timestamp":"yesterday","message":"endpoint-unregistered","source":"vcap.gorouter.registry","data":{"backend":"10.0.0.1:80"}}')
    expect(got.rows.proxy_line).toMatchObject([{ t: null, template: 'endpoint-unregistered' }])
    expect(got.rows.pod_fact).toEqual([])
    expect(got.notes.map(n => n.kind)).toEqual(['no-time'])
  })

  it('writes keys that objects have of themselves as any others', () => {
    const text = '{"log_level":1,"timestamp":1648568063.5,"message":"m","source":"vcap.gorouter","data":{"toString":1,"__proto__":{"b":2},"a":null}}'
    expect(collect(format, text).rows.proxy_line).toMatchObject([{ args: JSON.stringify(['{"__proto__":{"b":2},"a":null,"toString":1}']) }])
  })
})

describe('what the registry says of endpoints', () => {
  const facts = (bytes: Buffer | string) => collect(format, bytes).rows.pod_fact.map(f => [f.what, f.subject, f.kind, f.ip, f.sandbox, f.reason])

  it('is a fact about the instance', () => {
    expect(facts(lab)).toEqual([
      ['registered', '88b3118e-f17a-422e-868b-945dcc0750a1', 'instance', '10.0.16.11', '10.0.16.11:61012', 'endpoint-registered'],
      ['registered', 'cc3f142b-3c4f-4d8c-aa39-1d88d1587c55', 'instance', '10.0.16.12', '10.0.16.12:61016', 'endpoint-registered'],
      ['pruned', 'cc3f142b-3c4f-4d8c-aa39-1d88d1587c55', 'instance', '10.0.16.12', '10.0.16.12:61016', 'prune-failed-endpoint'],
      ['unregistered', '4ce57199-39b6-43c5-938b-86e67e595315', 'instance', '10.0.16.12', '10.0.16.12:61016', 'endpoint-unregistered'],
      ['unregistered', 'cc3f142b-3c4f-4d8c-aa39-1d88d1587c55', 'instance', '10.0.16.12', '10.0.16.12:61016', 'endpoint-not-unregistered'],
    ])
  })

  it('is about the address where no instance is named, and about the route where no endpoint is', () => {
    expect(facts(sample('epoch.log'))).toEqual([
      ['registered', '127.0.0.1:1235', 'instance', '127.0.0.1', '127.0.0.1:1235', 'endpoint-registered'],
      ['pruned', '127.0.0.1:1235', 'instance', '127.0.0.1', '127.0.0.1:1235', 'prune-failed-endpoint'],
    ])
    expect(facts(sample('cf-stop.log')).at(-1)).toEqual(['unregistered', 'go-fail.cfapps.example.com', 'service', null, null, 'route-unregistered'])
  })

  it('names each endpoint of a route that grew stale', () => {
    const text =
      '{"log_level":1,"timestamp":1648568063.5,"message":"pruned-route","source":"vcap.gorouter.registry","data":{"uri":"a.example","endpoints":["10.0.0.1:80","10.0.0.2:80",7]}}'
    expect(facts(text).map(f => [f[0], f[1], f[3]])).toEqual([
      ['pruned', '10.0.0.1:80', '10.0.0.1'],
      ['pruned', '10.0.0.2:80', '10.0.0.2'],
    ])
  })

  it('holds at the time of the line', () => {
    const fact = collect(format, lab).rows.pod_fact[0] as Row
    expect([fact.t_earliest, fact.t_latest]).toEqual([fact.t, fact.t])
  })
})

describe('the format', () => {
  it('is recognised by content', () => {
    expect(
      formats
        .map(f => [f.id, f.sniff(lab, context())] as const)
        .filter(([, s]) => s > 0)
        .map(([id]) => id),
    ).toEqual(['gorouter-log'])
  })

  it('shares a member with access lines', () => {
    const got = collect(format, sample('2018.log'))
    expect(got.rows.proxy_line).toMatchObject([{ t: 1544004444235937600n, request_id: '723960c1-bb21-452b-45af-4b0b70055c3b' }])
    expect(got.rows.request).toMatchObject([{ request_id: '723960c1-bb21-452b-45af-4b0b70055c3b', status: 502 }])
  })

  it('skips the headline of a pasted excerpt', () => {
    const got = collect(format, sample('cf-stop.log'))
    expect([got.skips.length, got.records.length, got.problems.length]).toEqual([1, 4, 0])
  })

  it('leaves other JSON alone', () => {
    for (const text of [
      '{"timestamp":"1.5","source":"rep","message":"rep.x","log_level":1}',
      '{"source":"vcap.gorouter"}',
      '{"timestamp":1648568063.5,"source":"vcap.gorouter","message":7,"log_level":1}',
    ])
      expect(collect(format, text).rows.proxy_line).toEqual([])
  })

  it('keeps its promises on any bytes', () => {
    for (const name of ['lab.log', '2018.log', 'cf-stop.log', 'epoch.log']) readWell(format, sample(name))
    survives(format, lab.subarray(0, 1800))
    survives(format, lab, {}, 200)
  })
})
