import type { Instant } from '../../model/instant.js'
import { instant, readIso, type TimeContext, zoneOffset } from '../text/time.js'

/**
 * gorouter's own times: `2006-01-02T15:04:05.000000000Z`, `2006-01-02T15:04:05.000-0700` (before 2019-12) and
 * `02/01/2006:15:04:05.000 -0700` (before 2017). The `Z` of the first is part of the layout, the time is local: it is
 * UTC, as on every BOSH stemcell, unless the context names the zone.
 */
export function readRouterTime(text: string, context: TimeContext): Instant | null {
  if (text.charCodeAt(2) === 0x2f) return readDayFirst(text)
  return text.endsWith('Z') && context.zoneMinutes !== null ? readIso(text.slice(0, -1), context) : readIso(text)
}

const DAY_FIRST = /^(\d\d)\/(\d\d)\/(\d{4}):(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))? ([+-]\d{4})$/

function readDayFirst(text: string): Instant | null {
  const m = DAY_FIRST.exec(text)
  if (!m) return null
  const ns = instant(Number(m[3]), Number(m[2]), Number(m[1]), Number(m[4]), Number(m[5]), Number(m[6]), m[7], zoneOffset(m[8] as string))
  return ns === null ? null : { ns, guess: null }
}
