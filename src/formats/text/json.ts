/** JSON as evidence: bounded depth, exact big integers, and the extent of a value in bytes. */
import { limits } from '../../limits.js'

export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject
export type JsonObject = { readonly [key: string]: JsonValue | undefined }

export const isJsonObject = (v: unknown): v is JsonObject => typeof v === 'object' && v !== null && !Array.isArray(v)

/** The own property of an object: never one of its prototype. */
export const get = (o: JsonObject, key: string): JsonValue | undefined => (Object.hasOwn(o, key) ? o[key] : undefined)
export const getObject = (o: JsonObject | undefined, key: string): JsonObject | undefined => {
  const v = o && get(o, key)
  return isJsonObject(v) ? v : undefined
}
/** A non-empty string, or null. */
export const getString = (o: JsonObject | undefined, key: string): string | null => {
  const v = o && get(o, key)
  return typeof v === 'string' && v !== '' ? v : null
}
/** A finite number, also where it is printed as a string; or null. */
export const getNumber = (o: JsonObject | undefined, key: string): number | null => {
  const v = o && get(o, key)
  const n = typeof v === 'number' ? v : typeof v === 'string' && v !== '' ? Number(v) : Number.NaN
  return Number.isFinite(n) ? n : null
}
const LONG_NUMBER = /[:[,\s]-?\d{16}/

/**
 * Parses one JSON text; undefined where it is not JSON or nests deeper than `limits.depth`. Integers of 16 digits and
 * more become strings, so that none is rounded.
 */
export function parseJson(text: string): JsonValue | undefined {
  if (tooDeep(text)) return undefined
  try {
    return JSON.parse(LONG_NUMBER.test(text) ? quoteLongNumbers(text) : text) as JsonValue
  } catch {
    return undefined
  }
}

/** Puts quotes around number tokens of 16 digits or more, outside strings. */
function quoteLongNumbers(text: string): string {
  let out = ''
  let from = 0
  for (let i = 0; i < text.length; ) {
    const c = text.charCodeAt(i)
    if (c === 0x22) i = endOfString(text, i)
    else if (c === 0x2d || (c >= 0x30 && c <= 0x39)) {
      let j = i + 1
      let plain = true
      for (; j < text.length; j++) {
        const d = text.charCodeAt(j)
        if (d >= 0x30 && d <= 0x39) continue
        if (d === 0x2e || d === 0x65 || d === 0x45 || d === 0x2b || d === 0x2d) plain = false
        else break
      }
      if (plain && j - i >= 16) {
        out += `${text.slice(from, i)}"${text.slice(i, j)}"`
        from = j
      }
      i = j
    } else i++
  }
  return from === 0 ? text : out + text.slice(from)
}

/** Index after the closing quote of the string that opens at `i`, or the text's end. */
function endOfString(text: string, i: number): number {
  for (let j = i + 1; ; ) {
    const q = text.indexOf('"', j)
    if (q < 0) return text.length
    let slashes = 0
    while (text.charCodeAt(q - 1 - slashes) === 0x5c) slashes++
    if (slashes % 2 === 0) return q + 1
    j = q + 1
  }
}

function tooDeep(text: string): boolean {
  // A text with fewer brackets than the limit cannot be too deep: most records end here.
  let opens = 0
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === 0x7b || c === 0x5b) if (++opens > limits.depth) return walkDepth(text).deepest > limits.depth
  }
  return false
}

function walkDepth(text: string): { depth: number; deepest: number; closedEarly: boolean; inString: boolean } {
  let depth = 0
  let deepest = 0
  for (let i = 0; i < text.length; ) {
    const c = text.charCodeAt(i)
    if (c === 0x22) {
      const end = endOfString(text, i)
      if (end === text.length && (text.charCodeAt(end - 1) !== 0x22 || end - 1 === i)) return { depth, deepest, closedEarly: false, inString: true }
      i = end
      continue
    }
    if (c === 0x7b || c === 0x5b) deepest = Math.max(deepest, ++depth)
    else if ((c === 0x7d || c === 0x5d) && --depth === 0 && i < text.length - 1) return { depth, deepest, closedEarly: true, inString: false }
    i++
  }
  return { depth, deepest, closedEarly: false, inString: false }
}

/** Whether a line that starts with `{` holds one whole value (`closed`), the beginning of one (`open`), or something else (`broken`). */
export function depthOf(line: string): 'closed' | 'open' | 'broken' {
  if (line.charCodeAt(line.length - 1) === 0x7d && !looksNested(line)) return 'closed'
  const w = walkDepth(line)
  if (w.inString || w.closedEarly) return line.endsWith('}') ? 'closed' : w.closedEarly ? 'broken' : 'open'
  return w.depth === 0 ? 'closed' : 'open'
}
/** A pretty-printed value may have a line such as `{ "a": {}`: only then is a closing brace not the end. */
const looksNested = (line: string): boolean => line.length < 256

/** Bytes that JSON has outside strings: blanks, brackets, separators, numbers, and the letters of `true`, `false` and `null`. */
const OUTSIDE = new Uint8Array(256)
for (const c of Buffer.from(' \t\r\n{}[]",:+-.0123456789eEtrufalsn')) OUTSIDE[c] = 1

/** How far the end of a value is looked for once it is known to be no JSON. */
const BROKEN = 64 * 1024

/**
 * The extent of the JSON value that starts at or after `start`. `more`: the bytes end first. `torn`: a line break
 * inside a string, or a new record at the start of a line, says that the value was cut off; or what is no JSON does not end soon.
 */
export function scanJson(bytes: Buffer, start: number, maxDepth: number): { end: 'closed' | 'more' | 'torn'; from: number; at: number } {
  let from = start
  while (from < bytes.length && bytes[from] !== 0x7b && bytes[from] !== 0x5b) from++
  let depth = 0
  let brokenAt = -1
  for (let i = from; i < bytes.length; i++) {
    const c = bytes[i] as number
    if (OUTSIDE[c] === 0) {
      if (brokenAt < 0) brokenAt = i
      else if (i - brokenAt > BROKEN) return { end: 'torn', from, at: i }
    }
    if (c === 0x22) {
      for (i++; i < bytes.length && bytes[i] !== 0x22; i++) {
        if (bytes[i] === 0x5c) i++
        else if (bytes[i] === 10) return { end: 'torn', from, at: i }
      }
    } else if (c === 0x7b || c === 0x5b) {
      if (++depth > maxDepth) return { end: 'torn', from, at: i }
      // `{"` in the first column of a later line is the next record, not a nested object: printers indent.
      if (c === 0x7b && depth > 1 && bytes[i - 1] === 10 && bytes[i + 1] === 0x22) return { end: 'torn', from, at: i }
    } else if (c === 0x7d || c === 0x5d) {
      if (--depth === 0) return { end: 'closed', from, at: i + 1 }
    }
  }
  return { end: 'more', from, at: bytes.length }
}
