/** Pods that disappeared, and between which instants: from the intervals of ownership, and from statements about a pod by name. */
import type { Place } from '../../correlate/evidence.js'
import { type Owner, placeOf } from '../../correlate/owners.js'
import { groupBy } from '../../model/group.js'
import { SECOND } from '../../model/instant.js'
import type { RuleContext } from '../rule.js'
import { compare, laterOf } from './instants.js'
import { podFacts } from './sessions.sql.js'

export interface Death {
  readonly pod: string | null
  readonly uid: string | null
  /** null: nothing says which address the pod had. */
  readonly ip: string | null
  /** Its network was gone not before `lo`, and not after `hi`. */
  readonly lo: bigint
  readonly hi: bigint
  /** What the source says: `killed`, `sandbox-gone` … */
  readonly what: string
  /** When a pod of that name was there again, and what was said of it. */
  readonly back: { readonly t: bigint; readonly says: string } | null
  /** A network that ended, or an exact timeline; else a stop that was only asked for, or a time that is about right. */
  readonly exact: boolean
  /** The death, then the return. */
  readonly places: readonly Place[]
}

/** What begins or is the end of a pod; the end of one container is neither. */
const ENDS = ['killed', 'stopped', 'stopping', 'deleted', 'evicted', 'terminating', 'terminated', 'destroyed', 'sandbox-gone'] as const
const RETURNS = ['ready', 'started', 'restarted', 'created', 'container-started', 'ready-sandbox'] as const
/** Kubernetes' default terminationGracePeriodSeconds, and what the sandbox takes to go. */
const GRACE = 33n * SECOND
/** A pod that is not back by then is another story. */
const BACK_WITHIN = 600n * SECOND
/** Statements about one end. */
const ONE_END = 120n * SECOND
/** What a source may mean that calls its times approximate. */
const ABOUT = 60n * SECOND

interface Fact {
  readonly pod: string | null
  readonly uid: string | null
  readonly ip: string | null
  readonly what: string
  readonly reason: string | null
  readonly exact: boolean
  readonly lo: bigint | null
  readonly hi: bigint | null
  readonly place: Place
}

/** By address, each in order of time. */
export class Deaths {
  private readonly byIp: ReadonlyMap<string, readonly Death[]>

  constructor(readonly all: readonly Death[]) {
    this.byIp = groupBy(all, d => d.ip ?? '')
  }

  /** null: those whose address nothing names. */
  of(ip: string | null): readonly Death[] {
    return this.byIp.get(ip ?? '') ?? []
  }
}

export async function deathsOf(context: RuleContext): Promise<Deaths> {
  const { all } = context.owners
  const owned = all.filter(o => o.to !== null && o.kind !== 'node' && o.kind !== 'service' && o.kind !== 'instance').map(ofOwner)
  const facts = await readFacts(context)
  // An interval of ownership bounds the same end better; what else tells of it is cited with it.
  const intervals = new Pods(owned, true)
  const named = ofFacts(facts, new Pods(facts), new Pods(all.map(o => ({ ...o, pod: o.name })))).filter(n => !intervals.near(n).some(o => sameEnd(o, n, n)))
  const cited = new Map<Death, Place[]>()
  for (const f of facts) {
    const { lo } = f
    if (lo === null || !isEnd(f)) continue
    for (const o of intervals.near(f)) if (sameEnd(o, f, { lo, hi: f.hi ?? lo })) cited.set(o, [...(cited.get(o) ?? []), f.place])
  }
  return new Deaths([...owned.map(o => withPlaces(o, cited.get(o) ?? [])), ...named].sort(byTime))
}

const byTime = (a: Death, b: Death): number => compare(a.lo, b.lo) || compareText(a.ip ?? '', b.ip ?? '') || compareText(a.pod ?? '', b.pod ?? '')
const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

function ofOwner(o: Owner): Death {
  const to = o.to as bigint
  const stated = o.places.some(p => p.role === 'owned')
  const about = stated && !o.certain ? ABOUT : 0n
  const end = o.places.filter(p => p.role === 'end' || p.role === 'owned').map(p => p.place)
  return {
    pod: o.name,
    uid: o.uid,
    ip: o.ip,
    lo: (o.toEarliest ?? to) - about,
    hi: (o.toLatest ?? to) + about,
    what: stated ? 'owned' : 'ended',
    back: null,
    exact: !stated || o.certain,
    places: end.length > 0 ? end : o.places.map(p => p.place),
  }
}

function withPlaces(o: Death, told: readonly Place[]): Death {
  const fresh = told.filter(p => !o.places.some(q => q.source === p.source && q.byteStart === p.byteStart))
  return { ...o, places: [...o.places, ...fresh] }
}

function sameEnd(owned: Death, named: Named & { readonly ip: string | null }, at: { readonly lo: bigint; readonly hi: bigint }): boolean {
  if (owned.hi < at.lo - ONE_END || owned.lo > at.hi + ONE_END) return false
  if (named.ip !== null) return named.ip === owned.ip && samePod(owned, named)
  // People name the workload, its pods have suffixes.
  return samePod(owned, named) || (named.pod !== null && bare(owned.pod).startsWith(`${bare(named.pod)}-`))
}

type Named = { readonly pod: string | null; readonly uid: string | null }

/** By uid where both have one, else by name: tables and notes leave the namespace out. */
function samePod(a: Named, b: Named): boolean {
  if (a.uid !== null && b.uid !== null) return a.uid === b.uid
  return a.pod !== null && b.pod !== null && (a.pod === b.pod || (bare(a.pod) === bare(b.pod) && (!a.pod.includes('/') || !b.pod.includes('/'))))
}

const bare = (name: string | null): string => (name ?? '').slice((name ?? '').lastIndexOf('/') + 1)

/** What is about pods, found by uid and name without comparing all with all. `workloads`: also by the names that pods get from their workload. */
class Pods<T extends Named> {
  private readonly byKey = new Map<string, T[]>()

  constructor(items: readonly T[], workloads = false) {
    for (const item of items)
      for (const key of new Set([...keysOf(item), ...(workloads ? prefixes(bare(item.pod)) : [])])) {
        const list = this.byKey.get(key)
        if (list) list.push(item)
        else this.byKey.set(key, [item])
      }
  }

  /** Those that may be about the same pod: names and uids still have to be compared. */
  near(pod: Named): T[] {
    return [...new Set(keysOf(pod).flatMap(k => this.byKey.get(k) ?? []))]
  }
}

const keysOf = (pod: Named): string[] => [...(pod.uid === null ? [] : [`uid ${pod.uid}`]), pod.pod === null ? 'unnamed' : `name ${bare(pod.pod)}`]

/** `name web`, `name web-7c9d5bdf6f` of `web-7c9d5bdf6f-x2x7m`. */
function prefixes(name: string): string[] {
  const parts = name.split('-').slice(0, 12)
  return parts.map((_, i) => `name ${parts.slice(0, i + 1).join('-')}`)
}

async function readFacts({ store }: RuleContext): Promise<Fact[]> {
  const whats = await store.ids([...ENDS, ...RETURNS])
  if (whats.size === 0) return []
  const rows = await store.rows(podFacts([...whats.values()]))
  const words = await store.words(rows.flatMap(r => [r.subject, r.kind, r.uid, r.ip, r.what, r.reason]).filter((v): v is number => typeof v === 'number'))
  const text = (v: unknown): string | null => words.get(v as number) ?? null
  return rows
    .filter(r => (text(r.kind) ?? 'pod') === 'pod')
    .map(r => ({
      pod: text(r.subject),
      uid: text(r.uid),
      ip: text(r.ip),
      what: text(r.what) ?? '',
      reason: text(r.reason),
      exact: r.exact !== false,
      lo: r.t_earliest as bigint | null,
      hi: r.t_latest as bigint | null,
      place: placeOf(r),
    }))
}

const isEnd = (f: Fact): boolean => (ENDS as readonly string[]).includes(f.what)

/** Ends that statements about a pod tell: those of one pod within two minutes are one. */
function ofFacts(facts: readonly Fact[], about: Pods<Fact>, owners: Pods<Owned>): Death[] {
  const dated = facts.filter(f => isEnd(f) && f.lo !== null && f.hi !== null)
  const byPod = groupBy(dated, f => `${f.uid ?? ''} ${f.pod ?? `source ${f.place.source}`} ${f.ip ?? ''}`)
  return [...byPod.values()].flatMap(group => {
    const ends: Fact[][] = []
    for (const f of group.sort((a, b) => compare(a.lo as bigint, b.lo as bigint))) {
      const last = ends.at(-1)
      if (last && (f.lo as bigint) - (last[0]?.lo as bigint) <= ONE_END) last.push(f)
      else ends.push([f])
    }
    return ends.flatMap(e => endOf(e as [Fact, ...Fact[]], about, owners))
  })
}

type Owned = Owner & Named

function endOf(end: readonly [Fact, ...Fact[]], all: Pods<Fact>, owners: Pods<Owned>): Death[] {
  const [first] = end
  const about = end.every(f => f.exact) ? 0n : ABOUT
  const lo = (first.lo as bigint) - about
  const gone = end.find(f => f.what === 'sandbox-gone' || f.what === 'destroyed')
  // A pod without a name is the one that its source speaks of.
  const facts = all.near(first).filter(f => (first.pod === null && first.uid === null ? f.pod === null && f.place.source === first.place.source : samePod(f, first)))
  const back = facts
    .filter(f => (RETURNS as readonly string[]).includes(f.what) && f.lo !== null && f.lo > (first.lo as bigint) && f.lo <= (first.lo as bigint) + BACK_WITHIN)
    .sort((a, b) => compare(a.lo as bigint, b.lo as bigint))
    // The last of them is the readiest, until the next end.
    .reduce<Fact | null>((m, f) => (m === null || f.what === 'ready' ? f : m), null)
  // A pod that is ready again under its uid had a container restarted: its network, and its connections' kernel, lived on.
  if (!gone && back && first.uid !== null && back.uid === first.uid && back.what !== 'ready-sandbox') return []
  const latest = end.map(f => f.hi as bigint).reduce(laterOf)
  const death = {
    pod: first.pod,
    uid: first.uid,
    lo,
    hi: gone ? (gone.hi as bigint) + SECOND : back ? (back.lo as bigint) + about : latest + GRACE + about,
    what: first.what,
    back: back ? { t: back.lo as bigint, says: back.reason ?? back.what } : null,
    exact: gone !== undefined && about === 0n,
    places: [...end.map(f => f.place), ...(back ? [back.place] : [])],
  }
  const ips = addressesOf(first, facts, owners.near(first))
  return ips.length > 0 ? ips.map(ip => ({ ...death, ip })) : [{ ...death, ip: null }]
}

/** Addresses that the pod is known to have had before its end. */
function addressesOf(end: Fact, facts: readonly Fact[], owners: readonly Owned[]): string[] {
  if (end.ip !== null) return [end.ip]
  const told = facts.filter(f => f.ip !== null && (f.lo === null || f.lo <= (end.lo as bigint))).map(f => f.ip as string)
  const owned = owners.filter(o => samePod(o, end) && (o.from === null || o.from <= (end.lo as bigint))).map(o => o.ip)
  return [...new Set([...told, ...owned])].sort()
}
