import type { TextFormat, Unit } from '../text/reader.js'
import type { TimeContext } from '../text/time.js'
import { continuesDict, isDictSeparator, isTableHeader, readDict, readTableRow, startsDict } from './columns.js'
import { readCompact } from './compact.js'
import type { RecordText } from './record.js'
import { writeFlow, writeLoss } from './write.js'

/** An entry of `-o dict` is read when its lines are together. */
const DICT = 'dict'
type Found = RecordText | typeof DICT

/** Colours, as `--color always` prints them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the escape character is what colours begin with
const COLOUR = /\u001b\[[0-9;]{0,20}m/g
const plain = (line: string): string => (line.includes('\u001b') ? line.replace(COLOUR, '') : line)

function match(unit: Unit, context: TimeContext): Found | null {
  const line = plain(unit.text)
  if (startsDict(line)) return DICT
  const { at } = unit.wrapper
  // A collector's time tells the year of a time that was printed without.
  const near = at ? { ...context, reference: { from: at.ns, to: at.ns } } : context
  return readCompact(line, at, near) ?? readTableRow(line, at, near)
}

export const hubbleText: TextFormat = {
  id: 'hubble-text',
  title: 'Hubble flows as text: `hubble observe`, compact, table or dict',
  names: [/hubble[^/]{0,100}\.(txt|log|out)(\.gz)?$/],
  collect: 'hubble observe --since <duration> --print-node-name --time-format RFC3339Nano > hubble.txt',
  recogniser: context => ({
    match: unit => match(unit, context),
    continues: (found, line) => found === DICT && continuesDict(plain(line)),
    skips: line => isTableHeader(plain(line)) || isDictSeparator(plain(line)),
    write: (found, unit, sink) => {
      const record = found === DICT ? readDict(unit.text.split('\n').map(plain).join('\n'), context) : (found as RecordText)
      if (record === null) sink.problem('truncated', 'a flow that was cut off', unit.span)
      else if (record.kind === 'flow') writeFlow(record, unit.span, sink)
      else if (record.kind === 'loss') writeLoss(record, unit.span, sink)
      else sink.record(unit.span)
    },
  }),
}
