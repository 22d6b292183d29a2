/** Lines that begin with a time, and nothing else that is known of them: the logs of applications. */
import type { Instant } from '../../model/instant.js'
import type { Sink } from '../../model/sink.js'
import type { MemberContext } from '../format.js'
import { get, getObject, getString, type JsonObject } from '../text/json.js'
import type { Recogniser, TextFormat, Unit } from '../text/reader.js'
import { readEpoch, readIso, type TimeContext } from '../text/time.js'
import { readStatement } from './statements.js'
import { levelName, readTimed, type Timed } from './times.js'

const TIME_KEYS = ['time', 'ts', 'timestamp', '@timestamp', 't', 'asctime', 'datetime', 'date']
const MESSAGE_KEYS = ['msg', 'message', 'log', 'event', 'text', 'error']
const LEVEL_KEYS = ['level', 'severity', 'lvl', 'levelname', 'log.level']

/** A JSON log record: it has a time and a message. */
function readJson(o: JsonObject, context: TimeContext): Timed | null {
  const message = MESSAGE_KEYS.map(k => getString(o, k)).find(m => m !== null)
  if (message === undefined) return null
  for (const key of TIME_KEYS) {
    const at = jsonTime(o, key, context)
    if (at) return { at, level: levelName(LEVEL_KEYS.map(k => getString(o, k)).find(l => l !== null) ?? null), message }
  }
  return null
}

/** ISO 8601, or a number since the epoch: seconds (zap), milliseconds, microseconds or nanoseconds by its size. */
function jsonTime(o: JsonObject, key: string, context: TimeContext): Instant | null {
  const v = get(o, key)
  const text = typeof v === 'number' ? String(v) : typeof v === 'string' ? v : ''
  const iso = readIso(text, context)
  if (iso) return iso
  const digits = /^\d{10}$|^\d{13}$|^\d{16}$|^\d{19}$/.test(text) ? text.length : 0
  if (digits > 10) return { ns: BigInt(text) * 10n ** BigInt(19 - digits), guess: 'unit' }
  return readEpoch(text.replace(/^(\d{10}\.\d{9})\d{1,9}$/, '$1'))
}

/** Fluent Bit and Vector add the pod to each record. */
function podOf(o: JsonObject): string | null {
  const kubernetes = getObject(o, 'kubernetes')
  const pod = getString(kubernetes, 'pod_name')
  const namespace = getString(kubernetes, 'namespace_name') ?? getString(kubernetes, 'pod_namespace')
  return pod === null ? null : namespace === null ? pod : `${namespace}/${pod}`
}

function writeEvent(found: Timed, text: string, subject: string | null, unit: Unit, sink: Sink): void {
  sink.record(unit.span)
  if (!found.at) sink.note('no-time', 'a time of day without a date', unit.span)
  sink.event.begin(found.at)
  sink.event.subject(subject ?? unit.wrapper.pod)
  sink.event.kind('log')
  sink.event.reason(found.level)
  sink.event.text(text)
}

/** A sentence without a time, kept because another may contradict it. */
function writeStatement(unit: Unit, sink: Sink): boolean {
  const said = readStatement(unit.text)
  if (!said) return false
  sink.record(unit.span)
  sink.event.begin(null)
  sink.event.subject(said.peer)
  sink.event.kind('statement')
  sink.event.reason(`connection ${said.connectionId}`)
  sink.event.text(unit.text)
  return true
}

function recogniser(context: MemberContext): Recogniser<Timed> {
  /** Undated lines are banners before the first dated one, and belong to the last dated one after it. */
  let begun = false

  const match = ({ text, wrapper }: Unit): Timed | null => {
    const own = readTimed(text, wrapper.at && !context.reference ? { ...context, reference: { from: wrapper.at.ns, to: wrapper.at.ns } } : context)
    const found = own?.at ? own : wrapper.at ? { at: wrapper.at, level: own?.level ?? null, message: own?.message ?? text } : own
    if (found) begun = true
    return found ?? (readStatement(text) ? { at: null, level: null, message: text } : null)
  }

  return {
    match,
    continues: () => begun,
    skips: line => !begun && !/\d\d:\d\d:\d\d/.test(line) && line.length < 200,
    write: (found, unit, sink) => {
      if (found.at === null && writeStatement(unit, sink)) return
      const end = unit.text.indexOf('\n')
      writeEvent(found, end < 0 ? found.message : found.message + unit.text.slice(end), null, unit, sink)
    },
    json: (value, unit, sink) => {
      const found = readJson(value, context)
      if (!found) return false
      begun = true
      writeEvent(found, found.message, podOf(value), unit, sink)
      return true
    },
  }
}

export const appLog: TextFormat = {
  id: 'app-log',
  title: 'application log: any lines with a time stamp',
  names: [/\.log(\.gz)?$/],
  collect: 'kubectl logs -n <namespace> <pod> -c <container> --timestamps > <pod>.log',
  weak: true,
  split: 'none',
  recogniser: context => recogniser(context) as Recogniser,
}
