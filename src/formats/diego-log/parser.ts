import type { Instant } from '../../model/instant.js'
import type { Sink } from '../../model/sink.js'
import { getString } from '../text/json.js'
import type { TextFormat } from '../text/reader.js'
import { readIso } from '../text/time.js'
import { factOf, instanceOf, type InstanceFact } from './facts.js'
import { type LagerLine, readLager, readLevel, readTimestamp, stableJson } from './lager.js'

/** lager begins each message with the name of its program, which is the source. gorouter's own lines are another format's. */
const isLager = (line: LagerLine): boolean => line.message.startsWith(`${line.source}.`) && !line.source.includes('gorouter')

/** Programs that speak for the containers of a cell. */
const OF_A_CELL = /^(?:rep|executor)\b/

function writeEvent(line: LagerLine, at: Instant | null, level: string | null, sink: Sink): void {
  const e = sink.event
  e.begin(at)
  e.subject(instanceOf(line.data) ?? line.source)
  e.kind('log')
  e.reason(level)
  e.text(line.data === undefined ? line.message : `${line.message} ${stableJson(line.data)}`)
}

function writeFact(fact: InstanceFact, line: LagerLine, at: Instant, sink: Sink): void {
  const f = sink.pod_fact
  f.begin(at)
  f.subject(instanceOf(line.data))
  f.kind('instance')
  f.node(getString(line.data, 'cell-id'))
  f.what(fact.what)
  f.reason(fact.reason)
  f.t_earliest(at.ns)
  f.t_latest(at.ns)
}

export const diegoLog: TextFormat = {
  id: 'diego-log',
  title: 'rep or executor log of a Diego cell (lager JSON)',
  names: [/(^|\/)(rep|executor)[^/]{0,100}\.log(\.gz)?$/],
  collect: 'bosh -d <cf-deployment> ssh diego-cell/<index> -c "sudo cat /var/vcap/sys/log/rep/rep.stdout.log" -r --column Stdout > rep-<cell>.stdout.log',
  recogniser: () => ({
    json: (value, unit, sink) => {
      const line = readLager(value)
      if (!line || !isLager(line)) return false
      const at = readTimestamp(value, unit.text, readIso)
      sink.record(unit.span)
      if (!at) sink.note('no-time', 'a lager line without a time that can be read', unit.span)
      writeEvent(line, at, readLevel(value, 'lager'), sink)
      const fact = OF_A_CELL.test(line.source) && instanceOf(line.data) !== null ? factOf(line) : null
      if (fact && at) writeFact(fact, line, at, sink)
      return true
    },
  }),
}
