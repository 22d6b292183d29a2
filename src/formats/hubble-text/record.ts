/** What a line, a table row or a dictionary entry says, before it becomes a row. */
import type { Instant } from '../../model/instant.js'

/** One end as printed: address, `namespace/pod` or names, with or without port; and its identity, `ID:123` or a reserved name. */
export interface End {
  readonly host: string
  readonly identity: string | null
}

export interface FlowText {
  readonly kind: 'flow'
  readonly time: TimeText
  readonly node: string | null
  /** Sender and receiver of this packet; null where the text does not say which end is which. */
  readonly source: End | null
  readonly destination: End | null
  readonly isReply: boolean | null
  readonly type: string
  readonly verdict: string
  /** What stands in the last parentheses or the last column. */
  readonly summary: string
  /** The line ends within the summary, or before it. */
  readonly cut: boolean
}

export interface LossText {
  readonly kind: 'loss'
  readonly time: TimeText
  readonly source: string
  readonly events: number
  readonly first: Instant | null
  readonly last: Instant | null
}

/** Agent and debug events, node states: understood, and no evidence about traffic. */
export interface AsideText {
  readonly kind: 'aside'
}

export type RecordText = FlowText | LossText | AsideText

/** `at` is null where none is printed, or one that is too coarse (`YearMonthDay…`) to be an instant. */
export interface TimeText {
  readonly at: Instant | null
  readonly coarse: boolean
}

const POLICY = '(?:policy-verdict:)?(?:none|all|unknown|L3-Only|L3-L4|L4-Only|L3-Proto|Proto-Only)(?: [A-Z0-9_]{1,40})?'
const L7 = '(?:http|dns|kafka|l7)-[a-z0-9_]{1,30}(?: \\S{0,40})?'
const POINT = '(?:to|from)-[a-z][a-z0-9-]{1,30}|(?:pre|post)-xlate-(?:fwd|rev)|(?:DBG_CAPTURE|SOCK_XLATE)_[A-Z0-9_]{1,60}|UNKNOWN|\\d{1,10}'
const TYPE = new RegExp(`^(?:${POLICY}|${L7}|${POINT})$`)

/** Whether Hubble prints such a type. Of a drop it is the reason, in any words. */
export const isType = (type: string, verdict: string): boolean => verdict === 'DROPPED' || TYPE.test(type)
