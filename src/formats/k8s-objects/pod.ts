/** Statements of a Pod object: its addresses, its sandbox, its containers, its deletion. Which of them to trust is not decided here. */
import { SECOND } from '../../model/instant.js'
import type { Sink } from '../../model/sink.js'
import { get, getNumber, getObject, getString, type JsonObject } from '../text/json.js'
import { addressesIn, type Fact, metadataOf, objectsIn, subjectOf, timeOf, words, writeFact } from './facts.js'

const CONTAINERS = ['initContainerStatuses', 'containerStatuses', 'ephemeralContainerStatuses']
/** The condition's name, and what it was called before 1.28. */
const SANDBOX_READY = new Set(['PodReadyToStartContainers', 'PodHasNetwork'])
const TERMINAL = new Set(['Succeeded', 'Failed'])

/** The common columns of every statement about one pod. */
type Base = Pick<Fact, 'subject' | 'kind' | 'uid' | 'node'>

export function writePod(o: JsonObject, sink: Sink): void {
  const spec = getObject(o, 'spec')
  const status = getObject(o, 'status')
  const base: Base = { subject: subjectOf(o), kind: 'pod', uid: getString(metadataOf(o), 'uid'), node: getString(spec, 'nodeName') }
  const hostNetwork = spec !== undefined && get(spec, 'hostNetwork') === true
  const ips = addressesIn([...objectsIn(status, 'podIPs').map(p => getString(p, 'ip')), getString(status, 'podIP')])
  const reason = words(getString(status, 'phase'), getString(status, 'reason'), timeOf(metadataOf(o), 'deletionTimestamp') !== null && 'terminating', hostNetwork && 'hostNetwork')
  for (const ip of ips.length > 0 ? ips : [null]) writeFact({ ...base, what: 'listed', ip, reason }, sink)
  writeNode(base, status, sink)
  moment({ ...base, what: 'created' }, metadataOf(o), 'creationTimestamp', sink)
  moment({ ...base, what: 'started' }, status, 'startTime', sink)
  writeConditions(base, status, ips, hostNetwork, sink)
  for (const key of CONTAINERS) for (const c of objectsIn(status, key)) writeContainer(base, c, sink)
  writeDeletion(base, metadataOf(o), sink)
}

function moment(fact: Omit<Fact, 'at'>, o: JsonObject | undefined, key: string, sink: Sink): void {
  const at = timeOf(o, key)
  if (at) writeFact({ ...fact, at }, sink)
}

/** A pod names its node's address. */
function writeNode(base: Base, status: JsonObject | undefined, sink: Sink): void {
  if (!base.node) return
  for (const ip of addressesIn([...objectsIn(status, 'hostIPs').map(h => getString(h, 'ip')), getString(status, 'hostIP')]))
    writeFact({ subject: base.node, kind: 'node', what: 'listed', ip, node: base.node, reason: 'hostIP' }, sink)
}

function writeConditions(base: Base, status: JsonObject | undefined, ips: readonly string[], hostNetwork: boolean, sink: Sink): void {
  for (const c of objectsIn(status, 'conditions')) {
    const type = getString(c, 'type') ?? ''
    const holds = getString(c, 'status')
    const at = timeOf(c, 'lastTransitionTime')
    if (!at || (holds !== 'True' && holds !== 'False')) continue
    if (SANDBOX_READY.has(type)) {
      // False is said before the first sandbox, too: then there was none that could be gone.
      if (holds === 'False' && !hadSandbox(status, ips)) continue
      for (const ip of ips.length > 0 ? ips : [null])
        writeFact({ ...base, what: holds === 'True' ? 'ready-sandbox' : 'sandbox-gone', ip, at, reason: hostNetwork ? 'hostNetwork' : null }, sink)
    } else if (type === 'Ready') writeFact({ ...base, what: holds === 'True' ? 'ready' : 'not-ready', at, reason: getString(c, 'reason') }, sink)
    else if (type === 'DisruptionTarget' && holds === 'True') writeFact({ ...base, what: 'terminating', at, reason: words('DisruptionTarget', getString(c, 'reason')) }, sink)
  }
}

function hadSandbox(status: JsonObject | undefined, ips: readonly string[]): boolean {
  if (ips.length > 0 || TERMINAL.has(getString(status, 'phase') ?? '')) return true
  return CONTAINERS.some(key => objectsIn(status, key).some(c => getString(c, 'containerID') !== null || getObject(getObject(c, 'lastState'), 'terminated') !== undefined))
}

function writeContainer(base: Base, c: JsonObject, sink: Sink): void {
  const name = getString(c, 'name')
  const current = containerId(getString(c, 'containerID'))
  const running = getObject(getObject(c, 'state'), 'running')
  moment({ ...base, what: 'container-started', sandbox: current, reason: name }, running, 'startedAt', sink)
  for (const state of ['state', 'lastState']) {
    const ended = getObject(getObject(c, state), 'terminated')
    if (!ended) continue
    const sandbox = containerId(getString(ended, 'containerID')) ?? (state === 'state' ? current : null)
    moment({ ...base, what: 'container-started', sandbox, reason: name }, ended, 'startedAt', sink)
    moment({ ...base, what: 'container-exited', sandbox, reason: exitText(name, ended) }, ended, 'finishedAt', sink)
  }
}

/** `web: exit 137 OOMKilled`. */
function exitText(name: string | null, ended: JsonObject): string {
  const code = getNumber(ended, 'exitCode')
  const signal = getNumber(ended, 'signal')
  return words(name === null ? null : `${name}:`, code === null ? null : `exit ${code}`, signal === null || signal === 0 ? null : `signal ${signal}`, getString(ended, 'reason'))
}

const containerId = (text: string | null): string | null => (text === null ? null : text.slice(text.indexOf('://') < 0 ? 0 : text.indexOf('://') + 3))

/** deletionTimestamp lies in the future by the grace period: the deletion was asked for at its beginning. */
function writeDeletion(base: Base, metadata: JsonObject, sink: Sink): void {
  const at = timeOf(metadata, 'deletionTimestamp')
  if (!at) return
  const grace = getNumber(metadata, 'deletionGracePeriodSeconds')
  const asked = grace === null || grace < 0 || grace > 31_536_000 ? null : at.ns - BigInt(Math.round(grace)) * SECOND
  writeFact({ ...base, what: 'deletion', at, earliest: asked, latest: at.ns, reason: grace === null ? null : `grace ${grace}s` }, sink)
}
