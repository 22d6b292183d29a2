/** Evidence on a terminal, which may be that of a CI job: what would control it, or hide or reorder text, is shown as `\u{…}`; nothing is stripped. */
import { showUnsafe } from './unsafe.js'

/** One line of text, safe to print. Newlines are shown too: callers print lines one by one. */
export const escapeTerminal = (text: string): string => showUnsafe(text)
