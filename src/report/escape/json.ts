/** JSON that is read on a terminal or in a CI log as well as by a parser. */
import { LOG_COMMAND, UNSAFE } from './unsafe.js'

/** A JSON text that parses to the same value, in which what no medium gets raw is a `\uXXXX` escape. Newlines between its lines stay. */
export function escapeJson(json: string): string {
  return json.replace(UNSAFE, c => (c === '\n' ? c : units(c))).replace(LOG_COMMAND, c => units(c.slice(0, 1)) + c.slice(1))
}

function units(character: string): string {
  let out = ''
  for (let i = 0; i < character.length; i++) out += `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`
  return out
}
