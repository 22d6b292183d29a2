import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { collect } from '../../../test/support/collect.js'
import { ACK, at, BASE, connection, ethernet, type Frame, handshake, pcapFile, RST, SYN, tcp } from '../../../test/support/packets.js'
import { readWell, survives } from '../../../test/support/robust.js'
import { limits } from '../../limits.js'
import { pcap } from './parser.js'

const syn = (t: number, port = 40_000): Frame => at(t, ethernet(tcp({ from: `10.0.0.1:${port}`, to: '10.0.0.2:80', flags: SYN, seq: 7 })))
const HEADER = 24
const SYN_RECORD = 16 + 14 + 20 + 20

describe('pcap', () => {
  it.each([
    ['microseconds, little-endian', {}, 123_456_000n],
    ['microseconds, big-endian', { big: true }, 123_456_000n],
    ['nanoseconds, little-endian', { nano: true }, 123_456_789n],
    ['nanoseconds, big-endian', { nano: true, big: true }, 123_456_789n],
  ])('reads %s', (_, options, fraction) => {
    const bytes = pcapFile([syn(5.123_456_789)], options)
    expect(pcap.sniff(bytes, { path: '', reference: null, zoneMinutes: null, accessLogFormats: [] })).toBe(1)
    const { packet } = readWell(pcap, bytes).rows
    expect(packet).toHaveLength(1)
    expect(packet[0]).toMatchObject({
      t: BigInt(BASE + 5) * 1_000_000_000n + fraction,
      src_ip: '10.0.0.1',
      src_port: 40_000,
      dst_ip: '10.0.0.2',
      dst_port: 80,
      protocol: 'TCP',
      seq: 7n,
      ack: null,
      tcp_flags: 'SYN',
      length: 0,
      kind: 'syn',
      detail: null,
    })
  })

  it('gives a frame the span of its record, header included, and counts from 1', () => {
    const out = collect(pcap, pcapFile([syn(0), syn(1, 40_001)]))
    expect(out.rows.packet.map(r => r.span)).toEqual([
      { byteStart: HEADER, byteEnd: HEADER + SYN_RECORD, line: null, frame: 1 },
      { byteStart: HEADER + SYN_RECORD, byteEnd: HEADER + 2 * SYN_RECORD, line: null, frame: 2 },
    ])
  })

  it('reports frames without a row together', () => {
    const acks = Array.from({ length: 5 }, (_, i) => at(i, ethernet(tcp({ from: '10.0.0.1:40000', to: '10.0.0.2:80', seq: 8, ack: 9, id: i + 1 }))))
    const out = readWell(pcap, pcapFile([syn(0), ...acks]))
    expect(out.recordCount).toBe(6)
    expect(out.records.map(r => r.frame)).toEqual([1, 2])
    expect(out.covered).toEqual([{ from: { ns: BigInt(BASE) * 1_000_000_000n, guess: null }, to: { ns: BigInt(BASE + 4) * 1_000_000_000n, guess: null } }])
  })

  it('counts everything before the record that the end of the file cuts', () => {
    const bytes = pcapFile([syn(0), syn(1, 40_001)])
    const out = readWell(pcap, bytes.subarray(0, -5))
    expect(out.recordCount).toBe(1)
    expect(out.problems).toEqual([
      {
        kind: 'truncated',
        says: 'the file ends within a record: the last packet is missing',
        span: { byteStart: HEADER + SYN_RECORD, byteEnd: bytes.length - 5, line: null, frame: null },
      },
    ])
  })

  it('takes a captured length below the original for a snapshot length', () => {
    const [hello] = connection([{ t: 0, client: true, seq: 1, ack: 1, payload: 'x'.repeat(900) }])
    const out = readWell(pcap, pcapFile([{ ...(hello as Frame), snap: 60 }]))
    expect(out.problems).toEqual([])
    expect(out.rows.session[0]).toMatchObject({ client_bytes: 900n })
    expect(out.rows.packet[0]).toMatchObject({ kind: 'first', length: 900 })
  })

  it('notes a frame whose headers the snapshot length cut', () => {
    const out = readWell(pcap, pcapFile([{ ...syn(0), snap: 40 }]))
    expect(out.notes.map(n => n.says)).toEqual(['the snapshot length cut a header off'])
    expect(out.recordCount).toBe(1)
  })

  it.each([0, 1, 20, 300, limits.packet, limits.packet + 1, 0x7fff_ffff, 0xffff_ffff])('finds the next record after one that says it is %d bytes long', length => {
    const bytes = pcapFile(Array.from({ length: 12 }, (_, i) => syn(i, 40_000 + i)))
    bytes.writeUInt32LE(length, HEADER + 4 * SYN_RECORD + 8)
    const out = readWell(pcap, bytes)
    expect(out.rows.packet.map(r => r.src_port)).toEqual(expect.arrayContaining([40_000, 40_001, 40_002, 40_003, 40_009, 40_010, 40_011]))
    if (length > 70) expect(out.problems.length).toBeGreaterThan(0)
  })

  it('takes the zeros after the last record of a preallocated file for damage', () => {
    const out = readWell(pcap, Buffer.concat([pcapFile([syn(0)]), Buffer.alloc(4096)]))
    expect(out.recordCount).toBe(1)
    expect(out.problems.map(p => [p.kind, p.says])).toEqual([['bad-record', 'an empty record']])
  })

  it.each([
    [0xa1b2_cd34, "Kuznetzov's patched libpcap"],
    [0xa1b2_34cd, "Mesquita's patched libpcap"],
    [0xa12b_3c4d, 'Navtel'],
    [0xa1b2_c3cb, 'a BPF program'],
  ])('refuses what begins with %i, and says how to convert it', (magic, name) => {
    for (const big of [false, true]) {
      const bytes = pcapFile([syn(0), syn(1)], { magic, big })
      expect(pcap.sniff(bytes, { path: '', reference: null, zoneMinutes: null, accessLogFormats: [] })).toBe(1)
      const out = readWell(pcap, bytes)
      expect(out.recordCount).toBe(0)
      expect(out.problems).toHaveLength(1)
      expect(out.problems[0]).toMatchObject({ kind: 'bad-record', span: { byteStart: 0, byteEnd: bytes.length } })
      expect(out.problems[0]?.says).toContain(name)
      expect(out.problems[0]?.says).toContain('editcap')
    }
  })

  it('says of every frame of a link type that it is not decoded', () => {
    const out = readWell(pcap, pcapFile([syn(0), syn(1)], { link: 105 }))
    expect(out.problems.map(p => [p.kind, p.says, p.span.frame])).toEqual([
      ['not-recognised', 'frames of link type 105 are not decoded', 1],
      ['not-recognised', 'frames of link type 105 are not decoded', 2],
    ])
  })

  it('has no time for a record that has none', () => {
    const bytes = pcapFile([syn(0)])
    bytes.writeUInt32LE(0, HEADER)
    const out = readWell(pcap, bytes)
    expect(out.rows.packet[0]?.t).toBeNull()
    expect(out.rows.session[0]).toMatchObject({ t: null, t_syn: null, t_first: null, t_last: null })
    expect(out.notes.map(n => n.kind)).toEqual(['no-time'])
  })

  it('carries a fraction of a second or more', () => {
    const bytes = pcapFile([syn(0)])
    bytes.writeUInt32LE(1_500_000, HEADER + 4)
    expect(collect(pcap, bytes).rows.packet[0]?.t).toBe(BigInt(BASE + 1) * 1_000_000_000n + 500_000_000n)
  })

  it('survives cuts and changed bytes', () => {
    survives(
      pcap,
      pcapFile(connection([...handshake(), { t: 1, client: true, seq: 1, ack: 1, payload: 'GET / HTTP/1.1\r\n\r\n' }, { t: 2, client: false, flags: RST | ACK, seq: 1, ack: 19 }])),
    )
  })

  it('reads a laboratory capture: two sessions, and three whose SYNs nobody answers', () => {
    const out = readWell(pcap, readFileSync(new URL('samples/connects-refused-by-policy.pcap', import.meta.url)))
    expect(out.recordCount).toBe(80)
    expect(out.problems).toEqual([])
    expect(out.rows.session.map(s => `${s.ended} ${s.client_retransmissions} ${s.history}`)).toEqual(['open 0 ShADad', 'none 4 ST', 'none 4 ST', 'none 4 ST', 'open 0 ShADad'])
    expect(out.rows.packet.filter(p => p.kind === 'arp')).toHaveLength(4)
  })
})
