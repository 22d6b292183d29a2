/** Makes findings: one for each instance and each thing that happened to its requests. */
import type { Place } from '../../correlate/evidence.js'
import { placeOfFailure } from '../../correlate/failures.js'
import { iso } from '../../model/instant.js'
import type { Confidence, Control, Missing, Severity, Subject } from '../../model/report.js'
import type { DraftClaim, DraftFinding, RuleContext } from '../rule.js'
import type { Ending, Judged } from './judge.js'
import { least, type Moment, most, sources } from './moments.js'
import { type Proof, proofOf } from './proof.js'
import type { Code } from './verdict.js'
import * as words from './words.js'

export interface Finding {
  readonly code: Code
  readonly ending: Ending
  /** Those that reached the client first. */
  readonly judged: readonly Judged[]
  /** `ip:port` of the backend. */
  readonly remote: string | null
  readonly ip: string | null
  /** Instance of Cloud Foundry. */
  readonly instance: string | null
  readonly proof: Proof
  /** When routers took it out, around the failures. */
  readonly removed: readonly Moment[]
}

/** A router takes an ended instance out within this, unless it only forgets it. */
const REMOVED_WITHIN = 30_000_000_000n

export async function findingsOf(
  context: RuleContext,
  endings: readonly Ending[],
  removals: (endpoint: string | null, instance: string | null) => readonly Moment[],
): Promise<DraftFinding[]> {
  const out: DraftFinding[] = []
  for (const ending of endings) {
    const codes = [...new Set(ending.judged.map(j => j.code))].sort()
    for (const code of codes) {
      const judged = ending.judged.filter(j => j.code === code).sort(byImpact)
      const first = judged[0]?.suspect
      const remote = judged.find(j => j.suspect.endpoint !== null)?.suspect.endpoint ?? null
      const instance = judged.find(j => j.suspect.instance !== null)?.suspect.instance ?? null
      const from = least(judged.map(j => j.suspect.end)) ?? 0n
      const to = most(judged.map(j => j.suspect.end)) ?? 0n
      const removed = removals(remote, instance).filter(m => m.hi >= from && m.lo <= to + REMOVED_WITHIN)
      const finding: Finding = { code, ending, judged, remote, ip: first?.ip ?? null, instance, proof: await proofOf(context, ending, judged), removed }
      if (isWorthSaying(finding)) out.push(draft(finding, context))
    }
  }
  return out
}

const byImpact = (a: Judged, b: Judged): number => Number(a.suspect.healed) - Number(b.suspect.healed) || a.suspect.failure.index - b.suspect.failure.index

/** An attempt that another one healed, and that nothing relates to an end, is not worth an accusation. */
const isWorthSaying = (f: Finding): boolean => f.ending.life !== null || f.judged.some(j => !j.suspect.healed) || confidenceOf(f) !== 'possible'

function confidenceOf(f: Finding): Confidence {
  const { life, exit, byTime } = f.ending
  if (f.code === 'undetermined') return undetermined(f)
  if (life === null) return 'possible'
  if (byTime) return exit?.tied === 'assumed' ? 'possible' : 'likely'
  if (f.code === 'certificate-window') return life.certificate !== null || life.stop !== null ? 'certain' : 'likely'
  const tied = exit !== null && exit.tied !== 'assumed' && life.exit !== null && !life.exit.inferred
  if (!tied) return 'likely'
  switch (f.code) {
    case 'in-flight-cut':
    case 'crashed':
    case 'out-of-memory':
      return f.judged.every(j => j.why === 'running') && (exit.together > 1 || (life.exit !== null && sources(life.exit) > 1)) ? 'certain' : 'likely'
    case 'accepted-after-exit':
      return f.judged.every(j => j.why === 'new-connection') || f.proof.refused.count * 5 >= f.judged.length * 4 ? 'certain' : 'likely'
    case 'stale-keepalive':
      return f.judged.every(j => j.suspect.reused === true) || f.proof.kept.ports > 0 ? 'certain' : 'likely'
    case 'refused-while-stopping':
      return f.judged.every(j => j.suspect.shape === 'refused') ? 'certain' : 'likely'
  }
}

/** Without a known stop: several failures, no later answer, and a route that was withdrawn make an end likely. */
function undetermined(f: Finding): Confidence {
  if (f.judged.some(j => j.why === 'clocks')) return 'possible'
  if (f.ending.life !== null) return 'likely'
  return f.removed.length > 0 || (f.judged.length > 2 && f.ending.fared.total > f.judged.length) ? 'likely' : 'possible'
}

function severityOf(f: Finding, confidence: Confidence): Severity {
  if (confidence === 'possible' || f.judged.every(j => j.suspect.failure.probe)) return 'low'
  return f.judged.some(j => !j.suspect.healed) ? 'high' : 'medium'
}

function draft(f: Finding, context: RuleContext): DraftFinding {
  const rivals = words.rivals(f)
  const level = confidenceOf(f) === 'certain' && rivals.some(r => r.status === 'open') ? 'likely' : confidenceOf(f)
  const lost = f.judged.filter(j => !j.suspect.healed)
  const probes = f.judged.filter(j => j.suspect.failure.probe).length
  return {
    code: `WC105.${f.code}`,
    severity: severityOf(f, level),
    confidence: { level, because: words.because(f) },
    title: words.title(f),
    count: f.judged.length,
    subject: subjectOf(f),
    interval: { from: least(f.judged.map(j => j.suspect.start ?? j.suspect.end)), to: most(f.judged.map(j => j.suspect.end)) },
    ...identityOf(f),
    root: f.remote ?? f.instance ?? f.ending.life?.name ?? 'an instance',
    ongoing: false,
    impact: {
      ...(context.failures.requests > 0 ? { requests: context.failures.requests } : {}),
      failed: f.judged.length,
      reached_client: lost.length,
      ...(probes > 0 ? { probes } : {}),
    },
    claims: claims(f),
    controls: controls(f),
    rivals,
    missing: missing(f, context),
    advice: words.advice(f),
    references: REFERENCES,
    failures: lost.map(j => j.suspect.failure),
  }
}

export const REFERENCES = [
  'https://github.com/cloudfoundry/diego-release/issues/711',
  'https://github.com/cloudfoundry/routing-release/issues/132',
  'https://github.com/cloudfoundry/routing-release/issues/312',
  'https://github.com/cloudfoundry/gorouter/pull/337',
]

/** What the request was doing: two findings about one instance differ by it, whatever later evidence calls them. */
const PHASE: Readonly<Record<Code, string | null>> = {
  'in-flight-cut': 'in flight',
  crashed: 'in flight',
  'out-of-memory': 'in flight',
  'accepted-after-exit': 'new connection',
  'refused-while-stopping': 'no listener',
  'certificate-window': 'certificate',
  'stale-keepalive': 'kept connection',
  undetermined: null,
}

/** An instance of Cloud Foundry lives once; a pod's container may end again, so its exit tells which time it was. */
function identityOf(f: Finding): Pick<DraftFinding, 'identity' | 'aliases'> {
  const { life } = f.ending
  const phase = PHASE[f.code]
  const name = life?.platform === 'kubernetes' ? (life.uid ?? life.name) : (f.instance ?? f.remote ?? life?.name ?? '')
  const end = life?.platform === 'kubernetes' ? (life.exit ?? life.stop) : null
  const when = end === null ? [] : [iso(end.at - (end.at % 1_000_000_000n))]
  const identity = [name, ...when, ...(phase === null ? [] : [phase])]
  const less = [[name], ...(f.remote === null ? [] : [[f.remote]])].filter(a => JSON.stringify(a) !== JSON.stringify(identity))
  return { identity, aliases: less.filter((a, i) => less.findIndex(b => b[0] === a[0]) === i) }
}

function subjectOf(f: Finding): Subject {
  const { life } = f.ending
  const pod = life?.platform === 'kubernetes'
  const first = f.judged[0]?.suspect
  const one = f.judged.length === 1 ? (first?.failure.requestId ?? null) : null
  const values: [keyof Subject, string | null | undefined][] = [
    ['proxy', first?.record?.proxy ?? (first?.platform === 'cf' ? 'gorouter' : null)],
    ['request_id', one],
    ['remote', f.remote],
    ['ip', f.ip],
    ['pod', pod ? life.name : null],
    ['pod_uid', pod ? life.uid : null],
    ['node', life?.node],
    ['instance', f.instance ?? (life && !pod && life.placed ? life.name : null)],
    ['cluster', f.judged.find(j => j.suspect.cluster !== null)?.suspect.cluster],
    ['stop_reason', stopReason(f)],
  ]
  return Object.fromEntries(values.filter((v): v is [keyof Subject, string] => typeof v[1] === 'string' && v[1] !== ''))
}

/** Words of stops, and the reason that they give. */
const REASONS: readonly (readonly [RegExp, string])[] = [
  [/requesting replacement|evacuat/i, 'drain'],
  [/EvictionByEvictionAPI/, 'drain'],
  [/Preempt/i, 'preemption'],
  [/liveness/i, 'liveness'],
  [/TerminationByKubelet|node.?shutdown/i, 'node-shutdown'],
  [/Evict|TaintManager/i, 'eviction'],
]

function stopReason({ ending: { life } }: Finding): string | null {
  if (life?.end === 'out-of-memory') return 'out-of-memory'
  if (life?.end === 'crashed') return 'crash'
  return REASONS.find(([words]) => words.test(life?.asked ?? ''))?.[1] ?? null
}

function claims(f: Finding): DraftClaim[] {
  const lost = f.judged.filter(j => !j.suspect.healed)
  const healed = f.judged.filter(j => j.suspect.healed)
  const records = lost.flatMap(j => j.suspect.failure.hops.map(h => h.place))
  const logs = lost.flatMap(j => j.suspect.failure.backends.map(b => b.place))
  const others = healed.flatMap(j => (j.suspect.failure.backends.length > 0 ? j.suspect.failure.backends.map(b => b.place) : [placeOfFailure(j.suspect.failure)]))
  const { life } = f.ending
  const list: [string, readonly Place[] | undefined][] = [
    [words.failedSays(lost), records],
    [words.logSays(f), logs],
    [words.healedSays(healed.length), others],
    ...moments([
      [life?.stop, words.stopSays],
      [life?.certificate, words.certificateSays],
      [life?.signal, words.signalSays],
      [life?.exit, m => words.exitSays(f, m)],
      [life?.gone, words.goneSays],
    ]),
    ...f.removed.slice(0, 3).map((m): [string, readonly Place[]] => [words.removedSays(m), m.places]),
    [words.refusedSays(f.proof.refused.count), f.proof.refused.places],
    [words.keptSays(f.proof.kept.ports), f.proof.kept.places],
  ]
  return list.filter((c): c is [string, readonly Place[]] => (c[1]?.length ?? 0) > 0).map(([says, places]) => ({ says, places }))
}

const moments = (list: readonly [Moment | null | undefined, (m: Moment) => string][]): [string, readonly Place[]][] =>
  list.flatMap(([m, says]) => (m ? [[says(m), m.places] as [string, readonly Place[]]] : []))

function controls({ ending: { fared, beside, life } }: Finding): Control[] {
  const out: Control[] = []
  if (fared.before > 0) out.push({ says: words.beforeSays(fared.beforeFine, fared.before), checked: fared.before, passed: fared.beforeFine })
  if (life?.stop && fared.running > 0) out.push({ says: words.runningSays(fared.runningFine, fared.running), checked: fared.running, passed: fared.runningFine })
  if (beside.total > 0) out.push({ says: words.besideSays(beside.fine, beside.total), checked: beside.total, passed: beside.fine })
  return out
}

/** What would settle it, or make it surer. */
function missing(f: Finding, { abilities }: RuleContext): Missing[] {
  const fill = { from: least(f.judged.map(j => j.suspect.start ?? j.suspect.end)), to: most(f.judged.map(j => j.suspect.end)), ip: f.ip }
  const cf = f.judged[0]?.suspect.platform === 'cf'
  const out: Missing[] = []
  const lacksEnd = f.ending.life?.exit === undefined || f.ending.life.exit === null || f.ending.life.exit.inferred || f.ending.life.end === 'unknown'
  if (lacksEnd) out.push(abilities.missing('instance-stops', fill))
  if (lacksEnd && cf) out.push(logCache(fill))
  if (!abilities.has('http-requests')) out.push(abilities.missing('http-requests', fill))
  if (cf && !abilities.has('route-changes')) out.push(abilities.missing('route-changes', fill))
  return out
}

/** The log cache of Cloud Foundry keeps more than `--recent` prints; its times are nanoseconds. */
function logCache({ from, to }: { from: bigint | null; to: bigint | null }): Missing {
  const span = from === null || to === null ? '' : ` --start-time ${from - 60_000_000_000n} --end-time ${to + 60_000_000_000n}`
  return { needs: 'instance-stops', why: words.tailSays, when: 'now', collect: `cf tail <app> --lines 1000${span} > cf-tail.txt; cf events <app> > cf-events.txt` }
}
