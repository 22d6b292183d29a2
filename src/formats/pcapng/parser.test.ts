import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { collect, context } from '../../../test/support/collect.js'
import { BASE, ethernet, pcapngBlocks, SYN, tcp } from '../../../test/support/packets.js'
import { readWell, survives } from '../../../test/support/robust.js'
import { limits } from '../../limits.js'
import { pcapng } from './parser.js'

const syn = (port = 40_000) => ethernet(tcp({ from: `10.0.0.1:${port}`, to: '10.0.0.2:80', flags: SYN, seq: 7 }))
const second = BigInt(BASE)
const le = pcapngBlocks()

const TSRESOL = 9
const TSOFFSET = 14
const NAME = 2

describe('pcapng', () => {
  it.each([false, true])('reads a section in either byte order (big-endian: %s)', big => {
    const b = pcapngBlocks(big)
    const bytes = Buffer.concat([b.section(), b.iface(), b.packet(second * 1_000_000n + 5n, syn())])
    expect(pcapng.sniff(bytes, context())).toBe(1)
    const out = readWell(pcapng, bytes)
    expect(out.rows.packet).toMatchObject([{ t: second * 1_000_000_000n + 5000n, src_port: 40_000, kind: 'syn' }])
    const block = bytes.subarray(out.rows.packet[0]?.span.byteStart, out.rows.packet[0]?.span.byteEnd)
    expect(block.readUInt32BE(0)).toBe(big ? 6 : 0x0600_0000)
    expect(block.length).toBe(32 + syn().length + ((4 - (syn().length % 4)) % 4))
    expect(out.rows.packet[0]?.span.frame).toBe(1)
  })

  it.each([
    [0, 1n, 0n],
    [3, 1000n, 123_000_000n],
    [6, 1_000_000n, 123_456_000n],
    [9, 1_000_000_000n, 123_456_789n],
    [10, 10_000_000_000n, 123_456_789n],
    [0x80 | 20, 1n << 20n, 123_456_001n],
    [0x80 | 32, 1n << 32n, 123_456_788n],
  ])('reads times in the unit that if_tsresol %d says', (resolution, perSecond, fraction) => {
    const units = second * perSecond + (123_456_789n * perSecond) / 1_000_000_000n
    const bytes = Buffer.concat([le.section(), le.iface(1, le.option(TSRESOL, Buffer.from([resolution]))), le.packet(units, syn())])
    expect(collect(pcapng, bytes).rows.packet[0]?.t).toBe(second * 1_000_000_000n + fraction)
  })

  it('adds the offset of if_tsoffset', () => {
    const bytes = Buffer.concat([le.section(), le.iface(1, le.option(TSOFFSET, le.u64(-3600n))), le.packet(second * 1_000_000n, syn())])
    expect(collect(pcapng, bytes).rows.packet[0]?.t).toBe((second - 3600n) * 1_000_000_000n)
  })

  it('takes a time that no clock shows for none', () => {
    const bytes = Buffer.concat([le.section(), le.iface(1, le.option(TSRESOL, Buffer.from([0]))), le.packet(0xffff_ffff_ffff_ffffn, syn())])
    const out = collect(pcapng, bytes)
    expect(out.rows.packet[0]?.t).toBeNull()
    expect(out.notes.map(n => n.kind)).toEqual(['no-time'])
  })

  it('names the interface, and gives each its own link type', () => {
    const raw = tcp({ from: '10.0.0.3:40000', to: '10.0.0.2:80', flags: SYN, seq: 7 })
    const bytes = Buffer.concat([
      le.section(),
      le.iface(1, le.option(NAME, Buffer.from('eth0'))),
      le.iface(101, le.option(NAME, Buffer.from('tun0'))),
      le.packet(second * 1_000_000n, syn()),
      le.packet(second * 1_000_000n, raw, 1),
    ])
    expect(readWell(pcapng, bytes).rows.packet.map(p => [p.src_ip, p.detail])).toEqual([
      ['10.0.0.1', 'eth0'],
      ['10.0.0.3', 'tun0'],
    ])
  })

  it('starts interfaces anew with every section, and may change the byte order', () => {
    const be = pcapngBlocks(true)
    const bytes = Buffer.concat([
      le.section(),
      le.iface(),
      le.packet(second * 1_000_000n, syn(1)),
      be.section(),
      be.packet(second * 1_000_000n, syn(2)),
      be.iface(),
      be.packet(second * 1_000_000n, syn(3)),
    ])
    const out = readWell(pcapng, bytes)
    expect(out.rows.packet.map(p => [p.src_port, p.span.frame])).toEqual([
      [1, 1],
      [3, 3],
    ])
    expect(out.problems.map(p => [p.kind, p.says, p.span.frame])).toEqual([['bad-record', 'a packet of interface 0, which no block describes', 2]])
  })

  it('reads simple packet blocks, which have no time and obey the snapshot length', () => {
    const out = readWell(pcapng, Buffer.concat([le.section(), le.iface(1, Buffer.alloc(0), 54), le.simple(syn().subarray(0, 54), 200)]))
    expect(out.rows.packet).toMatchObject([{ t: null, kind: 'syn' }])
    expect(out.notes.map(n => n.kind)).toEqual(['no-time'])
  })

  it('reads obsolete packet blocks and their drops', () => {
    const out = readWell(pcapng, Buffer.concat([le.section(), le.iface(), le.old(second * 1_000_000n, syn(1)), le.old((second + 2n) * 1_000_000n, syn(2), 0, 3)]))
    expect(out.rows.packet.map(p => p.src_port)).toEqual([1, 2])
    expect(out.lost).toEqual([
      { from: { ns: second * 1_000_000_000n, guess: null }, to: { ns: (second + 2n) * 1_000_000_000n, guess: null }, events: 3, why: 'packets dropped before this one' },
    ])
  })

  it('reports drops between packets, and what statistics add to the last ones', () => {
    const out = readWell(
      pcapng,
      Buffer.concat([
        le.section(),
        le.iface(1, le.option(NAME, Buffer.from('eth0'))),
        le.packet(second * 1_000_000n, syn(1)),
        le.packet((second + 1n) * 1_000_000n, syn(2), 0, le.option(4, le.u64(12n))),
        le.statistics((second + 2n) * 1_000_000n, 0n),
        le.statistics((second + 3n) * 1_000_000n, 40n),
        le.statistics((second + 4n) * 1_000_000n, 55n),
      ]),
    )
    expect(out.lost.map(l => [l.events, l.why])).toEqual([
      [12, 'packets dropped before this one'],
      [40, 'packets dropped by interface eth0'],
      [15, 'packets dropped by interface eth0'],
    ])
  })

  it('skips unknown blocks, and never shows a secret', () => {
    const secret = 'CLIENT_RANDOM 0123456789abcdef 0123456789abcdef'
    const out = readWell(
      pcapng,
      Buffer.concat([
        le.section(),
        le.block(10, Buffer.from(`TLSK....${secret}.`)),
        le.block(0xbad, Buffer.from('vendor12')),
        le.block(77, Buffer.alloc(8)),
        le.iface(),
        le.packet(second * 1_000_000n, syn()),
      ]),
    )
    expect(out.skips).toHaveLength(5)
    expect(out.problems).toEqual([])
    expect(out.rows.packet).toHaveLength(1)
    expect(JSON.stringify(out, (_, v) => (typeof v === 'bigint' ? `${v}` : v))).not.toContain('CLIENT_RANDOM')
  })

  it.each([0, 1, 8, 12, 13, 2000, limits.pcapngBlock + 4, 0x7fff_ffff, 0xffff_ffff])('finds the next block after one that says it is %d bytes long', length => {
    const head = Buffer.concat([le.section(), le.iface(), le.packet(second * 1_000_000n, syn(1))])
    const bytes = Buffer.concat([head, ...[2, 3, 4, 5].map(port => le.packet(second * 1_000_000n, syn(port)))])
    bytes.writeUInt32LE(length, head.length + 4)
    const out = readWell(pcapng, bytes)
    expect(out.rows.packet.map(p => p.src_port)).toEqual([1, 3, 4, 5])
    expect(out.problems).toHaveLength(1)
  })

  it('says what of the last block is missing', () => {
    const bytes = Buffer.concat([le.section(), le.iface(), le.packet(second * 1_000_000n, syn(1)), le.packet(second * 1_000_000n, syn(2))])
    const out = readWell(pcapng, bytes.subarray(0, -9))
    expect(out.problems.map(p => [p.kind, p.says])).toEqual([['truncated', 'the file ends within a block: the last packet is missing']])
    expect(out.rows.packet).toHaveLength(1)
  })

  it.each([
    [limits.packet, []],
    [limits.packet + 4, [['limit', 'a packet longer than is read']]],
  ])('reads packets of at most 262,144 bytes: one of %d', (size, problems) => {
    const out = collect(pcapng, Buffer.concat([le.section(), le.iface(), le.packet(second * 1_000_000n, Buffer.concat([syn(), Buffer.alloc(size - syn().length)]))]))
    expect(out.problems.map(p => [p.kind, p.says])).toEqual(problems)
  })

  it('does not read sections of another version', () => {
    const out = readWell(pcapng, Buffer.concat([le.section(2), le.iface(), le.packet(second * 1_000_000n, syn())]))
    expect(out.problems.map(p => p.says)).toEqual(['a packet in a section of version 2.0'])
    expect(out.rows.packet).toEqual([])
  })

  it('keeps no more interfaces than its limit', () => {
    const many = Array.from({ length: limits.interfaces + 2 }, () => le.iface())
    const out = collect(
      pcapng,
      Buffer.concat([le.section(), ...many, le.packet(second * 1_000_000n, syn(), limits.interfaces - 1), le.packet(second * 1_000_000n, syn(), limits.interfaces)]),
    )
    expect(out.notes.map(n => n.kind)).toEqual(['limit', 'limit'])
    expect(out.rows.packet).toHaveLength(1)
  })

  it('survives cuts and changed bytes', () => {
    survives(
      pcapng,
      Buffer.concat([
        le.section(),
        le.iface(1, le.option(NAME, Buffer.from('eth0'))),
        le.packet(second * 1_000_000n, syn(1)),
        le.statistics(second * 1_000_000n, 4n),
        le.simple(syn(2)),
      ]),
    )
  })

  it('reads a laboratory capture: four connections whose server closed while a request was on its way', () => {
    const out = readWell(pcapng, readFileSync(new URL('samples/keepalive-race.pcapng', import.meta.url)))
    expect(out.recordCount).toBe(93)
    expect(out.problems).toEqual([])
    expect(out.rows.session.map(s => [s.ended, s.ended_by, s.t_client_unacked !== null, s.history])).toEqual([
      ...Array(4).fill(['rst', 'server', true, 'ShADadfFr']),
      ...Array(3).fill(['fin', 'server', false, 'ShADadfF']),
    ])
  })
})
