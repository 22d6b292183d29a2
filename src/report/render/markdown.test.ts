import { expect, it } from 'vitest'
import { withHostileStrings } from '../../../test/support/hostile-report.js'
import { proseOf } from '../../../test/support/markdown-prose.js'
import { emptyReport, gatewayReport, quietReport, ztunnelReport } from '../../../test/support/sample-report.js'
import { renderMarkdown } from './markdown.js'

/** Markup of ours, then words, numbers and plain punctuation; links are those that the rules refer to. */
const OURS = /^(#{1,3}(?: |$)| *(?:- +)*)(?:\*\*)?(?:<https:\/\/github\.com\/[a-z]+\/[a-z]+\/issues\/\d+>|[\p{L}\p{M}\p{N}\u2423 '’‘“”"(),.;:?%+…±×–—=-]|\*\*|\\[-+.)]|&#x20;)*$/u

const HOSTILE = [
  '[x](javascript:alert(1))',
  '![x](http://e.example/x.png)',
  '<img src=x onerror=alert(1)>',
  '<!-- x',
  '@octocat and a@b.co',
  'http://e.example www.e.example',
  '#12 org/repo#1',
  '`',
  '``` x ````',
  '```\n# x',
  '~~~',
  '# x',
  '- x',
  '1. x',
  '> x',
  '---',
  '===',
  '| a | b |',
  '[^1]: x',
  '[x]: http://e.example',
  '**x** _y_ ~~z~~',
  '&lt;b&gt; &#64;',
  '\\',
  '\\`',
  'a\\',
  '$x$',
  ':smile:',
  '',
  ' ',
  '    x',
] as const

it('has no markup but our own outside code, whatever the evidence says', () => {
  for (const hostile of HOSTILE)
    for (const taint of [() => hostile, (t: string) => hostile + t, (t: string) => `${t} ${hostile}`])
      for (const sample of [gatewayReport, ztunnelReport, quietReport]) {
        const markdown = renderMarkdown(withHostileStrings(sample(), taint))
        for (const line of proseOf(markdown)) expect(line).toMatch(OURS)
      }
})

it('has the same outline whatever the evidence says', () => {
  const outline = (markdown: string): string[] =>
    proseOf(markdown)
      .filter(l => l !== '')
      .map(l => /^ *(?:#{1,3}|-|)/.exec(l)?.[0] ?? '')
  const tame = outline(renderMarkdown(withHostileStrings(ztunnelReport(), () => 'x')))
  for (const hostile of HOSTILE) if (hostile !== '') expect(outline(renderMarkdown(withHostileStrings(ztunnelReport(), () => hostile)))).toEqual(tame)
})

it('makes fences longer than any run inside', () => {
  const markdown = renderMarkdown(withHostileStrings(ztunnelReport(), () => 'a ````` b'))
  expect(markdown).toContain('``````text\n    a ````` b\n    ``````\n')
})

it('leads with the incident', () => {
  const lines = renderMarkdown(ztunnelReport()).split('\n')
  expect(lines[0]).toBe('# Network evidence')
  expect(lines[4]).toBe('## HIGH: `WC102` stale-connection-reuse violated, certain, 3 times')
  expect(lines).toContain('- **Impact:** 31 of 4,210 requests failed, 3 reached a client, 12 probes, no bytes lost')
})

it('tells a finding so that it can be pasted alone', () => {
  const markdown = renderMarkdown(gatewayReport())
  const finding = markdown.slice(markdown.indexOf('### '), markdown.indexOf('## Failures'))
  for (const part of [
    '### The session from `10.0.0.5:55434` to `10.0.0.66:5190` ended',
    '`WC103.ended-by-timeout`, high, likely',
    '`WC103-8f1a2c3d4e5f6071`',
    '`pod=default/fluent-bit`',
    '`envoy-access.jsonl:2`',
    '**Still open:** the client ended it',
    '**Refuted:** the idle timeout',
    "-w - 'host 10.0.0.66 and port 5190' > upstream.pcap",
    'Set TCP keep-alive',
    '<https://github.com/envoyproxy/gateway/issues/4843>',
  ])
    expect(finding).toContain(part)
})

it('links only what is an address of the web', () => {
  const markdown = renderMarkdown(withHostileStrings(ztunnelReport(), () => 'javascript:alert(1)'))
  expect(markdown).toContain('- `javascript:alert(1)`')
})

it('says suspected below likely', () => expect(renderMarkdown(ztunnelReport())).toContain('- `WC104` `upstream-failure`: **suspected**, possible; 4,210 checked, 1 finding'))

it('says what was judged where nothing was found', () => {
  expect(renderMarkdown(quietReport())).toContain('No findings: 2 of 6 rules held, 4 could not be evaluated.')
  expect(renderMarkdown(emptyReport())).toContain('No findings: no source was read.')
})
