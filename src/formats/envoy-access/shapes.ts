/** How the values of operators look in text: what a value may be made of decides which readings of a line exist. */

/**
 * How freely values are taken.
 * `plain`: names that an operator of the proxy gives (clusters, routes) hold no blank and no quote, as all real ones do.
 * `named`: such names may hold anything, and so may `envoy://` addresses.
 * `redacted`: addresses may be any word, as after somebody replaced them.
 * `omitted`: and any value may be empty (`omit_empty_values`).
 * A later level is asked only where an earlier one finds no reading at all.
 */
export type Level = 'plain' | 'named' | 'redacted' | 'omitted'

export type ShapeName = 'text' | 'name' | 'integer' | 'port' | 'flags' | 'word' | 'path' | 'method' | 'protocol' | 'address' | 'host' | 'token' | 'letters'

export interface Shape {
  /** What values are made of; null: of anything. */
  readonly chars: Chars | null
  /** What values that begin with `envoy://` are made of, if that is something else. */
  readonly endpointChars: Chars | null
  readonly min: number
  /** Longest value, in UTF-16 units. Finite where `accepts` is there. */
  readonly max: number
  /** What values must be beyond that. */
  readonly accepts: ((text: string, start: number, end: number) => boolean) | null
  /** The only place where a value that begins at `start` can end, or -1: for values that say so themselves. */
  readonly end: ((text: string, start: number) => number) | null
}

/** A set of characters. */
class Chars {
  private readonly ascii = new Uint8Array(128)
  private readonly beyond: boolean

  constructor(test: RegExp, beyond: boolean) {
    for (let c = 0; c < 128; c++) this.ascii[c] = test.test(String.fromCharCode(c)) ? 1 : 0
    this.beyond = beyond
  }

  has(code: number): boolean {
    return code < 128 ? this.ascii[code] === 1 : this.beyond
  }
}

const LINE = new Chars(/[^\n]/, true)
const DIGITS = new Chars(/\d/, false)
const LETTERS = new Chars(/[A-Za-z]/, false)
const FLAGS = new Chars(/[A-Za-z0-9_,-]/, false)
const TOKEN = new Chars(/[!#$%&'*+.^_`|~0-9A-Za-z-]/, false)
const NOT_BLANK = new Chars(/\S/, true)
const NOT_BLANK_OR_QUOTE = new Chars(/[^\s"]/, true)
const NOT_QUOTE = new Chars(/[^"\n]/, true)
const PROTOCOL = new Chars(/[HTP0-9./-]/, false)
const HOST = new Chars(/[0-9A-Za-z.:/_@%*[\]-]/, false)

/** Longest address that is looked at: unix paths reach 108 bytes, endpoint ids are names. */
const ADDRESS = 256

const run = (chars: Chars | null, more: Partial<Shape> = {}): Shape => ({ chars, endpointChars: null, min: 1, max: Number.POSITIVE_INFINITY, accepts: null, end: null, ...more })
const DASH = 0x2d
const dash = (text: string, start: number, end: number): boolean => end === start + 1 && text.charCodeAt(start) === DASH

const HTTP = /^HTTP\/\d(?:\.\d)?$/

const SHAPES: Readonly<Record<Exclude<ShapeName, 'name' | 'address'>, Shape>> = {
  text: run(null, { min: 0 }),
  integer: run(DIGITS, { max: 20 }),
  port: run(DIGITS, { min: 0, max: 5 }),
  letters: run(LETTERS, { max: 64 }),
  flags: run(FLAGS, { max: 256, accepts: (text, start, end) => dash(text, start, end) || (text.charCodeAt(start) >= 0x41 && text.charCodeAt(start) <= 0x5a) }),
  method: run(TOKEN),
  path: run(NOT_BLANK),
  token: run(NOT_BLANK),
  word: run(NOT_BLANK_OR_QUOTE),
  host: run(HOST, { max: ADDRESS }),
  protocol: run(PROTOCOL, { max: 10, accepts: (text, start, end) => dash(text, start, end) || HTTP.test(text.slice(start, end)) }),
}

/** `multiline`: the format has line breaks of its own, which no value crosses. */
export function shapeOf(name: ShapeName, level: Level, multiline: boolean): Shape {
  const shape = name === 'name' ? nameShape(level) : name === 'address' ? addressShape(level) : SHAPES[name]
  const bounded = shape.chars === null && multiline ? { ...shape, chars: LINE } : shape
  return level === 'omitted' ? { ...bounded, min: 0, accepts: orEmpty(bounded.accepts) } : bounded
}

/** A shape whose values are cut after `cut` bytes: what they would have to be beyond their characters does not hold any more. */
export const cutShape = (shape: Shape, cut: number): Shape => ({ ...shape, min: 0, max: Math.max(1, cut), accepts: null })

export const timeShape = (end: (text: string, start: number) => number): Shape => run(null, { end })

const orEmpty = (accepts: Shape['accepts']): Shape['accepts'] => accepts && ((text, start, end) => start === end || accepts(text, start, end))

const nameShape = (level: Level): Shape => (level === 'plain' ? run(NOT_BLANK_OR_QUOTE) : SHAPES.text)

function addressShape(level: Level): Shape {
  if (level === 'plain') return run(NOT_BLANK_OR_QUOTE, { max: ADDRESS, accepts: isAddress })
  // Endpoint ids are free text: they may hold blanks.
  return run(NOT_BLANK_OR_QUOTE, { max: ADDRESS, endpointChars: NOT_QUOTE, accepts: level === 'named' ? isAddressOrEndpoint : null })
}

export const beginsEndpoint = (text: string, start: number): boolean => text.charCodeAt(start) === 0x65 && text.startsWith('envoy://', start)

/** `-`, `ip:port`, `name:port` (somebody replaced the address), `envoy://listener/endpoint`, or a unix socket. */
function isAddress(text: string, start: number, end: number): boolean {
  const first = text.charCodeAt(start)
  if (dash(text, start, end)) return true
  if (first === 0x2f || first === 0x40) return UNIX_PATH.test(text.slice(start, end))
  if (beginsEndpoint(text, start)) return !text.slice(start, end).includes(',')
  return hasPort(text, start, end)
}
const UNIX_PATH = /^[\w./@%+~:=-]+$/

const isAddressOrEndpoint = (text: string, start: number, end: number): boolean => beginsEndpoint(text, start) || isAddress(text, start, end)

function hasPort(text: string, start: number, end: number): boolean {
  let i = end - 1
  while (i > start && text.charCodeAt(i) >= 0x30 && text.charCodeAt(i) <= 0x39) i--
  if (i <= start || text.charCodeAt(i) !== 0x3a || i === end - 1 || end - i > 6) return false
  for (let k = start; k < i; k++) if (text.charCodeAt(k) === 0x2c) return false
  return true
}
