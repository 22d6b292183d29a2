import { describe, expect, it } from 'vitest'
import { analyzeFiles } from '../../../test/support/analyze.js'
import type { Report } from '../../model/report.js'

const text = (...lines: string[]) => `${lines.join('\n')}\n`
const owner = (pod: string, from: string, to: string | null, note?: string) =>
  JSON.stringify({ ip: '10.0.0.9', pod, from: `2025-10-22T${from}Z`, to: to && `2025-10-22T${to}Z`, ...(note ? { note } : {}) })
const opened = (time: string, id: number, ip: string) => `2025-10-22T${time}Z\tdebug\tenvoy connection x.cc:1\t[Tags: "ConnectionId":"${id}"] connecting to ${ip}:15008\tthread=1`
const request = (start: string, id = 'r-1') =>
  JSON.stringify({
    start_time: `2025-10-22T${start}Z`,
    response_code: 200,
    response_flags: '-',
    response_code_details: 'via_upstream',
    duration: 5,
    method: 'GET',
    path: '/',
    protocol: 'HTTP/1.1',
    upstream_host: '10.0.0.9:80',
    request_id: id,
  })
const codes = (r: Report) => r.findings.filter(f => f.rule === 'WC100').map(f => f.code)

describe('says', () => {
  it('that two sources name two owners for one time', async () =>
    expect(codes(await analyzeFiles({ 'a.jsonl': text(owner('one', '09:00:00', '10:00:00')), 'b.jsonl': text(owner('two', '09:30:00', null)) }))).toEqual(['WC100.owner-conflict']))

  it('that one log holds two processes', async () =>
    expect(codes(await analyzeFiles({ 'e.log': text(opened('09:00:00.000001', 5, '10.0.0.1'), opened('09:00:01.000001', 5, '10.0.0.2')) }))).toEqual(['WC100.id-conflict']))

  it('that a text names two ids for one connection', async () => {
    const r = await analyzeFiles({
      'report.txt': text(
        'A new HBONE connection (ID: 7009) being established to Pod-aaa at IP 10.90.142.96.',
        'It reuses the existing connection (ID: 79097) that was originally established to Pod-aaa.',
      ),
    })
    expect(codes(r)).toEqual(['WC100.id-conflict'])
    expect(r.findings[0]?.claims[0]?.evidence.map(e => e.line)).toEqual([1, 2])
  })

  it('that two clocks are an hour apart', async () =>
    expect(
      codes(
        await analyzeFiles({ 'a.json': text(request('09:00:00.000'), request('09:00:10.000', 'r-2')), 'b.json': text(request('10:00:00.002'), request('10:00:10.003', 'r-2')) }),
      ),
    ).toEqual(['WC100.clock-conflict']))
})

describe('does not say so of', () => {
  it.each([
    ['owners that follow one another', { 'a.jsonl': text(owner('one', '09:00:00', '09:30:02'), owner('two', '09:30:00', null)) }],
    ['approximate owners', { 'a.jsonl': text(owner('one', '09:00:00', '10:00:00', 'approx'), owner('two', '09:30:00', null, 'approx')) }],
    ['ids a little out of order', { 'e.log': text(opened('09:00:00.000001', 6, '10.0.0.1'), opened('09:00:00.000002', 5, '10.0.0.2')) }],
    ['two hops of one request', { 'a.json': text(request('09:00:00.000')), 'b.json': text(request('09:00:00.004')) }],
    ['one id that a text names twice', { 'report.txt': text('connection (ID: 7) established to Pod-a at IP 10.0.0.1.', 'the connection (ID: 7) that was established to Pod-a.') }],
  ])('%s', async (_, files) => expect(codes(await analyzeFiles(files))).toEqual([]))
})
