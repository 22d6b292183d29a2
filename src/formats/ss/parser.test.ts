import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { context } from '../../../test/support/collect.js'
import { readWell, survives } from '../../../test/support/robust.js'
import type { Format } from '../format.js'
import { formatById, formats } from '../index.js'

const format = formatById('ss') as Format
const bytes = (name: string) => readFileSync(new URL(`samples/${name}`, import.meta.url))
const sample = (name: string) => (name.endsWith('.gz') ? gunzipSync(bytes(name)) : bytes(name))
const at = (text: string) => BigInt(Date.parse(text)) * 1_000_000n
const read = (text: string | Buffer) => readWell(format, text).rows.socket_seen

describe('real lists (iproute2 6.1)', () => {
  it('shows a connection whose peer is gone: data in the queue, the timer on', () => {
    const { rows, records, problems } = readWell(format, sample('blackhole-tanpio.txt'))
    expect([records.length, problems.length]).toEqual([6, 0])
    const lost = rows.socket_seen.filter(s => s.send_queue !== 0n && s.state !== 'LISTEN')
    expect(lost).toMatchObject([
      {
        tool: 'ss',
        t: null,
        state: 'SYN-SENT',
        local_ip: '10.244.1.10',
        local_port: 55890,
        remote_ip: '10.244.2.34',
        remote_port: 1521,
        send_queue: 1n,
        receive_queue: 0n,
        timer: 'on,720ms,5',
        retransmits: 5,
      },
      { state: 'ESTAB', local_port: 50528, remote_port: 6514, send_queue: 195n, timer: 'on,6.464ms,5', retransmits: 5 },
    ])
    expect(lost[1]?.detail).toMatch(/^users:\(\("python3",pid=\d+,fd=4\)\) timer:\(on,6\.464ms,5\) ts sack bbr .* rto:6528 backoff:5 .* retrans:1\/5 lost:2/)
    expect(lost[1]?.span.line).toBe(10)
  })

  it('reads every state, IPv6 and listeners without a peer', () => {
    const sockets = read(sample('states-tanpio.txt'))
    expect(sockets.map(s => s.state)).toEqual(['LISTEN', 'ESTAB', 'ESTAB', 'CLOSE-WAIT', 'TIME-WAIT', 'FIN-WAIT-2', 'ESTAB', 'ESTAB', 'LISTEN', 'ESTAB', 'ESTAB'])
    expect(sockets[0]).toMatchObject({ local_ip: '0.0.0.0', local_port: 6514, remote_ip: null, remote_port: null })
    expect(sockets[8]).toMatchObject({ local_ip: null, local_port: 15006, remote_ip: null, remote_port: null })
    expect(sockets[9]).toMatchObject({ local_ip: 'fd00::1', local_port: 15006, remote_ip: 'fd00::1', remote_port: 47478 })
    expect(sockets[4]).toMatchObject({ timer: 'timewait,56sec,0', retransmits: null })
    expect(sockets[1]).toMatchObject({ timer: 'keepalive,26sec,0', retransmits: null })
  })

  it('reads a list without a header, and an empty line of information', () => {
    const { rows, problems } = readWell(format, sample('gateway.txt.gz'))
    expect([rows.socket_seen.length, problems.length]).toEqual([17, 0])
    expect(rows.socket_seen.filter(s => s.state === 'TIME-WAIT')).toHaveLength(2)
    expect(rows.socket_seen[13]).toMatchObject({ state: 'ESTAB', local_ip: '10.10.0.1', remote_ip: '10.10.0.5', remote_port: 35476, retransmits: null })
  })

  it('reads all families, and skips sockets that have no address', () => {
    const { rows, skips, problems } = readWell(format, sample('an.txt'))
    expect([rows.socket_seen.length, skips.length, problems.length]).toEqual([11, 10, 0])
  })

  it('keeps the names of ports', () => {
    expect(read(sample('to.txt'))[3]).toMatchObject({
      local_port: 50528,
      remote_ip: '10.244.2.34',
      remote_port: null,
      detail: 'peer 10.244.2.34:syslog-tls timer:(on,6.460ms,5)',
      retransmits: 5,
    })
  })

  it('is recognised by content', () => {
    for (const name of ['blackhole-tanpio.txt', 'states-tanpio.txt', 'to.txt', 'an.txt', 'gateway.txt.gz']) {
      const scores = formats.map(f => [f.id, f.sniff(sample(name), context())] as const).sort((a, b) => b[1] - a[1])
      expect(scores[0]?.[0], name).toBe('ss')
    }
  })

  it('survives cuts and changed bytes', () => survives(format, sample('blackhole-tanpio.txt').subarray(0, 2500), {}, 7))
})

describe('variants', () => {
  it('takes the number of retransmissions from the information where there is no timer', () =>
    expect(read('ESTAB 0 195 10.0.0.1:1 10.0.0.2:2\n\t cubic rto:408 unacked:2 retrans:1/9 lost:2\n')).toMatchObject([{ retransmits: 9, timer: null }]))

  it('reads a list of one state, which is not printed', () => {
    const header = 'Recv-Q Send-Q Local Address:Port  Peer Address:Port Process\n'
    expect(read(`${header}0      195      10.244.1.10:50528  10.244.2.34:6514\n`)).toMatchObject([{ state: null, send_queue: 195n, local_port: 50528 }])
    expect(read('0      195      10.244.1.10:50528  10.244.2.34:6514\n')).toEqual([])
  })

  it('reads addresses of interfaces, IPv4 in IPv6, and old spellings', () => {
    expect(read('UNCONN 0 0 127.0.0.53%lo:53 0.0.0.0:*\n')).toMatchObject([{ state: 'UNCONN', local_ip: '127.0.0.53', local_port: 53 }])
    expect(read('ESTAB 0 0 [::ffff:10.0.0.1]:8080 [::ffff:10.0.0.2]:40000\n')).toMatchObject([{ local_ip: '10.0.0.1', remote_ip: '10.0.0.2' }])
    expect(read('LISTEN 0 128 :::22 :::*\n')).toMatchObject([{ local_ip: '::', local_port: 22, remote_ip: null }])
    expect(read('udp ESTAB 0 0 [fe80::1]%eth0:546 [fe80::2]%eth0:547\n')).toMatchObject([{ local_ip: 'fe80::1', remote_port: 547, detail: 'udp' }])
  })

  it('has the time that a loop printed before each list, and the network namespace of the command', () => {
    const list = 'ESTAB 0 0 10.0.0.1:1 10.0.0.2:2\n'
    const text = `2026-11-30T21:47:33Z\n$ ip netns exec gw ss -tano\n${list}Mon Nov 30 21:47:43 UTC 2026\n${list}$ ss -tano\n${list}`
    const { rows, problems } = readWell(format, text)
    expect(problems).toEqual([])
    expect(rows.socket_seen.map(s => [s.t, s.netns])).toEqual([
      [at('2026-11-30T21:47:33Z'), 'gw'],
      [at('2026-11-30T21:47:43Z'), 'gw'],
      [at('2026-11-30T21:47:43Z'), null],
    ])
  })

  it('makes no socket of what only looks like one', () => {
    for (const line of ['ESTAB 0 0 foo bar\n', 'LISTEN to me: 1 2 3:4 5:6\n', 'ESTAB x 0 10.0.0.1:1 10.0.0.2:2\n', 'ESTAB 0 0 10.0.0.1:1 999.0.0.2:2\n', 'ESTAB 0 0 10.0.0.1:1\n'])
      expect(read(line), line).toEqual([])
  })

  it('cuts what is said of a socket', () => {
    const [socket] = read(`ESTAB 0 0 10.0.0.1:1 10.0.0.2:2 ${'users:(("x",pid=1,fd=2)) '.repeat(5000)}\n`)
    expect(String(socket?.detail)).toHaveLength(2000)
  })
})
