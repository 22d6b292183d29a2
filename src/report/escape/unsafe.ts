/** What no medium gets raw, and how it is shown instead: `\u{1b}`. Every escaper starts from here. */

/**
 * Controls (C0, DEL, C1), lone surrogates, line and paragraph separators, and what shows nothing or reorders text:
 * zero-width, bidirectional, tag and variation characters, interlinear annotation.
 */
export const UNSAFE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]/gu

/**
 * Commands that CI systems take from a log: `::error::` where a word begins (blanks before it do not matter to them), `##[…]`,
 * `##vso[…]` and `##teamcity[…]` anywhere in a line. An IPv6 address such as `::ffff:10.0.0.1` is none: a command's name has a letter that is not a hex digit.
 */
export const LOG_COMMAND = /(?<!\S)::(?=[a-f0-9]*[g-z-])|##(?=\[|vso\[|teamcity\[)/gi

/** `\u{…}` of the first character of `text`, then the rest. */
export function shown(text: string): string {
  const code = text.codePointAt(0) ?? 0
  return `\\u{${code.toString(16)}}${text.slice(code > 0xffff ? 2 : 1)}`
}

/** `text` with everything that no medium gets raw shown. */
export const showUnsafe = (text: string): string => text.replace(UNSAFE, shown).replace(LOG_COMMAND, shown)
