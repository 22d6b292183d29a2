import type { Sink } from '../../model/sink.js'
import { get, isJsonObject, type JsonObject } from '../text/json.js'
import type { TextFormat, Unit } from '../text/reader.js'
import { enumName, LOST_SOURCE, VERDICT } from './enums.js'
import { timeOf, writeFlow } from './flow.js'

/** Keys of which a flow inside an envelope has at least one, unless it is empty. Field masks may leave any of them out. */
const FLOW_KEYS = [
  'verdict',
  'IP',
  'l4',
  'l7',
  'source',
  'destination',
  'Type',
  'time',
  'uuid',
  'node_name',
  'nodeName',
  'event_type',
  'eventType',
  'Summary',
  'is_reply',
  'isReply',
  'traffic_direction',
  'trafficDirection',
  'drop_reason',
  'dropReason',
  'drop_reason_desc',
  'dropReasonDesc',
  'trace_observation_point',
  'traceObservationPoint',
  'ethernet',
  'aggregate',
  'tunnel',
  'source_names',
  'destination_names',
  'interface',
  'file',
  'node_labels',
  'emitter',
]
/** Keys that only a flow has. Beside one of them a source, a destination, an address or a verdict makes a bare object a flow. */
const TELLING_KEYS = [
  'Type',
  'event_type',
  'eventType',
  'traffic_direction',
  'trafficDirection',
  'is_reply',
  'isReply',
  'drop_reason_desc',
  'dropReasonDesc',
  'trace_observation_point',
  'traceObservationPoint',
  'Summary',
  'l4',
]
const VERDICTS = new Set([VERDICT.zero, ...VERDICT.names.values()])
const has = (o: JsonObject, keys: readonly string[]): boolean => keys.some(k => Object.hasOwn(o, k))
const part = (o: JsonObject, ...keys: readonly string[]): JsonObject | undefined => keys.map(k => get(o, k)).find(isJsonObject)

/** A flow that stands alone: `hubble observe -o json` before 0.11, `jq .flow`. Objects of other tools have a `source` or a `verdict` too. */
function isBareFlow(o: JsonObject): boolean {
  const verdict = get(o, 'verdict')
  const known = typeof verdict === 'string' && VERDICTS.has(verdict)
  const ends = part(o, 'source', 'destination') !== undefined
  if (has(o, TELLING_KEYS)) return known || ends || part(o, 'IP') !== undefined
  return known && (ends || part(o, 'IP') !== undefined)
}

/** Reads one object: an envelope of the observer API or the exporter, or a bare flow or loss. false: something else. */
function read(o: JsonObject, unit: Unit, sink: Sink): boolean {
  const flow = part(o, 'flow')
  if (flow && (Object.keys(flow).length === 0 || has(flow, FLOW_KEYS))) return writeFlowUnit(flow, o, unit, sink)
  const lost = part(o, 'lost_events', 'lostEvents')
  if (lost) return writeLost(lost, o, unit, sink)
  if (part(o, 'node_status', 'nodeStatus', 'agent_event', 'agentEvent', 'debug_event', 'debugEvent')) {
    // Understood, and no evidence about traffic.
    sink.record(unit.span)
    return true
  }
  if (isBareFlow(o)) return writeFlowUnit(o, undefined, unit, sink)
  if (has(o, ['num_events_lost', 'numEventsLost']) && !part(o, 'source')) return writeLost(o, undefined, unit, sink)
  return false
}

function writeFlowUnit(flow: JsonObject, outer: JsonObject | undefined, unit: Unit, sink: Sink): boolean {
  sink.record(unit.span)
  if (!writeFlow(flow, outer, sink)) sink.note('no-time', 'a flow without a timestamp', unit.span)
  return true
}

/** Without `first` and `last`, the time at which the loss was noticed is all that is known of it. */
function writeLost(lost: JsonObject, outer: JsonObject | undefined, unit: Unit, sink: Sink): boolean {
  const noticed = timeOf(outer && get(outer, 'time'))
  const events = Number(get(lost, 'num_events_lost') ?? get(lost, 'numEventsLost') ?? 0)
  const count = Number.isFinite(events) ? Math.max(0, Math.min(Math.trunc(events), Number.MAX_SAFE_INTEGER)) : 0
  sink.record(unit.span)
  sink.lost(unit.span, timeOf(get(lost, 'first')) ?? noticed, timeOf(get(lost, 'last')) ?? noticed, count, enumName(get(lost, 'source'), LOST_SOURCE) ?? LOST_SOURCE.zero)
  return true
}

export const hubbleJson: TextFormat = {
  id: 'hubble-json',
  title: 'Hubble flows as JSON: `hubble observe -o json`, the exporter of the agent',
  names: [/hubble[^/]{0,100}\.(json|jsonl|log)(\.gz)?$/, /(^|\/)events(-[^/]{0,100})?\.log(\.gz)?$/],
  collect: 'hubble observe --since <duration> -o json > hubble-<node>.json',
  recogniser: () => ({ json: read }),
}
