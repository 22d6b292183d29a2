/** A case as a finding: its claims with their places, its controls, rivals, and what would settle it. */
import type { Place } from '../../correlate/evidence.js'
import { type Failure, failureOfRecord, failureOfStream } from '../../correlate/failures.js'
import { endpointText } from '../../model/endpoint.js'
import { iso, SECOND } from '../../model/instant.js'
import type { Missing, Severity, Subject } from '../../model/report.js'
import type { DraftClaim, DraftFinding, RuleContext } from '../rule.js'
import type { Limits } from './kernel.js'
import { rivals } from './rivals.js'
import type { Case } from './verdict.js'
import { advice, because, captureSays, controls, deathSays, endpointsSay, logSays, nextSays, recordSays, REFERENCES, remoteText, resumesSays, title, trafficSays } from './words.js'

/** Places of the case in logs and captures. */
export interface Proof {
  /** Lines of the upstream connection. */
  readonly log: readonly { readonly role: string; readonly place: Place }[]
  /** The first frame that was never acknowledged and the last that repeated it; or the session itself. */
  readonly capture: readonly Place[]
  /** The one that the record is known for anyway. */
  readonly failure: Failure | null
}

export function finding(c: Case, proof: Proof, limits: Limits, context: RuleContext): DraftFinding {
  const failures = failuresOf(c, proof, context)
  const reached = failures.filter(f => !f.streams.some(s => s.healed)).length
  const outage = outageOf(c)
  const lost = c.traffic.accepted?.bytes ?? 0n
  const remote = remoteText(c)
  return {
    code: `WC103.${c.code}`,
    severity: severityOf(c, failures.length > 0 && reached === 0),
    confidence: { level: c.confidence, because: because(c, limits) },
    title: title(c, outage),
    count: 1,
    subject: subjectOf(c, remote),
    interval: { from: outage.from ?? c.written?.from ?? c.session.start, to: outage.to ?? c.end },
    identity: [remote, iso(c.session.start - (c.session.start % SECOND)), c.session.local ?? ''],
    aliases: c.session.local === null ? [] : [[remote, iso(c.session.start - (c.session.start % SECOND)), '']],
    root: c.session.ip,
    ongoing: c.end === null,
    impact: {
      ...(context.failures.requests > 0 ? { requests: context.failures.requests } : {}),
      ...(failures.length > 0 ? { failed: failures.length, reached_client: reached } : {}),
      ...(c.inFlight !== false && lost > 0n ? { bytes_lost: Number(lost) } : {}),
    },
    claims: claims(c, proof, outage, limits),
    controls: controls(c),
    rivals: rivals(c, limits),
    missing: missing(c, limits, context),
    advice: advice(c),
    references: REFERENCES,
    failures,
  }
}

/** A session that dies of retransmissions has lost what was on its way, unless all of it was sent again. */
function severityOf(c: Case, healed: boolean): Severity {
  if (c.code === 'at-risk') return 'info'
  return c.confidence === 'possible' || c.code === 'ended-by-keepalive' ? 'low' : healed ? 'medium' : 'high'
}

/** From the disappearance of the pod to the first session that worked. */
function outageOf(c: Case): { from: bigint | null; to: bigint | null } {
  return { from: c.death?.lo ?? null, to: c.code === 'ended-by-timeout' ? (c.around?.next?.start ?? c.end) : c.end }
}

function subjectOf(c: Case, remote: string): Subject {
  const { record, log } = c.session
  const pod = c.owner ?? (c.death?.ip ? { name: c.death.pod, uid: c.death.uid } : null)
  const client = endpointText(record?.downstreamRemoteIp ?? log?.client?.ip ?? null, record?.downstreamRemotePort ?? log?.client?.port ?? null)
  const connection = log?.id ?? record?.upstreamConnectionId ?? null
  const downstream = log?.client?.id ?? record?.connectionId ?? null
  return {
    ...(record?.proxy ? { proxy: record.proxy } : {}),
    ...(connection !== null ? { connection_id: String(connection) } : {}),
    ...(downstream !== null ? { downstream_connection_id: String(downstream) } : {}),
    ...(c.session.local ? { local: c.session.local } : {}),
    remote,
    ...(client ? { downstream_remote: client } : {}),
    ip: c.session.ip,
    ...(pod?.name ? { pod: pod.name } : {}),
    ...(pod?.uid ? { pod_uid: pod.uid } : {}),
    ...(record?.cluster ? { cluster: record.cluster } : {}),
  }
}

function claims(c: Case, proof: Proof, outage: { from: bigint | null; to: bigint | null }, limits: Limits): DraftClaim[] {
  const out: DraftClaim[] = []
  const add = (says: () => string, places: readonly Place[]): void => {
    if (places.length > 0) out.push({ says: says(), places })
  }
  if (c.death) add(() => deathSays(c), c.death.places)
  if (c.session.record) add(() => recordSays(c), [c.session.record.place])
  if (c.session.log) add(() => logSays(c), logPlaces(c, proof))
  if (c.session.capture) add(() => captureSays(c), proof.capture)
  add(() => trafficSays(c), c.traffic.places)
  if (c.code === 'ended-by-timeout' && c.around?.next) add(() => nextSays(c, outage), [c.around.next.place])
  if (c.around?.resumes) add(() => resumesSays(c), [c.around.resumes.place])
  if (c.around && c.relation) add(() => endpointsSay(c), c.around.endpoints)
  if (!limits.assumed && c.code === 'ended-by-timeout') add(() => `net.ipv4.tcp_retries2 is ${limits.retries}`, limits.places)
  return out
}

/** How it was opened and how it ended. */
function logPlaces(c: Case, proof: Proof): Place[] {
  const opened = proof.log.filter(e => e.role === 'opened' || e.role === 'connected')
  const ended = c.session.log?.how === 'timeout' ? proof.log.filter(e => e.role === 'error' || e.role === 'closing' || e.role === 'closed') : []
  return [...opened, ...ended].map(e => e.place)
}

/** The failure of the session: known, where its record shows one, or new. At risk is none. */
function failuresOf(c: Case, proof: Proof, context: RuleContext): Failure[] {
  const { record, log } = c.session
  if (c.code === 'at-risk') return []
  const { list } = context.failures
  if (record) return [proof.failure ?? failureOfRecord(record)]
  if (!log) return []
  const onIt = list.filter(
    f =>
      f.streams.some(s => s.connection !== null && BigInt(s.connection) === log.row) ||
      f.hops.some(h => h.upstreamConnectionId === log.id && h.upstreamIp === log.ip && h.end !== null && h.end >= log.opened),
  )
  const place = proof.log.at(-1)?.place
  // A pooled connection's failures are those of its requests.
  if (log.pooled || !place) return onIt
  return [
    failureOfStream({
      source: log.source,
      t: log.closed,
      downstreamConnectionId: log.client?.id ?? null,
      streamId: '',
      requestId: null,
      reason: log.how === 'timeout' ? 'connection timed out' : 'no answer',
      transport: null,
      healed: false,
      attempt: -1,
      connection: Number(log.row),
      remote: { ip: log.ip, port: log.port },
      place,
    }),
  ]
}

function missing(c: Case, limits: Limits, context: RuleContext): Missing[] {
  const { abilities } = context
  const fill = { ip: c.session.ip, from: c.death?.lo ?? c.session.start, to: c.end }
  const out: Missing[] = []
  if (c.relation) out.push({ ...abilities.missing('owner-history', fill), why: `who owned ${c.session.ip} until ${iso(fill.from)}: no statement about the pod names its address` })
  if (!c.death) out.push(abilities.missing('pod-ends', fill))
  if (c.kernel === null && c.code !== 'at-risk') out.push(abilities.missing('upstream-connections', fill))
  if (!c.session.capture) out.push(abilities.missing('upstream-capture', fill))
  if (c.code === 'ended-by-timeout' && c.kernel === null) {
    out.push({
      needs: 'client-capture',
      why: "a FIN to the client when the pod stopped, and who sent FIN first at the end, show only in a capture of the client's leg that covers both",
      when: 'next-time',
      collect: `tcpdump -i any -s 128 -w client.pcap 'tcp port ${c.session.record?.downstreamRemotePort ?? '<client port>'}'   (on the client or the node of the proxy, before the pod is restarted)`,
    })
    if (limits.idle.length === 0)
      out.push({
        needs: 'idle-timeout',
        why: 'an idle timeout of the listener may end a session in the same window',
        when: 'now',
        collect:
          'kubectl get clienttrafficpolicies,backendtrafficpolicies,envoypatchpolicies -A -o yaml > policies.yaml; kubectl port-forward <proxy pod> 19000 & curl -s localhost:19000/config_dump > config_dump.json',
      })
  }
  if (limits.assumed && c.code === 'ended-by-timeout')
    out.push({
      needs: 'tcp_retries2',
      why: `how long the kernel repeats depends on it; ${limits.retries} is assumed`,
      when: 'now',
      collect: 'kubectl debug -it <proxy pod> --image=busybox --target=envoy -- cat /proc/sys/net/ipv4/tcp_retries2   (it belongs to the network namespace of the proxy)',
    })
  for (const a of c.around?.alike ?? [])
    out.push({
      ...abilities.missing('pod-ends', { from: a.start, to: a.end }),
      why: `an earlier session, to ${a.remote} from ${iso(a.start)} to ${iso(a.end)}, has the same shape, but nothing tells what became of its pod: it is not judged`,
    })
  return out
}
