import type { Instant } from '../../model/instant.js'
import type { Sink } from '../../model/sink.js'
import { type LagerLine, readLager, readLevel, readTimestamp, stableJson } from '../diego-log/lager.js'
import { readRouterTime } from '../gorouter-access/time.js'
import { getString, type JsonObject } from '../text/json.js'
import type { TextFormat } from '../text/reader.js'
import { backendText, factsOf } from './facts.js'

/** The source is the syslog tag, which an operator may set: `vcap.gorouter`, `vcap.gorouter.registry`, `gorouter.stdout.nats`. */
const SOURCE = /(?:^|\.)gorouter(?:$|\.)/

/** `vcap.gorouter.registry.endpoint-registered` of `vcap.gorouter`, as gorouter printed until 2017-01, in today's parts. */
function splitMessage(line: LagerLine): { logger: string; message: string } {
  const { source, message } = line
  if (!message.startsWith(`${source}.`) || message.includes(' ')) return { logger: source, message }
  const dot = message.lastIndexOf('.')
  return { logger: message.slice(0, dot), message: message.slice(dot + 1) }
}

/** Until 2017-01 gorouter used lager itself, which prints the seconds as text and counts its levels otherwise. */
const isOldLager = (value: JsonObject): boolean => /^\d{9}/.test(getString(value, 'timestamp') ?? '')

function writeLine(line: LagerLine, at: Instant | null, level: string | null, sink: Sink): void {
  const { logger, message } = splitMessage(line)
  const p = sink.proxy_line
  p.begin(at)
  p.proxy('gorouter')
  p.level(level)
  p.logger(logger)
  p.request_id(getString(line.data, 'vcap_request_id') ?? getString(line.data, 'VcapRequestIdHeader'))
  p.template(message)
  p.args(line.data === undefined ? null : JSON.stringify([stableJson(line.data)]))
  p.text(line.error === null ? message : `${message}: ${line.error}`)
  if (at) writeFacts(message, line, at, sink)
}

function writeFacts(message: string, line: LagerLine, at: Instant, sink: Sink): void {
  for (const fact of factsOf(message, line.data)) {
    const f = sink.pod_fact
    f.begin(at)
    f.subject(fact.subject)
    f.kind(fact.kind)
    f.sandbox(backendText(fact))
    f.ip(fact.backend.ip)
    f.what(fact.what)
    f.reason(message)
    f.t_earliest(at.ns)
    f.t_latest(at.ns)
  }
}

export const gorouterLog: TextFormat = {
  id: 'gorouter-log',
  title: 'gorouter log, JSON lines (Cloud Foundry)',
  names: [/(^|\/)(go)?router[^/]{0,100}\.(stdout|stderr|log)(\.[^/]{0,100})?$/],
  collect: 'bosh -d <cf-deployment> ssh router -c "sudo cat /var/vcap/sys/log/gorouter/gorouter.stdout.log" -r --column Stdout > gorouter.stdout.log',
  recogniser: context => ({
    json: (value, unit, sink) => {
      const line = readLager(value)
      if (!line || !SOURCE.test(line.source)) return false
      const at = readTimestamp(value, unit.text, text => readRouterTime(text, context))
      sink.record(unit.span)
      if (!at) sink.note('no-time', 'a gorouter line without a time that can be read', unit.span)
      writeLine(line, at, readLevel(value, isOldLager(value) ? 'lager' : 'zap'), sink)
      return true
    },
    // A headline that people put above a pasted excerpt.
    skips: line => /^# ?go-?router\b/i.test(line),
  }),
}
