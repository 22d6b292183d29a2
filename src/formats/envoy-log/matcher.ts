/** Finds the template of a message, in time linear in its length: few templates share a first word. */

/** A template and the values of its `{}`, in order. */
export interface Matched {
  readonly template: string
  readonly args: readonly string[]
}

interface Pattern {
  readonly template: string
  /** The literal text before, between and after the `{}`. */
  readonly parts: readonly string[]
  readonly literal: number
}

const NO_ARGS: readonly string[] = []
const WORD = /^[A-Za-z_./]*/

/** The first word as an index key: up to the first blank, digit or sign. */
const firstWord = (text: string): string => (WORD.exec(text) as RegExpExecArray)[0]

/** Answers the known template that fits the whole of `message`, the most specific first, or null. */
export function matcher(templates: readonly string[]): (message: string) => Matched | null {
  const exact = new Map<string, Matched>()
  const byWord = new Map<string, Pattern[]>()
  for (const template of templates) {
    const parts = template.split('{}')
    const before = parts[0] as string
    if (parts.length === 1) exact.set(template, { template, args: NO_ARGS })
    else if (firstWord(before).length === before.length) throw new Error(`the first word of a template must not hold a value: ${template}`)
    else byWord.set(firstWord(before), [...(byWord.get(firstWord(before)) ?? []), { template, parts, literal: template.length }])
  }
  for (const patterns of byWord.values()) patterns.sort((a, b) => (b.parts[0] as string).length - (a.parts[0] as string).length || b.literal - a.literal)
  return message => {
    const whole = exact.get(message)
    if (whole) return whole
    for (const pattern of byWord.get(firstWord(message)) ?? []) {
      const args = valuesOf(pattern.parts, message)
      if (args) return { template: pattern.template, args }
    }
    return null
  }
}

/**
 * The values between the literal parts: each as short as possible, the last up to the end. A value at the end may be
 * empty and the blank before it trimmed: the message is read as if one followed it.
 */
function valuesOf(parts: readonly string[], message: string): string[] | null {
  const first = parts[0] as string
  const last = parts[parts.length - 1] as string
  const text = last === '' ? `${message} ` : message
  const end = text.length - last.length
  if (end < first.length || !text.startsWith(first) || !text.endsWith(last)) return null
  const args: string[] = []
  let at = first.length
  for (let i = 1; i < parts.length - 1; i++) {
    const part = parts[i] as string
    const next = text.indexOf(part, at)
    if (next < 0 || next + part.length > end) return null
    args.push(text.slice(at, next))
    at = next + part.length
  }
  args.push(last === '' ? text.slice(at).trimEnd() : text.slice(at, end))
  return args
}

/** How much of a message of no known template is generalised: what follows seldom tells messages apart, and may be a dump. */
const GENERIC_LENGTH = 400

/** Quoted text, URLs of Envoy's internal listeners, UUIDs, addresses and numbers. Runs are bounded, and none can begin inside another. */
const VALUE =
  /(?<!\w)'[^']{0,400}'|(?<!\w)"[^"]{0,400}"|(?<!\w)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?!\w)|(?<!\w)envoy:\/\/[\w./:-]{0,200}|\[[0-9a-f:.]{2,45}\](?::\d{1,5})?|(?<![\w.])\d[\w.:%-]{0,60}/g

/** The message with what looks like a value replaced: for messages that no template is known of. */
export function generic(message: string): Matched {
  const args: string[] = []
  const template = message.slice(0, GENERIC_LENGTH).replace(VALUE, found => {
    const quote = found[0] === "'" || found[0] === '"' ? found[0] : ''
    const tail = quote === '' ? (/[.:%-]{1,60}$/.exec(found)?.[0] ?? '') : ''
    args.push(quote === '' ? found.slice(0, found.length - tail.length) : found.slice(1, -1))
    return `${quote}{}${quote}${tail}`
  })
  return { template, args }
}
