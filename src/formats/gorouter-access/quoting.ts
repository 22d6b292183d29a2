/** Reads the parts of an access line from left to right: strings quoted as Go's `%q` does, bare words, `key:value` pairs. */
export class Cursor {
  readonly text: string
  at: number

  constructor(text: string, at: number) {
    this.text = text
    this.at = at
  }

  get done(): boolean {
    return this.at >= this.text.length
  }

  /** Steps over a blank, or answers false. */
  blank(): boolean {
    if (this.text.charCodeAt(this.at) !== 0x20) return false
    this.at++
    return true
  }

  /** The string that opens here; null where none does, or where it does not end (then the cursor is at the text's end). */
  quoted(): string | null {
    if (this.text.charCodeAt(this.at) !== 0x22) return null
    const from = this.at + 1
    for (let end = this.text.indexOf('"', from); end >= 0; end = this.text.indexOf('"', end + 1)) {
      if (isEscaped(this.text, from, end)) continue
      this.at = end + 1
      return unquote(this.text.slice(from, end))
    }
    this.at = this.text.length
    return null
  }

  /** The characters up to the next blank or quote; null where there are none. */
  bare(): string | null {
    WORD.lastIndex = this.at
    const m = WORD.exec(this.text)
    if (!m) return null
    this.at = WORD.lastIndex
    return m[0]
  }

  value(): string | null {
    return this.text.charCodeAt(this.at) === 0x22 ? this.quoted() : this.bare()
  }

  /** The name and colon of a pair; null (and nothing is read) where none begins here. */
  key(): string | null {
    KEY.lastIndex = this.at
    const m = KEY.exec(this.text)
    if (!m) return null
    this.at = KEY.lastIndex
    return m[1] as string
  }
}

const WORD = /[^ "]+/y
const KEY = /([a-z_.][a-z0-9_.]{0,199}):/y

/** Whether an odd number of backslashes stands before `at`, none of them before `from`. */
function isEscaped(text: string, from: number, at: number): boolean {
  let i = at
  while (i > from && text.charCodeAt(i - 1) === 0x5c) i--
  return (at - i) % 2 === 1
}

const ESCAPE = /\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|([abfnrtv\\"']))/g
const SHORT: Record<string, string> = { a: '\x07', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' }

/** Undoes Go's quoting. `\x` names a byte: one that is not ASCII was no valid UTF-8, hence U+FFFD. */
function unquote(text: string): string {
  if (!text.includes('\\')) return text
  return text.replace(ESCAPE, (_, byte?: string, four?: string, eight?: string, short?: string) => {
    if (byte !== undefined) return character(Number.parseInt(byte, 16), 0x7f)
    const code = four ?? eight
    if (code !== undefined) return character(Number.parseInt(code, 16), 0x10ffff)
    return SHORT[short ?? ''] ?? short ?? ''
  })
}

const character = (code: number, most: number): string => (code > most ? '\ufffd' : String.fromCodePoint(code))
