import { describe, expect, it } from 'vitest'
import { collect, context } from '../../../test/support/collect.js'
import { readWell, survives } from '../../../test/support/robust.js'
import type { Format } from '../format.js'
import { formatById } from '../index.js'

const format = formatById('app-log') as Format
const at = (text: string) => BigInt(Date.parse(text)) * 1_000_000n
const day = { reference: { from: 1_733_230_000_000_000_000n, to: 1_733_240_000_000_000_000n } }
const events = (text: string, more = {}) => readWell(format, `${text}\n`, more).rows.event
const T = at('2024-12-03T13:31:18Z')

/** envoyproxy/gateway#4843: Fluent Bit after its pod came back, and its stdout plugin. */
const FLUENT_BIT = `Defaulted container "fluent-bit" out of: fluent-bit, sidecar
Fluent Bit v3.2.1
* Copyright (C) 2015-2024 The Fluent Bit Authors
[2024/12/03 13:31:18] [ info] [input:syslog:syslog.0] initializing
[2024/12/03 13:31:18] [ info] [in_syslog] TCP server binding 0.0.0.0:5190
[0] client: [[1733233643.000000000, {}], {"pri"=>"188" -> Here comes the first message.
`
/** A server of the laboratory, as it ended. */
const SERVER = `2026-11-30T21:28:04.593575Z listening web-6f7d9c8b45-4kzqd 8080 pid 12096
2026-11-30T21:28:04.633687Z peer-closed 10.244.4.21:54998 IncompleteReadError
`

it('reads Fluent Bit: banners apart, brackets, and the epoch of its stdout plugin', () => {
  const { rows, records, problems, skips } = readWell(format, FLUENT_BIT)
  expect([records.length, problems.length, skips.length]).toEqual([3, 0, 3])
  expect(rows.event).toMatchObject([
    { t: T, guess: 'zone', kind: 'log', reason: 'info', text: '[ info] [input:syslog:syslog.0] initializing', subject: null },
    { t: T, text: '[ info] [in_syslog] TCP server binding 0.0.0.0:5190' },
    { t: at('2024-12-03T13:47:23Z'), guess: null, text: expect.stringContaining('Here comes the first message') },
  ])
})

describe('times and levels', () => {
  it.each([
    ['2024-12-03T13:31:18Z started', T, null, null, 'started'],
    ['2024-12-03 13:31:18,250 - app - ERROR - lost it', at('2024-12-03T13:31:18.250Z'), 'zone', 'error', '- app - ERROR - lost it'],
    ['2024-12-03 13:31:18.250  WARN 1 --- [main] o.s.Boot : slow', at('2024-12-03T13:31:18.250Z'), 'zone', 'warning', 'WARN 1 --- [main] o.s.Boot : slow'],
    ['2024/12/03 13:31:18 [notice] 1#1: nginx', T, 'zone', 'notice', '[notice] 1#1: nginx'],
    ['2024-12-03T14:31:18+01:00 x', T, null, null, 'x'],
    ['[2024-12-03 13:31:18] x', T, 'zone', null, 'x'],
    ['[Tue Dec  3 13:31:18 2024] eth0: link down', T, 'zone', null, 'eth0: link down'],
    ['<34>1 2024-12-03T13:31:18Z host app - - - x', T, null, null, 'host app - - - x'],
    ['Dec  3 13:31:18 host kubelet[4052]: x', T, 'year,zone', null, 'host kubelet[4052]: x'],
    ['E1203 13:31:18.000000     251 kubelet.go:2439] "boom"', T, 'year,zone', 'error', 'kubelet.go:2439] "boom"'],
    ['1733232678.5 x', at('2024-12-03T13:31:18.5Z'), null, null, 'x'],
    ['13:31:18.000 [main] INFO  x', T, 'date,zone', 'info', '[main] INFO  x'],
    ['time="2024-12-03T13:31:18Z" level=warning msg="x"', T, null, 'warning', 'time="2024-12-03T13:31:18Z" level=warning msg="x"'],
    ['10.0.0.5 - - [03/Dec/2024:13:31:18 +0000] "GET /x HTTP/2" 200', T, null, null, '10.0.0.5 - - [03/Dec/2024:13:31:18 +0000] "GET /x HTTP/2" 200'],
  ])('%s', (line, t, guess, reason, text) => {
    expect(events(line, day)).toMatchObject([{ t, guess, reason, text, kind: 'log' }])
  })

  it('says that a time of day is none without a reference', () => {
    const { rows, notes } = readWell(format, '13:31:18.000 [main] INFO  x\n')
    expect([rows.event[0]?.t, notes[0]?.kind]).toEqual([null, 'no-time'])
  })

  it('takes the time and the pod that the collector gives, where the line has none', () => {
    expect(events('[pod/web-1/web] 2024-12-03T13:31:18.000000000Z started without a clock')).toMatchObject([{ t: T, subject: 'web-1', text: 'started without a clock' }])
    expect(events('2024-12-03T13:31:19.000000000Z stdout F 13:31:18.000 INFO x')).toMatchObject([{ t: T, guess: 'date,zone' }])
  })
})

it('keeps a stack trace with the line before it', () => {
  const { rows, records, problems } = readWell(
    format,
    '2024-12-03T13:31:18Z ERROR boom\njava.lang.IllegalStateException: x\n\tat a.b.C.d(C.java:7)\n\n\tat e\n2024-12-03T13:31:19Z next\n',
  )
  expect([records.length, problems.length]).toEqual([2, 0])
  expect(rows.event[0]).toMatchObject({ reason: 'error', text: 'ERROR boom\njava.lang.IllegalStateException: x\n\tat a.b.C.d(C.java:7)\n\n\tat e' })
})

describe('JSON', () => {
  it.each([
    ['{"level":"info","ts":"2024-12-03T13:31:18Z","msg":"x"}', T, 'info'],
    ['{"level":"warn","ts":1733232678.5,"logger":"a","msg":"x"}', at('2024-12-03T13:31:18.5Z'), 'warning'],
    ['{"time":1733232678000,"severity":"ERROR","message":"x"}', T, 'error'],
    ['{"@timestamp":"2024-12-03T13:31:18.000+00:00","log":"x"}', T, null],
  ])('%s', (line, t, reason) => {
    expect(events(line)).toMatchObject([{ t, reason, text: 'x', kind: 'log' }])
  })

  it('names the pod that a shipper added, and leaves objects without a time or a message', () => {
    expect(events('{"time":"2024-12-03T13:31:18Z","log":"x","kubernetes":{"pod_name":"web-1","namespace_name":"shop"}}')).toMatchObject([{ subject: 'shop/web-1' }])
    expect(collect(format, '{"time":"2024-12-03T13:31:18Z","status":200}\n{"msg":"x","timestamp":"[ 96886.162669s]"}\n').problems).toHaveLength(2)
  })
})

it('leaves lines to formats that read them better', () => {
  const { rows } = readWell(format, `${SERVER}2026-11-30 21:28:05.000000 IP 10.0.0.5.1 > 10.0.0.6.2: Flags [S], seq 1, win 1, length 0\n`)
  expect([rows.event.length, rows.packet.length]).toEqual([2, 1])
})

it('is recognised where nothing else is', () => {
  expect(format.sniff(Buffer.from(SERVER), context())).toBe(1)
  expect(format.sniff(Buffer.from('2024-12-03T13:31:05Z pod fluent-bit killed\n2024-12-03T13:31:05Z something else\n'), context())).toBe(0)
  expect(format.sniff(Buffer.from('no time at all\n'), context())).toBe(0)
})

it('survives cuts and flips', () => {
  for (const text of [FLUENT_BIT, SERVER, '{"level":"info","ts":1733232678.5,"msg":"x"}\n']) survives(format, text)
})

it('is linear in hostile lines', () => {
  const started = performance.now()
  for (const line of [`<1>${'['.repeat(100_000)}`, `2024-12-03T13:31:18Z ${'[ '.repeat(60_000)}`, `[0] ${'a'.repeat(150)}${': ['.repeat(60_000)}`, `${' time='.repeat(20_000)}`])
    collect(format, `${line}\n`)
  expect(performance.now() - started).toBeLessThan(500)
})
