import { describe, expect, it } from 'vitest'
import { analyzeFiles } from '../../../test/support/analyze.js'
import { ACK, BASE, connection, FIN, type Frame, handshake, type Line, pcapFile, PSH, RST } from '../../../test/support/packets.js'
import type { Report } from '../../model/report.js'

/** Seconds after the first packet. */
const iso = (s: number): string => new Date((BASE + s) * 1000).toISOString()
const text = (...lines: string[]): string => `${lines.join('\n')}\n`
const owner = (pod: string, from: number, to: number | null): string => JSON.stringify({ ip: '10.0.0.2', pod, from: iso(from), to: to === null ? null : iso(to) })
const OWNERS = text(owner('shop/old', -600, 60), owner('shop/new', 90, null))

const request = (t: number, seq = 1): Line => ({ t, client: true, flags: PSH | ACK, seq, ack: 1, payload: 'GET / HTTP/1.1\r\n\r\n' })
const SIZE = 18
const answer = (t: number): Line => ({ t, client: false, flags: PSH | ACK, seq: 1, ack: 1 + SIZE, payload: 'HTTP/1.1 200 OK\r\n\r\n' })
const rst = (t: number): Line => ({ t, client: false, flags: RST, seq: 20 })
const again = (t: number): Line => request(t, 1 + SIZE)
const capture = (...frames: Frame[][]): Buffer => pcapFile(frames.flat().sort((a, b) => a.t - b.t))

const stale = (r: Report) => r.findings.filter(f => f.rule === 'WC102')
const verdict = (r: Report) => r.verdicts.find(v => v.rule === 'WC102')?.verdict
const record = (start: number, more: object = {}): string =>
  text(
    JSON.stringify({
      start_time: iso(start),
      method: 'GET',
      path: '/',
      protocol: 'HTTP/1.1',
      response_code: 503,
      response_flags: 'UC',
      response_code_details: 'upstream_reset_before_response_started{connection_termination}',
      bytes_received: 0,
      bytes_sent: 95,
      duration: 2,
      upstream_host: '10.0.0.2:8080',
      upstream_local_address: '10.0.0.1:40000',
      upstream_cluster: 'c',
      request_id: `r-${start}`,
      ...more,
    }),
  )
const line = (t: number, id: number, logger: string, message: string): string =>
  `[${iso(t).slice(0, 23).replace('T', ' ')}][7][debug][${logger}] [source/x.cc:1] [Tags: "ConnectionId":"${id}"] ${message}`

describe('a capture alone', () => {
  const session = connection([...handshake(0), request(1), answer(1.001), again(100), rst(100.001)])

  it('shows a connection of the old owner that the new one resets', async () => {
    const r = await analyzeFiles({ 'gw.pcap': capture(session), 'pods.jsonl': OWNERS })
    expect(stale(r)).toMatchObject([
      {
        code: 'WC102.reset-by-new-owner',
        confidence: { level: 'certain' },
        severity: 'high',
        subject: { local: '10.0.0.1:40000', remote: '10.0.0.2:8080', previous_pod: 'shop/old', pod: 'shop/new' },
      },
    ])
    expect(stale(r)[0]?.claims.flatMap(c => c.evidence.flatMap(e => (e.frame === null ? [] : [e.frame])))).toEqual([1, 7])
    expect(stale(r)[0]?.subject.connection_id).toBeUndefined()
  })
  it('or does not answer', async () => {
    const silent = connection([...handshake(0), request(1), answer(1.001), again(100), again(100.2), again(100.6), again(101.4), again(103)])
    const r = await analyzeFiles({ 'gw.pcap': capture(silent), 'pods.jsonl': OWNERS })
    expect(stale(r)).toMatchObject([{ code: 'WC102.silent-after-reuse', interval: { from: iso(0).replace('.000Z', 'Z') } }])
  })
  it('that begins in mid-stream shows it too', async () => {
    const r = await analyzeFiles({ 'gw.pcap': capture(connection([request(1), answer(1.001), again(100), rst(100.001)])), 'pods.jsonl': OWNERS })
    expect(stale(r).map(f => f.code)).toEqual(['WC102.reset-by-new-owner'])
  })
  it('links the failed requests of both ends of the connection, and those of no other', async () => {
    const r = await analyzeFiles({
      'gw.pcap': capture(session),
      'pods.jsonl': OWNERS,
      'access.json': record(100) + record(100.1, { upstream_local_address: '10.0.0.1:40001', request_id: 'other' }),
    })
    expect(r.failures.list.map(f => [f.request_id, f.cause])).toEqual([
      ['r-100', 'WC102.reset-by-new-owner'],
      ['other', 'WC104.reset-before-response'],
    ])
  })
  it('counts connections to the new owner as controls', async () => {
    const fresh = connection([...handshake(120), request(121), answer(121.001)], { client: '10.0.0.1:40009', isn: 7, serverIsn: 9 })
    expect(stale(await analyzeFiles({ 'gw.pcap': capture(session, fresh), 'pods.jsonl': OWNERS }))[0]?.controls).toMatchObject([{ checked: 1, passed: 1 }])
  })
})

describe('does not fire on', () => {
  it.each([
    ['a connection that was opened to the new owner', connection([...handshake(95), request(96), answer(96.001), again(100), rst(100.001)])],
    ['one that the old owner reset', connection([...handshake(0), request(1), answer(1.001), again(30), rst(30.001)])],
    [
      'one that was closed in order',
      connection([
        ...handshake(0),
        request(1),
        answer(1.001),
        { t: 59, client: false, flags: FIN | ACK, seq: 20, ack: 1 + SIZE },
        { t: 59.001, client: true, flags: FIN | ACK, seq: 1 + SIZE, ack: 21 },
        { t: 59.002, client: false, seq: 21, ack: 2 + SIZE },
      ]),
    ],
    ['one that nobody writes to after the change', connection([...handshake(0), request(1), answer(1.001)])],
  ])('%s', async (_, session) => {
    const r = await analyzeFiles({ 'gw.pcap': capture(session), 'pods.jsonl': OWNERS })
    expect([stale(r), verdict(r)]).toEqual([[], 'held'])
  })
  it('one that is answered after the change more than possibly: then the timeline or a clock is wrong', async () => {
    const lives = connection([
      ...handshake(0),
      request(1),
      answer(1.001),
      again(100),
      { t: 100.001, client: false, flags: PSH | ACK, seq: 20, ack: 1 + 2 * SIZE, payload: 'HTTP/1.1 200 OK\r\n\r\n' },
      request(130, 1 + 2 * SIZE),
      { t: 130.001, client: false, flags: RST, seq: 39 },
    ])
    expect(stale(await analyzeFiles({ 'gw.pcap': capture(lives), 'pods.jsonl': OWNERS }))).toMatchObject([{ confidence: { level: 'possible' }, severity: 'low' }])
  })
})

describe('log and capture', () => {
  const session = connection([...handshake(0), request(1), answer(1.001), again(100), rst(100.001)])
  const log = text(
    line(0, 9, 'connection', 'connecting to 10.0.0.2:8080'),
    line(0.002, 9, 'connection', 'connected'),
    line(100, 9, 'pool', 'using existing fully connected connection'),
    line(100.002, 9, 'connection', 'closing socket: 0'),
  )

  it('are one finding about one connection, which knows its id and its port', async () => {
    const r = await analyzeFiles({ 'gw.pcap': capture(session), 'debug.log': log, 'pods.jsonl': OWNERS })
    expect(stale(r)).toMatchObject([{ subject: { connection_id: '9', local: '10.0.0.1:40000' } }])
    expect(r.verdicts.find(v => v.rule === 'WC102')).toMatchObject({ checked: 1, findings: 1 })
    expect(new Set(stale(r)[0]?.claims.flatMap(c => c.evidence.map(e => e.path)))).toEqual(new Set(['debug.log', 'gw.pcap', 'pods.jsonl']))
  })
  it('give the fingerprint that either gives alone', async () => {
    const both = stale(await analyzeFiles({ 'gw.pcap': capture(session), 'debug.log': log, 'pods.jsonl': OWNERS }))[0]
    for (const files of [{ 'gw.pcap': capture(session) }, { 'debug.log': log }] as Record<string, string | Buffer>[]) {
      const one = stale(await analyzeFiles({ ...files, 'pods.jsonl': OWNERS }))[0]
      expect([both?.fingerprint, ...(both?.aliases ?? [])]).toContain(one?.fingerprint)
    }
  })
  it('take the port from an access record that names the connection', async () => {
    const access = record(100, { upstream_connection_id: 9 })
    const r = await analyzeFiles({ 'debug.log': log, 'pods.jsonl': OWNERS, 'access.json': access })
    expect(stale(r)).toMatchObject([{ subject: { connection_id: '9', local: '10.0.0.1:40000' } }])
    expect(r.failures.list.map(f => f.cause)).toEqual(['WC102.reset-by-new-owner'])
  })
})
