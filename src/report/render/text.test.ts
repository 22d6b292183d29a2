import stringWidth from 'string-width'
import { describe, expect, it } from 'vitest'
import { withHostileStrings } from '../../../test/support/hostile-report.js'
import { gatewayReport, quietReport, ztunnelReport } from '../../../test/support/sample-report.js'
import type { Report } from '../../model/report.js'
import { renderText } from './text.js'

const text = (report: Report, width = 100): string => renderText(report, { color: false, width, prefix: 'bundle/' })
const linesOf = (report: Report, width = 100): string[] => text(report, width).split('\n')
const WIDTHS = [60, 80, 100, 160]

describe('the first screen', () => {
  it('answers what, on what, since when, how bad, how sure, and what to do', () => {
    const screen = linesOf(ztunnelReport()).slice(0, 24).join('\n')
    for (const part of [
      'HIGH  WC102 stale-connection-reuse violated, certain',
      'Connection 4255',
      'on           10.208.21.119',
      'since 2025-10-22T09:35:03.033051Z, still going on',
      '31 of 4,210 requests failed, 3 reached a client',
      'how sure     certain',
      'open rival   none',
      'do now       1. Retry on reset',
      'collect now  $ kubectl get events',
      'WC102-5b0c9d7a81e2f364',
    ])
      expect(screen).toContain(part)
  })

  it('names the open rival and what tells it apart', () => {
    expect(text(gatewayReport(), 160)).toContain('open rival   the client ended it for a reason of its own; told apart by a capture of the upstream leg')
  })

  it('holds an incident in 24 lines, whatever the evidence says', () => {
    const long = 'word '.repeat(400)
    const grim = [long, 'x'.repeat(3000), '日本'.repeat(500), `${'x'.repeat(200)} `.repeat(20), '\u001b'.repeat(500)]
    for (const width of WIDTHS)
      for (const words of grim)
        for (const sample of [gatewayReport, ztunnelReport]) {
          const report = withHostileStrings(sample(), () => words)
          const failed = report.verdicts.map((v, i) => (i === 0 ? { ...v, verdict: 'error' as const } : v))
          const lines = linesOf({ ...report, verdicts: failed, incidents: report.incidents.slice(0, 1) }, width)
          expect(lines.indexOf('Proof')).toBeLessThanOrEqual(25)
          expect(lines[23]).toBeDefined()
        }
  })

  it('comes before all proof, for every incident', () => {
    const lines = linesOf(ztunnelReport())
    expect(lines.findIndex(l => l.startsWith('LOW  WC104 upstream-failure suspected'))).toBeLessThan(lines.indexOf('Proof'))
  })
})

it('keeps to the width, but for commands and citations, which are never broken', () => {
  for (const width of WIDTHS) {
    const wide = linesOf(ztunnelReport(), width).filter(l => stringWidth(l) > width)
    for (const line of wide) expect(line).toMatch(/\$ |^ *bundle\/|^ {2}(rule|WC\d{3}) |https:/)
  }
})

it('cites with the prefix, and frames with #', () => {
  const report = ztunnelReport()
  const frames = {
    ...report,
    findings: report.findings.map(f => ({ ...f, claims: f.claims.map(c => ({ ...c, evidence: c.evidence.map(e => ({ ...e, line: null, frame: 7 })) })) })),
  }
  expect(text(report)).toContain('\n       bundle/waypoint-debug.log:2\n')
  expect(text(frames)).toContain('\n       bundle/waypoint-debug.log#7\n')
})

it('shows tabs of a record as blanks and the rest of it as it is', () => {
  expect(text(ztunnelReport(), 160)).toContain('| 2025-10-22T09:25:18.622171Z debug envoy connection external/')
})

it('says that secrets are masked', () => expect(text(ztunnelReport())).toContain('bundle/waypoint-access.json:1 (secrets masked)'))

it('puts the open rival before the refuted one', () => {
  const all = text(gatewayReport(), 160)
  expect(all.indexOf('still open: the client ended it')).toBeLessThan(all.indexOf('refuted: the idle timeout'))
})

it('lists failures by cause, and ten of the unexplained', () => {
  const report = gatewayReport()
  const [, unexplained] = report.failures.list as [unknown, Report['failures']['list'][number]]
  const list = Array.from({ length: 12 }, (_, i) => ({ ...unexplained, line: i + 1 }))
  const all = text({ ...report, failures: { ...report.failures, total: 12, explained: 0, unexplained: 12, list } })
  expect(all).toContain('       12  WC104.unknown')
  expect(all).toContain('Unexplained, the first 10 of 12:')
  expect(all.match(/bundle\/envoy-access\.jsonl:\d+\n {6}2024/g)).toHaveLength(10)
})

it('says what was not understood and what was not recognised', () => {
  expect(text(ztunnelReport())).toContain('Not understood\n  bundle/waypoint-debug.log:9: bad-record (2): a line that is cut short')
  expect(text(gatewayReport())).toContain('Not recognised\n  bundle/screenshot.png: 209 bytes, a PNG picture')
  expect(text(gatewayReport())).not.toContain('Not understood')
})

describe('without findings', () => {
  it('says what was checked, of how many, and what would settle the rest', () => {
    const all = text(quietReport(), 160)
    expect(all).toMatch(/^No findings: 2 of 6 rules held, 4 could not be evaluated\.\n/)
    expect(all).toContain('WC104 upstream-failure: 4,210 checked, none violated it')
    expect(all).toContain('    $ kubectl get events -A --sort-by=.lastTimestamp -o json > events.json\n')
    expect(all).toContain('nothing in this bundle to judge: WC100 evidence-conflict, WC102 stale-connection-reuse')
  })
})

it('ends with the verdicts', () => {
  const all = text(ztunnelReport())
  const table = all.slice(all.indexOf('\nVerdicts\n'))
  expect(table.split('\n').map(l => l.slice(0, 46).trimEnd())).toEqual([
    '',
    'Verdicts',
    '  rule   invariant               verdict',
    '  WC100  evidence-conflict       not evaluable',
    '  WC101  ingress-ip-skipped      not evaluable',
    '  WC102  stale-connection-reuse  violated',
    '  WC103  blackholed-session      held',
    '  WC104  upstream-failure        suspected',
    '  WC105  cut-off-on-stop         not evaluable',
    '',
  ])
})

it('says on top that a rule failed to run', () => {
  const report = ztunnelReport()
  const failed = { ...report, verdicts: report.verdicts.map((v, i) => (i === 0 ? { ...v, verdict: 'error' as const } : v)) }
  expect(linesOf(failed, 160)[1]).toBe('1 of 6 rules failed to run: see the verdicts')
})
