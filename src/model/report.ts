/** The report object, `wirecase.report/1`: what `--format json` prints, key by key and in this order. Every other format is rendered from it. */

export type VerdictName = 'violated' | 'held' | 'not-evaluable' | 'error'
export type Severity = 'info' | 'low' | 'medium' | 'high' | 'critical'
export type Confidence = 'possible' | 'likely' | 'certain'
export const SEVERITIES: readonly Severity[] = ['info', 'low', 'medium', 'high', 'critical']
export const CONFIDENCES: readonly Confidence[] = ['possible', 'likely', 'certain']

/** What is lacking, why it matters, and the command that collects it. */
export interface Missing {
  readonly needs: string
  readonly why: string
  /** `now`: it still exists (audit log, metrics, log store). `next-time`: it must be collected while it happens. */
  readonly when: 'now' | 'next-time'
  readonly collect: string
}

export interface SourceReport {
  readonly id: string
  readonly path: string
  readonly format: string
  readonly bytes: number
  readonly sha256: string
  readonly records: number
  readonly problems: number
  readonly from: string | null
  readonly to: string | null
  readonly clock: { readonly zone: string; readonly guessed: readonly string[] }
}

export interface Verdict {
  readonly rule: string
  readonly name: string
  readonly verdict: VerdictName
  readonly confidence: Confidence | null
  readonly applies: boolean
  readonly checked: number
  readonly findings: number
  readonly missing: readonly Missing[]
}

/** Only what is known is there. */
export interface Impact {
  readonly requests?: number
  readonly failed?: number
  readonly reached_client?: number
  readonly probes?: number
  readonly bytes_lost?: number
}

export interface Interval {
  readonly from: string | null
  readonly to: string | null
}

export interface Incident {
  readonly rule: string
  readonly root: string
  readonly findings: readonly string[]
  readonly count: number
  readonly severity: Severity
  readonly confidence: Confidence
  readonly interval: Interval
  readonly ongoing: boolean
  readonly impact: Impact
}

/** One cited piece of evidence: the bytes, their hash, and what they say. */
export interface Evidence {
  readonly source: string
  readonly path: string
  readonly line: number | null
  readonly frame: number | null
  readonly bytes: readonly [number, number]
  readonly sha256: string
  readonly text: string
  readonly masked?: true
}

export interface Claim {
  readonly says: string
  readonly evidence: readonly Evidence[]
}

export interface Control {
  readonly says: string
  readonly checked: number
  readonly passed: number
}

export interface Rival {
  readonly says: string
  readonly status: 'refuted' | 'open'
  readonly because: string
  readonly separated_by: string
}

/** Keys of a finding's subject; values are always strings, unknown ones are left out. */
export const SUBJECT_KEYS = [
  'proxy',
  'connection_id',
  'stream_id',
  'request_id',
  'downstream_connection_id',
  'local',
  'remote',
  'downstream_local',
  'downstream_remote',
  'ip',
  'pod',
  'pod_uid',
  'previous_pod',
  'previous_pod_uid',
  'sandbox',
  'node',
  'instance',
  'cluster',
  'stop_reason',
] as const
export type Subject = { readonly [K in (typeof SUBJECT_KEYS)[number]]?: string }

export interface Finding {
  readonly fingerprint: string
  readonly aliases: readonly string[]
  readonly rule: string
  readonly code: string
  readonly severity: Severity
  readonly confidence: { readonly level: Confidence; readonly because: readonly string[] }
  readonly title: string
  readonly count: number
  readonly subject: Subject
  readonly interval: Interval
  readonly claims: readonly Claim[]
  readonly controls: readonly Control[]
  readonly rivals: readonly Rival[]
  readonly missing: readonly Missing[]
  readonly advice: readonly string[]
  readonly references: readonly string[]
}

export interface FailureReport {
  readonly source: string
  readonly path: string
  readonly line: number | null
  readonly t: string | null
  readonly request_id: string | null
  readonly status: string | null
  readonly flags: readonly string[]
  readonly details: string | null
  readonly upstream: string | null
  readonly hops: readonly string[]
  readonly probe: boolean
  readonly cause: string
  readonly finding: string | null
}

export interface Report {
  readonly schema: 'wirecase.report/1'
  readonly tool: { readonly name: 'wirecase'; readonly version: string }
  readonly sources: readonly SourceReport[]
  readonly verdicts: readonly Verdict[]
  readonly incidents: readonly Incident[]
  readonly findings: readonly Finding[]
  readonly failures: {
    readonly total: number
    readonly explained: number
    readonly unexplained: number
    readonly requests: number
    readonly omitted: number
    readonly list: readonly FailureReport[]
  }
  readonly owners: readonly {
    readonly ip: string
    readonly owner: string
    readonly uid: string | null
    readonly kind: string
    readonly from: string | null
    readonly to: string | null
    readonly certain: boolean
  }[]
  readonly coverage: readonly {
    readonly source: string
    readonly node: string | null
    readonly from: string | null
    readonly to: string | null
    readonly gaps: readonly { readonly from: string | null; readonly to: string | null; readonly why: string }[]
  }[]
  readonly clocks: readonly { readonly a: string; readonly b: string; readonly offset_ms: number; readonly error_ms: number; readonly anchors: number }[]
  readonly problems: readonly {
    readonly source: string
    readonly kind: string
    readonly count: number
    readonly says: string
    readonly first: { readonly line: number | null; readonly bytes: readonly [number, number] }
  }[]
}
