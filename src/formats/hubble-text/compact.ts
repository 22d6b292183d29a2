/** Lines of `hubble observe -o compact`, the default output. */
import type { Instant } from '../../model/instant.js'
import type { TimeContext } from '../text/time.js'
import { type AsideText, type End, type FlowText, isType, type LossText, type RecordText, type TimeText } from './record.js'
import { NO_TIME, readTime, TIME } from './time.js'

const HEAD = new RegExp(`^(${TIME})(?: \\[([^\\]]{0,300})\\])?: `)
/** What is left of the head where the time was taken for that of a collector: both look alike. */
const HEAD_WITHOUT_TIME = /^\[([^\]]{0,300})\]: /
const ARROW = / (->|<-|<>) /
const LEFT = /^(\S*)(?: \((ID:\d{1,20}|[a-z][a-z0-9-]{0,40})\))?$/
const RIGHT = /^(\S*)(?: \((ID:\d{1,20}|[a-z][a-z0-9-]{0,40})\))? (?=\S)/
export const VERDICT_WORDS = 'FORWARDED|DROPPED|ERROR|AUDIT|REDIRECTED|TRACED|TRANSLATED|VERDICT_UNKNOWN|ALLOWED|DENIED|AUDITED'
const TYPE_AND_VERDICT = new RegExp(`^(.{1,200}?) (?:(${VERDICT_WORDS})(?: BY |(?= \\()|$)|(\\d{1,10})(?= \\())`)

/** `fallback`: the time that a wrapper took from the front of the line. */
export function readCompact(printed: string, fallback: Instant | null, context: TimeContext): RecordText | null {
  const line = printed.trimEnd()
  const loss = readLoss(line, fallback, context)
  if (loss) return loss
  const head = HEAD.exec(line)
  const short = head || !fallback ? null : HEAD_WITHOUT_TIME.exec(line)
  const found = head ?? short
  if (!found) return null
  const body = line.slice(found[0].length)
  const node = (head ? head[2] : short?.[1]) || null
  return readFlow(body, head ? readTime(head[1] as string, context) : { at: fallback, coarse: false }, node) ?? readAside(body)
}

function readFlow(body: string, time: TimeText, node: string | null): FlowText | null {
  const arrow = ARROW.exec(body)
  if (!arrow) return null
  const left = LEFT.exec(body.slice(0, arrow.index))
  const rest = body.slice(arrow.index + arrow[0].length)
  const right = RIGHT.exec(rest)
  if (!left || !right) return null
  const outcome = readOutcome(rest.slice(right[0].length))
  if (!outcome) return null
  const [a, b] = [endOf(left), endOf(right)]
  // An arrow to the left is a reply: the initiator stays left, though the packet came from the right.
  const back = arrow[1] === '<-'
  return { kind: 'flow', time, node, source: back ? b : a, destination: back ? a : b, isReply: arrow[1] === '<>' ? null : back, ...outcome }
}

const endOf = (m: RegExpExecArray): End => ({ host: m[1] as string, identity: m[2] ?? null })

/** `policy-verdict:none INGRESS DENIED (TCP Flags: SYN)`; with `--print-policy-names`, ` BY name (Kind), …` follows the verdict. */
function readOutcome(text: string): Pick<FlowText, 'type' | 'verdict' | 'summary' | 'cut'> | null {
  const m = TYPE_AND_VERDICT.exec(text)
  const type = m?.[1] ?? ''
  const verdict = m?.[2] ?? m?.[3] ?? ''
  if (!m || !isType(type, verdict)) return null
  const rest = text.slice(m[0].length)
  // Of `a (CiliumNetworkPolicy) (TCP Flags: SYN)` the last ones: before them stands the kind of the last policy.
  const open = m[0].endsWith(' BY ') ? rest.lastIndexOf(') (') + 1 || rest.length : 0
  const cut = !rest.startsWith(' (', open) || !rest.endsWith(')')
  return { type, verdict, summary: rest.slice(open + 2, cut ? undefined : -1), cut }
}

const LOSS = new RegExp(`^(?:(${TIME})(?: \\[[^\\]]{0,300}\\])?:? )?EVENTS LOST: ([A-Z_]{1,40}|\\d{1,10}) CPU\\(-?\\d{1,10}\\) (\\d{1,20})(?: \\((.{0,200})\\))?$`)
const BOUNDS = /^first: (.{3,40}), last: (.{3,40})$/

function readLoss(line: string, fallback: Instant | null, context: TimeContext): LossText | null {
  if (!line.includes('EVENTS LOST')) return null
  const m = LOSS.exec(line)
  return m ? lossOf(m[1] === undefined ? { at: fallback, coarse: false } : readTime(m[1], context), m[2] as string, m[3] as string, m[4], context) : null
}

/** The parts of a loss as all three outputs print them; `bounds` is `first: …, last: …`. */
export function lossOf(time: TimeText | null, source: string, events: string, bounds: string | undefined, context: TimeContext): LossText {
  const m = BOUNDS.exec(bounds ?? '')
  const [first, last] = m ? [readTime(m[1] as string, context).at, readTime(m[2] as string, context).at] : [null, null]
  return { kind: 'loss', time: time ?? NO_TIME, source, events: Math.min(Number(events), Number.MAX_SAFE_INTEGER), first, last }
}

/** Agent events, debug events and, on stderr, states of nodes. */
const ASIDE =
  /^(?:(?:AGENT|POLICY|ENDPOINT|IPCACHE|SERVICE)_[A-Z_]{1,40} \(.*\)|.{1,300} DBG_[A-Z0-9_]{1,40} MARK: \S{1,20} CPU: \S{1,6} \(.*\)|Receiving flows from \d.*|\d{1,6} nodes (?:are unavailable|removed from cluster): .*|Error ".{0,500}" on \d{1,6} nodes: .*)$/
const readAside = (body: string): AsideText | null => (ASIDE.test(body) ? { kind: 'aside' } : null)
