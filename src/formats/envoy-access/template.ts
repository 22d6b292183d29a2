/** Envoy's format strings: text with command operators such as `%REQ(X?Y):Z%` in it. */

/** `%NAME(argument):cut%`. */
export interface Command {
  readonly name: string
  readonly argument: string | null
  /** The most bytes of the value that are printed. */
  readonly cut: number | null
}

export type Token = string | Command

/** A longer format is not one: Envoy's own documentation has 2 KiB for all operators together. */
const LONGEST = 64 * 1024

/** The tokens of a format string in order, neighbouring literals joined. `%%` is a literal `%`, and so is a `%` that begins no operator. */
export function parseTemplate(format: string): Token[] {
  const out: Token[] = []
  if (format.length > LONGEST) return out
  let literal = ''
  for (let i = 0; i < format.length; ) {
    const found = format[i] === '%' && format[i + 1] !== '%' ? commandAt(format, i) : null
    if (!found) {
      literal += format[i]
      i += format[i] === '%' && format[i + 1] === '%' ? 2 : 1
      continue
    }
    if (literal !== '') out.push(literal)
    literal = ''
    out.push(found.command)
    i = found.end
  }
  if (literal !== '') out.push(literal)
  return out
}

const NAME = /[A-Z0-9_]{1,64}/y
const TAIL = /(?::(\d{1,6}))?%/y
/** How many `)` are tried as the end of an argument. */
const PARENTHESES = 64

/** The operator that begins at `at`. The argument ends at the first `)` that `%` or `:N%` follows. */
function commandAt(format: string, at: number): { command: Command; end: number } | null {
  NAME.lastIndex = at + 1
  const name = NAME.exec(format)?.[0]
  if (name === undefined) return null
  const after = at + 1 + name.length
  if (format[after] !== '(') return tailAt(format, after, name, null)
  let close = format.indexOf(')', after)
  for (let tried = 0; close >= 0 && tried < PARENTHESES; tried++) {
    const found = tailAt(format, close + 1, name, format.slice(after + 1, close))
    if (found) return found
    close = format.indexOf(')', close + 1)
  }
  return null
}

function tailAt(format: string, at: number, name: string, argument: string | null): { command: Command; end: number } | null {
  TAIL.lastIndex = at
  const tail = TAIL.exec(format)
  if (!tail) return null
  return { command: { name, argument, cut: tail[1] === undefined ? null : Number(tail[1]) }, end: TAIL.lastIndex }
}
