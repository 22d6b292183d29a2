/** Gives each failure to the instance that it was sent to, and each instance what became of its requests. */
import type { Failure } from '../../correlate/failures.js'
import { SECOND } from '../../model/instant.js'
import type { RuleContext } from '../rule.js'
import { readFacts, readRegistrations } from './facts.js'
import { type Life, livesOf } from './lives.js'
import { compare, hull, least, merged, type Moment, most } from './moments.js'
import { healedByRouter, type Suspect, suspectOf } from './suspects.js'
import { besideOf, type Fared, faredOf, indexOf, instancesOf, NONE, readTargets, type Target, targetsOf } from './targets.js'
import { distance, exitOnProxy, NEAR, type ProxyExit } from './timing.js'
import { type Verdict, verdictOf } from './verdict.js'

export interface Judged extends Verdict {
  readonly suspect: Suspect
}

/** What is known of one instance, and of the failures that its end explains. */
export interface Ending {
  /** null: nothing tells of its end but its failures. */
  readonly life: Life | null
  readonly exit: ProxyExit | null
  /** The two are related by time alone. */
  readonly byTime: boolean
  readonly judged: readonly Judged[]
  readonly fared: Fared
  /** The requests to other backends meanwhile. */
  readonly beside: { readonly total: number; readonly fine: number }
}

export interface Judgements {
  readonly endings: readonly Ending[]
  /** Stops and exits with requests near them. */
  readonly stops: number
  /** Something that the rule is about: such a stop, a failure of the shape, or a stop on Cloud Foundry, where every instance is behind a router. */
  readonly applies: boolean
  /** Requests that took a second attempt while an instance was stopping, where nothing names the first. */
  readonly unnamed: number
  /** When routers took a backend or an instance out. */
  removals(endpoint: string | null, instance: string | null): readonly Moment[]
}

/** Looks at requests this long before a stop and after the last that is known of the instance. */
const AROUND = 60n * SECOND

export async function judgeStops(context: RuleContext): Promise<Judgements> {
  const [facts, registrations, all] = [await readFacts(context), await readRegistrations(context), await readTargets(context)]
  const lives = livesOf(facts, registrations, context.owners)
  const removed = facts.filter(f => f.role === 'removed')
  const open = context.failures.list.filter(f => f.finding === null && f.cause === null)
  for (const f of open) if (healedByRouter(f)) f.cause = 'retried'
  const instanceAt = instancesOf(registrations, all)
  const suspects = open.map(f => suspectOf(f, instanceAt)).filter(s => s !== null)
  const assigned = assign(suspects, lives, context)
  const index = indexOf(all)
  const reached = lives.map(life => ({ life, targets: targetsOf(life, index) }))
  const fared = await faredOf(
    context,
    reached.map(r => ({ targets: r.targets, ...span(r.life) })),
  )
  const endings = reached.map(({ life }, i) => ending(life, false, assigned.of.get(life) ?? [], fared[i] ?? NONE, context.clockError))
  const unexplained = endings.flatMap(e => unjudged((e.life && assigned.of.get(e.life)) ?? [], e))
  const strangers = await strangersOf(context, [...assigned.without, ...unexplained], lives, all)
  const served = lives.filter((_, i) => (fared[i]?.total ?? 0) > 0)
  const used = [...endings, ...strangers].filter(e => e.judged.length > 0)
  const beside = await besideOf(
    context,
    used.map(e => e.judged.map(j => j.suspect)),
    all,
  )
  return {
    endings: used.map((e, i) => ({ ...e, beside: beside[i] ?? { total: 0, fine: 0 } })),
    stops: served.length,
    applies: suspects.length > 0 || served.length > 0 || lives.some(l => l.platform === 'cf'),
    unnamed: context.failures.list.filter(f => isUnnamed(f) && served.some(life => overlaps(f, life))).length,
    removals: (endpoint, instance) =>
      merged(
        removed.filter(f => f.key === instance || (f.endpoint !== null && f.endpoint === endpoint)).map(f => f.at),
        hull,
      ),
  }
}

interface Assigned {
  readonly of: ReadonlyMap<Life, Suspect[]>
  readonly without: readonly Suspect[]
}

/** A failure belongs to the life of its instance that lies nearest in time. */
function assign(suspects: readonly Suspect[], lives: readonly Life[], { owners }: RuleContext): Assigned {
  const byKey = new Map<string, Life[]>()
  for (const life of lives) for (const key of life.platform === 'cf' ? [life.key, ...life.addresses] : life.addresses) byKey.set(key, [...(byKey.get(key) ?? []), life])
  const of = new Map<Life, Suspect[]>()
  const without: Suspect[] = []
  for (const s of suspects) {
    const key = s.platform === 'kubernetes' ? s.ip : (s.instance ?? s.endpoint)
    const holder = s.platform === 'kubernetes' && s.ip !== null ? owners.at(s.ip, s.end) : null
    const own = (key === null ? [] : (byKey.get(key) ?? [])).filter(
      l => l.placed && l.platform === s.platform && !(holder !== null && holder.uid !== null && l.uid !== null && holder.uid !== l.uid),
    )
    const near = own.reduce<Life | null>((m, l) => (m === null || distance(l, s) < distance(m, s) ? l : m), null)
    if (!near || (distance(near, s) > NEAR && near.key !== s.instance)) {
      without.push(s)
      continue
    }
    const list = of.get(near)
    if (list) list.push(s)
    else of.set(near, [s])
  }
  return { of, without }
}

function ending(life: Life, byTime: boolean, suspects: readonly Suspect[], fared: Fared, clockError: bigint): Ending {
  const exit = life.exit && exitOnProxy(life.exit, suspects, fared, clockError)
  const judged = (hadServed(life, fared) ? suspects : []).flatMap(suspect => {
    const v = verdictOf(suspect, life, exit)
    return v ? [{ suspect, ...v }] : []
  })
  return { life, exit, byTime, judged, fared, beside: { total: 0, fine: 0 } }
}

/** Failures that the known end of their instance does not explain. */
function unjudged(suspects: readonly Suspect[], e: Ending): Suspect[] {
  const judged = new Set(e.judged.map(j => j.suspect))
  return suspects.filter(s => !judged.has(s))
}

/** The container of a pod that exits before the pod answered anything is one that prepared it. */
const hadServed = (life: Life, fared: Fared): boolean => life.platform === 'cf' || life.stop !== null || fared.lastEnd !== null

/** Failures of instances whose end nothing tells: of one that answered later they are no sign of an end. */
async function strangersOf(context: RuleContext, without: readonly Suspect[], lives: readonly Life[], all: readonly Target[]): Promise<Ending[]> {
  const groups = new Map<string, Suspect[]>()
  for (const s of without) {
    const key = s.instance ?? s.endpoint
    if (s.platform !== 'cf' || key === null || s.shape === 'certificate') continue
    const group = groups.get(key)
    if (group) group.push(s)
    else groups.set(key, [s])
  }
  const list = [...groups].sort(([a], [b]) => (a < b ? -1 : 1))
  const fared = await faredOf(
    context,
    list.map(([key, group]) => ({ targets: all.filter(t => (t.instance ?? t.endpoint) === key), low: 0n, high: LATEST, at: least(group.map(s => s.start ?? s.end)) ?? 0n })),
  )
  const endings = list.map(([, group], i) => stranger(group, fared[i] ?? NONE))
  return endings.map(e => byTimeAlone(e, endings, lives, context.clockError) ?? e)
}

const LATEST = 2n ** 62n

function stranger(group: readonly Suspect[], fared: Fared): Ending {
  const dead = group.filter(s => fared.lastStart === null || fared.lastStart <= s.end)
  return { life: null, exit: null, byTime: false, judged: dead.map(suspect => ({ suspect, code: 'undetermined', why: 'no-stop' })), fared, beside: { total: 0, fine: 0 } }
}

/** An exit whose line names no instance belongs to the only failures near it, if it is the only one near them. */
function byTimeAlone(e: Ending, strangers: readonly Ending[], lives: readonly Life[], clockError: bigint): Ending | null {
  const nameless = lives.filter(l => !l.placed && l.exit !== null)
  const near = (x: Ending, l: Life): boolean => x.judged.some(j => l.exit !== null && j.suspect.end >= l.exit.lo - clockError && j.suspect.end <= l.exit.hi + clockError)
  const [life, other] = nameless.filter(l => near(e, l))
  if (!life || other || strangers.filter(x => near(x, life)).length !== 1) return null
  const joined = ending(
    life,
    true,
    e.judged.map(j => j.suspect),
    e.fared,
    clockError,
  )
  return joined.judged.length > 0 ? joined : null
}

const span = (life: Life): { low: bigint; high: bigint; at: bigint } => {
  const from = least([life.stop?.lo ?? null, life.exit?.lo ?? null]) ?? 0n
  const to = most([life.stop?.hi ?? null, life.exit?.hi ?? null, life.gone?.hi ?? null]) ?? from
  // A pod's container may be started again at once, and answer: that is another life.
  const high = life.platform === 'kubernetes' && life.exit !== null ? life.exit.hi : to + AROUND
  return { low: from - AROUND, high, at: from }
}

/** A later attempt answered, and nothing names the instance of the first. */
const isUnnamed = (f: Failure): boolean =>
  f.backends.length === 0 && f.streams.length === 0 && f.finding === null && f.hops.some(h => (h.attempts ?? 1) > 1 && (h.status ?? 0) < 500 && h.proxy === 'gorouter')

function overlaps(f: Failure, life: Life): boolean {
  const { low, high } = span(life)
  const start = least(f.hops.map(h => h.start))
  return start !== null && f.t !== null && compare(f.t, low + AROUND - SECOND) >= 0 && compare(start, high - AROUND + 5n * SECOND) <= 0
}
