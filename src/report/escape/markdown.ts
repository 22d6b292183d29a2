/**
 * Evidence in Markdown that is pasted into tickets and chats. Words stay prose; whatever could become a link, a mention, a reference, HTML or
 * formatting somewhere becomes inline code, where it is text in every dialect. Backslashes would not do: mentions and bare URLs are looked for
 * after the escapes are gone.
 */
import { shown, showUnsafe } from './unsafe.js'

/** Phrasing content of an mdast tree. */
export interface MarkdownPiece {
  readonly type: 'text' | 'inlineCode'
  readonly value: string
}

/** Words with no digit in them, and plain numbers: nothing that any dialect makes more of. */
const WORD = /^[\p{L}\p{M}'’-]+$/u
const NUMBER = /^[+-]?\d{1,6}(?:,\d{3})*(?:\.\d+)?%?$/
const SIGN = /^[–—±×…-]$/
/** These reach a whole channel; some chats take them from code as well. */
const BROADCAST = /@(?=(?:channel|here|everyone|all|room|team)(?![\p{L}\p{N}]))|<(?=[!@])/giu

/** A sentence that may hold evidence. */
export function markdownProse(text: string): MarkdownPiece[] {
  const pieces: MarkdownPiece[] = []
  for (const [i, word] of showUnsafe(text).split(' ').entries()) {
    if (i > 0) addText(pieces, ' ')
    const [before, core, after] = bare(word)
    addText(pieces, before)
    if (isPlain(core)) addText(pieces, core)
    else pieces.push(markdownCode(core))
    addText(pieces, after)
  }
  return pieces
}

/** A name, path, address or code as it is. */
export const markdownCode = (text: string): MarkdownPiece => (text === '' ? { type: 'text', value: '""' } : { type: 'inlineCode', value: escapeMarkdownCode(text) })

/** One line for inline code or a fence. */
export const escapeMarkdownCode = (line: string): string => showUnsafe(line).replace(BROADCAST, shown)

const isPlain = (core: string): boolean => core === '' || WORD.test(core) || NUMBER.test(core) || SIGN.test(core)

/** A word without the quotes and brackets before it and the punctuation after it. */
function bare(word: string): [string, string, string] {
  let from = 0
  while (from < word.length && `("'“‘`.includes(word.charAt(from))) from++
  let to = word.length
  while (to > from && `.,;:?)"'”’`.includes(word.charAt(to - 1))) to--
  return [word.slice(0, from), word.slice(from, to), word.slice(to)]
}

function addText(pieces: MarkdownPiece[], value: string): void {
  const last = pieces.at(-1)
  if (value === '') return
  if (last?.type === 'text') pieces[pieces.length - 1] = { type: 'text', value: last.value + value }
  else pieces.push({ type: 'text', value })
}
