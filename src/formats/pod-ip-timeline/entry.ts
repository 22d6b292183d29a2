/** One interval of a pod-IP timeline, from the values that a JSON object, a CSV row or a line of text gives. */
import type { Instant } from '../../model/instant.js'
import type { Sink } from '../../model/sink.js'
import { plainAddress } from '../text/address.js'
import { readEpoch, readIso, type TimeContext } from '../text/time.js'

/** Values as printed; undefined: the source has no such column. */
export interface Values {
  readonly ip: string
  readonly owner: string
  readonly namespace?: string | undefined
  readonly uid?: string | undefined
  readonly sandbox?: string | undefined
  readonly node?: string | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly note?: string | undefined
  readonly status?: string | undefined
}

export interface Entry {
  readonly ip: string
  readonly subject: string
  readonly uid: string | null
  readonly sandbox: string | null
  readonly node: string | null
  /** Whether the source speaks of times at all: else it lists who has the address. */
  readonly dated: boolean
  readonly from: Instant | null
  readonly to: Instant | null
  readonly exact: boolean
  readonly reason: string | null
}

/** What columns and keys are called, in lower case without `_` and `-`. */
const NAMES: Readonly<Record<string, keyof Values>> = {
  ip: 'ip',
  podip: 'ip',
  address: 'ip',
  addr: 'ip',
  pod: 'owner',
  podname: 'owner',
  owner: 'owner',
  name: 'owner',
  namespace: 'namespace',
  ns: 'namespace',
  podnamespace: 'namespace',
  uid: 'uid',
  poduid: 'uid',
  sandbox: 'sandbox',
  sandboxid: 'sandbox',
  containerid: 'sandbox',
  node: 'node',
  nodename: 'node',
  host: 'node',
  from: 'from',
  start: 'from',
  since: 'from',
  begin: 'from',
  to: 'to',
  end: 'to',
  until: 'to',
  till: 'to',
  note: 'note',
  notes: 'note',
  comment: 'note',
  status: 'status',
  phase: 'status',
  state: 'status',
}

export const columnOf = (name: string): keyof Values | null => {
  const key = name.length > 32 ? '' : name.trim().toLowerCase().replaceAll('_', '').replaceAll('-', '').replaceAll(' ', '')
  return Object.hasOwn(NAMES, key) ? (NAMES[key] as keyof Values) : null
}

const APPROXIMATE = /(?:^|[^a-z])(?:approx|about|around|circa|roughly|estimated?|guess(?:ed)?|ca\.|~)/i
const OPEN = new Set(['', '-', 'null', 'none', 'nil', 'now', 'present', 'open', 'current', 'still', '<none>', '~', '0001-01-01T00:00:00Z'])

export const isOpen = (text: string): boolean => OPEN.has(text) || OPEN.has(text.toLowerCase())

/** A time as people and tools write it: ISO 8601, with `~` before it where it is not exact, or seconds, milliseconds or nanoseconds since the epoch. */
export function readTime(text: string, context: TimeContext): Instant | null {
  const bare = text.startsWith('~') ? text.slice(1).trim() : text
  const iso = readIso(bare, context) ?? readIso(bare.replace(/^(\S{10}[T ]\d\d:\d\d)(Z?)$/, '$1:00$2'), context)
  if (iso) return iso
  if (/^\d{13}$/.test(bare)) return { ns: BigInt(bare) * 1_000_000n, guess: 'unit' }
  if (/^\d{19}$/.test(bare)) return { ns: BigInt(bare), guess: 'unit' }
  return readEpoch(bare)
}

/** The entry, or what is wrong with it. */
export function readEntry(v: Values, context: TimeContext): Entry | string {
  const ip = plainAddress(v.ip.startsWith('[') && v.ip.endsWith(']') ? v.ip.slice(1, -1) : v.ip)
  if (ip === null) return 'an address that is none'
  if (v.owner === '' || v.owner === '-') return 'an address without an owner'
  const ends = [v.from, v.to].map(text => (text === undefined || isOpen(text.trim()) ? null : (readTime(text.trim(), context) ?? undefined)))
  if (ends.includes(undefined)) return 'a time that is none'
  const [from, to] = ends as [Instant | null, Instant | null]
  if (from && to && from.ns > to.ns) return 'an interval that ends before it begins'
  const owner = v.owner.startsWith('pod/') ? v.owner.slice(4) : v.owner
  const some = (text: string | undefined) => (text === undefined || isOpen(text.trim()) ? null : text.trim())
  const namespace = some(v.namespace)
  return {
    ip,
    subject: namespace !== null && !owner.includes('/') ? `${namespace}/${owner}` : owner,
    uid: some(v.uid),
    sandbox: some(v.sandbox),
    node: some(v.node),
    dated: v.from !== undefined || v.to !== undefined,
    from,
    to,
    exact: !APPROXIMATE.test(v.note ?? '') && !(v.from ?? '').trim().startsWith('~') && !(v.to ?? '').trim().startsWith('~'),
    reason: some(v.note) ?? some(v.status),
  }
}

export function writeEntry(e: Entry, sink: Sink): void {
  const row = sink.pod_fact
  row.begin(e.from)
  row.subject(e.subject)
  row.kind('pod')
  row.uid(e.uid)
  row.sandbox(e.sandbox)
  row.ip(e.ip)
  row.node(e.node)
  row.what(e.dated ? 'owned' : 'listed')
  row.reason(e.reason)
  row.exact(e.exact)
  row.t_earliest(e.from?.ns ?? null)
  row.t_latest(e.to?.ns ?? null)
}
