import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { collect, context } from '../../../test/support/collect.js'
import { readWell, survives } from '../../../test/support/robust.js'
import type { Format } from '../format.js'
import { formatById, formats } from '../index.js'

const format = formatById('cf-app-log') as Format
const sample = (name: string): Buffer => readFileSync(new URL(`samples/${name}`, import.meta.url))
const lab = sample('lab.txt')
const at = '   2026-11-30T21:51:01.89+0000'
const facts = (bytes: Buffer | string) => collect(format, bytes).rows.pod_fact

describe('what a line says', () => {
  it('is an event of its tag', () => {
    expect(collect(format, lab).rows.event[0]).toMatchObject({
      t: 1796075449480000000n,
      guess: null,
      subject: 'APP/PROC/WEB/0',
      kind: 'log',
      reason: 'OUT',
      text: '2026-11-30T21:50:49.485224Z listening on :8080 instance=0',
    })
  })

  it('has the offset of whoever ran the command', () => {
    expect(collect(format, sample('crash.txt')).rows.event[0]).toMatchObject({ t: 1647885902780000000n, subject: 'CELL/0' })
  })

  it('has tags with blanks, and none at all of an instance', () => {
    const got = collect(format, `${at} [APP/TASK/nightly run/0] ERR x\n${at} [LGR/] OUT y\n${at} [App/0]   OUT z\n`).rows.event
    expect(got.map(r => [r.subject, r.reason, r.text])).toEqual([
      ['APP/TASK/nightly run/0', 'ERR', 'x'],
      ['LGR/', 'OUT', 'y'],
      ['App/0', 'OUT', 'z'],
    ])
  })

  it('goes on in lines that older releases of the command indent', () => {
    const got = collect(format, `${at} [APP/PROC/WEB/0] ERR panic: x\n${' '.repeat(52)}goroutine 1\n`)
    expect(got.rows.event.map(r => r.text)).toEqual([`panic: x\n${' '.repeat(52)}goroutine 1`])
  })

  it('may be empty', () => {
    expect(collect(format, `${at} [APP/PROC/WEB/0] OUT \n${at} [APP/PROC/WEB/0] OUT`).rows.event.map(r => r.text)).toEqual([null, null])
  })
})

describe('what the platform says of an instance', () => {
  it('is a fact', () => {
    expect(facts(lab).map(f => [f.what, f.subject, f.node, f.reason])).toEqual([
      ['exited', 'APP/PROC/WEB/1', null, 'Exit status 137 (out of memory)'],
      ['crashed', '8a9f3851-efc9-4b7a-9d39-31d8bc6b511e', '3a2e71a5-f285-4d7c-8e3a-207aefb82094', 'APP/PROC/WEB: Exited with status 137 (out of memory)'],
      ['destroying', '8a9f3851-efc9-4b7a-9d39-31d8bc6b511e', '3a2e71a5-f285-4d7c-8e3a-207aefb82094', 'destroying container'],
      ['destroyed', '8a9f3851-efc9-4b7a-9d39-31d8bc6b511e', '3a2e71a5-f285-4d7c-8e3a-207aefb82094', 'successfully destroyed container'],
      ['stopping', 'cc3f142b-3c4f-4d8c-aa39-1d88d1587c55', 'd34a7bcb-e968-4c7e-b970-50dd35a9a3ee', 'stopping'],
    ])
    for (const f of facts(lab)) expect(f).toMatchObject({ kind: 'instance', t_earliest: f.t, t_latest: f.t })
  })

  it('is creation and evacuation as well', () => {
    const says = [
      'creating container for',
      'successfully created container for',
      'requesting replacement for',
      'reached evacuation timeout for',
      'failed to destroy container for',
    ].map(s => facts(`${at} [CELL/0] OUT Cell c-1 ${s} instance i-1`)[0])
    expect(says.map(f => [f?.what, f?.subject, f?.node])).toEqual(['creating', 'created', 'evacuating', 'evacuation-timeout', 'destroy-failed'].map(what => [what, 'i-1', 'c-1']))
    expect(facts(`${at} [CELL/0] ERR Cell c-1 failed to create container for instance i-1: no space: left`)).toMatchObject([
      { what: 'create-failed', reason: 'failed to create container: no space: left' },
    ])
  })

  it('names neither cell nor container in releases before 2018-03', () => {
    const says = ['Creating container', 'Successfully destroyed container', 'Stopping instance i-1', 'Failed to create container: no space'].map(
      s => facts(`${at} [CELL/3] OUT ${s}`)[0],
    )
    expect(says.map(f => [f?.what, f?.subject, f?.node])).toEqual([
      ['creating', 'CELL/3', null],
      ['destroyed', 'CELL/3', null],
      ['stopping', 'i-1', null],
      ['create-failed', 'CELL/3', null],
    ])
  })

  it('is not what the proxy, a shell or a health check exits with', () => {
    for (const tag of ['PROXY/1', 'CELL/SSHD/0', 'HEALTH/0', 'STG/0']) expect(facts(`${at} [${tag}] OUT Exit status 137`)).toEqual([])
  })

  it('is not what an application prints in its words', () => {
    expect(facts(`${at} [APP/PROC/WEB/0] OUT Cell c-1 stopping instance i-1\n${at} [APP/PROC/WEB/0] OUT App instance exited with guid x payload: {"reason"=>"CRASHED"}`)).toEqual(
      [],
    )
  })

  it('keeps the exit line in full', () => {
    for (const text of [
      'Exit status 0',
      'Exit status 143',
      'Exit status 137 (exceeded 10s graceful shutdown interval)',
      'Exit status 137 (exceeded 10s graceful shutdown interval) (out of memory)',
    ])
      expect(facts(`${at} [APP/PROC/WEB/1] OUT ${text}`)).toMatchObject([{ what: 'exited', subject: 'APP/PROC/WEB/1', reason: text }])
    expect(facts(`${at} [APP/PROC/WEB/1] OUT Exit status 137 was seen`)).toEqual([])
  })

  it('is a crash in the words of an audit event too', () => {
    const text = 'app.crash shop index: 1, reason: CRASHED, cell_id: c-1, instance: i-1, exit_description: APP/PROC/WEB: Exited with status 137 (out of memory)'
    expect(facts(`${at} [API/0] OUT ${text}`)).toMatchObject([{ what: 'crashed', subject: 'i-1', node: 'c-1', reason: 'APP/PROC/WEB: Exited with status 137 (out of memory)' }])
  })

  it('is an exit where an instance ended without a crash', () => {
    expect(facts(`${at} [API/0] OUT App instance exited with guid g payload: {"instance"=>"", "reason"=>"STOPPED"}`)).toMatchObject([
      { what: 'exited', subject: null, reason: 'STOPPED' },
    ])
  })
})

describe('lines of the router', () => {
  it('are requests', () => {
    const got = collect(format, lab)
    expect(got.rows.request).toMatchObject([
      { proxy: 'gorouter', status: 502, upstream_host: '10.0.16.12:61016', t: 1796075386784428445n, router_error: 'endpoint_failure (EOF)' },
      { status: 200 },
    ])
    expect(got.rows.event).toHaveLength(got.records.length - 2)
  })

  it('are events where they hold anything else', () => {
    expect(collect(format, `${at} [RTR/0] OUT hello`).rows).toMatchObject({ request: [], event: [{ subject: 'RTR/0', text: 'hello' }] })
  })

  it('are requests only behind the router’s tag', () => {
    expect(collect(format, lab.toString().replaceAll('[RTR/0]', '[APP/PROC/WEB/0]')).rows.request).toEqual([])
  })
})

describe('the format', () => {
  it('is recognised by content', () => {
    expect(
      formats
        .map(f => [f.id, f.sniff(lab, context())] as const)
        .filter(([, s]) => s > 0)
        .map(([id]) => id),
    ).toEqual(['cf-app-log'])
  })

  it('skips what the command says first', () => {
    const got = collect(format, `Retrieving logs for app shop in org lab / space dev as admin...\n\n${lab}`)
    expect([got.skips.length, got.problems.length]).toEqual([2, 0])
  })

  it('keeps its promises on any bytes', () => {
    readWell(format, lab)
    readWell(format, sample('crash.txt'))
    survives(format, lab)
  })

  it('is quick on text made to slow it down', () => {
    for (const part of ['a ', 'Cell ', ' instance ', '"reason"=>"', ' app.crash exit_description"', '(']) {
      const text = ['CELL/0', 'API/0', 'APP/PROC/WEB/0'].map(tag => `${at} [${tag}] OUT Exit status 1 ${part.repeat(65_536 / part.length)}`).join('\n')
      const from = performance.now()
      collect(format, text)
      expect(performance.now() - from).toBeLessThan(500)
    }
  })
})
