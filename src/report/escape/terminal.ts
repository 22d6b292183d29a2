/** Evidence on a terminal: what would control it, or hide or reorder text, is shown as `\u{…}`; nothing is stripped. */

/** Escapes controls (C0, DEL, C1), bidirectional and zero-width characters, line separators and lone surrogates. Newlines too: callers print lines one by one. */
export function escapeTerminal(text: string): string {
  let out = ''
  for (const c of text) {
    const n = c.codePointAt(0) as number
    out += isUnsafe(n) ? `\\u{${n.toString(16)}}` : c
  }
  return out
}

/** Characters that no medium gets raw. */
export function isUnsafe(n: number): boolean {
  return (
    n < 0x20 ||
    (n >= 0x7f && n <= 0x9f) ||
    n === 0xad ||
    n === 0x61c ||
    n === 0x180e ||
    (n >= 0x200b && n <= 0x200f) ||
    (n >= 0x2028 && n <= 0x202e) ||
    (n >= 0x2060 && n <= 0x206f) ||
    (n >= 0xd800 && n <= 0xdfff) ||
    n === 0xfeff ||
    (n >= 0xfff9 && n <= 0xfffb) ||
    (n >= 0xe0000 && n <= 0xe007f)
  )
}
