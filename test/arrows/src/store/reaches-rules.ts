import type { Rule } from '../rules/reaches-report.js'

export type Stored = Rule
