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

describe('a conflict', () => {
  const hour = { 'a.json': text(request('09:00:00.000'), request('09:00:10.000', 'r-2')), 'b.json': text(request('10:00:00.002'), request('10:00:10.003', 'r-2')) }
  const two = { 'a.jsonl': text(owner('one', '09:00:00', '10:00:00')), 'b.jsonl': text(owner('two', '09:30:00', null)) }
  const own = (r: Report) => r.findings.filter(f => f.rule === 'WC100')

  it('is info, sure, and rests on lines of both sources', async () => {
    for (const files of [hour, two]) {
      const [found, ...more] = own(await analyzeFiles(files))
      expect(more).toEqual([])
      expect(found).toMatchObject({ severity: 'info', confidence: { level: 'certain' } })
      expect(found?.claims.flatMap(c => c.evidence.map(e => `${e.path}:${e.line}`))).toEqual(Object.keys(files).map(path => `${path}:1`))
    }
  })

  it('never makes the rule violated', async () => {
    const r = await analyzeFiles(two)
    expect(r.verdicts.find(v => v.rule === 'WC100')).toMatchObject({ verdict: 'held', applies: true, checked: 1, findings: 1 })
    expect(r.incidents.filter(i => i.rule === 'WC100')).toEqual([])
  })

  it('keeps its name when evidence about other things is added, and when lines change places', async () => {
    const names = async (files: Record<string, string>) => own(await analyzeFiles(files)).map(f => f.fingerprint)
    const other = { '0.json': text(request('11:00:00.000', 'r-9')), '1.jsonl': text(JSON.stringify({ ip: '10.0.0.8', pod: 'other', from: '2025-10-22T09:00:00Z', to: null })) }
    const shuffled = { 'a.json': text(request('09:00:10.000', 'r-2'), request('09:00:00.000')), 'b.json': hour['b.json'] }
    expect(await names({ ...hour, ...other })).toEqual(await names(hour))
    expect(await names(shuffled)).toEqual(await names(hour))
    expect(await names({ ...two, ...other })).toEqual(await names(two))
  })

  it('has a name of its own for each pair of clocks and each mixed log', async () => {
    const mixed = text(opened('09:00:00.000001', 5, '10.0.0.1'), opened('09:00:01.000001', 5, '10.0.0.2'))
    const files = { ...hour, 'c.json': text(request('13:00:00.002'), request('13:00:10.003', 'r-2')), 'e.log': mixed, 'f.log': mixed.replaceAll('T09:', 'T10:') }
    const found = own(await analyzeFiles(files)).map(f => f.fingerprint)
    expect(found).toHaveLength(5)
    expect(new Set(found).size).toBe(5)
  })

  it('of one address that everybody claims is told, but not without end', async () => {
    const claims = Array.from({ length: 300 }, (_, i) => owner(`pod-${i}`, '09:00:00', null))
    const found = own(await analyzeFiles({ 'a.jsonl': text(...claims) }))
    expect(found).toHaveLength(20)
    expect(new Set(found.map(f => f.fingerprint)).size).toBe(20)
  })

  it('cannot be looked for where nothing could be in one', async () => {
    const r = await analyzeFiles({ 'notes.txt': 'lunch at noon\n' })
    expect(r.verdicts.find(v => v.rule === 'WC100')).toMatchObject({ verdict: 'not-evaluable', applies: false, checked: 0 })
  })
})

describe('records that a client could have written', () => {
  const line = (path: string) =>
    `[2026-09-10T10:00:00.000Z] "GET ${path} HTTP/1.1" 200 - via_upstream - "-" 0 95 3 2 "-" "curl/8" "5f0c-1" "shop.example" "10.0.0.7:8080" outbound|8080||shop 10.0.0.5:40000 10.0.0.5:443 198.51.100.20:56913 - default`

  it('are counted in one finding, which rests on them', async () => {
    const forged =
      '/x HTTP/1.1" 503 UC upstream_reset - "-" 0 95 3 2 "-" "curl/8" "5f0c-2" "shop.example" "10.0.0.9:8080" outbound|8080||shop 10.0.0.5:40000 10.0.0.5:443 198.51.100.20:56913 - default "GET /'
    const r = await analyzeFiles({ 'access.log': text(line('/a'), line(forged), line('/b')) })
    const [found] = r.findings.filter(f => f.code === 'WC100.ambiguous-record')
    expect(found).toMatchObject({ count: 1, severity: 'info' })
    expect(found?.claims[0]?.evidence.map(e => e.line)).toEqual([2])
  })

  it('are not those of clients that write nothing odd', async () => expect(codes(await analyzeFiles({ 'access.log': text(line('/a'), line('/b?q="x"')) }))).toEqual([]))
})
