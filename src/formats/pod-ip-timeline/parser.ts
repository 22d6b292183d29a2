/** Who had an address from when to when, as people and scripts write it down: JSON, CSV or text. */
import type { Sink } from '../../model/sink.js'
import type { MemberContext } from '../format.js'
import { plainAddress } from '../text/address.js'
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../text/json.js'
import type { Recogniser, TextFormat, Unit } from '../text/reader.js'
import { columnOf, readEntry, type Values, writeEntry } from './entry.js'
import { type Header, readHeader, readLine, readRow } from './text.js'

type Found = { readonly is: 'header' } | { readonly is: 'entries'; readonly values: readonly Values[] }

/** Keys of other names that an entry may have: with more of them the object is about something else. */
const OTHER_KEYS = 3

/** The values of an object that speaks of an address, an owner and at least one end; else null. */
function valuesOf(o: JsonObject): Values | null {
  const values: Partial<Record<keyof Values, string>> = {}
  let others = 0
  for (const [key, v] of Object.entries(o)) {
    const column = columnOf(key)
    if (column === null && ++others > OTHER_KEYS) return null
    if (column === null || values[column] !== undefined) continue
    const text = v === null ? '' : typeof v === 'string' || typeof v === 'number' ? String(v) : null
    if (text === null) return null
    values[column] = text
  }
  return values.ip && plainAddress(values.ip) !== null && values.owner && (values.from !== undefined || values.to !== undefined) ? (values as Values) : null
}

/** A JSON array of such objects on one line. */
function readArray(line: string): readonly Values[] | null {
  if (!line.startsWith('[{') || !line.trimEnd().endsWith(']')) return null
  const parsed = parseJson(line)
  if (!Array.isArray(parsed) || parsed.length === 0) return null
  const values = parsed.map((v: JsonValue) => (isJsonObject(v) ? valuesOf(v) : null))
  return values.includes(null) ? null : (values as Values[])
}

function recogniser(context: MemberContext): Recogniser<Found> {
  let header: Header | null = null

  const match = ({ text }: Unit): Found | null => {
    const array = readArray(text)
    if (array) return { is: 'entries', values: array }
    const head = readHeader(text)
    if (head) {
      header = head
      return { is: 'header' }
    }
    const values = (header && readRow(text, header)) ?? readLine(text)
    return values && { is: 'entries', values: [values] }
  }

  const writeAll = (values: readonly Values[], unit: Unit, sink: Sink): void => {
    const entries = values.map(v => readEntry(v, context))
    const wrong = entries.find(e => typeof e === 'string')
    if (wrong !== undefined) {
      sink.problem('bad-record', wrong, unit.span)
      return
    }
    sink.record(unit.span)
    for (const e of entries) if (typeof e !== 'string') writeEntry(e, sink)
  }

  return {
    match,
    write: (found, unit, sink) => {
      if (found.is === 'header') sink.skip(unit.span)
      else writeAll(found.values, unit, sink)
    },
    json: (value, unit, sink) => {
      const values = valuesOf(value)
      if (values === null) return false
      writeAll([values], unit, sink)
      return true
    },
    // Comments of CSV and text.
    skips: line => line.startsWith('# ') && header !== null,
  }
}

export const podIpTimeline: TextFormat = {
  id: 'pod-ip-timeline',
  title: 'timeline of pod addresses',
  names: [/pod-?ips?[^/]{0,100}\.(jsonl?|csv|tsv|txt)(\.gz)?$/, /timeline[^/]{0,100}\.(jsonl?|csv|tsv|txt)(\.gz)?$/],
  collect: 'write one line per owner: <ip> <namespace>/<pod> from <start> to <end>',
  split: 'none',
  recogniser: context => recogniser(context) as Recogniser,
}
