/** What a rule is: an invariant with a denominator. SQL says what to look at, TypeScript why it is so. */
import type { CapabilityId } from '../correlate/capabilities.js'
import type { Joined } from '../correlate/correlate.js'
import type { Place } from '../correlate/evidence.js'
import type { Failure } from '../correlate/failures.js'
import type { Source } from '../ingest/ingest.js'
import type { Confidence, Control, Impact, Missing, Rival, Severity, Subject } from '../model/report.js'
import type { TableName } from '../model/tables.js'
import type { SqlRow } from '../store/store.js'

/** The store as a rule sees it: it may read the tables that it declares. */
export interface RuleStore {
  rows(sql: string): Promise<SqlRow[]>
  words(ids: Iterable<number>): Promise<Map<number, string>>
  /** Ids of constants, before a scan; absent where the bundle does not hold the text. */
  ids(values: readonly string[]): Promise<Map<string, number>>
  /** What derived rows rest on: by row, in order of role, source and byte. */
  evidence(view: string, rows: readonly (bigint | number)[]): Promise<Map<bigint, { role: string; place: Place }[]>>
}

export interface RuleContext extends Joined {
  readonly store: RuleStore
  readonly sources: readonly Source[]
}

export interface DraftClaim {
  readonly says: string
  /** At least one. */
  readonly places: readonly Place[]
}

/** A finding before its evidence is read back. Instants in nanoseconds. */
export interface DraftFinding {
  readonly code: string
  readonly severity: Severity
  readonly confidence: { readonly level: Confidence; readonly because: readonly string[] }
  readonly title: string
  readonly count: number
  readonly subject: Subject
  readonly interval: { readonly from: bigint | null; readonly to: bigint | null }
  /** What the fingerprint hashes: values of the subject, never code, confidence, counts or paths. */
  readonly identity: readonly string[]
  /** Identities that the same subject had with less evidence. */
  readonly aliases?: readonly (readonly string[])[]
  /** What findings of one incident share: an address, a pod, a node, a pool. */
  readonly root: string
  readonly ongoing: boolean
  readonly impact: Impact
  readonly claims: readonly DraftClaim[]
  readonly controls: readonly Control[]
  readonly rivals: readonly Rival[]
  readonly missing: readonly Missing[]
  readonly advice: readonly string[]
  readonly references: readonly string[]
  /** Failures that this finding explains: of the context's list, or new ones (`failureOfRecord`), which the runner puts into it. */
  readonly failures: readonly Failure[]
}

export interface Judgement {
  /** The bundle holds at least one candidate subject. */
  readonly applies: boolean
  /** How many subjects were judged. */
  readonly checked: number
  readonly findings: readonly DraftFinding[]
  /** What lacks beyond the declared needs. */
  readonly missing?: readonly Missing[]
}

export interface Rule {
  /** `WC102` */
  readonly code: string
  readonly name: string
  readonly invariant: string
  /** What it checks, as a plural: `checked` counts them. */
  readonly subjects: string
  /** Suffix of each code, and when it is given. */
  readonly codes: Readonly<Record<string, string>>
  readonly reads: readonly TableName[]
  /** Without any of these nothing can be judged. */
  readonly needs: readonly CapabilityId[]
  /** Without these something is judged, but less surely. */
  readonly helps: readonly CapabilityId[]
  readonly references: readonly string[]
  judge(context: RuleContext): Promise<Judgement>
}
