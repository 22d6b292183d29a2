/** What every rendering of a report must do, whatever the evidence says. */
import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import { describe, expect, it } from 'vitest'
import type { Report } from '../../src/model/report.js'
import { escapeMarkdownCode } from '../../src/report/escape/markdown.js'
import { escapeTerminal } from '../../src/report/escape/terminal.js'
import { type RenderFormat, renderers } from '../../src/report/render/index.js'
import { largeReport, withHostileStrings } from '../support/hostile-report.js'
import { emptyReport, gatewayReport, quietReport, ztunnelReport } from '../support/sample-report.js'

const ESC = String.fromCharCode(27)
const HOSTILE: Readonly<Record<string, string>> = {
  'clipboard (OSC 52)': `${ESC}]52;c;cm0gLXJm\u0007`,
  'link (OSC 8)': `${ESC}]8;;http://evil.example\u0007pod${ESC}]8;;\u0007`,
  'window title': `${ESC}]0;owned\u0007`,
  'colours of its own': `${ESC}[31mviolated${ESC}[0m`,
  'carriage return': 'violated\rheld    ',
  'eight-bit CSI': '\u009b2J',
  'right-to-left override': '\u202egnp.exe\u2066',
  'zero width': 'pod\u200b\u200d\ufeff-a',
  'end of script': '</script><script>alert(1)</script>',
  backticks: 'a ` b `` c ``` d ```` e',
  'fence breaker': '```\n# heading\n```',
  'error command': '::error file=a,line=1::broken',
  'older command': '##[set-output name=x]y ##vso[task.complete]z',
  mention: '@here @channel @everyone <!channel> @octocat',
  'newline in a name': 'a\n::set-output name=x::y\nb',
  'markdown link': '[x](javascript:alert(1)) ![y](http://evil.example/y.png) http://evil.example',
  'lone surrogates': '\ud800 \udfff',
  nothing: '',
  blanks: '   ',
}

const SAMPLES: Readonly<Record<string, () => Report>> = { gatewayReport, ztunnelReport, quietReport, emptyReport }
const COLOURS = new RegExp(`${ESC}\\[[0-9;]{1,10}m`, 'g')

const validate = new Ajv({ allErrors: true }).compile(JSON.parse(readFileSync(new URL('../../src/report/report.schema.json', import.meta.url), 'utf8')))

const render = (format: RenderFormat, report: Report, color = false): string => renderers[format](report, { color, width: 100, prefix: 'bundle/' })

/** Output and expectation without what a medium adds: line breaks and indentation; backticks and backslashes of Markdown; quotes of JSON. */
const flat: Readonly<Record<RenderFormat, (text: string) => string>> = {
  text: text => text.replace(/\s+/g, ' '),
  markdown: text => text.replace(/[`\\]|&#x20;/g, '').replace(/\s+/g, ' '),
  json: text => text,
}
const escaped: Readonly<Record<RenderFormat, (text: string) => string>> = {
  text: escapeTerminal,
  markdown: escapeMarkdownCode,
  json: text => JSON.stringify(text).slice(1, -1),
}

/** Everything that must be found in a rendering of `report`: titles, codes, fingerprints and citations. Text cites paths that can be opened. */
const mustShow = (report: Report, prefix: string): string[] =>
  report.findings.flatMap(f => [
    f.title,
    f.code,
    f.fingerprint,
    ...f.claims.flatMap(c => c.evidence.map(e => (e.line === null ? `${prefix}${e.path}#${e.frame}` : `${prefix}${e.path}:${e.line}`))),
  ])

function expectShown(format: RenderFormat, report: Report): void {
  const output = render(format, report)
  if (format === 'json') return expect((JSON.parse(output) as Report).findings).toEqual(report.findings)
  const got = flat[format](output)
  for (const text of mustShow(report, format === 'text' ? 'bundle/' : '')) expect(got).toContain(flat[format](escaped[format](text)).trim())
}

function expectQuiet(output: string): void {
  expect(output.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cs}\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/u)
  for (const line of output.split('\n')) expect(line).not.toMatch(/^\s*::[a-z-]+[ :]|##\[|##vso\[/i)
}

describe.each(Object.keys(renderers) as RenderFormat[])('%s', format => {
  it.each(Object.keys(SAMPLES))('shows every finding and every citation of %s', name => {
    const report = (SAMPLES[name] as () => Report)()
    expectShown(format, report)
    expectQuiet(render(format, report))
  })

  it.each(Object.keys(HOSTILE))('keeps evidence from controlling the reader: %s', name => {
    const hostile = HOSTILE[name] as string
    for (const sample of [gatewayReport, ztunnelReport, quietReport])
      for (const taint of [() => hostile, (text: string) => hostile + text, (text: string) => `${text} ${hostile}`]) {
        const report = withHostileStrings(sample(), taint)
        expectQuiet(render(format, report))
        expectQuiet(render(format, report, true).replace(COLOURS, ''))
        expectShown(format, report)
      }
  })

  it('colours nothing unless asked, and shows the colours of evidence', () => {
    const report = withHostileStrings(ztunnelReport(), text => `${ESC}[31m${text}`)
    expect(render(format, report)).not.toContain(ESC)
    expect(render(format, report, true).replace(COLOURS, '')).toBe(render(format, report))
  })

  it('ends with one newline', () => {
    for (const sample of Object.values(SAMPLES)) expect(render(format, sample())).toMatch(/[^\n]\n$/)
  })

  it('is the same for the same report, whatever the order of its keys', () => {
    for (const sample of Object.values(SAMPLES)) {
      expect(render(format, sample())).toBe(render(format, sample()))
      expect(render(format, reversed(sample()) as Report)).toBe(render(format, sample()))
    }
  })

  it('changes nothing in the report', () => {
    const report = ztunnelReport()
    const before = JSON.stringify(report)
    render(format, frozen(report))
    expect(JSON.stringify(report)).toBe(before)
  })

  it('renders a thousand findings', () => expectShown(format, largeReport(1000)))

  it('renders an incident whose findings are not in the report', () => {
    const { incidents } = ztunnelReport()
    expect(render(format, { ...emptyReport(), incidents })).toContain('10.208.21.119')
  })
})

it.each(Object.keys(SAMPLES))('the JSON of %s is valid by the schema', name => {
  const report = (SAMPLES[name] as () => Report)()
  expect(validate(JSON.parse(render('json', report))), JSON.stringify(validate.errors)).toBe(true)
})

it.each(Object.keys(HOSTILE))('the JSON is valid by the schema with: %s', name => {
  const report = withHostileStrings(ztunnelReport(), text => text + HOSTILE[name])
  expect(validate(JSON.parse(render('json', report))), JSON.stringify(validate.errors)).toBe(true)
})

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([k, v]) => [k, reversed(v)]),
  )
}

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    Object.values(value).forEach(frozen)
  }
  return value
}
