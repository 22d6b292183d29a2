/** The time formats of `hubble observe --time-format`. All of them print UTC. */
import { readIso, readStamp, type TimeContext } from '../text/time.js'
import type { TimeText } from './record.js'

const STAMP = '[A-Z][a-z]{2} [ \\d]?\\d \\d\\d:\\d\\d:\\d\\d(?:\\.\\d{1,9})?'
const ISO = '\\d{4}-\\d\\d-\\d\\d(?:T\\d\\d(?::\\d\\d(?::\\d\\d(?:\\.\\d{1,9})?)?)?(?:Z|[+-]\\d\\d:\\d\\d))?'
const RFC1123 = '[A-Z][a-z]{2}, \\d\\d [A-Z][a-z]{2} \\d{4} \\d\\d:\\d\\d:\\d\\d [+-]\\d{4}'
/** Source of an expression that matches a printed time, without groups. */
export const TIME = `(?:${STAMP}|${ISO}|${RFC1123}|N/A)`

const COARSE = /^\d{4}-\d\d-\d\d(?:T\d\d(?::\d\d)?(?:Z|[+-]\d\d:\d\d))?$/
const RFC1123_PARTS = /^[A-Z][a-z]{2}, (\d\d) ([A-Z][a-z]{2}) (\d{4}) (\d\d:\d\d:\d\d) ([+-]\d{4})$/
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

export const NO_TIME: TimeText = { at: null, coarse: false }

export function readTime(text: string, context: TimeContext): TimeText {
  if (COARSE.test(text)) return { at: null, coarse: true }
  const parts = RFC1123_PARTS.exec(text)
  if (parts) {
    const month = MONTHS.indexOf(parts[2] as string) + 1
    return { at: month === 0 ? null : readIso(`${parts[3]}-${String(month).padStart(2, '0')}-${parts[1]}T${parts[4]}${parts[5]}`), coarse: false }
  }
  return { at: readIso(text) ?? readStamp(text, context, 'utc'), coarse: false }
}
