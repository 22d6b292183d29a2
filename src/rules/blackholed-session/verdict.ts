/** Whether a session was blackholed, and how surely. One session, one verdict; nothing here speaks. */
import type { Owner } from '../../correlate/owners.js'
import { SECOND } from '../../model/instant.js'
import type { Confidence } from '../../model/report.js'
import type { RuleContext } from '../rule.js'
import type { Around } from './around.js'
import type { Death, Deaths } from './deaths.js'
import { laterOf } from './instants.js'
import type { Limits } from './kernel.js'
import { NOTHING, type Suspect, type Traffic } from './traffic.js'
import type { Captured, Session } from './sessions.js'

export type Code = 'ended-by-timeout' | 'still-open' | 'ended-by-keepalive' | 'at-risk'

export interface Case {
  readonly session: Session
  readonly death: Death | null
  readonly owner: Owner | null
  readonly traffic: Traffic
  readonly around: Around | null
  readonly code: Code
  readonly confidence: Confidence
  /** Between which instants the first unacknowledged write lies; null where nothing bounds it. */
  readonly written: { readonly from: bigint; readonly to: bigint } | null
  /** Whether bytes were on their way to the pod when the session ended. */
  readonly inFlight: boolean | null
  /** What shows that the kernel gave up. */
  readonly kernel: 'errno' | 'capture' | 'both' | null
  /** How the time fits the window of retransmissions: all of the interval, part of it, or it is not known. */
  readonly fits: 'all' | 'part' | null
  /** How the pod was related to the session whose address no statement about the pod names. */
  readonly relation: 'sure' | 'weak' | null
  /** When it ended at the latest; null: it has not. */
  readonly end: bigint | null
}

/** Envoy's default idle timeout of TCP sessions, and one that operators like. */
export const IDLE_DEFAULT = 3600n * SECOND
export const IDLE_QUARTER = 900n * SECOND
const EXACT = SECOND / 2n

/** The pod behind a session that was open when it disappeared. `only`: no other pod of unknown address comes into question. */
export function deathOf(s: Session, deaths: Deaths, limits: Limits, context: RuleContext): { death: Death | null; only: boolean } {
  const open = (d: Death): boolean => d.hi >= s.start && (s.end === null || d.lo <= s.end)
  const own = deaths.of(s.ip).find(open)
  const { end } = s
  if (own || end === null || context.owners.maybe(s.ip, end).length > 0) return { death: own ?? null, only: true }
  const error = context.clockError
  const near = deaths.of(null).filter(d => d.lo >= s.start && end - d.lo >= limits.low - error && end - d.hi <= limits.high + error)
  return { death: near[0] ?? null, only: new Set(near.map(d => d.pod)).size <= 1 }
}

/** Somebody else has the address before the session ends: then its end is another rule's. */
function taken(s: Session, death: Death | null, context: RuleContext): boolean {
  return context.owners
    .of(s.ip)
    .some(o => o.from !== null && (o.fromEarliest ?? o.from) > s.start && (s.end === null || o.from <= s.end) && (death === null || o.name !== death.pod || o.uid !== death.uid))
}

export interface Seen {
  readonly traffic: Traffic | undefined
  readonly around: Around | undefined
}

/** null: nothing speaks against the session. */
export function verdictOf({ session: s, death: said, only }: Suspect, seen: Seen, limits: Limits, context: RuleContext, miscLogged: ReadonlySet<number>): Case | null {
  const traffic = seen.traffic ?? NOTHING
  if (taken(s, said, context)) return null
  const relation = said && said.ip === null ? relationOf(seen.around ?? null, only) : null
  // What shows that the address lives, or that nothing relates the pod to it, leaves only the session's own evidence.
  const death = said && !lives(s, said, seen, context) && (said.ip !== null || relation !== null) ? said : null
  const around = death ? (seen.around ?? null) : null
  const capture = captureSays(s, context)
  if (capture === 'answered') return null
  const errno = s.log?.how === 'timeout'
  if (!errno && knownOtherwise(s, death, miscLogged)) return null
  const kernel = errno && capture?.gaveUp ? 'both' : errno ? 'errno' : capture?.gaveUp ? 'capture' : null
  const end = s.end ?? (capture?.gaveUp ? capture.end : null)
  const written = writtenOf(s, death, traffic, capture?.unacked ?? null)
  const inFlight = inFlightOf(s, death, traffic, capture, written, end)
  const base = { session: s, death, owner: ownerOf(s, context), traffic, around, written, inFlight, kernel, relation: death ? relation : null, end } as const
  if (end === null) return openCase(base, s, capture, context)
  if (kernel !== null) return endedByKernel(base, capture, limits, context)
  return endedInWindow(base, limits, context)
}

/** Somebody reached the address after the pod is said to be gone, or was answered. Where the address of the pod is not known, the session's must never be reached again. */
function lives(s: Session, death: Death, { traffic, around }: Seen, context: RuleContext): boolean {
  const again = around?.usedAgain ?? null
  if (again !== null && (death.ip === null || s.end === null || again <= s.end)) return true
  const answered = traffic?.answered ?? null
  return answered !== null && answered > death.hi + context.clockError
}

type Base = Omit<Case, 'code' | 'confidence' | 'fits'>

const ownerOf = (s: Session, context: RuleContext): Owner | null => context.owners.at(s.ip, s.start)

/** The log shows another end. A FIN or RST that came as an errno line would have shows as one only where those lines are logged. */
function knownOtherwise(s: Session, death: Death | null, miscLogged: ReadonlySet<number>): boolean {
  if (!s.log || s.log.how === 'open') return false
  return s.log.how !== 'fin' || death === null || miscLogged.has(s.log.source)
}

interface CaptureSigns {
  readonly unacked: bigint | null
  readonly repeated: boolean
  readonly probed: boolean
  readonly gaveUp: boolean
  readonly end: bigint | null
  readonly idle: boolean
}

/** Three repetitions without an answer are no lost packet. */
const REPEATED = 3

function captureSays(s: Session, context: RuleContext): CaptureSigns | 'answered' | null {
  const c = s.capture
  if (!c?.bothWays) return null
  const { unacked, clientLast } = c
  if (unacked === null) {
    const probed = c.probes >= 2 && c.ended === 'rst' && c.endedBy === 'client' && c.serverLast !== null && clientLast !== null && clientLast - c.serverLast > SECOND
    const idle = (c.ended === 'open' || c.ended === 'none') && lastOf(c, context) >= (s.end ?? 0n)
    if (!probed && !idle && (c.ended === 'open' || c.ended === 'none')) return null
    return probed || idle ? { unacked: null, repeated: false, probed, gaveUp: probed, end: probed ? clientLast : null, idle } : 'answered'
  }
  const silent = c.serverLast === null || c.serverLast < unacked
  const open = c.ended === 'open' || c.ended === 'none'
  if (!silent || !open || c.retransmissions < REPEATED || clientLast === null) return s.end === null ? 'answered' : null
  // The next repetition was due one doubled interval after the last: had it not come, the kernel had given up.
  const elapsed = clientLast - unacked
  const next = (elapsed < 120n * SECOND ? elapsed : 121n * SECOND) + SECOND
  const over = lastOf(c, context)
  const gaveUp = (s.end !== null && s.end >= clientLast && s.end - clientLast <= next * 2n) || over - clientLast > (next * 11n) / 10n
  return { unacked, repeated: true, probed: false, gaveUp, end: s.end ?? (gaveUp ? clientLast : null), idle: false }
}

/** A capture that ends before the session tells nothing of what came later. */
const lastOf = (c: Captured, context: RuleContext): bigint => context.sources.find(x => x.id === c.capture)?.last ?? 0n

function writtenOf(s: Session, death: Death | null, traffic: Traffic, unacked: bigint | null): Case['written'] {
  if (unacked !== null) return { from: unacked, to: unacked }
  if (death === null) return traffic.answersShown && traffic.maybe !== null && traffic.maybe > (traffic.answered ?? s.start) ? { from: traffic.maybe, to: traffic.maybe } : null
  if (traffic.complete) {
    const from = traffic.maybe ?? traffic.sure
    return from === null ? null : { from, to: traffic.sure ?? traffic.last ?? from }
  }
  const to = traffic.sure ?? s.end
  return to === null ? null : { from: death.lo, to }
}

/** A client that writes this shortly before the end leaves no time for keep-alive probes, which begin only when nothing is on its way. */
const BUSY = 5n * SECOND

function inFlightOf(s: Session, death: Death | null, t: Traffic, capture: CaptureSigns | null, written: Case['written'], end: bigint | null): boolean | null {
  if (capture?.repeated) return true
  if (capture?.probed || capture?.idle) return false
  if (death !== null) {
    if (t.sure !== null) return true
    if (t.complete) return t.maybe !== null && written !== null ? null : false
    return null
  }
  if (t.answersShown && s.log) return t.last !== null && t.last > (t.answered ?? s.start)
  return t.last !== null && end !== null && end - t.last <= BUSY ? true : null
}

/** Only what became of the address relates the session to the pod: how likely is that by chance, with `beside` addresses in use? */
function relationOf(a: Around | null, only: boolean): 'sure' | 'weak' | null {
  const sure = a !== null && a.later > 0 && a.beside > 0 && (1 - 1 / a.beside) ** a.later < 0.05
  // Where several pods died whose addresses nobody names, a weak sign is none.
  return sure && only ? 'sure' : sure || only ? 'weak' : null
}

function openCase(base: Base, s: Session, capture: CaptureSigns | null, context: RuleContext): Case | null {
  if (capture?.repeated) return { ...base, code: 'still-open', confidence: base.death ? 'certain' : 'likely', fits: null }
  const { death } = base
  const over = context.sources.find(x => x.id === (s.log?.source ?? s.capture?.capture))?.last ?? null
  if (death === null || death.ip === null || over === null || over < death.hi) return null
  if (base.inFlight !== true || s.log === null) return { ...base, code: 'at-risk', confidence: death.exact ? 'likely' : 'possible', fits: null }
  // A byte that was written a moment before the log ends is not yet late.
  const late = base.traffic.sure !== null && over - base.traffic.sure > 10n * SECOND
  return { ...base, code: late ? 'still-open' : 'at-risk', confidence: death.exact ? 'likely' : 'possible', fits: null }
}

function endedByKernel(base: Base, capture: CaptureSigns | null, limits: Limits, context: RuleContext): Case | null {
  const { death, inFlight, kernel, written } = base
  const end = base.end as bigint
  const fits = fit(written, end, limits, context.clockError)
  if (inFlight === false) return { ...base, code: 'ended-by-keepalive', confidence: capture?.probed && death ? 'certain' : 'likely', fits }
  // Sooner than retransmissions can run out: only probes end a session so, unless the host repeats less often.
  if (inFlight === null && death !== null && end - death.lo < limits.low - context.clockError) return { ...base, code: 'ended-by-keepalive', confidence: 'possible', fits }
  const shown = kernel === 'capture' || kernel === 'both'
  const agree = shown ? kernel === 'both' || death !== null || base.session.end !== null : death !== null && death.ip !== null && fits === 'all'
  const confidence: Confidence = inFlight !== true ? (death ? 'likely' : 'possible') : agree ? 'certain' : 'likely'
  return { ...base, code: 'ended-by-timeout', confidence: death && death.ip === null && !shown && confidence === 'certain' ? 'likely' : confidence, fits }
}

/** Nothing but time: the session outlived its pod by as long as retransmissions take. */
function endedInWindow(base: Base, limits: Limits, context: RuleContext): Case | null {
  const { death, traffic, inFlight, session } = base
  const end = base.end as bigint
  if (death === null || session.record === null || inFlight === false) return null
  const error = context.clockError
  const bounded = fit(base.written, end, limits, error)
  // Unless every write is known, the first one is taken to follow the disappearance: the window is wide enough for pauses of a minute.
  const near = traffic.complete ? bounded : fit({ from: death.lo, to: death.hi }, end, limits, error)
  const fits = bounded === null ? null : (near ?? (traffic.sure !== null ? 'part' : null))
  if (fits === null || endsIdle(session, traffic, limits, end)) return null
  const configured = limits.idle.some(i => idlePossible(i.value, session, traffic, end))
  const likely = fits === 'all' && (death.ip === null ? base.relation === 'sure' : death.exact) && !configured
  return { ...base, code: 'ended-by-timeout', confidence: likely ? 'likely' : 'possible', fits }
}

/** How the time from the first unacknowledged write to the end fits the window; null: not at all, or nothing is known of the write. */
function fit(written: Case['written'], end: bigint, limits: Limits, error: bigint): Case['fits'] {
  if (written === null) return null
  const least = end - written.to
  const most = end - written.from
  if (most < limits.low - error || least > limits.high + error) return null
  return most <= limits.high + error && least >= limits.low - error ? 'all' : 'part'
}

/** The last byte lies exactly an idle timeout before the end. */
function endsIdle(s: Session, t: Traffic, limits: Limits, end: bigint): boolean {
  const last = lastByte(t)
  if (last === null || !t.complete) return false
  return [...limits.idle.map(i => i.value), IDLE_DEFAULT, IDLE_QUARTER].some(v => end - last >= v - EXACT && end - last <= v + EXACT) && s.start <= last
}

export const lastByte = (t: Traffic): bigint | null => (t.last !== null && t.answered !== null ? laterOf(t.last, t.answered) : (t.last ?? t.answered))

/** The session was old enough for the timeout, and no byte is known that would have put it off. */
export function idlePossible(value: bigint, s: Session, t: Traffic, end: bigint): boolean {
  const last = lastByte(t)
  return end - s.start >= value && (last === null || last <= end - value + EXACT)
}

/** A pod has one address: where sessions to several fit its end, the weakly related ones drop out, and what is left is only possible. */
export function oneAddressAPod(cases: readonly Case[]): Case[] {
  const addresses = (d: Death | null, of: readonly Case[]): number => new Set(of.filter(c => c.death === d).map(c => c.session.ip)).size
  const left = cases.filter(c => c.relation !== 'weak' || addresses(c.death, cases) === 1)
  return left.map(c => (c.relation !== null && addresses(c.death, left) > 1 ? { ...c, confidence: 'possible', relation: 'weak' } : c))
}
