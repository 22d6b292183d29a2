/** What messages of rep and executor say about an instance. */
import { get, getNumber, getString, type JsonObject } from '../text/json.js'
import type { LagerLine } from './lager.js'

export interface InstanceFact {
  readonly what: string
  readonly reason: string | null
}

/** The instance (container) that a line is about. */
export function instanceOf(data: JsonObject | undefined): string | null {
  return getString(data, 'instance-guid') ?? getString(data, 'container-guid') ?? getString(data, 'guid') ?? getString(data, 'Guid')
}

/** Sessions of processes in a container that are not the application: setup, health checks, side processes and the Envoy proxy. */
const OTHER_PROCESS = /\.(?:setup|post-setup|sidecar|proxy|monitor|monitor-run|(?:envoy-)?(?:startup|liveness)-check|readiness-check)\./

/**
 * Messages end in the action and name their sessions before it. The first ending that fits counts. `application`: only
 * of the application's own process; the proxy's exit, for one, is not the instance's.
 */
const ENDINGS: readonly { readonly ending: string; readonly what: string; readonly application?: true; readonly reason?: (line: LagerLine) => string | null }[] = [
  { ending: '.stopping-container', what: 'stopping' },
  { ending: '.stop-container.starting', what: 'stopping' },
  { ending: '.node-stop.signalled-process', what: 'signalled' },
  { ending: '.node-destroy.signalled-process', what: 'signalled' },
  { ending: '.run-step.signalling-terminate', what: 'signalled', application: true },
  { ending: '.run-step.graceful-shutdown-timeout-exceeded.signalling-kill', what: 'killed', application: true },
  { ending: '.run-step.process-exit', what: 'exited', application: true, reason: line => exitReason(line.data) },
  { ending: '.run-step.run-step-failed-with-nonzero-status-code', what: 'exited', application: true, reason: line => line.error },
  { ending: '.cred-manager-runner.on-signal', what: 'certificate-invalidated' },
  { ending: '.node-complete', what: 'completed', reason: line => completion(line.data) },
  { ending: '.creating-container-in-garden', what: 'creating' },
  { ending: '.created-container-in-garden', what: 'created' },
  { ending: '.destroying-garden-container', what: 'destroying' },
  { ending: '.destroyed-container-in-garden', what: 'destroyed' },
  { ending: '.bbs-evacuate-running-actual-lrp', what: 'evacuating' },
]

/** The fact that a line states, or null. */
export function factOf(line: LagerLine): InstanceFact | null {
  const known = ENDINGS.find(e => line.message.endsWith(e.ending))
  if (!known || (known.application && OTHER_PROCESS.test(line.message))) return null
  return { what: known.what, reason: known.reason ? known.reason(line) : known.ending.slice(1) }
}

/** `exit status 143, cancelled`: cancelled means that the process had been signalled before. */
function exitReason(data: JsonObject | undefined): string | null {
  const status = getNumber(data, 'exitStatus')
  if (status === null) return null
  return `exit status ${status}${get(data ?? {}, 'cancelled') === true ? ', cancelled' : ''}`
}

function completion(data: JsonObject | undefined): string | null {
  const reason = getString(data, 'reason')
  if (reason !== null) return reason
  return get(data ?? {}, 'failed') === true ? 'failed' : null
}
