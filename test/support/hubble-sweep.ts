/** What Hubble's own decoder sees in each line of the sweep (`src/formats/hubble-json/samples`), as values of the `flow` table. */
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import type { Row } from './collect.js'

const samples = new URL('../../src/formats/', import.meta.url)
export const unzipped = (path: string): Buffer => gunzipSync(readFileSync(new URL(path, samples)))

export interface Expected {
  readonly line: number
  /** flow, bare_flow, lost_events, agent_event, debug_event, node_status, none (an empty object) or error. */
  readonly kind: string
  /** Whether the decoder knew every name in it. */
  readonly ok: boolean
  /** The line as `hubble observe` prints it; empty where it prints none. */
  readonly compact: string
  readonly columns: Readonly<Record<string, string | number | bigint | boolean | null>>
}

const ESCAPES: Record<string, string> = { '\\': '\\', t: '\t', n: '\n', r: '\r', '0': '\0' }
const MATCH = ['none', 'L3-Only', 'L3-L4', 'L4-Only', 'all', 'L3-Proto', 'Proto-Only']

export function sweep(): Expected[] {
  const [head = [], ...rows] = unzipped('hubble-json/samples/sweep.expected.tsv.gz')
    .toString()
    .trimEnd()
    .split('\n')
    .map(l => l.split('\t').map(cell => cell.replace(/\\([\\tnr0])/g, (_, c: string) => ESCAPES[c] ?? c)))
  return rows.map(cells => expected(Object.fromEntries(head.map((name, i) => [name, cells[i] ?? '']))))
}

function expected(r: Record<string, string>): Expected {
  const cell = (name: string): string => r[name] ?? ''
  const text = (name: string, unknown = ''): string | null => (cell(name) === '' || cell(name) === unknown ? null : cell(name))
  const number = (name: string): number | null => Number(cell(name)) || null
  const big = (name: string): bigint | null => (cell(name) === '' || cell(name) === '0' ? null : BigInt(cell(name)))
  const http = /^\S+ http (\S+) (.*) HTTP\/\S+ (\d+) h=\d+$/.exec(cell('l7'))
  const tunnel = /^\S+ (\S+):\d+>(\S+):\d+ /.exec(cell('tunnel'))
  const match = number('policy_match_type')
  const latency = number('latency_ns')
  return {
    line: Number(cell('line')),
    kind: cell('kind'),
    ok: cell('status') === 'ok',
    compact: cell('cli_compact'),
    columns: {
      t: text('time_ns') !== null || text('envelope_time_ns') !== null ? BigInt(cell('time_ns') || cell('envelope_time_ns')) : null,
      node: text('node_name') ?? text('envelope_node'),
      verdict: text('verdict', 'VERDICT_UNKNOWN'),
      direction: text('direction', 'TRAFFIC_DIRECTION_UNKNOWN'),
      is_reply: { true: true, false: false }[cell('is_reply')] ?? null,
      src_ip: text('src_ip'),
      src_port: number('src_port'),
      dst_ip: text('dst_ip'),
      dst_port: number('dst_port'),
      protocol: text('l4')?.replace(/\(.*/, '') ?? null,
      tcp_flags: text('tcp_flags'),
      src_identity: big('src_identity'),
      dst_identity: big('dst_identity'),
      src_labels: text('src_labels'),
      dst_labels: text('dst_labels'),
      src_namespace: text('src_ns'),
      src_pod: text('src_pod'),
      dst_namespace: text('dst_ns'),
      dst_pod: text('dst_pod'),
      src_xlated_ip: text('source_xlated'),
      event_type: number('event_type'),
      event_subtype: number('event_sub_type'),
      drop_reason: number('drop_reason'),
      drop_reason_desc: text('drop_reason_desc', 'DROP_REASON_UNKNOWN'),
      trace_point: text('trace_observation_point', 'UNKNOWN_POINT'),
      policy_match: match !== null ? (MATCH[match] ?? String(match)) : number('event_type') === 5 ? 'none' : null,
      proxy_port: number('proxy_port'),
      l7_type: /^(REQUEST|RESPONSE|SAMPLE)/.exec(cell('l7'))?.[1] ?? null,
      l7_protocol: /^\S+ (http|dns|kafka) /.exec(cell('l7'))?.[1] ?? null,
      l7_status: Number(http?.[3] ?? / dns .* rcode=(\d+)/.exec(cell('l7'))?.[1]) || null,
      l7_method: http?.[1] ?? null,
      l7_url: http?.[2] ?? null,
      l7_latency_ms: latency === null ? null : latency / 1e6,
      tunnel_src_ip: tunnel?.[1] ?? null,
      tunnel_dst_ip: tunnel?.[2] ?? null,
      uuid: text('uuid'),
      summary: text('summary'),
    },
  }
}

/** `column: is, not expected` for every column that differs. `mayLack`: a value may be NULL where the format does not print it. */
export function differences(row: Row, want: Expected, mayLack: (column: string) => boolean = () => false): string[] {
  return Object.entries(want.columns).flatMap(([column, value]) => {
    const have = row[column]
    if (have === value || (have === null && mayLack(column))) return []
    return [`line ${want.line}: ${column} is ${String(have)}, not ${String(value)}`]
  })
}
