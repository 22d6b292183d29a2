/** kubectl's text about who has an address, and people's notes of when it changed. */
import type { Instant } from '../../model/instant.js'
import type { Sink } from '../../model/sink.js'
import type { MemberContext } from '../format.js'
import { type Fact, writeFact } from '../k8s-objects/facts.js'
import type { Recogniser, TextFormat, Unit } from '../text/reader.js'
import { readDateLine, readIso } from '../text/time.js'
import { beginsDescription, continuesDescription, readDescription } from './describe.js'
import { type Columns, readColumns, readPodRow, readRow } from './table.js'
import { type Moment, momentTime, readMoments } from './timeline.js'

type Found =
  | { readonly is: 'facts'; readonly facts: readonly Fact[]; readonly at: Instant | null }
  | { readonly is: 'moments'; readonly moments: readonly Moment[] }
  | { readonly is: 'description'; lines: number }
  /** Headers, a date that a loop printed before a table, rows of tables without addresses. */
  | { readonly is: 'around' }

const STAMP = /^(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?)(?:\s+|$)/
const NOISE = /^(?:```[\w-]{0,20}\s*$|\$ (?:sudo )?(?:k|kubectl|oc) |No resources found|Defaulted container )/

function recogniser(context: MemberContext): Recogniser<Found> {
  let columns: Columns | null = null
  /** The moment of the tables that follow, where a loop printed one. */
  let clock: Instant | null = null

  const match = ({ text, wrapper }: Unit): Found | null => {
    const stamp = STAMP.exec(text)
    const at = stamp ? readIso(stamp[1] as string, context) : readDateLine(text)
    if (at && (!stamp || stamp[0].length === text.length)) {
      clock = at
      return { is: 'around' }
    }
    const row = at && stamp ? text.slice(stamp[0].length) : text
    const when = at ?? clock ?? wrapper.at
    const head = readColumns(row)
    if (head) {
      columns = head
      return { is: 'around' }
    }
    const pod = readPodRow(row)
    if (pod) return { is: 'facts', facts: [pod], at: when }
    const facts = columns && readRow(row, columns)
    if (facts) return facts.length > 0 ? { is: 'facts', facts, at: when } : { is: 'around' }
    columns = null
    if (beginsDescription(text)) return { is: 'description', lines: 1 }
    const moments = readMoments(text)
    return moments && { is: 'moments', moments }
  }

  const holds = (found: Found, line: string): boolean => {
    if (found.is !== 'description' || !continuesDescription(found.lines, line)) return false
    found.lines++
    return true
  }

  const write = (found: Found, unit: Unit, sink: Sink): void => {
    if (found.is === 'around') sink.skip(unit.span)
    else if (found.is === 'description') writeDescription(found.lines, unit, sink)
    else {
      sink.record(unit.span)
      if (found.is === 'facts') for (const f of found.facts) writeFact({ ...f, at: f.at ?? found.at }, sink)
      else for (const m of found.moments) writeMoment(m, unit, sink)
    }
  }

  const writeMoment = (m: Moment, unit: Unit, sink: Sink): void => {
    const at = momentTime(m.time, context)
    if (!at) sink.note('no-time', 'a time of day without a date', unit.span)
    writeFact({ ...m, at }, sink)
  }

  return { match, holds, write, skips: line => NOISE.test(line) }
}

function writeDescription(lines: number, unit: Unit, sink: Sink): void {
  const facts = lines > 1 ? readDescription(unit.text) : null
  if (lines === 1) sink.problem('not-recognised', 'a name without a description', unit.span)
  else {
    sink.record(unit.span)
    for (const f of facts ?? []) writeFact(f, sink)
  }
}

export const k8sTable: TextFormat = {
  id: 'k8s-table',
  title: 'kubectl tables and descriptions, notes of when a pod changed',
  names: [/(?:pods?|nodes?|svc|endpoints?|describe|timeline)[^/]{0,100}\.(?:txt|log)(\.gz)?$/],
  collect: 'while sleep 5; do date -u +%Y-%m-%dT%H:%M:%SZ; kubectl get pods -A -o wide; done > pods-wide.txt',
  split: 'none',
  recogniser: context => recogniser(context) as Recogniser,
}
