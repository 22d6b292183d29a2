/** WC102: a pooled connection is used only while its remote address has the owner that it was opened to. */
import type { Owner } from '../../correlate/owners.js'
import type { Missing } from '../../model/report.js'
import type { Judgement, Rule, RuleContext } from '../rule.js'
import { answeredOf } from './answered.js'
import { answeredFinding, staleFindings } from './finding.js'
import { staleOf } from './stale.js'
import { upstreamsOf } from './upstreams.js'
import { changed } from './words.js'

export const staleConnectionReuse: Rule = {
  code: 'WC102',
  name: 'stale-connection-reuse',
  invariant: 'a connection is used only while its remote address has the owner it was opened to',
  subjects: 'upstream connections to an address whose owners are known',
  codes: {
    'reset-by-new-owner': 'a pooled connection older than the pod that now owns its remote address is written to and reset',
    'reset-by-new-sandbox': 'the same pod with a new sandbox',
    'silent-after-reuse': 'a connection older than the new owner is written to, and nothing comes back',
    'answered-by-new-owner': 'a connection opened after the change, to an address that the sender still holds for the previous owner, is answered by the new one',
  },
  reads: ['connection', 'attempt', 'request', 'session', 'packet', 'pod_fact', 'owner', 'evidence'],
  needs: ['owner-history'],
  // Either shows the life of connections: `judge` says what lacks where neither does.
  helps: ['upstream-connections', 'upstream-capture'],
  references: [
    'https://github.com/istio/ztunnel/issues/1637',
    'https://github.com/istio/ztunnel/issues/1662',
    'https://github.com/istio/istio/pull/58389',
    'https://github.com/istio/ztunnel/issues/1191',
    'https://github.com/aws/amazon-vpc-cni-k8s/issues/3634',
  ],
  judge,
}

async function judge(context: RuleContext): Promise<Judgement> {
  const { owners, clockError } = context
  const { list, others, mixed } = await upstreamsOf(context)
  const judged = list.filter(u => u.opened !== null)
  const checked = judged.length + others
  const stale = judged.map(u => staleOf(u, owners, clockError)).filter(s => s !== null)
  const answered = await answeredOf(context)
  const findings = [...(await staleFindings(stale, context, judged)), ...answered.map(a => answeredFinding(a, context))]
  return { applies: checked + mixed > 0, checked, findings, missing: [...(mixed > 0 ? [oneLogEach(mixed)] : []), ...(checked > 0 ? [] : lacking(context))] }
}

const oneLogEach = (mixed: number): Missing => ({
  needs: 'one log per proxy',
  why: `${mixed} connections are in a log that mixes two processes: their ids cannot be told apart`,
  when: 'next-time',
  collect: 'kubectl logs <pod> -c <container> > <pod>.log, one file a pod (or --prefix)',
})

/** Changes that are named where nothing tells whether a connection spanned them. */
const NAMED = 3

/** No life of a connection is known: of which changes of owner nothing can be said. */
function lacking({ abilities, owners }: RuleContext): Missing[] {
  const changes = changesOf(owners.all)
  const general = abilities.missing('upstream-connections')
  if (changes.length === 0) return [general]
  return changes.slice(0, NAMED).map(([before, after]) => ({
    ...abilities.missing('upstream-connections', { ip: after.ip, pod: null, from: before.to, to: after.from }),
    why: `${changed(before, after)}; ${general.why}`,
  }))
}

/** Addresses that passed from one pod to another, in order of time. */
function changesOf(all: readonly Owner[]): [Owner, Owner][] {
  const out: [Owner, Owner][] = []
  all.forEach((o, i) => {
    const next = all[i + 1]
    if (next && next.ip === o.ip && o.kind === 'pod' && next.kind === 'pod' && next.from !== null && o.name !== next.name) out.push([o, next])
  })
  return out.sort(([, a], [, b]) => ((a.from as bigint) < (b.from as bigint) ? -1 : (a.from as bigint) > (b.from as bigint) ? 1 : a.ip < b.ip ? -1 : 1))
}
