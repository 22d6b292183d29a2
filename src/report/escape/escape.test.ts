import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { escapeJson } from './json.js'
import { escapeMarkdownCode, markdownCode, markdownProse } from './markdown.js'
import { escapeTerminal } from './terminal.js'

const anything = fc.string({
  unit: fc.oneof(
    fc.nat(0xffff).map(n => String.fromCharCode(n)),
    fc.constantFrom('`', '@', ':', '::', '##[', '\\', '<', '\n', '\u202e', ' ', 'error'),
  ),
  maxLength: 60,
})
const CONTROL = /[\p{Cc}\p{Cs}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/u

describe('a terminal', () => {
  it.each([
    ['\u001b]52;c;aGk=\u0007', '\\u{1b}]52;c;aGk=\\u{7}'],
    ['held\rviolated', 'held\\u{d}violated'],
    ['\u009b2J', '\\u{9b}2J'],
    ['\u202egnp.exe', '\\u{202e}gnp.exe'],
    ['a\u200bb\u00adc\ufeff', 'a\\u{200b}b\\u{ad}c\\u{feff}'],
    ['\ud800x', '\\u{d800}x'],
    ['\u{e0041}', '\\u{e0041}'],
    ['a\nb\tc', 'a\\u{a}b\\u{9}c'],
  ])('gets %j as %j', (from, to) => expect(escapeTerminal(from)).toBe(to))

  it('gets letters, combining marks and emoji as they are', () => {
    for (const text of ['日本語', 'Zoë e\u0301', '🚀 😀', 'שלום', '::1', '::ffff:10.0.0.1', 'a::b', '2001:db8::face']) expect(escapeTerminal(text)).toBe(text)
  })

  it('gets no command of a CI log', () => {
    expect(escapeTerminal('::error::x ::set-output name=a::b')).toBe('\\u{3a}:error::x \\u{3a}:set-output name=a::b')
    expect(escapeTerminal('x##[error]y ###[group] ##vso[a] ##TeamCity[b]')).toBe('x\\u{23}#[error]y #\\u{23}#[group] \\u{23}#vso[a] \\u{23}#TeamCity[b]')
  })

  it('gets nothing that controls it, of any text', () => fc.assert(fc.property(anything, text => !CONTROL.test(escapeTerminal(text)))))

  it('takes time that grows with the text only', () => {
    for (const unit of [':', '::', ' ::a', '##', '\u0000', ' ::abcdef0123456789']) {
      const text = unit.repeat(Math.ceil(65_536 / unit.length))
      const from = performance.now()
      escapeTerminal(text)
      expect(performance.now() - from).toBeLessThan(200)
    }
  })
})

describe('JSON', () => {
  it('keeps every value, and shows what controls a terminal', () =>
    fc.assert(
      fc.property(fc.array(anything), values => {
        const json = escapeJson(JSON.stringify(values, null, 2))
        expect(JSON.parse(json)).toEqual(values)
        expect(json.replaceAll('\n', '')).not.toMatch(CONTROL)
        expect(json).not.toContain('##[')
      }),
    ))
})

describe('Markdown', () => {
  const shapes = (text: string): string =>
    markdownProse(text)
      .map(p => (p.type === 'text' ? p.value : `\`${p.value}\``))
      .join('')

  it.each([
    ['31 of 4,210 requests failed (0.7%)', '31 of 4,210 requests failed (0.7%)'],
    ['Connection 4255 to 10.0.0.1:80, of ns/old', 'Connection 4255 to `10.0.0.1:80`, of `ns/old`'],
    ['ask @octocat or a@b.co', 'ask `@octocat` or `a@b.co`'],
    ['see #12, GH-12 and org/repo#3', 'see `#12`, `GH-12` and `org/repo#3`'],
    ['at http://evil.example or www.evil.example', 'at `http://evil.example` or `www.evil.example`'],
    ['<b>bold</b> **x** ~~y~~', '`<b>bold</b>` `**x**` `~~y~~`'],
    ['a :smile: and :100:', 'a `:smile`: and `:100`:'],
    ['"quoted" don’t (aside)', '"quoted" don’t (aside)'],
  ])('takes %j as %j', (from, to) => expect(shapes(from)).toBe(to))

  it('leaves no text but words, numbers and plain punctuation, and loses nothing', () =>
    fc.assert(
      fc.property(anything, text => {
        const pieces = markdownProse(text)
        expect(pieces.map(p => p.value).join('')).toBe(escapeMarkdownCode(text))
        for (const p of pieces) if (p.type === 'text') expect(p.value).toMatch(/^[\p{L}\p{M}\p{N} '’‘“”"(),.;:?%+…±×–—-]*$/u)
      }),
    ))

  it('reaches no channel, not even from code', () => {
    expect(escapeMarkdownCode('@channel <!here> <@U024> @type @hereby')).toBe('\\u{40}channel \\u{3c}!here> \\u{3c}@U024> @type @hereby')
  })

  it('has no empty code span, which would open one', () => expect(markdownCode('')).toEqual({ type: 'text', value: '""' }))
})
