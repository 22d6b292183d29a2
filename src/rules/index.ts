/** The registry of rules, in the order of their codes: one line each. */
import { blackholedSession } from './blackholed-session/rule.js'
import { cutOffOnStop } from './cut-off-on-stop/rule.js'
import { evidenceConflict } from './evidence-conflict/rule.js'
import { ingressIpSkipped } from './ingress-ip-skipped/rule.js'
import type { Rule } from './rule.js'
import { staleConnectionReuse } from './stale-connection-reuse/rule.js'
import { upstreamFailure } from './upstream-failure/rule.js'

export const rules: readonly Rule[] = [evidenceConflict, ingressIpSkipped, staleConnectionReuse, blackholedSession, upstreamFailure, cutOffOnStop]
