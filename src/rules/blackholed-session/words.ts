/** Every sentence that WC103 says. */
import { endpointText } from '../../model/endpoint.js'
import { clockTime, iso, SECOND } from '../../model/instant.js'
import type { Control } from '../../model/report.js'
import type { Death } from './deaths.js'
import { compare, earlierOf, laterOf } from './instants.js'
import type { Limits } from './kernel.js'
import type { Case } from './verdict.js'

export const REFERENCES = [
  'https://github.com/envoyproxy/gateway/issues/4843',
  'https://github.com/envoyproxy/envoy/issues/27863',
  'https://github.com/envoyproxy/envoy/issues/10846',
  'https://github.com/linkerd/linkerd2-proxy/pull/3174',
  'https://www.kernel.org/doc/html/latest/networking/ip-sysctl.html',
]

/** `962.4`: seconds, one digit. */
export function seconds(ns: bigint): string {
  const tenths = (ns + (ns < 0n ? -SECOND : SECOND) / 20n) / (SECOND / 10n)
  return (Number(tenths) / 10).toFixed(1)
}
const whole = (ns: bigint): string => String((ns + SECOND / 2n) / SECOND)
const range = (a: bigint, b: bigint): string => (seconds(a) === seconds(b) ? `${seconds(a)} s` : `${seconds(a)} to ${seconds(b)} s`)
/** The day only once. */
const until = (from: bigint, to: bigint): string => (iso(from).slice(0, 10) === iso(to).slice(0, 10) ? clockTime(to) : iso(to))
const bytes = (n: bigint): string => `${String(n).replace(/\B(?=(?:\d{3})+$)/g, ',')} byte${n === 1n ? '' : 's'}`

export const remoteText = (c: Case): string => endpointText(c.session.ip, c.session.port) ?? c.session.ip
const sessionText = (c: Case): string => {
  const { session: s } = c
  const client = s.record?.downstreamRemotePort ?? s.log?.client?.port ?? null
  return `TCP ${s.log?.pooled ? 'connection' : 'session'}${s.local ? ` ${s.local} →` : ' to'} ${remoteText(c)}${client === null || s.local ? '' : ` (client port ${client})`}`
}
const podText = (d: Death | null): string => (d?.ip && d.pod ? `pod ${d.pod}` : d?.pod ? `its pod (${d.pod}, it seems)` : 'its pod')

export function title(c: Case, outage: { from: bigint | null; to: bigint | null }): string {
  const { session: s, death, end } = c
  const life = end === null ? `opened at ${iso(s.start)}` : `${iso(s.start)} to ${until(s.start, end)},`
  const gap =
    outage.from !== null && outage.to !== null
      ? `: nothing got through from ${until(s.start, outage.from)} to ${until(s.start, outage.to)} (${seconds(outage.to - outage.from)} s)`
      : ''
  switch (c.code) {
    case 'ended-by-timeout':
      return death
        ? `${sessionText(c)}, ${life} outlived ${podText(death)} by ${outlived(c, death)} and ended only because TCP retransmissions ran out${gap}`
        : `${sessionText(c)}, ${life} ended only because nothing acknowledged its bytes until TCP retransmissions ran out`
    case 'ended-by-keepalive':
      return `${sessionText(c)}, ${life} ended because TCP keep-alive probes were not answered, with nothing in flight${death ? `: ${podText(death)} was gone` : ''}`
    case 'still-open':
      return `${sessionText(c)}, ${life}, is still open at the end of the evidence, and its bytes are not acknowledged${death ? `: ${podText(death)} has been gone since ${iso(death.lo)}` : ''}`
    default:
      return `${sessionText(c)}, ${life}, is still established although ${podText(death)} has been gone since ${iso((death as Death).lo)}; nothing is in flight`
  }
}

const outlived = (c: Case, d: Death): string => range(laterOf((c.end as bigint) - d.hi, 0n), (c.end as bigint) - d.lo)

const windowText = (l: Limits): string =>
  `with tcp_retries2 = ${l.retries} (${l.assumed ? 'the default; no setting is in the bundle' : 'as the bundle says'}) Linux gives up ${whole(l.low)} to ${whole(l.high)} s after the first unacknowledged byte`

export function because(c: Case, l: Limits): string[] {
  const { death, end, written } = c
  const out: string[] = []
  if (death && end !== null && c.code === 'ended-by-timeout') out.push(`it ended ${outlived(c, death)} after the pod disappeared; ${windowText(l)}`)
  if (c.kernel === 'errno' || c.kernel === 'both') out.push(errnoText(c))
  if (c.kernel === 'capture' || c.kernel === 'both' || c.code === 'still-open') out.push(...captureText(c))
  if (c.inFlight === true && death && c.traffic.sure !== null && written?.from !== written?.to)
    out.push(`the client wrote after the pod had disappeared, at ${iso(c.traffic.sure)} for the first time that the evidence shows`)
  if (c.inFlight === false) out.push(death ? 'the client wrote nothing after the pod had disappeared' : 'the last bytes had been answered')
  if (!death && c.confidence === 'certain') out.push('why nothing answered is not in the evidence: the pod was gone, or something on the path dropped its packets')
  if (c.inFlight === null && c.kernel !== null) out.push('whether bytes were on their way is not in the evidence')
  if (c.inFlight === true && !death && c.traffic.answersShown) out.push('the client wrote after the last answer of the pod, and got none')
  if (written && end !== null && c.code === 'ended-by-timeout') out.push(writtenText(c, l))
  const bursts = burstText(c, l)
  if (bursts) out.push(bursts)
  if (c.relation) out.push(relationText(c))
  if (death && death.ip !== null && !death.exact) out.push('when the pod was told to stop is known, or about when, but not when its network was gone')
  if (c.kernel === null && c.code === 'ended-by-timeout')
    out.push('the record itself gives no reason: Envoy logs a session that ran out of retransmissions like one that was closed')
  if (c.fits === 'part' && c.kernel === null) out.push('only a part of the possible times fits the window')
  if (c.confidence === 'possible' && l.idle.length > 0 && c.kernel === null) out.push('an idle timeout is configured that would end it at the same time')
  return out
}

const errnoText = (c: Case): string => {
  const { log } = c.session
  const name = log?.errno === 113 ? '113 No route to host, the kernel had been told that the host is unreachable' : `${log?.errno ?? 110} Connection timed out`
  return `the proxy's log shows the kernel's own reason when connection ${log?.id} ended: errno ${name}`
}

function captureText(c: Case): string[] {
  const { capture } = c.session
  if (!capture) return []
  if (capture.unacked === null) return [`the capture shows ${capture.probes} keep-alive probes without an answer`]
  return [`the capture shows the bytes of ${iso(capture.unacked)} repeated ${capture.retransmissions} times without an answer`]
}

/** The part of the interval that the window allows. */
function clipped(c: Case, l: Limits): { from: bigint; to: bigint } | null {
  if (!c.written || c.end === null) return null
  const from = laterOf(c.written.from, c.end - l.high)
  const to = earlierOf(c.written.to, c.end - l.low)
  return from <= to ? { from, to } : null
}

function writtenText(c: Case, l: Limits): string {
  const end = c.end as bigint
  const w = clipped(c, l)
  if (!w)
    return `the first unacknowledged byte was written at ${iso((c.written as { from: bigint }).from)}, ${seconds(end - (c.written as { from: bigint }).from)} s before the end: not what tcp_retries2 = ${l.retries} allows (${whole(l.low)} to ${whole(l.high)} s), so this host has another`
  return w.from === w.to
    ? `the first unacknowledged byte was written at ${iso(w.from)}, ${seconds(end - w.from)} s before the end`
    : `its first unacknowledged byte was written between ${iso(w.from)} and ${until(w.from, w.to)}, ${range(end - w.to, end - w.from)} before the end`
}

/** Bursts that were not captured, if the client kept its pace. */
function burstText(c: Case, l: Limits): string | null {
  const { leg, complete } = c.traffic
  const w = clipped(c, l)
  if (!leg || complete || !w || !c.death || leg.bursts.length < 2 || c.end === null) return null
  const [first] = leg.bursts as readonly [bigint, ...bigint[]]
  const gaps = leg.bursts
    .slice(1)
    .map((t, i) => t - (leg.bursts[i] as bigint))
    .sort(compare)
  const pace = gaps[gaps.length >> 1] as bigint
  if (first <= c.death.hi || pace < 2n * SECOND || (first - w.from) / pace > 1000n) return null
  const times: bigint[] = []
  for (let t = first; t >= w.from; t -= pace) if (t <= w.to) times.unshift(t)
  if (times.length === 0) return null
  const end = c.end
  return `captured bursts of the client are ${seconds(pace)} s apart; at that pace earlier ones came at ${times
    .slice(0, 5)
    .map(t => `${clockTime((t / 1_000_000n) * 1_000_000n)} (${seconds(end - t)} s before the end)`)
    .join(', ')}: each may have been the first that was lost`
}

function relationText(c: Case): string {
  const a = c.around
  const base = `no statement about the pod names its address; the session was open when it disappeared`
  if (!a || a.later === 0) return `${base}, and no later session shows whether the address is still in use`
  const later = a.later === 1 ? 'the one later session of the cluster goes to another address' : `all ${a.later} later sessions of the cluster go to other addresses`
  const before = a.beside === 1 ? `${c.session.ip} was the only one in use before` : `${a.beside} were in use before`
  return `${base}, ${later}, and ${before}${c.relation === 'sure' ? '' : ': that may be chance'}`
}

export const deathSays = (c: Case): string => {
  const d = c.death as Death
  const name = d.pod ? `Pod ${d.pod}` : 'The pod'
  if (d.what === 'owned' || d.what === 'ended')
    return `${d.ip} belonged to ${d.pod}${d.uid ? ` (uid ${d.uid})` : ''} until ${iso(d.lo)}${d.lo === d.hi ? '' : ` to ${until(d.lo, d.hi)}`}`
  const back = d.back ? `, and was there again at ${until(d.lo, d.back.t)} (${d.back.says})` : ''
  return `${name}${d.ip ? `, which had ${d.ip},` : ''} ${d.what === 'sandbox-gone' ? 'lost its sandbox' : `was ${d.what}`} at ${iso(d.lo)}${back}`
}

export const recordSays = (c: Case): string => {
  const r = c.session.record
  const end = c.end as bigint
  const ms = r?.durationMs ?? null
  const sum = ms === null ? '' : ` (start + ${String(Math.round(ms)).replace(/\B(?=(?:\d{3})+$)/g, ',')} ms)`
  const after = c.death ? `, ${outlived(c, c.death)} after the pod disappeared` : ''
  const got = r?.bytesReceived === null || r?.bytesReceived === undefined ? '' : `; it had received ${bytes(r.bytesReceived)} from the client in all`
  return `The session to ${remoteText(c)} began at ${iso(c.session.start)} and ended at ${iso(end)}${sum}${after}, without a flag or a reason${got}`
}

export const logSays = (c: Case): string => {
  const l = c.session.log
  return l?.how === 'timeout'
    ? `In the proxy's log connection ${l.id} to ${remoteText(c)}, opened at ${iso(l.opened)}, ended at ${iso(l.closed ?? (c.end as bigint))} with ${errnoText(c).split('errno ')[1] ? `errno ${l.errno ?? 110}` : 'a timeout'}`
    : `In the proxy's log connection ${l?.id} to ${remoteText(c)}, opened at ${iso(l?.opened ?? c.session.start)}, does not end`
}

export const trafficSays = (c: Case): string => {
  const { accepted, leg } = c.traffic
  const most = c.session.record?.bytesReceived ?? null
  if (leg && accepted?.least) {
    const lost =
      c.code !== 'ended-by-timeout'
        ? ''
        : most === null
          ? '. At least that many were accepted and lost'
          : `. At least that many were accepted and lost, and at most the ${bytes(most)} that the session received in all`
    return `The capture of the client's leg shows ${bytes(accepted.bytes)} accepted from the client until ${iso(leg.to)}, when the pod was gone: acknowledged by the proxy, which is no proof of their delivery${lost}`
  }
  if (accepted && accepted.bytes > 0n)
    return `The proxy's log shows ${bytes(accepted.bytes)} accepted from the client after ${c.death ? 'the pod had disappeared' : 'the last answer of the pod'}`
  return 'What the client wrote, as far as the evidence shows it'
}

export const captureSays = (c: Case): string => `The capture towards ${remoteText(c)}: ${captureText(c)[0] ?? 'the session is open, and nothing is unacknowledged'}`

export const nextSays = (c: Case, outage: { from: bigint | null; to: bigint | null }): string => {
  const next = c.around?.next
  const total = outage.from !== null && outage.to !== null ? `, ${seconds(outage.to - outage.from)} s after the pod disappeared` : ''
  return `The next session began at ${iso(next?.start as bigint)}, to ${endpointText(next?.upstreamIp ?? null, next?.upstreamPort ?? null)}${total}: until then nothing got through`
}

export const resumesSays = (c: Case): string =>
  `An application log that had been silent since the pod's start goes on at ${iso(c.around?.resumes?.t as bigint)}, with the next session`
export const endpointsSay = (c: Case): string => `The endpoints that are listed name ${c.around?.next?.upstreamIp}, and not ${c.session.ip}`

export function controls(c: Case): Control[] {
  const a = c.around
  if (!a) return []
  const out: Control[] = []
  if (a.later > 0) out.push({ says: `${a.laterFine} of ${a.later} later sessions of the cluster to other addresses ended without a fault`, checked: a.later, passed: a.laterFine })
  if (a.closedAtOnce > 0)
    out.push({
      says: `${a.closedAtOnce} other session${a.closedAtOnce === 1 ? '' : 's'} to ${c.session.ip} ended within 30 s of its disappearance, as a FIN or RST from it, or keep-alive probes, end them: too soon for retransmissions`,
      checked: a.closedAtOnce,
      passed: a.closedAtOnce,
    })
  return out
}

export function advice(c: Case): string[] {
  const d = c.death
  if (c.code === 'at-risk') return ['Close the session, or let its client send something: bytes that are written to it now are lost, and it ends only when TCP gives up.']
  const gap = d?.back ? ` (here ${range(0n, d.back.t - d.lo)} between ${d.what} and ready)`.replace('0.0 to ', '') : ''
  const spared = `Clients that send often are spared, because a first byte that arrives while the pod's network still stands${gap} is answered with RST: the session ends at once and the client reconnects. Let clients send a heartbeat more often than that, and expect an answer.`
  return [
    ...(d ? [spared] : []),
    'Let the pod close its connections before its network goes: a preStop hook or SIGTERM handler that sends FIN, and a terminationGracePeriodSeconds that is long enough.',
    'Bound the time in the kernel: TCP_USER_TIMEOUT on the upstream sockets (Envoy: socket_options level 6, name 18, by EnvoyPatchPolicy), or a lower net.ipv4.tcp_retries2 in the network namespace of the proxy.',
    c.code === 'ended-by-keepalive'
      ? 'TCP keep-alive did its work here; it does nothing once bytes are on their way.'
      : 'TCP keep-alive (BackendTrafficPolicy.tcpKeepalive) helps only sessions with nothing in flight: Linux sends no probes while bytes are unacknowledged.',
    'An active health check with close_connections_on_host_health_failure, max_downstream_connection_duration, or an idle timeout end such sessions sooner; the removal of the endpoint by EDS does not.',
  ]
}
