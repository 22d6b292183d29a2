/** The registry of rules, in the order of their codes: one line each. */
import type { Rule } from './rule.js'
import { staleConnectionReuse } from './stale-connection-reuse/rule.js'
import { upstreamFailure } from './upstream-failure/rule.js'

export const rules: readonly Rule[] = [staleConnectionReuse, upstreamFailure]
