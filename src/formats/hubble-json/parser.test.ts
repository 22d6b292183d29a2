import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { type Collected, collect, type Row } from '../../../test/support/collect.js'
import { differences, sweep, unzipped } from '../../../test/support/hubble-sweep.js'
import { readWell, survives } from '../../../test/support/robust.js'
import { formatById } from '../index.js'

const format = formatById('hubble-json')!
const sample = (name: string): Buffer => readFileSync(new URL(`samples/${name}`, import.meta.url))
const read = (value: unknown): Collected => collect(format, `${typeof value === 'string' ? value : JSON.stringify(value)}\n`)
const one = (value: unknown): Row => {
  const rows = read(value).rows.flow
  expect(rows).toHaveLength(1)
  return rows[0]!
}
const known = (row: Row): object => Object.fromEntries(Object.entries(row).filter(([k, v]) => v !== null && k !== 'span'))
/** Rows without their place. */
const values = (rows: readonly Row[]): object[] => rows.map(({ span: _, ...row }) => row)

describe('the sweep: one feature a line, against what Hubble decodes', () => {
  const whole = collect(format, unzipped('hubble-json/samples/sweep.jsonl.gz'))
  const flows = new Map(whole.rows.flow.map(r => [r.span.line, r]))
  const expected = sweep()

  it('gives the same value in every column', () => {
    const flowLines = expected.filter(e => e.kind === 'flow' || e.kind === 'bare_flow')
    expect(flowLines).toHaveLength(443)
    // Names that the decoder does not know, it drops; here they stay as text.
    const differ = flowLines.flatMap(e => differences(flows.get(e.line)!, e).filter(d => e.ok || !/: (verdict|direction|drop_reason_desc) is /.test(d)))
    expect(differ).toEqual([])
  })

  it('keeps names and numbers that no version knows', () => {
    expect(flows.get(458)).toMatchObject({ verdict: 'QUARANTINED', direction: 'SIDEWAYS', drop_reason_desc: 'NEW_REASON' })
    expect(flows.get(424)).toMatchObject({ verdict: '8' })
    expect(flows.get(450)).toMatchObject({ drop_reason: 206, drop_reason_desc: '206' })
  })

  it('has no flow from any other line, and drops none in silence', () => {
    const others = expected.filter(e => !e.kind.endsWith('flow') && e.kind !== 'error').map(e => e.line)
    expect(others.filter(line => flows.has(line))).toEqual([])
    expect(whole.problems.map(p => p.span.line)).toEqual([414, 469])
    expect(whole.records).toHaveLength(467)
  })

  it('knows five losses, with their interval where it is given', () => {
    expect(whole.lost.map(l => [l.why, l.events, l.from?.ns ?? null, l.to?.ns ?? null])).toEqual([
      ['UNKNOWN_LOST_EVENT_SOURCE', 1099511627776, 1793525455471456789n, 1793525455471456789n],
      ['PERF_EVENT_RING_BUFFER', 1099511627777, 1793525455000000000n, 1793525455000000000n],
      ['OBSERVER_EVENTS_QUEUE', 1099511627778, 1793525400123456789n, 1793525403123456789n],
      ['HUBBLE_RING_BUFFER', 1099511627779, 1793525455882456789n, 1793525455882456789n],
      ['HUBBLE_RING_BUFFER', 7, null, null],
    ])
  })
})

describe('the shapes of an export', () => {
  const exporter = readWell(format, sample('exporter.jsonl'))

  it('reads a denied SYN of a node', () => {
    expect(known(exporter.rows.flow[6]!)).toMatchObject({
      t: 1793714442051696840n,
      node: 'demo/node-2',
      verdict: 'DROPPED',
      direction: 'INGRESS',
      src_ip: '10.0.0.11',
      src_port: 52005,
      dst_ip: '10.244.2.88',
      dst_port: 8080,
      protocol: 'TCP',
      tcp_flags: 'SYN',
      src_identity: 6n,
      src_labels: 'reserved:remote-node',
      dst_identity: 20037n,
      dst_namespace: 'shop',
      dst_pod: 'shop-6d4f9c7b8d-b2kb7',
      event_type: 1,
      event_subtype: 133,
      drop_reason: 133,
      drop_reason_desc: 'POLICY_DENIED',
      summary: 'TCP Flags: SYN',
    })
    expect(exporter.rows.flow[6]).toMatchObject({ is_reply: null, policy_match: null, trace_point: null })
  })

  it('keeps `is_reply: false`, and names the policy match', () => {
    expect(exporter.rows.flow[0]).toMatchObject({ is_reply: false, policy_match: 'L3-L4', event_type: 5, src_identity: 8n })
    expect(exporter.rows.flow[5]).toMatchObject({ is_reply: null, policy_match: 'none', event_type: 5, verdict: 'DROPPED' })
  })

  it('counts agent events and losses as records without a flow', () => {
    expect(exporter.records).toHaveLength(14)
    expect(exporter.rows.flow).toHaveLength(11)
    expect(exporter.lost.map(l => [l.events, l.why])).toEqual([
      [3, 'PERF_EVENT_RING_BUFFER'],
      [12, 'OBSERVER_EVENTS_QUEUE'],
    ])
    expect(exporter.problems).toEqual([])
  })

  it('reads the same flows with camelCase names, and with zero values and enum numbers written out', () => {
    for (const name of ['camel-case.jsonl', 'unpopulated.jsonl']) {
      const other = readWell(format, sample(name))
      expect(values(other.rows.flow), name).toEqual(values(exporter.rows.flow))
      expect(other.lost, name).toEqual(exporter.lost)
    }
  })

  it('reads bare flows and bare losses', () => {
    const bare = readWell(format, sample('bare.jsonl'))
    expect(values(bare.rows.flow)).toEqual(values(exporter.rows.flow))
    expect(bare.lost.map(l => l.events)).toEqual([3, 12])
    expect(bare.problems).toEqual([])
  })

  it('reads pretty-printed flows and arrays of flows', () => {
    const objects = sample('exporter.jsonl')
      .toString()
      .trim()
      .split('\n')
      .map(l => JSON.parse(l) as object)
    const pretty = readWell(format, objects.map(o => JSON.stringify(o, null, 4)).join('\n'))
    expect(values(pretty.rows.flow)).toEqual(values(exporter.rows.flow))
    const array = readWell(format, JSON.stringify(objects, null, 2))
    expect(values(array.rows.flow)).toEqual(values(exporter.rows.flow))
    expect([...pretty.problems, ...array.problems]).toEqual([])
  })

  it('makes up nothing that a field mask took away', () => {
    const masked = readWell(format, sample('field-mask.jsonl'))
    expect(masked.problems).toEqual([])
    expect(masked.rows.flow).toHaveLength(11)
    for (const [i, row] of masked.rows.flow.entries()) {
      const { span: _, ...have } = row
      for (const [column, value] of Object.entries(have)) if (value !== null && column !== 'tcp_flags') expect(value, column).toEqual(exporter.rows.flow[i]![column])
      expect(row).toMatchObject({ src_identity: null, dst_identity: null, summary: null, uuid: null, event_type: null, policy_match: null })
    }
  })

  it('survives cuts and damage', () => {
    survives(format, sample('cilium-18746.jsonl'))
    survives(format, sample('cilium-proxy-2040.json'))
    survives(format, sample('exporter.jsonl'), {}, 97)
  })
})

describe('flows as people paste them', () => {
  it('reads an abridged, pretty-printed flow without a time (cilium/proxy#2040)', () => {
    const c = readWell(format, sample('cilium-proxy-2040.json'))
    expect(c.rows.flow.map(known)).toEqual([{ verdict: 'DROPPED', direction: 'INGRESS', src_identity: 6n, dst_identity: 187427n, dst_pod: 'pod-xxx', summary: 'TCP Flags: SYN' }])
    expect(c.notes).toMatchObject([{ kind: 'no-time', says: 'a flow without a timestamp', span: { line: 1 } }])
    expect(c.problems).toEqual([])
  })

  it('reads a bare flow of Cilium 1.11 (cilium/cilium#18746)', () => {
    expect(readWell(format, sample('cilium-18746.jsonl')).rows.flow).toMatchObject([
      {
        verdict: 'DROPPED',
        src_ip: '10.15.242.79',
        src_identity: 6n,
        dst_pod: 'pod-name-nginx-5869cc6967-trl5q',
        event_type: 5,
        policy_match: 'none',
        drop_reason: 133,
        tcp_flags: 'SYN',
      },
    ])
  })
})

describe('single fields', () => {
  it('takes time and node of the envelope where the flow has none', () => {
    expect(one({ flow: { verdict: 'FORWARDED' }, node_name: 'n1', time: '2026-11-03T14:00:00.5Z' })).toMatchObject({ t: 1793714400500000000n, node: 'n1' })
    expect(one({ flow: { verdict: 'FORWARDED', time: 'yesterday', node_name: 'c/n1' }, nodeName: 'n2', time: '2026-11-03T14:00:00Z' })).toMatchObject({
      t: 1793714400000000000n,
      node: 'c/n1',
    })
  })

  it('never looks for a flow inside of other values', () => {
    const flow = { verdict: 'FORWARDED', extensions: { '@type': 'x', verdict: 'DROPPED', flow: { verdict: 'DROPPED' } }, time: '2026-11-03T14:00:00Z' }
    expect(one({ flow }).verdict).toBe('FORWARDED')
    for (const other of [{ data: { flow } }, { flow: 'text' }, { flow: { title: 'checkout', steps: 3 } }, { flow: [flow] }]) {
      expect(read(other).rows.flow).toEqual([])
      expect(read(other).problems).toHaveLength(1)
    }
  })

  it('does not take objects of other tools for bare flows', () => {
    const others = [
      { verdict: 'FORWARDED' },
      { source: { ip: '10.0.0.1' }, destination: { ip: '10.0.0.2' }, message: 'x' },
      { verdict: 'pass', source: { name: 'scanner' }, time: '2026-11-03T14:00:00Z' },
      { source: 'syslog', Summary: 'x' },
      { time: '2026-11-03T14:00:00Z', uuid: 'x', node_name: 'n' },
      { IP: { source: '10.0.0.1' } },
    ]
    for (const other of others) expect(read(other).rows.flow, JSON.stringify(other)).toEqual([])
  })

  it('reads integers as numbers, text or floats, and refuses what is out of range', () => {
    expect(one({ flow: { verdict: 2, drop_reason: '133', source: { identity: '6' }, drop_reason_desc: 133 } })).toMatchObject({
      verdict: 'DROPPED',
      drop_reason: 133,
      src_identity: 6n,
      drop_reason_desc: 'POLICY_DENIED',
    })
    expect(one('{"flow":{"verdict":"DROPPED","drop_reason":1.33e2,"proxy_port":4294967295,"l4":{"TCP":{"source_port":70000,"destination_port":-1}}}}')).toMatchObject({
      drop_reason: 133,
      proxy_port: null,
      src_port: null,
      dst_port: null,
    })
    expect(read('{"lost_events":{"num_events_lost":"18446744073709551615"}}').lost).toMatchObject([{ events: Number.MAX_SAFE_INTEGER }])
    expect(read('{"lost_events":{"num_events_lost":"many"}}').lost).toMatchObject([{ events: 0 }])
  })

  it('gives addresses their plain form', () => {
    const ip = (source: string) => one({ flow: { verdict: 'FORWARDED', IP: { source } } }).src_ip
    expect(ip('FD00:0:0:0:0:0:0:1')).toBe('fd00::1')
    expect(ip('10.0.0.1')).toBe('10.0.0.1')
    expect(ip('unix')).toBeNull()
  })

  it('understands node states, agent and debug events', () => {
    for (const event of ['node_status', 'agent_event', 'debug_event', 'nodeStatus']) {
      const c = read({ [event]: { type: 'X' }, node_name: 'n' })
      expect([c.records.length, c.rows.flow.length, c.problems.length]).toEqual([1, 0, 0])
    }
  })

  it('is not misled by keys of the prototype', () => {
    expect(one('{"flow":{"verdict":"DROPPED","__proto__":{"uuid":"x"},"constructor":1,"source":{"__proto__":{"identity":6}}}}')).toMatchObject({ uuid: null, src_identity: null })
  })
})
