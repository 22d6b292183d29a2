/** Every sentence that WC105 says. */
import { clockTime, iso, toMilliseconds } from '../../model/instant.js'
import type { Rival } from '../../model/report.js'
import type { Finding } from './findings.js'
import type { Judged } from './judge.js'
import { least, type Moment, most, sources } from './moments.js'
import { LONG, TOGETHER } from './timing.js'
import type { Code } from './verdict.js'

const requests = (n: number): string => (n === 1 ? '1 request' : `${n} requests`)
const were = (n: number): string => (n === 1 ? 'was' : 'were')
const seconds = (ns: bigint): string => `${(toMilliseconds(ns) / 1000).toFixed(2)} s`

/** Who it was. */
const who = (f: Finding): string => {
  const pod = f.ending.life?.platform === 'kubernetes' ? f.ending.life.name : null
  const instance = f.instance === null || f.instance === f.remote ? null : `instance ${f.instance}`
  const extra = pod ?? instance
  return f.remote === null ? (extra ?? 'an instance') : extra === null ? f.remote : `${f.remote} (${extra})`
}

/** Another attempt answered some of them, or all. */
const healed = (f: Finding): string => {
  const n = f.judged.filter(j => j.suspect.healed).length
  if (n === 0) return ''
  if (n < f.judged.length) return `; ${n} of them ${were(n)} answered by another attempt`
  return n === 1 ? '; another attempt answered it' : '; each was answered by another attempt'
}

const status = (f: Finding): string => {
  const exit = f.ending.life?.exit
  return exit?.status === null || exit?.status === undefined ? '' : ` with status ${exit.status}`
}

export const title = (f: Finding): string => `${what(f)}${healed(f)}`

function what(f: Finding): string {
  const n = f.judged.length
  const life = f.ending.life
  const exit = life?.exit ?? null
  const at = exit ? iso(exit.at) : life?.stop ? iso(life.stop.at) : null
  const told = life?.stop && exit ? `, ${seconds(exit.at - life.stop.at)} after it was told to stop` : ''
  switch (f.code) {
    case 'in-flight-cut':
      return exit
        ? `${requests(n)} to ${who(f)} ${were(n)} in flight and cut when it exited${status(f)} at ${at}${told}${exit.graceExceeded ? ' and killed at the end of its grace period' : ''}`
        : `${requests(n)} to ${who(f)} ${were(n)} in flight and cut while it stopped, from ${at}`
    case 'crashed':
      return `${requests(n)} to ${who(f)} ${were(n)} in flight when it crashed${status(f)} at ${at}; nobody had told it to stop`
    case 'out-of-memory':
      return `${requests(n)} to ${who(f)} ${were(n)} in flight when it was killed for memory at ${at}`
    case 'accepted-after-exit':
      return `${requests(n)} to ${who(f)} ${were(n)} accepted by its sidecar after the application had exited${status(f)} at ${at}`
    case 'refused-while-stopping':
      return `${requests(n)} ${were(n)} sent to ${who(f)}, which no longer listened ${exit ? `(it exited at ${at})` : `(it was told to stop at ${at})`} and was still in the routes`
    case 'certificate-window':
      return `${requests(n)} to ${who(f)} ${were(n)} refused for its certificate, which the platform had swapped for one without a name ${life?.stop ? `when it was told to stop at ${iso(life.stop.at)}` : `around its exit at ${at}`}`
    case 'stale-keepalive':
      return `${requests(n)} ${were(n)} sent on kept-alive connections to ${who(f)}, which had exited${status(f)} at ${at}`
    case 'undetermined':
      return exit
        ? `${requests(n)} to ${who(f)} failed around its exit${status(f)} at ${at}; whether cut off in flight or sent too late cannot be told`
        : life?.stop
          ? `${requests(n)} to ${who(f)} failed after it was told to stop at ${at}; what ended them cannot be told`
          : `${requests(n)} to ${who(f)} failed as if it had ended (${f.judged[0]?.suspect.error ?? ''}), and nothing tells whether it was stopped, crashed or ran out of memory`
  }
}

export function because(f: Finding): string[] {
  const { life, exit, fared, byTime } = f.ending
  const out: string[] = []
  const whys = new Set(f.judged.map(j => j.why))
  if (whys.has('running')) out.push('each request had begun before the exit and ended with it')
  if (whys.has('running-at-stop')) out.push('each request had begun before the instance was told to stop, and was closed while it stopped')
  if (whys.has('new-connection')) out.push("each began after the exit, on a new connection (conn-reused is false in the router's log)")
  if (whys.has('new-connection-by-time'))
    out.push("each began after the exit and took as long as a new connection to a sidecar without application takes; the router's log, which names the connection, is missing")
  if (f.code === 'stale-keepalive')
    out.push(f.proof.kept.ports > 0 ? 'the errors name local ports that had served earlier requests' : 'each began after the exit, and met a connection that was already dead')
  if (whys.has('nobody-listened')) out.push('each found no listener, after the instance had been told to stop')
  if (whys.has('no-name-in-certificate')) out.push('the router names the certificate: it is valid for no name, which is what the platform swaps in at a stop')
  if (f.proof.refused.count > 0) out.push(`the sidecar's log shows ${f.proof.refused.count} connections to the application refused at the same moments`)
  if (exit?.tied === 'cut')
    out.push(
      `${exit.together === 1 ? 'a request that had run long' : `${exit.together} requests that had run for different times`} ended at ${clockTime(exit.lo)}, which ties the proxy's clock to the platform's`,
    )
  if (exit?.tied === 'between') out.push('the instance answered until its exit and failed from then on, which ties the two clocks')
  if (exit?.tied === 'assumed' && f.code !== 'certificate-window') out.push('clocks assumed: nothing ties the two clocks, and no order closer than their error was used')
  if (life?.exit && sources(life.exit) > 1) out.push(`${sources(life.exit)} sources tell the exit`)
  if (life?.exit?.inferred) out.push('the exit itself is not in the evidence, only what follows it')
  if (byTime) out.push('the exit line does not name its instance: the two are joined by time')
  if (whys.has('clocks')) out.push(`requests were answered by it until ${fared.lastStart === null ? 'later' : iso(fared.lastStart)}, after its exit: one of the clocks is wrong`)
  if (whys.has('cause-of-exit')) out.push('the exit is known, whether somebody asked for it is not')
  if (whys.has('order')) out.push('the requests lie within the error of the two clocks, and nothing ties them')
  if (whys.has('start-unknown')) out.push('when the requests began is not known: the access log is missing')
  if (whys.has('slow')) out.push('they began after the exit and yet took longer than an instance without a process takes')
  if (whys.has('reuse-unknown')) out.push('whether the connection was a new one is not known')
  if (whys.has('after-stop')) out.push('they failed after the instance was told to stop and before it exited')
  if (whys.has('no-stop')) out.push(f.removed.length > 0 ? 'it was taken out of the routes right after' : 'only the shape of the failure speaks for an end of the instance')
  if (whys.has('no-stop') && f.ending.fared.total > 0) out.push('it answered no request that began later')
  if (whys.has('no-stop')) out.push(...atOnce(f.judged))
  return out
}

/** What speaks for one end of all, without saying which. */
function atOnce(judged: readonly Judged[]): string[] {
  const ran = judged.filter(j => j.suspect.start !== null && j.suspect.end - j.suspect.start >= LONG)
  if (ran.length < 2) return []
  const ends = ran.map(j => j.suspect.end)
  const [from, to] = [least(ends) as bigint, most(ends) as bigint]
  if (to - from > TOGETHER) return []
  const later = judged.filter(j => j.suspect.start !== null && j.suspect.start > from)
  return [
    `${ran.length} requests ended within ${toMilliseconds(to - from).toFixed(1)} ms of each other, from ${clockTime(from)} on, and had begun at different times${took(ran)}`,
    ...(later.length > 0 ? [`${later.length} that began later failed at once${took(later)}`] : []),
  ]
}

export function failedSays(lost: readonly Judged[]): string {
  const errors = new Set(lost.map(j => j.suspect.error))
  return `${requests(lost.length)} ended with ${errors.size > 1 ? 'errors such as ' : ''}"${lost[0]?.suspect.error ?? ''}"${took(lost)}`
}

function took(list: readonly Judged[]): string {
  const all = list.map(j => (j.suspect.start === null ? null : toMilliseconds(j.suspect.end - j.suspect.start))).filter(t => t !== null)
  if (all.length === 0) return ''
  const [low, high] = [Math.min(...all), Math.max(...all)]
  return high - low < 0.1 ? `, after ${low.toFixed(1)} ms` : `, after ${low.toFixed(1)} to ${high.toFixed(1)} ms`
}
export const logSays = (f: Finding): string => `The router's log names the backend, the error and the connection of ${f.judged.length === 1 ? 'the attempt' : 'the attempts'}`
export const healedSays = (n: number): string => `${requests(n)} failed there and ${were(n)} answered by another attempt`
export const stopSays = (m: Moment): string => `It was told to stop at ${iso(m.at)}`
export const certificateSays = (m: Moment): string => `Its certificate was swapped at ${iso(m.at)}`
export const signalSays = (m: Moment): string => `Its process was signalled at ${iso(m.at)}`
export const exitSays = (f: Finding, m: Moment): string =>
  `Its process exited${status(f)} at ${iso(m.at)}${f.ending.life?.exit?.outOfMemory ? ', out of memory' : ''}${f.ending.life?.exit?.inferred ? ', or shortly before' : ''}`
export const goneSays = (m: Moment): string => `Its container was gone at ${iso(m.at)}`
export const removedSays = (m: Moment): string => `The router took it out of the routes at ${iso(m.at)}`
export const refusedSays = (n: number): string => `The sidecar accepted, and the application refused ${n === 1 ? 'its connection' : `${n} connections`}`
export const keptSays = (n: number): string =>
  `${n === 1 ? 'The local port' : `${n} local ports`} of the failed writes had served earlier requests: the connections were kept-alive ones`

export const beforeSays = (fine: number, all: number): string => `${fine} of ${all} requests to the same instance that ended before were fine`
export const runningSays = (fine: number, all: number): string => `${fine} of ${all} requests that it was serving when the stop began were answered`
export const besideSays = (fine: number, all: number): string => `${fine} of ${all} requests to the other backends of the application meanwhile were fine`

interface Hypothesis {
  readonly code: Code
  readonly says: string
  readonly refuted: (f: Finding) => string | null
  readonly separated: string
}

const began = (f: Finding): boolean => f.judged.every(j => j.why === 'running')
const long = (f: Finding): boolean => f.judged.every(j => j.suspect.start !== null && j.suspect.end - j.suspect.start >= LONG)

/** What refutes that a running request was cut, whatever the end. */
function notRunning(f: Finding): string | null {
  if (f.code === 'certificate-window') return 'the connection was refused for its certificate, before any request was sent'
  if (f.code === 'accepted-after-exit' || f.code === 'stale-keepalive') return 'the requests began after the exit'
  return f.code === 'refused-while-stopping' ? 'no connection was made that a request could have run on' : null
}

/** What refutes that the request was sent, on whichever connection. */
function notSent(f: Finding): string | null {
  if (began(f)) return 'the requests began before the exit'
  return f.code === 'certificate-window' || (f.code === 'refused-while-stopping' && f.judged.every(j => j.suspect.shape === 'refused')) ? 'nothing was accepted' : null
}

const NO_CERTIFICATE = 'the error names no certificate'

const HYPOTHESES: readonly Hypothesis[] = [
  {
    code: 'in-flight-cut',
    says: 'cut off in flight: it was told to stop and exited with the requests running',
    refuted: f => notRunning(f) ?? (f.ending.life?.end === 'crashed' || f.ending.life?.end === 'out-of-memory' ? 'no stop came before the exit' : null),
    separated: 'the time of "stopping instance" and of the exit, against the beginning of each request',
  },
  {
    code: 'out-of-memory',
    says: 'killed for memory, with the requests running',
    refuted: f => notRunning(f) ?? memoryRefuted(f),
    separated: '"Exit status 137 (out of memory)" in the application log, or the crash event',
  },
  {
    code: 'crashed',
    says: 'crashed by itself, with the requests running',
    refuted: f =>
      notRunning(f) ?? (f.ending.life?.end === 'stopped' ? 'it had been told to stop' : f.ending.life?.end === 'out-of-memory' ? 'the platform says out of memory' : null),
    separated: 'the exit status, and whether "stopping instance" came before it',
  },
  {
    code: 'accepted-after-exit',
    says: 'accepted by the sidecar after the application had exited',
    refuted: f =>
      notSent(f) ?? (f.code === 'stale-keepalive' ? 'the connections were not new' : long(f) ? 'each request ran longer than a sidecar without application takes' : null),
    separated: "the time of the exit, and conn-reused in the router's log",
  },
  {
    code: 'certificate-window',
    says: 'refused while its certificate was swapped',
    refuted: f => (began(f) ? 'the requests ran when the exit came' : f.judged.every(j => j.suspect.shape !== 'certificate') ? NO_CERTIFICATE : null),
    separated: "an x509 error in the router's log",
  },
  {
    code: 'stale-keepalive',
    says: 'sent on a kept-alive connection to an instance that had gone',
    refuted: f => notSent(f) ?? (f.judged.every(j => j.suspect.reused === false) ? 'the connections were new' : long(f) ? 'each request ran before it failed' : null),
    separated: 'the time of the exit; conn-reused alone proves nothing',
  },
]

function memoryRefuted(f: Finding): string | null {
  const exit = f.ending.life?.exit
  if (!exit || exit.inferred || exit.outOfMemory || exit.status === null) return null
  return exit.status === 137 && !exit.graceExceeded ? null : `it exited${status(f)}${exit.graceExceeded ? ', killed at the end of its grace period' : ''}`
}

const LIVE: Rival = {
  says: 'a keep-alive race with an instance that lived on',
  status: 'refuted',
  because: 'the instance exited',
  separated_by: 'a later request that the same instance answered',
}

/** The other explanations; where the cause is undetermined, all of them. */
export function rivals(f: Finding): Rival[] {
  const kubernetes = f.ending.life?.platform === 'kubernetes'
  const list = HYPOTHESES.filter(h => h.code !== f.code && !(kubernetes && (h.code === 'certificate-window' || h.code === 'accepted-after-exit')))
  const out = list.map((h): Rival => {
    const refuted = h.refuted(f)
    return { says: h.says, status: refuted === null ? 'open' : 'refuted', because: refuted ?? 'nothing in the evidence speaks against it', separated_by: h.separated }
  })
  const live: Rival = f.ending.life?.exit
    ? LIVE
    : {
        ...LIVE,
        status: 'open',
        because: f.ending.fared.total > 0 ? 'it answered no later request here, which does not prove that it was gone' : 'no later request to it is in the evidence',
      }
  return [...out.filter(r => f.code === 'undetermined' || r.status === 'open' || r.because !== NO_CERTIFICATE), live]
}

const ADVICE: Readonly<Record<Code, readonly string[]>> = {
  'in-flight-cut': [
    'On SIGTERM the application should stop accepting, finish what it serves, and exit only then; the grace period (Cloud Foundry: containers.graceful_shutdown_interval_in_seconds, 10 s, operators only) must be longer than its longest request.',
    'Clients must be able to repeat such a request safely: the router retries only what is idempotent or was not fully sent.',
  ],
  crashed: ["Look for the cause in the application's own log just before the exit. A retry is safe only for idempotent requests."],
  'out-of-memory': [
    'Give the instance more memory, or find what takes it: the requests in flight at the kill are the first suspects. A retry is safe only for idempotent requests.',
  ],
  'accepted-after-exit': [
    'Delay the exit: let the application serve for a few seconds after SIGTERM, until the router has withdrawn the route. Until then its sidecar accepts for it.',
    'A router of routing-release with gorouter#337 (2023-03) retries those whose connection failed before the request was written, POST included.',
  ],
  'refused-while-stopping': ['Keep listening after SIGTERM until the proxy has taken the instance out of its endpoints (a preStop sleep, or a delay in the application).'],
  'certificate-window': [
    'This is the platform at work: new connections to an instance that stops are refused and retried on another. With a single instance there is no other: run two.',
  ],
  'stale-keepalive': ["The connections were cut without a FIN: look at how the container's network is taken down. The retry is safe only for idempotent requests."],
  undetermined: [
    "Collect the application log and the cell's log of that minute before they rotate: `missing` has the commands. Until then do not take the first explanation for the right one.",
  ],
}
export const advice = (f: Finding): readonly string[] => ADVICE[f.code]

export const CODES: Readonly<Record<Code, string>> = {
  'in-flight-cut': 'the request was running when its instance was told to stop',
  crashed: 'the instance died by itself, with the request in flight',
  'out-of-memory': 'the instance died of memory, with the request in flight',
  'accepted-after-exit': 'accepted by a proxy whose application had already exited',
  'refused-while-stopping': "the instance had closed its listener and was still the proxy's choice",
  'certificate-window': "refused while the platform had swapped the instance's certificate",
  'stale-keepalive': 'sent on a kept-alive connection to an instance that had gone',
  undetermined: 'a stop-shaped failure that the evidence cannot settle; says what would',
}

export const unnamedSays = (n: number): string => `${requests(n)} needed a second attempt while an instance was stopping; the access log names only the instance of the last`
export const tailSays = `the application's own log cache of that minute, which outlives --recent: exit line, "stopping instance", crash event`
