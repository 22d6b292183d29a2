/** Runs the rules over a joined store: the most specific first, so that what it explains is not explained again. */
import { createHash } from 'node:crypto'
import type { Joined } from '../correlate/correlate.js'
import { addFailures, constantIds } from '../correlate/failures.js'
import { placeOf } from '../correlate/owners.js'
import type { Source } from '../ingest/ingest.js'
import { CONFIDENCES, type Confidence, type Missing, type Verdict } from '../model/report.js'
import { type TableName, tables } from '../model/tables.js'
import type { Store } from '../store/store.js'
import type { DraftFinding, Judgement, Rule, RuleContext, RuleStore } from './rule.js'

export interface RunOptions {
  /** Codes of rules to run; null: all. */
  readonly only: readonly string[] | null
  readonly from: bigint | null
  readonly to: bigint | null
}

/** A finding with its fingerprint. */
export interface Found extends DraftFinding {
  readonly rule: string
  readonly fingerprint: string
  readonly aliasFingerprints: readonly string[]
}

export interface Outcome {
  /** In rule order, all of them. */
  readonly verdicts: Verdict[]
  /** In order of rule, time and fingerprint. */
  readonly findings: Found[]
  /** What a rule in `error` said, by rule. */
  readonly errors: ReadonlyMap<string, string>
  /** For each rule, the tables that it read. */
  readonly reads: ReadonlyMap<string, ReadonlySet<string>>
}

/** The most specific rule takes a failure first; the verdicts are printed in the order of `rules`. */
const PRECEDENCE = ['WC100', 'WC101', 'WC102', 'WC103', 'WC105', 'WC104']

export async function runRules(rules: readonly Rule[], store: Store, joined: Joined, sources: readonly Source[], options: RunOptions): Promise<Outcome> {
  const byPrecedence = [...rules].sort((a, b) => PRECEDENCE.indexOf(a.code) - PRECEDENCE.indexOf(b.code))
  const judged = new Map<string, Judgement & { findings: Found[] }>()
  const errors = new Map<string, string>()
  const reads = new Map<string, Set<string>>()
  for (const rule of byPrecedence) {
    if (options.only && !options.only.includes(rule.code)) continue
    const used = new Set<string>()
    reads.set(rule.code, used)
    const context: RuleContext = { ...joined, store: ruleStore(store, rule, used), sources }
    try {
      const j = await rule.judge(context)
      const findings = j.findings.filter(f => inWindow(f, options)).map(f => found(rule, f))
      for (const f of findings) claim(f)
      addFailures(
        joined.failures,
        findings.flatMap(f => f.failures),
      )
      judged.set(rule.code, { ...j, findings })
    } catch (e) {
      errors.set(rule.code, e instanceof Error ? (e.message.split('\n', 1)[0] ?? '') : String(e))
    }
  }
  const verdicts = rules.map(r => verdict(r, judged.get(r.code) ?? null, errors.get(r.code) ?? null, joined))
  const findings = rules.flatMap(r => [...(judged.get(r.code)?.findings ?? [])].sort(byTime))
  return { verdicts, findings, errors, reads }
}

/** Sets the cause of the failures that a finding explains, unless a stronger rule has them. */
function claim(f: Found): void {
  for (const failure of f.failures) {
    if (failure.finding !== null) continue
    failure.cause = f.code
    failure.finding = f.fingerprint
  }
}

const inWindow = (f: DraftFinding, o: RunOptions): boolean =>
  (o.from === null || f.interval.to === null || f.interval.to >= o.from) && (o.to === null || f.interval.from === null || f.interval.from <= o.to)

const fingerprint = (rule: string, identity: readonly string[]): string =>
  `${rule}-${createHash('sha256')
    .update(JSON.stringify([rule, ...identity]))
    .digest('hex')
    .slice(0, 12)}`

const found = (rule: Rule, f: DraftFinding): Found => ({
  ...f,
  rule: rule.code,
  fingerprint: fingerprint(rule.code, f.identity),
  aliasFingerprints: (f.aliases ?? []).map(a => fingerprint(rule.code, a)),
})

function byTime(a: Found, b: Found): number {
  const x = a.interval.from
  const y = b.interval.from
  if (x !== y) return x === null ? 1 : y === null ? -1 : x < y ? -1 : 1
  return a.fingerprint < b.fingerprint ? -1 : a.fingerprint > b.fingerprint ? 1 : 0
}

function verdict(rule: Rule, j: (Judgement & { findings: Found[] }) | null, error: string | null, joined: Joined): Verdict {
  const head = { rule: rule.code, name: rule.name }
  if (error !== null)
    return {
      ...head,
      verdict: 'error',
      confidence: null,
      applies: true,
      checked: 0,
      findings: 0,
      missing: [{ needs: 'a run without an error', why: `the rule failed: ${error}`, when: 'now', collect: 'report it with the bundle' }],
    }
  // Left out by --rule: nothing lacks.
  if (!j) return { ...head, verdict: 'not-evaluable', confidence: null, applies: false, checked: 0, findings: 0, missing: [] }
  const lacking = rule.needs.filter(n => !joined.abilities.has(n))
  const missing: Missing[] = [...lacking.map(n => joined.abilities.missing(n)), ...(j.missing ?? [])]
  const real = j.findings.filter(f => f.severity !== 'info')
  const confidence = real.reduce<Confidence | null>(
    (best, f) => (best === null || CONFIDENCES.indexOf(f.confidence.level) > CONFIDENCES.indexOf(best) ? f.confidence.level : best),
    null,
  )
  const name = real.length > 0 ? 'violated' : missing.length === 0 && j.checked > 0 ? 'held' : 'not-evaluable'
  if (name === 'not-evaluable' && missing.length === 0)
    missing.push(
      rule.needs[0]
        ? { ...joined.abilities.missing(rule.needs[0]), why: `the bundle holds no ${rule.subjects}` }
        : { needs: rule.subjects, why: 'the bundle holds none', when: 'next-time', collect: 'see the rule' },
    )
  if (name === 'violated') missing.push(...rule.helps.filter(n => !joined.abilities.has(n)).map(n => joined.abilities.missing(n)))
  return { ...head, verdict: name, confidence, applies: j.applies, checked: j.checked, findings: j.findings.length, missing }
}

/** The store as one rule may use it: a table that the rule does not declare is refused. */
function ruleStore(store: Store, rule: Rule, used: Set<string>): RuleStore {
  const allow = (table: string): void => {
    if (!(table in tables)) return
    if (!rule.reads.includes(table as TableName)) throw new Error(`${rule.code} reads ${table}, which it does not declare`)
    used.add(table)
  }
  return {
    rows: sql => {
      for (const m of sql.matchAll(/\braw\.(\w+)/g)) allow(m[1] as string)
      return store.rows(sql)
    },
    words: ids => store.words(ids),
    ids: values => constantIds(store, values),
    evidence: async (view, rows) => {
      allow('evidence')
      const out = new Map<bigint, { role: string; place: ReturnType<typeof placeOf> }[]>()
      const wanted = [...new Set(rows.map(r => BigInt(r)))]
      for (let i = 0; i < wanted.length; i += 5000) {
        const sql = `SELECT target, d.value AS role, source, line, frame, byte_start, byte_end FROM raw.evidence e JOIN raw.dictionary d ON d.id = e.role
          WHERE e.view = (SELECT id FROM raw.dictionary WHERE value = '${view}') AND target IN (${wanted.slice(i, i + 5000).join(', ')}) ORDER BY target, source, byte_start, role, e."row"`
        for (const r of await store.rows(sql)) {
          const list = out.get(r.target as bigint)
          const item = { role: r.role as string, place: placeOf(r) }
          if (list) list.push(item)
          else out.set(r.target as bigint, [item])
        }
      }
      return out
    },
  }
}
