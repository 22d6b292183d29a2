/**
 * Secrets in excerpts: shown as `***`. The span and its hash still prove them. Where it is not clear how far a secret goes, too much is
 * masked rather than too little. Everything here takes time that grows with the text only.
 */

const HIDDEN = '***'

/** Headers whose value is a secret up to the end of its line, blanks and commas included. */
const HEADER = 'authorization|cookie2?'
/** Names, or ends of names, whose value is a secret word. */
const NAME = 'passw(?:or)?d|passphrase|pwd|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|session[-_]?id|credentials?'
/**
 * A name, what stands between it and its value, and the quote that opens the value: `authorization: `, `'cookie', '`, `"token":"`, `\"token\":\"`,
 * `password=`; and of a container's environment `DB_PASSWORD","value":"` and `name: DB_PASSWORD`, next line `value: `.
 */
const SECRET = new RegExp(
  String.raw`(?:(${HEADER})|(?:${NAME}))(?:\\{0,3}["']?(?:\\[nr]|[\s,]){0,80}\\{0,3}["']?value)?(?:\\{0,3}["']\s{0,4}([:=,])|\s{0,4}[:=])\s{0,4}(\\{0,3}["'])?`,
  'gi',
)

/** Masks credentials, cookies, tokens and query strings. */
export function mask(text: string): { text: string; masked: boolean } {
  const out = [named, schemes, userInfo, webTokens, queries].reduce((t, hide) => hide(t), text)
  return { text: out, masked: out !== text }
}

/** Values that stand after the name of a secret. */
function named(text: string): string {
  let out = ''
  let from = 0
  const quoting = new Quoting(text)
  SECRET.lastIndex = 0
  for (let m = SECRET.exec(text); m; m = SECRET.exec(text)) {
    const start = m.index + m[0].length
    const end = m[3] !== undefined ? endOfQuoted(text, start, m[3], m[2] === ',') : m[1] !== undefined ? endOfHeader(text, start, quoting.at(m.index)) : endOfWord(text, start)
    if (end > start && !isPlain(text.slice(start, Math.min(end, start + 6)))) {
      out += text.slice(from, start) + HIDDEN
      from = end
    }
    SECRET.lastIndex = Math.max(end, start)
  }
  return out + text.slice(from)
}

/** No secret: a flag, nothing, or a structure whose own names tell. */
const isPlain = (value: string): boolean => /^(?:true|false|null|none|\{|\[)(?![^\s,}\]])|^[{[]|^\*{3}/.test(value)

/** Up to the quote that closes the value. A header dump (`'cookie', 'a='b''`) escapes nothing: its quote is the last one of its line. */
function endOfQuoted(text: string, start: number, quote: string, dump: boolean): number {
  if (dump && quote === "'") {
    const line = endOfLine(text, start)
    const last = text.slice(start, line).lastIndexOf("'")
    return last < 0 ? line : start + last
  }
  for (let i = text.indexOf(quote, start); i >= 0; i = text.indexOf(quote, i + 1)) if (text[i - 1] !== '\\') return i
  return text.length
}

/** Up to the end of the line, or to the quote that closes what the header stands in. */
function endOfHeader(text: string, start: number, inside: string | null): number {
  const line = endOfLine(text, start)
  if (inside === null) return line
  for (let i = text.indexOf(inside, start); i >= 0 && i < line; i = text.indexOf(inside, i + 1)) if (text[i - 1] !== '\\') return i
  return line
}

/** The line's end, also where a JSON string shows it as `\n`. */
function endOfLine(text: string, start: number): number {
  let i = start
  while (i < text.length && text[i] !== '\n' && text[i] !== '\r' && !(text[i] === '\\' && (text[i + 1] === 'n' || text[i + 1] === 'r'))) i++
  return i
}

function endOfWord(text: string, start: number): number {
  let i = start
  while (i < text.length && !' \t\r\n&"\',;)}]<>'.includes(text[i] as string) && !(text[i] === '\\' && /[nrt"']/.test(text[i + 1] ?? ''))) i++
  return i
}

/** Which quote a place stands in, from the start of its line; asked for places in order. */
class Quoting {
  private next = 0
  private open: string | null = null

  constructor(private readonly text: string) {}

  at(place: number): string | null {
    for (; this.next < place; this.next++) {
      const c = this.text[this.next]
      if (c === '\n') this.open = null
      else if (c === '\\') this.next++
      else if (c === this.open) this.open = null
      else if (this.open === null && (c === '"' || (c === "'" && !/\w/.test(this.text[this.next - 1] ?? '')))) this.open = c
    }
    return this.open
  }
}

/** `Bearer …` and its like, wherever they stand. Prose such as "basic authentication" is none. */
function schemes(text: string): string {
  return text
    .replace(/\b(bearer)( {1,4}|%20)(?!(?:token|auth|authentication|realm|error)\b)[\w.~+/=-]{4,}/gi, `$1$2${HIDDEN}`)
    .replace(/\b([Bb]asic|[Nn]egotiate|NTLM)( {1,4}|%20)(?=[a-z]{0,64}[A-Z0-9+/=])[\w.~+/=-]{8,}/g, `$1$2${HIDDEN}`)
}

/** `https://user:password@host` */
const userInfo = (text: string): string => text.replace(/(:\/\/)[^\s/@:'"]{0,256}:[^\s/@'"]{1,256}@/g, `$1${HIDDEN}@`)

/** JSON web tokens. */
const webTokens = (text: string): string =>
  text.replace(/[\w.-]{24,}/g, run => {
    const at = run.indexOf('eyJ')
    return at >= 0 && run.includes('.', at) ? run.slice(0, at) + HIDDEN : run
  })

/** What follows the `?` of a path or URL. */
const queries = (text: string): string => text.replace(/\?[^\s"']+/g, (query, at: number) => (query !== `?${HIDDEN}` && followsPath(text, at) ? `?${HIDDEN}` : query))

function followsPath(text: string, at: number): boolean {
  for (let i = at - 1; i >= 0 && !' \t\r\n"\''.includes(text[i] as string); i--) if (text[i] === '/') return true
  return false
}
