import type { Stored } from '../../store/reaches-rules.js'

export const render = (s: Stored): string => s
