import { describe, expect, it } from 'vitest'
import { collect, type Row } from '../../test/support/collect.js'
import { ACK, at, BASE, connection, cooked, cooked2, ethernet, FIN, type Frame, handshake, icmpError, type Line, pcapFile, PSH, RST, SYN, tcp } from '../../test/support/packets.js'
import { pcap } from '../formats/pcap/parser.js'
import { limits } from '../limits.js'

const ns = (t: number): bigint => BigInt(BASE) * 1_000_000_000n + BigInt(Math.round(t * 1e6)) * 1000n
const read = (frames: readonly Frame[], link = 1) => collect(pcap, pcapFile(frames, { link }))
const follow = (lines: readonly Line[], o: Parameters<typeof connection>[1] = {}) => read(connection(lines, o))
const only = (lines: readonly Line[], o: Parameters<typeof connection>[1] = {}): Row => {
  const { session } = follow(lines, o).rows
  expect(session).toHaveLength(1)
  return session[0]!
}
const kinds = (rows: readonly Row[]): string[] => rows.map(r => `${r.span.frame} ${r.kind}`)

const REQUEST = 'GET / HTTP/1.1\r\n\r\n'
const ANSWER = 'HTTP/1.1 204 No Content\r\n\r\n'
const request = (t: number, seq = 1, ack = 1): Line => ({ t, client: true, flags: PSH | ACK, seq, ack, payload: REQUEST })
const answer = (t: number, seq = 1, ack = 19): Line => ({ t, client: false, flags: PSH | ACK, seq, ack, payload: ANSWER })
const exchange = [...handshake(), request(1), { t: 1.001, client: false, seq: 1, ack: 19 }, answer(1.2), { t: 1.201, client: true, seq: 19, ack: 28 }]
const close = (t: number): Line[] => [
  { t, client: true, flags: FIN | ACK, seq: 19, ack: 28 },
  { t: t + 0.001, client: false, flags: FIN | ACK, seq: 28, ack: 20 },
  { t: t + 0.002, client: true, seq: 20, ack: 29 },
]

describe('a session', () => {
  it('is told from its first packet to its last', () => {
    const out = follow([...exchange, ...close(3)])
    expect(out.rows.session).toMatchObject([
      {
        t: ns(0),
        span: { frame: 1 },
        capture: null,
        client_ip: '10.0.0.1',
        client_port: 40_000,
        server_ip: '10.0.0.2',
        server_port: 8080,
        t_syn: ns(0),
        t_established: ns(0.002),
        t_first: ns(0),
        t_last: ns(3.002),
        t_client_last: ns(3.002),
        t_server_last: ns(3.001),
        client_bytes: 18n,
        server_bytes: 27n,
        client_packets: 6,
        server_packets: 4,
        client_retransmissions: 0,
        server_retransmissions: 0,
        t_client_unacked: null,
        t_server_unacked: null,
        keepalive_probes: 0,
        zero_windows: 0,
        icmp_errors: 0,
        ended: 'fin',
        ended_by: 'client',
        mid_stream: false,
        history: 'ShADadFf',
        sni: null,
      },
    ])
    expect(kinds(out.rows.packet)).toEqual(['1 syn', '2 synack', '4 first', '6 first', '8 fin', '9 fin'])
  })

  it('shows the last payload of each side where nothing else shows it, with the row of the session', () => {
    const out = follow([...exchange, request(2, 19, 28), answer(2.1, 28, 37)])
    expect(kinds(out.rows.packet)).toEqual(['1 syn', '2 synack', '4 first', '6 first', '8 last', '9 last'])
    expect(out.rows.packet.slice(-2)).toMatchObject([
      { src_ip: '10.0.0.1', src_port: 40_000, dst_port: 8080, seq: 1019n, ack: 5_000_028n, length: 18, session: 0n },
      { src_ip: '10.0.0.2', dst_ip: '10.0.0.1', length: 27, session: 0n },
    ])
  })

  it('counts over the wrap of sequence numbers', () => {
    expect(only([...exchange, ...close(3)], { isn: 0xffff_fffa, serverIsn: 0x7fff_fff0 })).toMatchObject({
      client_bytes: 18n,
      server_bytes: 27n,
      client_retransmissions: 0,
      ended: 'fin',
    })
  })

  it('is the same for IPv6', () => {
    expect(only([...exchange, ...close(3)], { client: '[fd00::1]:40000', server: '[fd00::2]:8080' })).toMatchObject({
      client_ip: 'fd00::1',
      server_ip: 'fd00::2',
      client_bytes: 18n,
      history: 'ShADadFf',
    })
  })

  it('has the server name of its TLS hello', () => {
    const name = Buffer.from('Cart.Shop.Example')
    const extension = Buffer.concat([Buffer.from([0, 0, 0, name.length + 5, 0, name.length + 3, 0, 0, name.length]), name])
    const other = Buffer.from([0, 23, 0, 0])
    const body = Buffer.concat([Buffer.from([3, 3]), Buffer.alloc(32), Buffer.from([0, 0, 2, 0x13, 1, 1, 0, 0, extension.length + other.length]), other, extension])
    const hello = Buffer.concat([Buffer.from([0x16, 3, 1, 0, body.length + 4, 1, 0, 0, body.length]), body])
    const said = { ...request(1), payload: hello }
    expect(only([...handshake(), said]).sni).toBe('cart.shop.example')
    for (let cut = 0; cut < hello.length; cut++) expect(only([...handshake(), { ...said, payload: hello.subarray(0, cut) }]).sni).toBeNull()
  })
})

describe('how it ended', () => {
  it.each<[string, Line[], string, string | null, string]>([
    ['reset by the server', [...exchange, { t: 2, client: false, flags: RST, seq: 28 }], 'rst', 'server', 'ShADadr'],
    ['reset by the client', [...exchange, { t: 2, client: true, flags: RST | ACK, seq: 19, ack: 28 }], 'rst', 'client', 'ShADadR'],
    ['refused', [handshake()[0]!, { t: 0.001, client: false, flags: RST | ACK, seq: -5_000_000, ack: 1 }], 'refused', 'server', 'Sr'],
    [
      'never answered',
      [
        { t: 0, client: true, flags: SYN, seq: 0 },
        { t: 1, client: true, flags: SYN, seq: 0 },
        { t: 3, client: true, flags: SYN, seq: 0 },
      ],
      'none',
      null,
      'ST',
    ],
    ['still open', exchange, 'open', null, 'ShADad'],
    ['half closed', [...exchange, { t: 2, client: false, flags: FIN | ACK, seq: 28, ack: 19 }, { t: 2.1, client: true, seq: 19, ack: 29 }], 'fin', 'server', 'ShADadf'],
    ['closed, with a reset as farewell', [...exchange, ...close(2), { t: 2.1, client: false, flags: RST, seq: 29 }], 'fin', 'client', 'ShADadFfr'],
    [
      'reset after the close of one side',
      [...exchange, { t: 2, client: false, flags: FIN | ACK, seq: 28, ack: 19 }, request(2.01, 19, 29), { t: 2.02, client: false, flags: RST, seq: 29 }],
      'rst',
      'server',
      'ShADadfr',
    ],
    [
      'reset with a request unread, though both sides said goodbye',
      [
        ...exchange,
        request(2, 19, 28),
        { t: 2.01, client: false, flags: FIN | ACK, seq: 28, ack: 19 },
        { t: 2.02, client: true, flags: FIN | ACK, seq: 37, ack: 29 },
        { t: 2.03, client: false, flags: RST, seq: 28 },
      ],
      'rst',
      'server',
      'ShADadfFr',
    ],
  ])('%s', (_, lines, ended, ended_by, history) => {
    expect(only(lines)).toMatchObject({ ended, ended_by, history })
  })

  it('goes on when a client resets an answer to an older connection and tries again', () => {
    const [syn] = handshake()
    expect(
      only([syn!, { t: 0.1, client: false, seq: 77, ack: 900 }, { t: 0.2, client: true, flags: RST, seq: 900 }, { ...syn!, t: 1 }, ...handshake(2).slice(1), request(3)]),
    ).toMatchObject({ ended: 'open', client_retransmissions: 1 })
  })
})

describe('retransmissions', () => {
  it('are segments whose bytes were all sent before', () => {
    const out = follow([...handshake(), request(1), request(1.2), request(1.6), { t: 1.7, client: false, seq: 1, ack: 19 }])
    expect(out.rows.session).toMatchObject([{ client_bytes: 18n, client_retransmissions: 2, server_retransmissions: 0, t_client_unacked: null, history: 'ShADTa' }])
    expect(kinds(out.rows.packet)).toEqual(['1 syn', '2 synack', '4 first', '5 retransmission', '6 retransmission'])
  })

  it('may repeat the tail only, as a tail-loss probe does', () => {
    const long = { ...request(1), payload: 'x'.repeat(2000) }
    expect(only([...handshake(), long, { ...request(1.005, 1501), payload: 'x'.repeat(500) }])).toMatchObject({
      client_bytes: 2000n,
      client_retransmissions: 1,
      t_client_unacked: ns(1),
    })
  })

  it('are none where a probe carries new bytes, or old and new ones', () => {
    const more = (t: number, seq: number): Line => ({ ...request(t, seq), payload: 'x'.repeat(100) })
    expect(only([...handshake(), more(1, 1), more(1.2, 101), more(1.4, 151)])).toMatchObject({ client_bytes: 250n, client_retransmissions: 0 })
  })

  it('are none where the capture shows packets out of order', () => {
    const part = (t: number, seq: number): Line => ({ ...request(t, seq), payload: 'x'.repeat(100) })
    expect(only([...handshake(), part(1, 1), part(1.1, 301), part(1.2, 101), part(1.3, 201), part(1.4, 201)])).toMatchObject({
      client_bytes: 400n,
      client_retransmissions: 1,
      history: 'ShADGT',
    })
  })

  it('are counted for SYN and FIN too, which keep their kind', () => {
    const fin: Line = { t: 2, client: true, flags: FIN | ACK, seq: 19, ack: 28 }
    const out = follow([{ t: -1, client: true, flags: SYN, seq: 0 }, ...exchange, fin, { ...fin, t: 2.2 }])
    expect(out.rows.session).toMatchObject([{ client_retransmissions: 2, ended: 'fin' }])
    expect(out.rows.packet.filter(p => p.detail === 'retransmission').map(p => [p.span.frame, p.kind])).toEqual([
      [2, 'syn'],
      [10, 'fin'],
    ])
  })
})

describe('probes', () => {
  it.each(['', 'x'])('are keep-alives one byte before what comes next, with payload %j', payload => {
    const probe = (t: number): Line => ({ t, client: true, seq: 18, ack: 28, payload })
    const out = follow([...exchange, probe(10), { t: 10.001, client: false, seq: 28, ack: 19 }, probe(20), probe(25)])
    expect(out.rows.session).toMatchObject([{ keepalive_probes: 3, client_retransmissions: 0, client_bytes: 18n, t_client_unacked: null, history: 'ShADadK' }])
    expect(kinds(out.rows.packet).slice(4)).toEqual(['8 keepalive', '10 keepalive', '11 keepalive'])
  })

  it('of a closed window are neither keep-alives nor retransmissions', () => {
    const closed = (t: number): Line => ({ t, client: false, seq: 28, ack: 19, window: 0 })
    const out = follow([...exchange, closed(2), { t: 2.2, client: true, seq: 18, ack: 28 }, closed(2.201), { t: 2.6, client: true, seq: 18, ack: 28, payload: 'x' }, closed(2.601)])
    expect(out.rows.session).toMatchObject([{ zero_windows: 3, keepalive_probes: 0, client_retransmissions: 0, history: 'ShADadw' }])
    expect(kinds(out.rows.packet).slice(4)).toEqual(['9 probe', '11 probe'])
  })

  it('are retransmissions where the one byte was never acknowledged', () => {
    const key: Line = { t: 2, client: true, seq: 19, ack: 28, payload: 'k' }
    expect(only([...exchange, key, { ...key, t: 2.2 }])).toMatchObject({ client_retransmissions: 1, keepalive_probes: 0 })
  })
})

describe('the first byte that was never acknowledged', () => {
  const part = (t: number, seq: number): Line => ({ ...request(t, seq), payload: 'x'.repeat(100) })

  it('is dated by its first transmission, and its frame is shown', () => {
    const out = follow([...handshake(), part(1, 1), part(2, 101), part(3, 201), { t: 3.1, client: false, seq: 1, ack: 101 }, part(3.5, 101), part(4, 101)])
    expect(out.rows.session).toMatchObject([{ t_client_unacked: ns(2), client_retransmissions: 2 }])
    expect(out.rows.packet.filter(p => p.session !== null)).toMatchObject([
      { t: ns(2), span: { frame: 5 }, kind: null, detail: 'its first byte was never acknowledged', length: 100 },
      { t: ns(3), span: { frame: 6 }, kind: 'last', detail: null },
    ])
  })

  it('may lie in the middle of a segment', () => {
    expect(only([...handshake(), part(1, 1), { t: 3.1, client: false, seq: 1, ack: 51 }])).toMatchObject({ t_client_unacked: ns(1) })
  })

  it('is known for each side', () => {
    expect(only([...exchange, answer(5, 28)])).toMatchObject({ t_client_unacked: null, t_server_unacked: ns(5) })
  })

  it('is not claimed from a capture that shows one direction', () => {
    const all = [...exchange, request(2, 19, 28), answer(2.1, 28, 37), { t: 2.2, client: true, seq: 37, ack: 55 }]
    expect(only(all.filter(l => l.client))).toMatchObject({ server_packets: 0, t_client_unacked: null })
    expect(only(all.filter(l => !l.client))).toMatchObject({ client_packets: 0, t_server_unacked: null })
  })

  it('is what it was after a reset that acknowledges nothing', () => {
    expect(only([...exchange, request(2, 19, 28), { t: 2.001, client: false, flags: RST, seq: 28 }])).toMatchObject({ ended: 'rst', t_client_unacked: ns(2) })
  })
})

describe('a capture that begins in the middle', () => {
  it('takes the higher port for the client', () => {
    for (const first of [true, false]) {
      const lines = first ? [request(1), answer(1.1)] : [answer(1.1), request(1.2, 19, 28)]
      expect(only(lines)).toMatchObject({ mid_stream: true, client_port: 40_000, server_port: 8080, t_syn: null, t_established: null, client_bytes: 18n, ended: 'open' })
    }
  })

  it('knows a server by an earlier SYN to its port', () => {
    const out = read([...connection(handshake(), { server: '10.0.0.2:50051' }), ...connection([answer(1), request(1.1)], { client: '10.0.0.1:33000', server: '10.0.0.2:50051' })])
    expect(out.rows.session.map(s => s.server_port)).toEqual([50_051, 50_051])
  })

  it('knows both sides from a SYN,ACK', () => {
    const lines = handshake().slice(1)
    expect(only([...lines, request(1)], { client: '10.0.0.1:1024' })).toMatchObject({ mid_stream: false, client_port: 1024, t_syn: null, t_established: ns(0.002), history: 'hAD' })
  })

  it('joins a SYN that the capture shows after its answer', () => {
    const [syn, synack, ack] = handshake() as [Line, Line, Line]
    expect(only([synack, syn, ack, request(1)])).toMatchObject({ t_syn: ns(0), client_retransmissions: 0, history: 'hSAD' })
  })
})

describe('ports used again', () => {
  const again = (t: number): Frame[] => connection([...handshake(t), request(t + 1)], { isn: 900_000, serverIsn: 77 })

  it('begin a new session after the end of the old one', () => {
    const out = read([...connection([...exchange, ...close(3)]), ...again(60)])
    expect(out.rows.session.map(s => [s.ended, s.t_first, s.client_bytes])).toEqual([
      ['fin', ns(0), 18n],
      ['open', ns(60), 18n],
    ])
  })

  it('end a session whose end was not seen', () => {
    const out = read([...connection(exchange), ...again(900)])
    expect(out.rows.session.map(s => s.ended)).toEqual(['none', 'open'])
    expect(out.rows.packet.filter(p => p.kind === 'syn').map(p => p.span.frame)).toEqual([1, 8])
  })

  it('begin one without SYN where numbers are far from the closed one', () => {
    const out = read([...connection([...exchange, ...close(3)]), ...connection([request(60)], { isn: 900_000_000, serverIsn: 77 })])
    expect(out.rows.session.map(s => s.mid_stream)).toEqual([false, true])
  })
})

describe('the same packet on several interfaces', () => {
  const packets = (v6: boolean): [number, Buffer][] => {
    const [from, to] = v6 ? ['[fd00::1]:40000', '[fd00::2]:80'] : ['10.0.0.1:40000', '10.0.0.2:80']
    return [
      [0, tcp({ from, to, flags: SYN, seq: 0, id: 1 })],
      [1, tcp({ from, to, seq: 1, ack: 1, payload: 'x'.repeat(100), id: 2 })],
      [1.2, tcp({ from, to, seq: 1, ack: 1, payload: 'x'.repeat(100), id: 3 })],
    ]
  }
  const expected = { client_packets: 3, client_bytes: 100n, client_retransmissions: 1 }

  it.each([false, true])('counts once in a cooked capture with interface numbers (IPv6: %s)', v6 => {
    const frames = packets(v6).flatMap(([t, p]) => [at(t, cooked2(p, 7, 0)), at(t + 0.000_04, cooked2(p, 8, 4)), at(t + 0.000_05, cooked2(p, 2, 4))])
    const out = read(frames, 276)
    expect(out.rows.session).toMatchObject([expected])
    expect(out.recordCount).toBe(9)
    expect(out.rows.packet.map(p => [p.kind, p.detail])).toEqual([
      ['syn', 'ifindex 7 In'],
      ['first', 'ifindex 7 In'],
      ['retransmission', 'ifindex 7 In'],
    ])
  })

  it.each([false, true])('counts once in a cooked capture without (IPv6: %s)', v6 => {
    expect(
      read(
        packets(v6).flatMap(([t, p]) => [at(t, cooked(p, 0)), at(t + 0.000_04, cooked(p, 0))]),
        113,
      ).rows.session,
    ).toMatchObject([expected])
  })

  it('counts once where a port mirror shows it twice', () => {
    expect(read(packets(false).flatMap(([t, p]) => [at(t, ethernet(p)), at(t + 0.000_04, ethernet(p))])).rows.session).toMatchObject([expected])
  })

  it('counts twice where one interface shows equal packets that carry no number', () => {
    expect(read(packets(true).flatMap(([t, p]) => [at(t, ethernet(p)), at(t + 0.000_04, ethernet(p))])).rows.session).toMatchObject([{ client_retransmissions: 4 }])
  })
})

describe('ICMP errors', () => {
  it('are counted for the session whose segment they quote', () => {
    const quoted = tcp({ from: '10.0.0.1:40000', to: '10.0.0.2:8080', seq: 1001, ack: 5_000_001 })
    const error = (t: number, type: number): Frame => at(t, ethernet(icmpError('192.0.2.9', '10.0.0.1', type, 1, quoted)))
    const out = read([...connection([...handshake(), request(1)]), error(1.1, 3), error(1.5, 3), error(1.6, 5)])
    expect(out.rows.session).toMatchObject([{ icmp_errors: 2, history: 'ShADE' }])
    expect(out.rows.packet.filter(p => p.kind === 'icmp')).toHaveLength(3)
  })
})

describe('more sessions than are followed', () => {
  const crowd = Array.from({ length: limits.sessions + 50 }, (_, i) =>
    at(100 + i / 1e6, ethernet(tcp({ from: `10.1.${i >> 14}.1:${1024 + (i & 16_383)}`, to: '10.0.0.2:80', flags: SYN, seq: 7 }))),
  )

  it('cut the longest idle one in two, say so, and join what comes later to it', () => {
    const out = read([...connection(exchange), ...crowd, ...connection([request(200, 19, 28), answer(200.1, 28, 37)])])
    const halves = out.rows.session.filter(s => s.client_port === 40_000)
    expect(halves).toMatchObject([
      { t_first: ns(0), t_syn: ns(0), ended: 'none', history: 'ShADad~', client_bytes: 18n },
      { t_first: ns(200), t_syn: ns(0), t_established: ns(0.002), ended: 'open', history: '~Dd', client_bytes: 18n, mid_stream: true },
    ])
    expect(out.notes.map(n => n.kind)).toEqual(Array(52).fill('limit'))
    expect(out.rows.session).toHaveLength(limits.sessions + 52)
  })

  it('let closed ones go first, silently', () => {
    const out = read([
      ...connection(exchange),
      ...connection(
        [...exchange, ...close(5)].map(l => ({ ...l, t: l.t + 10 })),
        { client: '10.0.0.9:50000' },
      ),
      ...crowd.slice(0, limits.sessions - 1),
    ])
    expect(out.notes).toEqual([])
    expect(out.rows.session[0]).toMatchObject({ client_port: 50_000, ended: 'fin' })
  })
})
