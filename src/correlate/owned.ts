/** Intervals of ownership, from statements about pods: what each statement says about the start and the end, and how surely. */
import { groupBy } from '../model/group.js'
import { MILLISECOND, SECOND } from '../model/instant.js'
import type { Place } from './evidence.js'

/** One interval of ownership. Bounds are instants; null is unbounded (`from`) or still held (`to`). */
export interface Owner {
  readonly ip: string
  readonly kind: string
  readonly name: string
  readonly uid: string | null
  readonly sandbox: string | null
  readonly node: string | null
  /** Counts the sandboxes that one pod had at this address: each is an owner of its own. */
  readonly generation: number
  from: bigint | null
  fromEarliest: bigint | null
  fromLatest: bigint | null
  to: bigint | null
  toEarliest: bigint | null
  toLatest: bigint | null
  certain: boolean
  /** Row in the view `owner`. */
  row: number
  readonly places: { role: string; place: Place }[]
}

export interface Fact {
  readonly ip: string | null
  readonly subject: string
  readonly kind: string
  readonly uid: string | null
  readonly sandbox: string | null
  readonly node: string | null
  readonly what: string
  readonly reason: string | null
  readonly exact: boolean | null
  readonly earliest: bigint | null
  readonly latest: bigint | null
  readonly place: Place
  /** A listing shows all of its pods at one moment: two that hold one address in it contradict each other. */
  readonly snapshot: boolean
}

/** In milliseconds: the truth lies between time + low and time + high, and at time + likely in the middle of the cases. */
interface Error {
  readonly low: number
  readonly likely: number
  readonly high: number
}

const ERROR_OF_READY: Error = { low: -910, likely: 0, high: 840 }
/** How far the API's whole-second times lie from the true start and end of ownership, measured on a real control plane; the surest first. */
const START: Readonly<Record<string, Error>> = {
  'ready-sandbox': ERROR_OF_READY,
  'container-started': { low: -5300, likely: 420, high: 990 },
  started: { low: 310, likely: 840, high: 35_800 },
  created: { low: 310, likely: 840, high: 35_800 },
}
const END: Readonly<Record<string, Error>> = {
  'sandbox-gone': { low: 50, likely: 570, high: 900 },
  'container-exited': { low: 50, likely: 630, high: 2400 },
  // The object's end: finalizers keep it longer than the address, a forced deletion less long.
  deleted: { low: -197_000, likely: -800, high: 35_000 },
}
/** Where another sandbox follows, the condition may change after the network did. */
const REPLACED: Readonly<Record<string, Error>> = { 'sandbox-gone': { low: -1000, likely: -200, high: 900 } }
/** A deletion without grace ends the object at once, and says nothing of when the node lets go of the address. */
const FORCED = /\bgrace 0s/
/** What a pod does only while it has its address: then it held it at that time, to whole seconds. */
const ALIVE = new Set(['ready-sandbox', 'container-started', 'ready', 'container-exited'])

/** Intervals that a timeline states. An approximate one is never certain. */
export function stated(facts: readonly Fact[]): Owner[] {
  return facts.flatMap(f =>
    f.what !== 'owned' || f.ip === null
      ? []
      : [
          {
            ip: f.ip,
            kind: f.kind,
            name: f.subject,
            uid: f.uid,
            sandbox: f.sandbox,
            node: f.node,
            generation: 0,
            from: f.earliest,
            fromEarliest: f.earliest,
            fromLatest: f.earliest,
            to: f.latest,
            toEarliest: f.latest,
            toLatest: f.latest,
            certain: f.exact !== false,
            row: -1,
            places: [{ role: 'owned', place: f.place }],
          },
        ],
  )
}

/** Intervals from what objects, watches and listings show. */
export function observed(facts: readonly Fact[]): Owner[] {
  const usable = facts.filter(f => f.what !== 'owned' && f.kind !== 'endpoint' && f.kind !== 'service' && f.kind !== 'instance' && !f.reason?.includes('hostNetwork'))
  const held = [...holdings(usable).values()].flatMap(intervalsOf)
  for (const list of groupBy(held, h => h.owner.ip).values()) closeByNext(list)
  return held.map(h => h.owner)
}

/** An interval, and the statements that it was made of. */
interface Held {
  readonly owner: Owner
  readonly facts: readonly Fact[]
}

interface Holding {
  readonly ip: string
  readonly facts: Fact[]
}

/** Statements by address and pod. Those that name no address are about each address that the pod has, unless it changed. */
function holdings(facts: readonly Fact[]): Map<string, Holding> {
  const uidOf = uids(facts)
  const out = new Map<string, Holding>()
  const ofPod = new Map<string, Set<string>>()
  for (const f of facts) {
    if (f.ip === null) continue
    const pod = uidOf(f)
    const key = `${f.ip} ${pod}`
    const known = out.get(key)
    if (known) known.facts.push(f)
    else out.set(key, { ip: f.ip, facts: [f] })
    ofPod.set(pod, (ofPod.get(pod) ?? new Set()).add(f.ip))
  }
  for (const f of facts) {
    if (f.ip !== null) continue
    const ips = [...(ofPod.get(uidOf(f)) ?? [])]
    if (new Set(ips.map(ip => ip.includes(':'))).size === ips.length) for (const ip of ips) out.get(`${ip} ${uidOf(f)}`)?.facts.push(f)
  }
  return out
}

/** A table names its pods without uid: where one uid alone has that name and address, it is that pod. */
function uids(facts: readonly Fact[]): (f: Fact) => string {
  const byName = new Map<string, Set<string>>()
  const key = (f: Fact): string => `${f.ip ?? ''} ${f.subject}`
  for (const f of facts) if (f.uid !== null) byName.set(key(f), (byName.get(key(f)) ?? new Set()).add(f.uid))
  return f => {
    const known = f.uid === null ? byName.get(key(f)) : undefined
    return f.uid ?? (known?.size === 1 ? ([...known][0] as string) : f.subject)
  }
}

const isTerminal = (f: Fact): boolean => f.what === 'listed' && /^(?:Succeeded|Failed|Completed)\b/.test(f.reason ?? '')

/** What says that a pod has, or had, an address; that it ended alone does not. */
const HAD = new Set([...Object.keys(START), 'listed', 'assigned', 'endpoint', 'ready'])

/** One interval, or one for each sandbox that the pod had there. */
function intervalsOf({ ip, facts }: Holding): Held[] {
  const [first] = facts
  if (!first || !facts.some(f => HAD.has(f.what))) return []
  const starts = [...new Map(facts.filter(f => f.what === 'ready-sandbox' && f.earliest !== null).map(f => [f.earliest as bigint, f])).values()].sort(byTime)
  const base = {
    ip,
    kind: first.kind,
    name: first.subject,
    uid: facts.find(f => f.uid !== null)?.uid ?? null,
    sandbox: facts.find(f => f.what === 'listed' && f.sandbox !== null)?.sandbox ?? null,
    node: facts.find(f => f.node !== null)?.node ?? null,
  }
  if (starts.length < 2) return [{ owner: interval(base, 0, facts), facts }]
  return starts.map((s, i) => {
    const next = starts[i + 1]
    const until = next ? (next.earliest as bigint) : null
    const own = facts
      .filter(f => f.what !== 'ready-sandbox' || f.earliest === s.earliest)
      .filter(f => f.earliest === null || (!before(f, s, i) && (until === null || f.earliest < until - (f.what === 'container-started' ? ITS_CONTAINER : 0n))))
    const owner = interval(base, i, own, next ? REPLACED : END)
    if (next && owner.to === null) endBy(owner, { at: next.earliest as bigint, latest: shift(next.earliest as bigint, ERROR_OF_READY.high), place: next.place }, own)
    return { owner, facts: own }
  })
}

/** A sandbox's containers may start before it is called ready. */
const ITS_CONTAINER = 6n * SECOND

/** What precedes the first sandbox is still said of it (the pod's creation); what precedes a later one is said of the one before. */
const before = (f: Fact, start: Fact, index: number): boolean => index > 0 && f.earliest !== null && start.earliest !== null && f.earliest < start.earliest

function interval(base: Pick<Owner, 'ip' | 'kind' | 'name' | 'uid' | 'sandbox' | 'node'>, generation: number, facts: readonly Fact[], ends = END): Owner {
  const start = surest(facts, START, 'earliest')
  // A container that exits may be restarted in place: it tells the end only of a pod that is over.
  const end = surest(facts.some(isTerminal) ? facts : facts.filter(f => f.what !== 'container-exited'), ends, 'latest')
  const forced = end?.by === 'deleted' && facts.some(f => f.what === 'deleted' && FORCED.test(f.reason ?? ''))
  const seen = facts.filter(f => f.what === 'listed' && f.earliest !== null).map(f => f.earliest as bigint)
  const places = [...(start ? [{ role: 'start', place: start.place }] : []), ...(end ? [{ role: 'end', place: end.place }] : [])]
  return {
    ...base,
    generation,
    from: start?.at ?? null,
    fromEarliest: start?.low ?? null,
    fromLatest: start?.high ?? least(seen),
    to: end?.at ?? null,
    toEarliest: end?.by === 'deleted' ? later(end.low, lastAlive(facts), start?.high ?? null) : (end?.low ?? null),
    toLatest: forced ? null : (end?.high ?? null),
    certain: start?.by === 'ready-sandbox',
    row: -1,
    places: places.length > 0 ? places : facts.slice(0, 1).map(f => ({ role: 'listed', place: f.place })),
  }
}

/** When a pod was last seen doing what it does only with its address. */
const lastAlive = (facts: readonly Fact[]): bigint | null => most(facts.filter(f => ALIVE.has(f.what) && f.earliest !== null).map(f => f.earliest as bigint))
const later = (...times: readonly (bigint | null)[]): bigint | null => most(times.filter(t => t !== null))

interface Bound {
  readonly by: string
  readonly at: bigint
  readonly low: bigint
  readonly high: bigint
  readonly place: Place
}

const shift = (t: bigint, ms: number): bigint => t + BigInt(ms) * MILLISECOND

/** The fact of the kind that lies closest to the truth; of several the earliest (start) or the latest (end). */
function surest(facts: readonly Fact[], kinds: Readonly<Record<string, Error>>, pick: 'earliest' | 'latest'): Bound | null {
  for (const [by, e] of Object.entries(kinds)) {
    const found = facts.filter(f => f.what === by && f.earliest !== null).sort(byTime)
    const f = pick === 'earliest' ? found[0] : found.at(-1)
    if (f && f.earliest !== null) return { by, at: shift(f.earliest, e.likely), low: shift(f.earliest, e.low), high: shift(f.earliest, e.high), place: f.place }
  }
  return null
}

/** An address has one owner: the next one's start ends an interval whose own end nothing shows (force-deleted pods, pods of an older listing). */
function closeByNext(held: readonly Held[]): void {
  const dated = held.filter(h => h.owner.from !== null && h.owner.kind === 'pod').sort((a, b) => compareBig(a.owner.from, b.owner.from))
  dated.forEach((h, i) => {
    // The end of a forced deletion's object is none of the ownership: the next owner's start bounds it better.
    if (h.owner.to !== null && h.owner.toLatest !== null) return
    const next = dated.slice(i + 1, i + 1 + NEXT_MOST).find(n => n.owner.uid === null || n.owner.uid !== h.owner.uid)
    const place = next?.owner.places.find(p => p.role === 'start')?.place
    if (!next || next.owner.from === null || !place || listedTogether(h, next)) return
    endBy(h.owner, { at: next.owner.from, latest: next.owner.fromLatest ?? next.owner.from, place }, h.facts)
  })
}

/** Sandboxes of the same pod that may lie between it and the next pod. */
const NEXT_MOST = 16

/** Ends an interval by what came after it. It lasted at least until its pod was last seen at work. */
function endBy(o: Owner, next: { at: bigint; latest: bigint; place: Place }, facts: readonly Fact[]): void {
  if (o.to === null || o.to > next.at) o.to = next.at
  o.toEarliest = bounded(lastAlive(facts) ?? o.fromLatest, o.fromLatest, next.at)
  o.toLatest = next.latest
  o.places.push({ role: 'end', place: next.place })
}

/** A bound that lies neither before the start nor after the end. */
function bounded(t: bigint | null, least: bigint | null, most: bigint | null): bigint | null {
  if (t === null) return null
  if (least !== null && t < least) return least
  return most !== null && t > most ? most : t
}

/** One listing shows both at work: then neither ended the other. */
function listedTogether(a: Held, b: Held): boolean {
  const shown = (h: Held): Set<number> =>
    new Set(h.facts.filter(f => f.snapshot && f.what === 'listed' && !isTerminal(f) && !f.reason?.includes('terminating')).map(f => f.place.source))
  const ofB = shown(b)
  return [...shown(a)].some(s => ofB.has(s))
}

export const compareBig = (a: bigint | null, b: bigint | null): number => (a === b ? 0 : a === null ? -1 : b === null ? 1 : a < b ? -1 : 1)
const byTime = (a: Fact, b: Fact): number => compareBig(a.earliest, b.earliest)
const least = (list: readonly bigint[]): bigint | null => list.reduce<bigint | null>((m, t) => (m === null || t < m ? t : m), null)
const most = (list: readonly bigint[]): bigint | null => list.reduce<bigint | null>((m, t) => (m === null || t > m ? t : m), null)
