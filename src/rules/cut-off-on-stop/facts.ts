/** Facts about stops and exits, each given to the instance that it is about. */
import type { Place } from '../../correlate/evidence.js'
import { placeOf } from '../../correlate/owners.js'
import { SECOND } from '../../model/instant.js'
import type { RuleContext } from '../rule.js'
import { type Moment, momentOf } from './moments.js'
import { factsOf, registrations, taggedFacts } from './queries.sql.js'

/** What a fact means for the life of its instance. */
export type Role = 'stop' | 'signal' | 'kill' | 'certificate' | 'exit' | 'crash' | 'ended' | 'destroying' | 'gone' | 'removed' | 'evacuating'

export interface Fact {
  readonly role: Role
  readonly platform: 'cf' | 'kubernetes'
  /** The instance, pod uid or pod name; `source:tag` where a line names neither. */
  readonly key: string
  readonly name: string
  readonly uid: string | null
  /** The line names the instance itself, or other lines of its source tell whose tag it is. */
  readonly placed: boolean
  readonly node: string | null
  readonly ip: string | null
  /** `ip:port` of a router's fact. */
  readonly endpoint: string | null
  readonly reason: string | null
  readonly at: Moment
}

/** Facts of Cloud Foundry. A kill there is the one after the grace period. */
const INSTANCE: Readonly<Record<string, Role>> = {
  stopping: 'stop',
  signalled: 'signal',
  killed: 'kill',
  'certificate-invalidated': 'certificate',
  exited: 'exit',
  crashed: 'crash',
  completed: 'ended',
  destroying: 'destroying',
  destroyed: 'gone',
  unregistered: 'removed',
  pruned: 'removed',
  evacuating: 'evacuating',
}

/** Facts of Kubernetes. A `Killing` event begins the stop. */
const POD: Readonly<Record<string, Role>> = {
  deletion: 'stop',
  terminating: 'stop',
  killed: 'stop',
  evicted: 'stop',
  signalled: 'signal',
  exited: 'exit',
  crashed: 'exit',
  terminated: 'exit',
  'container-exited': 'exit',
  OOMKilled: 'exit',
  stopped: 'gone',
  'sandbox-gone': 'gone',
  deleted: 'gone',
  destroyed: 'gone',
}

const WHATS = [...new Set([...Object.keys(INSTANCE), ...Object.keys(POD)])]

/** What rep signals at the start of a stop is the group; what it signals at a destroy is no news. */
function roleOf(kind: string | null, what: string, reason: string | null): Role | null {
  const roles = kind === 'instance' ? INSTANCE : kind === 'pod' || kind === null ? POD : {}
  const role = Object.hasOwn(roles, what) ? (roles[what] as Role) : null
  // A note that a pod was killed for memory, or died, tells its end.
  if (kind !== 'instance') return what === 'killed' && /OOM|out of memory|\bdied\b/i.test(reason ?? '') ? 'exit' : role
  if (role !== 'signal' || reason === null) return role
  return reason.startsWith('node-stop') ? 'stop' : reason.startsWith('node-destroy') ? null : role
}

/** All facts, in order of source and line. */
export async function readFacts({ store }: RuleContext): Promise<Fact[]> {
  const ids = await store.ids(WHATS)
  if (ids.size === 0) return []
  const rows = await store.rows(factsOf([...ids.values()]))
  const words = await store.words(rows.flatMap(r => [r.subject, r.kind, r.uid, r.sandbox, r.ip, r.node, r.what, r.reason]).filter((v): v is number => typeof v === 'number'))
  const text = (v: unknown): string | null => words.get(v as number) ?? null
  const tags = new Map<bigint, { tag: string; says: string }>()
  const platform = ids.get('stopping') ?? ids.get('exited') ?? ids.get('destroying') ?? ids.get('crashed')
  if (platform !== undefined) {
    const tagged = await store.rows(taggedFacts([...ids.values()]))
    const names = await store.words(tagged.map(r => r.tag).filter((v): v is number => typeof v === 'number'))
    for (const r of tagged) tags.set(r.fact as bigint, { tag: names.get(r.tag as number) ?? '', says: (r.says as string | null) ?? '' })
  }
  const read = rows.flatMap((r): Line[] => {
    const kind = text(r.kind)
    const reason = text(r.reason)
    const role = roleOf(kind, text(r.what) ?? '', reason)
    if (!role) return []
    const tag = tags.get(r.row as bigint) ?? null
    const place = placeOf(r)
    const earliest = r.t_earliest as bigint
    // A deletion bears the time at which its grace period ends; it was asked for at the beginning.
    const at = momentOf(earliest, text(r.what) === 'deletion' ? earliest : (r.t_latest as bigint), place, kind === 'instance' ? 'cf' : 'kubernetes')
    return [
      {
        role,
        kind,
        subject: text(r.subject),
        uid: text(r.uid),
        sandbox: text(r.sandbox),
        ip: reason?.includes('hostNetwork') ? null : text(r.ip),
        node: text(r.node),
        reason,
        tag: tag?.tag ?? null,
        says: tag?.says ?? '',
        place,
        at,
      },
    ]
  })
  const indexes = new Indexes(read)
  return read.flatMap(l => factOf(l, indexes))
}

interface Line {
  readonly role: Role
  readonly kind: string | null
  readonly subject: string | null
  readonly uid: string | null
  readonly sandbox: string | null
  readonly ip: string | null
  readonly node: string | null
  readonly reason: string | null
  readonly tag: string | null
  readonly says: string
  readonly place: Place
  readonly at: Moment
}

function factOf(l: Line, indexes: Indexes): Fact[] {
  const base = { role: l.role, node: l.node, ip: l.ip, reason: l.reason, at: l.at }
  if (l.kind !== 'instance') {
    if (l.subject === null) return []
    return [{ ...base, platform: 'kubernetes', key: l.uid ?? l.subject, name: l.subject, uid: l.uid, placed: true, endpoint: null }]
  }
  const router = l.role === 'removed'
  const tag = l.subject === null || isTag(l.subject) ? (l.subject ?? l.tag) : null
  if (tag === null && l.subject !== null) return [{ ...base, platform: 'cf', key: l.subject, name: l.subject, uid: null, placed: true, endpoint: router ? l.sandbox : null }]
  const index = tag === null ? null : indexOf(tag)
  if (tag === null || index === null) return []
  const instance = indexes.at(l.place.source, index, l.at.lo)
  return [{ ...base, platform: 'cf', key: instance ?? `${l.place.source}:${index}`, name: instance ?? tag, uid: null, placed: instance !== null, endpoint: null }]
}

const isTag = (subject: string): boolean => /^[A-Za-z]{2,20}\//.test(subject)

/** The instance's index in `APP/PROC/WEB/1` and `CELL/1`. Tasks and side processes are not the instance. */
function indexOf(tag: string): number | null {
  const m = /^(APP|CELL)\/(.{0,280}\/)?(\d{1,9})$/i.exec(tag)
  return m && !/(?:^|\/)(?:TASK|SIDECAR)\//i.test(m[2] ?? '') ? Number(m[3]) : null
}

/** An index is an instance's until another takes it over. */
class Indexes {
  private readonly known = new Map<string, { at: bigint; instance: string }[]>()

  constructor(lines: readonly Line[]) {
    for (const l of lines) {
      if (l.kind !== 'instance' || l.subject === null || isTag(l.subject) || l.tag === null) continue
      const index = indexOf(l.tag) ?? payloadIndex(l.says)
      if (index === null) continue
      const key = `${l.place.source}:${index}`
      const list = this.known.get(key)
      const entry = { at: l.at.lo, instance: l.subject }
      if (list) list.push(entry)
      else this.known.set(key, [entry])
    }
  }

  /** Who had the index: whom the nearest line names, within a minute, or the only one that it ever belonged to. */
  at(source: number, index: number, t: bigint): string | null {
    const list = this.known.get(`${source}:${index}`)
    if (!list) return null
    const [first] = list
    if (first && list.every(e => e.instance === first.instance)) return first.instance
    const near = list.map(e => ({ ...e, apart: e.at > t ? e.at - t : t - e.at })).filter(e => e.apart <= 60n * SECOND)
    return near.reduce<(typeof near)[number] | null>((m, e) => (m === null || e.apart < m.apart ? e : m), null)?.instance ?? null
  }
}

/** `"index"=>1` of a crash event. */
function payloadIndex(says: string): number | null {
  const m = /\bindex"?\s?(?:=>|:)\s?(\d{1,9})/.exec(says)
  return m ? Number(m[1]) : null
}

export interface Registration {
  readonly instance: string
  readonly endpoint: string
  readonly first: bigint
  readonly last: bigint
}

/** Which backend the router knew under which instance; where it names none the subject is the backend itself. */
export async function readRegistrations({ store }: RuleContext): Promise<Registration[]> {
  const registered = (await store.ids(['registered'])).get('registered')
  if (registered === undefined) return []
  const rows = await store.rows(registrations(registered))
  const words = await store.words(rows.flatMap(r => [r.subject as number, r.sandbox as number]))
  return rows
    .map(r => ({ instance: words.get(r.subject as number) ?? '', endpoint: words.get(r.sandbox as number) ?? '', first: r.t_first as bigint, last: r.t_last as bigint }))
    .filter(r => r.instance !== r.endpoint && r.instance !== '')
}
