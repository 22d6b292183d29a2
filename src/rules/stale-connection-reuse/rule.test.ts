import { describe, expect, it } from 'vitest'
import { analyzeFiles } from '../../../test/support/analyze.js'
import type { Report } from '../../model/report.js'

const line = (time: string, id: number, logger: string, message: string, thread = 22): string =>
  `2025-10-22T${time}Z\tdebug\tenvoy ${logger} x.cc:1\t[Tags: "ConnectionId":"${id}"] ${message}\tthread=${thread}`
const opened = (time: string, id: number, ip = '10.0.0.9') => line(time, id, 'connection', `connecting to ${ip}:15008`)
const reset = (time: string, id: number, ip = '10.0.0.9') =>
  line(time, id, 'connection', `remote address:${ip}:15008,TLS_error:|33554536:system library:OPENSSL_internal:Connection reset by peer:TLS_error_end`)
const owner = (pod: string, from: string, to: string | null, more = {}) =>
  JSON.stringify({ ip: '10.0.0.9', pod, from: `2025-10-22T${from}Z`, to: to && `2025-10-22T${to}Z`, ...more })
const text = (...lines: string[]) => `${lines.join('\n')}\n`

const OLD_AND_NEW = text(owner('app-old', '09:00:00', '09:33:00'), owner('app-new', '09:34:30', null))
const stale = (r: Report) => r.findings.filter(f => f.rule === 'WC102')
const verdict = (r: Report) => r.verdicts.find(v => v.rule === 'WC102')?.verdict

describe('fires', () => {
  it('on a connection opened under one owner and reset under another', async () => {
    const r = await analyzeFiles({ 'w.log': text(opened('09:25:18.622171', 4255), reset('09:35:03.033051', 4255)), 'pods.jsonl': OLD_AND_NEW })
    expect(stale(r)).toMatchObject([
      { code: 'WC102.reset-by-new-owner', confidence: { level: 'certain' }, subject: { connection_id: '4255', previous_pod: 'app-old', pod: 'app-new' } },
    ])
    expect(verdict(r)).toBe('violated')
  })

  it('less surely where the times of the owners are approximate', async () => {
    const pods = text(owner('app-old', '09:00:00', '09:33:00', { note: 'approx' }), owner('app-new', '09:34:30', null, { note: 'approx' }))
    expect(stale(await analyzeFiles({ 'w.log': text(opened('09:25:18.622171', 1), reset('09:35:03.033051', 1)), 'pods.jsonl': pods }))[0]?.confidence.level).toBe('likely')
  })

  it('and only possibly where owners overlap', async () => {
    const pods = text(owner('app-old', '09:00:00', '09:40:00'), owner('app-new', '09:34:30', null))
    expect(stale(await analyzeFiles({ 'w.log': text(opened('09:25:18.622171', 1), reset('09:35:03.033051', 1)), 'pods.jsonl': pods }))).toMatchObject([
      { confidence: { level: 'possible' }, severity: 'low' },
    ])
  })

  it('the same with all clocks shifted, and files in another order', async () => {
    const shift = (s: string) => s.replaceAll('2025-10-22T09', '2025-10-23T03')
    const log = text(opened('09:25:18.622171', 4255), reset('09:35:03.033051', 4255))
    const r = await analyzeFiles({ 'z.log': shift(log), 'a.jsonl': shift(OLD_AND_NEW) })
    expect(stale(r).map(f => [f.code, f.confidence.level])).toEqual([['WC102.reset-by-new-owner', 'certain']])
  })

  it('with a fingerprint that other evidence does not change', async () => {
    const log = text(opened('09:25:18.622171', 4255), reset('09:35:03.033051', 4255))
    const one = await analyzeFiles({ 'w.log': log, 'pods.jsonl': OLD_AND_NEW })
    const two = await analyzeFiles({
      'w.log': text(opened('09:01:00.000000', 7, '10.0.0.8'), ...log.trim().split('\n')),
      'pods.jsonl': OLD_AND_NEW,
      'app.log': '[2025/10/22 09:00:00] [ info] hello\n',
    })
    expect(stale(two)[0]?.fingerprint).toBe(stale(one)[0]?.fingerprint)
  })
})

describe('does not fire', () => {
  it.each([
    ['the owner is the same all along', OLD_AND_NEW, text(opened('09:10:00.000000', 1), reset('09:20:00.000000', 1))],
    ['the connection was opened to the new owner', OLD_AND_NEW, text(opened('09:34:40.000000', 1), reset('09:35:03.033051', 1))],
    [
      'the peer closed it in order',
      OLD_AND_NEW,
      text(opened('09:25:18.622171', 1), line('09:35:03.033051', 1, 'connection', 'remote close'), line('09:35:03.033061', 1, 'connection', 'closing socket: 0')),
    ],
    ['nobody has the address yet', text(owner('app-old', '09:00:00', '09:33:00')), text(opened('09:25:18.622171', 1), reset('09:35:03.033051', 1))],
  ])('where %s', async (_, pods, log) => {
    const r = await analyzeFiles({ 'w.log': log, 'pods.jsonl': pods })
    expect(stale(r)).toEqual([])
    expect(verdict(r)).toBe('held')
  })

  it('where two processes share the log', async () => {
    const log = text(opened('09:10:00.000000', 4255, '10.0.0.7'), opened('09:25:18.622171', 4255), opened('09:26:00.000000', 4255, '10.0.0.6'), reset('09:35:03.033051', 4255))
    const r = await analyzeFiles({ 'w.log': log, 'pods.jsonl': OLD_AND_NEW })
    expect(stale(r)).toEqual([])
    expect(verdict(r)).toBe('not-evaluable')
    expect(r.findings.map(f => f.code)).toContain('WC100.id-conflict')
  })
})

describe('cannot be evaluated', () => {
  it.each(['w.log', 'pods.jsonl'])('without %s', async gone => {
    const files: Record<string, string> = {
      'w.log': text(opened('09:25:18.622171', 1), reset('09:35:03.033051', 1)),
      'pods.jsonl': OLD_AND_NEW,
      'app.log': '[2025/10/22 09:00:00] [ info] hello\n',
    }
    delete files[gone]
    const r = await analyzeFiles(files)
    expect(verdict(r)).toBe('not-evaluable')
    expect(r.verdicts.find(v => v.rule === 'WC102')?.missing.length).toBeGreaterThan(0)
  })
})
