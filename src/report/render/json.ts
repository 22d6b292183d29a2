/** The report as one JSON document: keys in the order of the contract, whatever their order in the object, and always there. */
import { type Report, SUBJECT_KEYS } from '../../model/report.js'
import { escapeJson } from '../escape/json.js'

/** `null`: a leaf. A list of keys: only what is known, in that order. `'if-known'`: a leaf that may be absent. */
type Shape = null | 'if-known' | readonly string[] | { readonly [key: string]: Shape }
type ShapeOf<T> = T extends readonly (infer U)[]
  ? ShapeOf<U>
  : T extends object
    ? object extends T
      ? readonly (keyof T)[]
      : { readonly [K in keyof T]-?: object extends Pick<T, K> ? 'if-known' : ShapeOf<T[K]> }
    : null

const INTERVAL = { from: null, to: null }
const MISSING = { needs: null, why: null, when: null, collect: null }
const EVIDENCE = { source: null, path: null, line: null, frame: null, bytes: null, sha256: null, text: null, masked: 'if-known' } as const

export const REPORT_SHAPE = {
  schema: null,
  tool: { name: null, version: null },
  sources: { id: null, path: null, format: null, bytes: null, sha256: null, records: null, problems: null, from: null, to: null, clock: { zone: null, guessed: null } },
  verdicts: { rule: null, name: null, verdict: null, confidence: null, applies: null, checked: null, findings: null, missing: MISSING },
  incidents: {
    rule: null,
    root: null,
    findings: null,
    count: null,
    severity: null,
    confidence: null,
    interval: INTERVAL,
    ongoing: null,
    impact: ['requests', 'failed', 'reached_client', 'probes', 'bytes_lost'],
  },
  findings: {
    fingerprint: null,
    aliases: null,
    rule: null,
    code: null,
    severity: null,
    confidence: { level: null, because: null },
    title: null,
    count: null,
    subject: SUBJECT_KEYS,
    interval: INTERVAL,
    claims: { says: null, evidence: EVIDENCE },
    controls: { says: null, checked: null, passed: null },
    rivals: { says: null, status: null, because: null, separated_by: null },
    missing: MISSING,
    advice: null,
    references: null,
  },
  failures: {
    total: null,
    explained: null,
    unexplained: null,
    requests: null,
    omitted: null,
    list: {
      source: null,
      path: null,
      line: null,
      t: null,
      request_id: null,
      status: null,
      flags: null,
      details: null,
      upstream: null,
      hops: null,
      probe: null,
      cause: null,
      finding: null,
    },
  },
  owners: { ip: null, owner: null, uid: null, kind: null, from: null, to: null, certain: null },
  coverage: { source: null, node: null, from: null, to: null, gaps: { from: null, to: null, why: null } },
  clocks: { a: null, b: null, offset_ms: null, error_ms: null, anchors: null },
  problems: { source: null, kind: null, count: null, says: null, first: { line: null, bytes: null } },
} as const satisfies ShapeOf<Report>

/** Two blanks a level, and a newline at the end. */
export const renderJson = (report: Report): string => escapeJson(`${JSON.stringify(ordered(report, REPORT_SHAPE), null, 2)}\n`)

function ordered(value: unknown, shape: Shape): unknown {
  if (value === undefined || value === null) return null
  if (shape === null || shape === 'if-known') return value
  if (Array.isArray(value)) return value.map(v => ordered(v, shape))
  const of = value as Record<string, unknown>
  return Object.fromEntries(isKnownOnly(shape) ? known(of, shape) : always(of, shape))
}

const isKnownOnly = (shape: object): shape is readonly string[] => Array.isArray(shape)

/** Keys that later versions may add come last, in the order of their names. */
function known(of: Record<string, unknown>, keys: readonly string[]): [string, unknown][] {
  const all = [
    ...keys,
    ...Object.keys(of)
      .filter(k => !keys.includes(k))
      .sort(),
  ]
  return all.filter(k => Object.hasOwn(of, k) && of[k] !== undefined && of[k] !== null).map(k => [k, of[k]])
}

function always(of: Record<string, unknown>, shape: { readonly [key: string]: Shape }): [string, unknown][] {
  return Object.entries(shape).flatMap(([k, s]): [string, unknown][] => (s === 'if-known' && of[k] === undefined ? [] : [[k, ordered(of[k], s)]]))
}
