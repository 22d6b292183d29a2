/** WC104: a request sent upstream gets the upstream's answer. What a stronger rule explains is not judged again. */
import { type Failure, innermost, innerStream } from '../../correlate/failures.js'
import { endpointText } from '../../model/endpoint.js'
import { groupBy } from '../../model/group.js'
import type { Judgement, Rule, RuleContext } from '../rule.js'
import { type Attempt, attemptsBehind, isRace } from './attempts.js'
import { causeOf, type Suffix } from './cause.js'
import { type Ending, endingsOf } from './endings.js'
import { drafted } from './finding.js'
import { CODES } from './words.js'

export const upstreamFailure: Rule = {
  code: 'WC104',
  name: 'upstream-failure',
  invariant: "a request sent upstream gets the upstream's answer",
  subjects: 'finished requests',
  codes: CODES,
  reads: ['attempt', 'connection', 'session', 'packet', 'evidence'],
  needs: ['requests'],
  helps: ['upstream-connections'],
  references: [
    'https://www.envoyproxy.io/docs/envoy/latest/configuration/observability/access_log/usage',
    'https://github.com/envoyproxy/envoy/issues/8639',
    'https://github.com/envoyproxy/envoy/issues/6815',
  ],
  judge,
}

export interface Judged {
  readonly failure: Failure
  readonly suffix: Suffix
  readonly remote: string | null
  readonly attempt: Attempt | null
  readonly ending: Ending | null
}

async function judge(context: RuleContext): Promise<Judgement> {
  const { failures } = context
  const open = failures.list.filter(f => f.cause === null)
  const attempts = await attemptsBehind(context, open)
  const endings = await endingsOf(context, open)
  const judged: Judged[] = []
  for (const f of open) {
    const cause = causeOf(f)
    if ('harmless' in cause) {
      f.cause = cause.harmless
      continue
    }
    const attempt = attempts.get(innerStream(f)?.attempt ?? -1) ?? null
    const ending = endings.get(f) ?? null
    judged.push({ failure: f, suffix: refined(cause.code, f, { attempt, ending }, context), remote: remoteOf(f, attempt), attempt, ending })
  }
  const onlyLogged = failures.list.filter(f => f.hops.length === 0).length
  const checked = failures.requests + failures.probes + onlyLogged
  const groups = groupBy(judged, j => `${j.suffix} ${j.remote ?? ''} ${innermost(j.failure)?.cluster ?? j.attempt?.cluster ?? ''}`)
  return { applies: checked > 0, checked, findings: drafted([...groups.values()], context, upstreamFailure.references) }
}

/** The upstream connection's remote address: from the record, else from the log. */
function remoteOf(f: Failure, attempt: Attempt | null): string | null {
  const r = innermost(f)
  if (r?.upstreamIp) return endpointText(r.upstreamIp, r.upstreamPort)
  return attempt?.remote ?? f.backends.at(-1)?.backend ?? null
}

const CONNECT: ReadonlySet<Suffix> = new Set(['connect-timeout', 'no-route', 'connect-refused', 'connect-failed'])

/** What debug log, captures and owners add to the printed reason. */
function refined(suffix: Suffix, f: Failure, seen: Pick<Judged, 'attempt' | 'ending'>, context: RuleContext): Suffix {
  if (suffix === 'reset-before-response' && crossed(seen)) return 'keepalive-race'
  return CONNECT.has(suffix) && ownerEnded(f, context) ? 'stale-endpoint' : suffix
}

/** The FIN was under way when the request was written: a capture shows it, else the log by its times. */
function crossed({ attempt, ending }: Pick<Judged, 'attempt' | 'ending'>): boolean {
  if (ending !== null && ending.acknowledged !== null) return ending.by === 'fin' && !ending.acknowledged
  return attempt !== null && isRace(attempt)
}

/**
 * Somebody had owned the address, had surely ended before the request began, and nobody may have had it since. The
 * clocks of the two sources may differ.
 */
function ownerEnded(f: Failure, { owners, clockError }: RuleContext): boolean {
  const ip = innermost(f)?.upstreamIp ?? innerStream(f)?.remote?.ip ?? null
  const start = innermost(f)?.start ?? f.t
  if (ip === null || start === null) return false
  const all = owners.of(ip)
  const ended = all.some(o => o.to !== null && o.toLatest !== null && o.toLatest + clockError < start)
  return ended && all.every(o => o.to !== null || (o.from !== null && o.from > start)) && owners.maybe(ip, start).length === 0
}
