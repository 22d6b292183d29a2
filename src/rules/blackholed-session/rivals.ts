/** Other explanations, and the one observation that separates each. */
import { clockTime, iso, SECOND } from '../../model/instant.js'
import type { Rival } from '../../model/report.js'
import type { Limits } from './kernel.js'
import { type Case, IDLE_DEFAULT, IDLE_QUARTER, idlePossible, lastByte } from './verdict.js'
import { remoteText, seconds } from './words.js'

export function rivals(c: Case, l: Limits): Rival[] {
  if (c.code === 'at-risk') return []
  const out: Rival[] = []
  if (c.death && c.code !== 'ended-by-keepalive') out.push(halfClose(c))
  if (c.code === 'ended-by-timeout') out.push(idleTimeout(c, l))
  if (c.kernel === null && c.code === 'ended-by-timeout') out.push(ordinaryClose(c))
  if (c.kernel !== null && c.code === 'ended-by-timeout') out.push(keepAlive(c))
  if (c.relation) out.push(anotherPod(c))
  // That nothing answered is certain then; why is another question.
  if (!c.death && c.confidence !== 'certain') out.push(path(c))
  return out
}

/** The pod may have said goodbye, and the client not have listened. */
function halfClose(c: Case): Rival {
  const d = c.death as NonNullable<Case['death']>
  const says = 'half-close: on SIGTERM the pod sent FIN, the proxy passed it on, and the client ignored it and went on sending'
  const separated_by = `a FIN from ${remoteText(c)} in a capture on the proxy's node, or a FIN from the proxy to the client at ${clockTime(d.lo)} in a capture of the client's leg that begins before`
  const { leg, halfClosed, answersShown, complete } = c.traffic
  if (c.kernel !== null)
    return { says, status: 'refuted', because: 'a FIN would not have ended the session: the kernel did, because bytes that were written later were not acknowledged', separated_by }
  if (halfClosed) return { says, status: 'open', because: "the proxy's log shows that the pod closed its direction first; the bytes after it were lost all the same", separated_by }
  if (leg?.fin) return { says, status: 'open', because: `the capture shows a FIN to the client at ${iso(leg.fin)}`, separated_by }
  if (answersShown && complete && c.session.log?.client)
    return { says, status: 'refuted', because: "the proxy's log shows what came from the pod, and no FIN among it", separated_by }
  if (c.session.capture?.noFin) return { says, status: 'refuted', because: 'the capture towards the pod shows no FIN from it', separated_by }
  if (leg && leg.from < d.lo && leg.to > d.hi) return { says, status: 'refuted', because: 'the capture of the client shows no FIN when the pod stopped', separated_by }
  const late = leg
    ? `the capture of the client's leg begins at ${clockTime(leg.from)}, ${seconds(leg.from - d.lo)} s after the pod disappeared`
    : 'nothing in the bundle shows what the pod sent when it stopped'
  return { says, status: 'open', because: late, separated_by }
}

function idleTimeout(c: Case, l: Limits): Rival {
  const end = c.end as bigint
  const { session: s, traffic: t } = c
  const last = lastByte(t)
  const says = 'an idle timeout of the proxy, for instance of 15 minutes, ended it'
  const separated_by = 'the idle timeout of the listener (ClientTrafficPolicy timeout.tcp.idleTimeout; tcp_proxy idle_timeout in the config dump), or the time of the last byte'
  if (c.kernel !== null) return { says, status: 'refuted', because: c.kernel === 'capture' ? 'bytes were still being repeated' : 'an idle timeout sets no errno', separated_by }
  const values = l.idle.length > 0 ? l.idle.map(i => i.value) : [IDLE_QUARTER, IDLE_DEFAULT]
  if (l.idle.length > 0 && !values.some(v => idlePossible(v, s, t, end)))
    return {
      says,
      status: 'refuted',
      because: `the configured idle timeout (${values.map(v => `${seconds(v)} s`).join(', ')}) does not fit: ${unfit(values[0] as bigint, c, last)}`,
      separated_by,
    }
  const ruledOut = values
    .filter(v => !idlePossible(v, s, t, end))
    .map(v => `not of ${v === IDLE_DEFAULT ? '1 hour (the default)' : v === IDLE_QUARTER ? 'exactly 15 minutes' : `${seconds(v)} s`}: ${unfit(v, c, last)}`)
  const open = last === null ? 'the time of the last byte is not known' : `the last byte that is known came ${seconds(end - last)} s before the end`
  return { says, status: 'open', because: [`${l.idle.length > 0 ? 'one is configured' : 'no configuration is in the bundle'}; ${open}`, ...ruledOut].join('; '), separated_by }
}

function unfit(value: bigint, c: Case, last: bigint | null): string {
  const end = c.end as bigint
  if (end - c.session.start < value) return `the session lasted only ${seconds(end - c.session.start)} s`
  return `the last byte would have come at ${clockTime(end - value)}, and the client sent some at ${clockTime(last ?? end)}`
}

const ordinaryClose = (c: Case): Rival => ({
  says: 'client or proxy closed the session at that moment for another reason',
  status: 'open',
  because: 'the record prints the same for both, and only the time speaks for the one',
  separated_by: `errno 110 or 113 next to the close in the proxy's debug log; repeated segments to ${remoteText(c)} in a capture on its node; who sent FIN first in a capture of the client's leg at ${clockTime(c.end as bigint)}`,
})

const keepAlive = (c: Case): Rival => ({
  says: 'TCP keep-alive probes noticed that the pod was gone, with nothing in flight',
  status: c.inFlight === true ? 'refuted' : 'open',
  because: c.inFlight === true ? 'bytes were on their way: Linux then sends no probes' : 'both end with the same errno',
  separated_by: 'probes and a RST of the proxy, or repeated segments, in a capture towards the pod; the last write in the log (filter:debug)',
})

const anotherPod = (c: Case): Rival => ({
  says: `${c.session.ip} was the address of another pod`,
  status: 'open',
  because: 'no statement about the pod names its address: only what became of the sessions relates them',
  separated_by: `who owned ${c.session.ip} until ${iso(c.death?.lo ?? c.session.start)} (API server audit log, CNI log)`,
})

const path = (c: Case): Rival => ({
  says: 'the pod lived, and something on the path dropped the packets (policy, NAT, firewall, a dead node)',
  status: 'open',
  because: 'nothing in the bundle tells what became of the pod',
  separated_by: `who owned ${c.session.ip} until ${iso(c.end ?? c.session.start + SECOND)}, and whether other sessions to it went on`,
})
