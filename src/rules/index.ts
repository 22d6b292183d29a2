/** The registry of rules, in the order of their codes: one line each. */
import { ingressIpSkipped } from './ingress-ip-skipped/rule.js'
import type { Rule } from './rule.js'
import { staleConnectionReuse } from './stale-connection-reuse/rule.js'
import { upstreamFailure } from './upstream-failure/rule.js'

export const rules: readonly Rule[] = [ingressIpSkipped, staleConnectionReuse, upstreamFailure]
