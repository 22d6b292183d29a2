/** How an instance ended: when it was told to stop, when its process exited, why, and when it left the routes. */
import type { Ownership } from '../../correlate/owners.js'
import { MILLISECOND, SECOND } from '../../model/instant.js'
import type { Fact, Registration, Role } from './facts.js'
import { compare, hull, merged, type Moment } from './moments.js'

/** Why a process ended. `unknown`: it is known that it did, not whether somebody asked for it. */
export type End = 'stopped' | 'crashed' | 'out-of-memory' | 'unknown'

export interface Exit extends Moment {
  readonly status: number | null
  readonly outOfMemory: boolean
  /** Killed, because it had not exited when its grace period was over. */
  readonly graceExceeded: boolean
  /** It had been signalled before. */
  readonly cancelled: boolean
  /** Not seen itself: only what follows it. */
  readonly inferred: boolean
}

export interface Life {
  readonly platform: 'cf' | 'kubernetes'
  readonly key: string
  readonly name: string
  readonly uid: string | null
  readonly node: string | null
  /** Addresses that it had: `ip:port` of an instance, plain of a pod. */
  readonly addresses: ReadonlySet<string>
  /** Lines name the instance. Otherwise only its time relates it to requests. */
  readonly placed: boolean
  readonly stop: Moment | null
  readonly signal: Moment | null
  readonly certificate: Moment | null
  readonly exit: Exit | null
  readonly gone: Moment | null
  /** Why it was told to stop, as printed. */
  readonly asked: string
  readonly end: End
}

/** How long before an exit its stop may begin: graceful shutdown intervals of an hour exist. */
const STOP_BEFORE_EXIT = 3600n * SECOND
/** How long after an exit the platform still reports it. */
const REPORT_AFTER_EXIT = 60n * SECOND
/** Diego asks for the destruction of a container as soon as its process has exited. */
const DESTROY_AFTER_EXIT = 50n * MILLISECOND
/** Diego reports a crash when the container is complete: the swapped certificate may take five seconds. */
const CRASH_AFTER_EXIT = 10n * SECOND

interface ExitFact extends Exit {
  readonly reason: string | null
}

/** All lives, in order of key and time. */
export function livesOf(facts: readonly Fact[], registrations: readonly Registration[], owners: Ownership): Life[] {
  const groups = new Map<string, Fact[]>()
  for (const f of facts) {
    const group = groups.get(f.key)
    if (group) group.push(f)
    else groups.set(f.key, [f])
  }
  const addresses = new Addresses(registrations, owners)
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([key, group]) => lives(key, group, addresses.of(key, group)))
}

/** The addresses of instances, and of pods by uid, or by name where one of the two has no uid. */
class Addresses {
  private readonly backends = new Map<string, string[]>()
  private readonly byUid = new Map<string, string[]>()
  private readonly byName = new Map<string, string[]>()
  private readonly nameless = new Map<string, string[]>()

  constructor(registrations: readonly Registration[], owners: Ownership) {
    for (const r of registrations) add(this.backends, r.instance, r.endpoint)
    for (const o of owners.all) {
      add(this.byName, o.name, o.ip)
      if (o.uid === null) add(this.nameless, o.name, o.ip)
      else add(this.byUid, o.uid, o.ip)
    }
  }

  of(key: string, group: readonly Fact[]): Set<string> {
    const [first] = group
    if (!first) return new Set()
    if (first.platform === 'cf') return new Set([...(this.backends.get(key) ?? []), ...group.map(f => f.endpoint).filter(e => e !== null)])
    const owned = first.uid === null ? this.byName.get(first.name) : [...(this.byUid.get(first.uid) ?? []), ...(this.nameless.get(first.name) ?? [])]
    return new Set([...group.map(f => f.ip).filter(ip => ip !== null), ...(owned ?? [])])
  }
}

function add(map: Map<string, string[]>, key: string, value: string): void {
  const list = map.get(key)
  if (list) list.push(value)
  else map.set(key, [value])
}

function lives(key: string, group: readonly Fact[], addresses: ReadonlySet<string>): Life[] {
  const of = (role: Role): Fact[] => group.filter(f => f.role === role)
  const moments = (role: Role): Moment[] =>
    merged(
      of(role).map(f => f.at),
      hull,
    )
  const exits = exitsOf(group)
  const stops = moments('stop')
  if (exits.length === 0 && stops.length === 0) return []
  const [first] = group as readonly [Fact, ...Fact[]]
  const ends: (Exit | null)[] = exits.length > 0 ? exits : [null]
  return ends.map((exit, i) => {
    const after = ends[i - 1]?.hi ?? null
    const before = ends[i + 1]?.lo ?? null
    const during = (m: Moment): boolean => (after === null || m.hi > after) && (before === null || m.lo < before)
    const stop = stops.filter(m => during(m) && (exit === null || (m.lo <= exit.hi + SECOND && exit.lo - m.lo <= STOP_BEFORE_EXIT)))[0] ?? null
    const told = (ms: readonly Moment[]): Moment | null => ms.filter(during).filter(m => exit === null || m.lo <= exit.hi + REPORT_AFTER_EXIT)[0] ?? null
    const reports = of('crash').filter(f => during(f.at) && (exit === null || f.at.lo <= exit.hi + REPORT_AFTER_EXIT))
    return {
      platform: first.platform,
      key,
      name: first.name,
      uid: group.find(f => f.uid !== null)?.uid ?? null,
      node: group.find(f => f.node !== null)?.node ?? null,
      addresses,
      placed: group.some(f => f.placed),
      stop,
      signal: told(moments('signal')),
      certificate: told(moments('certificate')),
      exit,
      gone: moments('gone').filter(m => during(m) && (exit === null || m.hi >= exit.lo))[0] ?? null,
      asked: group
        .filter(f => f.role === 'evacuating' || (f.role === 'stop' && stop !== null && f.at.lo >= stop.lo && f.at.lo <= stop.hi))
        .map(f => f.reason ?? '')
        .join(' '),
      end: endOf(exit, stop, reports, group),
    }
  })
}

/** Exits as their own lines tell them, with what later lines report of them; else what an exit must have come before. */
function exitsOf(group: readonly Fact[]): Exit[] {
  const told = group.filter(f => f.role === 'exit').map(exitFact)
  const exits = merged(told, joinExits)
  const later = group.filter(f => f.role === 'crash' || f.role === 'ended' || f.role === 'kill')
  if (exits.length > 0) return exits.map(e => later.filter(f => near(e, f.at)).reduce<Exit>((x, f) => report(x, f), e))
  const crash = group
    .filter(f => f.role === 'crash' || (f.role === 'ended' && f.reason !== null && f.reason !== ''))
    .map(f => ({ ...exitFact(f), lo: f.at.lo - CRASH_AFTER_EXIT, inferred: true }))
  if (crash.length > 0) return merged(crash, joinExits)
  return merged(
    group.filter(f => f.role === 'destroying').map(f => ({ ...exitFact({ ...f, reason: null }), lo: f.at.lo - DESTROY_AFTER_EXIT, inferred: true })),
    joinExits,
  )
}

const near = (e: Moment, m: Moment): boolean => m.hi >= e.lo - SECOND && m.lo <= e.hi + REPORT_AFTER_EXIT

function exitFact(f: Fact): ExitFact {
  const reason = f.reason ?? ''
  const status = /\b(?:status|code|exit):? ?(\d{1,3})\b/i.exec(reason)
  return {
    ...f.at,
    reason: f.reason,
    status: status ? Number(status[1]) : null,
    outOfMemory: /out of memory|OOMKill/i.test(reason),
    graceExceeded: /exceeded [^()]{0,40}graceful shutdown/i.test(reason) || f.role === 'kill',
    cancelled: /\bcancelled\b/.test(reason),
    inferred: false,
  }
}

const joinExits = (a: ExitFact, b: ExitFact): ExitFact => ({ ...hull(a, b), reason: a.reason ?? b.reason, ...flags(a, b), inferred: a.inferred && b.inferred })

const flags = (a: Exit, b: Exit) => ({
  status: a.status ?? b.status,
  outOfMemory: a.outOfMemory || b.outOfMemory,
  graceExceeded: a.graceExceeded || b.graceExceeded,
  cancelled: a.cancelled || b.cancelled,
})

/** What a later line reports of an exit, without its time. */
function report(e: Exit, f: Fact): Exit {
  return { ...e, ...flags(e, exitFact(f)), places: [...e.places, ...f.at.places] }
}

/** Statuses that a process has that was signalled to stop, or ends as if it had been. */
const SIGTERM = 143
const NO_TELLING = new Set([0, 137])

function endOf(exit: Exit | null, stop: Moment | null, reports: readonly Fact[], group: readonly Fact[]): End {
  if (exit === null) return stop ? 'stopped' : 'unknown'
  const asked = exit.cancelled || exit.graceExceeded
  // A crash makes the cell stop what is left, and say so: the platform's own verdict comes first.
  if (reports.some(f => f.role === 'crash') && !asked) return exit.outOfMemory ? 'out-of-memory' : 'crashed'
  if (exit.graceExceeded) return 'stopped'
  if (exit.outOfMemory) return 'out-of-memory'
  if (asked || (stop !== null && compare(stop.lo, exit.hi) <= 0) || exit.status === SIGTERM) return 'stopped'
  if (exit.inferred) return 'unknown'
  // Where the source would have told of a stop, none was asked for.
  const wouldShow = group.some(f => f.platform === 'cf' && (f.role === 'ended' || f.role === 'destroying' || f.role === 'gone'))
  return wouldShow || (exit.status !== null && !NO_TELLING.has(exit.status)) ? 'crashed' : 'unknown'
}
