/** Exit codes: every one of the contract, which of two wins, and what turns one off. */
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { exitCode } from '../../src/cli/analyze.js'
import type { Confidence, Report, Severity } from '../../src/model/report.js'
import { emptyReport, ztunnelReport } from '../support/sample-report.js'
import { built, ERROR, folder, here, removeFolders, shell, wirecase } from './run.js'
import { healthy, reset } from './world.js'

beforeAll(built, 120_000)
afterAll(removeFolders)

const DEFAULT = { failOn: 'low', minConfidence: 'possible' } as const

describe('the code of a report', () => {
  const [found] = ztunnelReport().findings as [Report['findings'][number]]
  const source = { ...ztunnelReport().sources[0]!, records: 3 }
  const calm: Report = { ...emptyReport(), sources: [source], verdicts: [verdict('held', true)], problems: [] }

  function verdict(name: 'held' | 'not-evaluable' | 'error' | 'violated', applies: boolean, lacks = name === 'not-evaluable'): Report['verdicts'][number] {
    const missing = lacks ? [{ needs: 'a', why: 'b', when: 'now' as const, collect: 'c' }] : []
    return { rule: 'WC104', name: 'upstream-failure', verdict: name, confidence: null, applies, checked: 1, findings: 0, missing }
  }
  const finding = (severity: Severity, level: Confidence): Report['findings'][number] => ({ ...found, severity, confidence: { level, because: [] } })
  const problem = (kind: string): Report['problems'][number] => ({ source: 's1', kind, count: 1, says: '', first: { line: 1, bytes: [0, 1] } }) as Report['problems'][number]

  it('is 0 where every rule that applies was evaluated and nothing was found', () => {
    expect(exitCode(calm, DEFAULT)).toBe(0)
    expect(exitCode({ ...calm, verdicts: [verdict('held', true), verdict('not-evaluable', false)] }, DEFAULT)).toBe(0)
  })

  it('is 70 for a rule in error, whatever was found', () => {
    expect(exitCode({ ...calm, verdicts: [verdict('error', true)], findings: [finding('high', 'certain')] }, DEFAULT)).toBe(70)
    expect(exitCode({ ...calm, verdicts: [verdict('error', true)], sources: [] }, { ...DEFAULT, failOn: 'none' })).toBe(70)
  })

  it('is 1 for a finding as grave and as sure as asked for, before 4', () => {
    const report = { ...calm, findings: [finding('medium', 'likely')], problems: [problem('truncated')] }
    expect(exitCode(report, DEFAULT)).toBe(1)
    expect(exitCode(report, { ...DEFAULT, failOn: 'medium' })).toBe(1)
    expect(exitCode(report, { ...DEFAULT, minConfidence: 'likely' })).toBe(1)
    expect(exitCode(report, { ...DEFAULT, failOn: 'high' })).toBe(4)
    expect(exitCode(report, { ...DEFAULT, minConfidence: 'certain' })).toBe(4)
  })

  it('is not 1 for info, unless asked for', () => {
    const report = { ...calm, findings: [finding('info', 'certain')] }
    expect(exitCode(report, DEFAULT)).toBe(0)
    expect(exitCode(report, { ...DEFAULT, failOn: 'info' })).toBe(1)
  })

  it('is never 1 with --fail-on none, which takes nothing else away', () => {
    const none = { ...DEFAULT, failOn: 'none' } as const
    expect(exitCode({ ...calm, findings: [finding('critical', 'certain')] }, none)).toBe(0)
    expect(exitCode({ ...calm, findings: [finding('info', 'certain')], problems: [problem('not-json')] }, none)).toBe(4)
    expect(exitCode({ ...calm, sources: [] }, none)).toBe(3)
  })

  it('is 3 where nothing was understood, before 4', () => {
    expect(exitCode({ ...calm, sources: [] }, DEFAULT)).toBe(3)
    expect(exitCode({ ...calm, sources: [{ ...source, records: 0 }], problems: [problem('bad-compression')] }, DEFAULT)).toBe(3)
  })

  it('is 4 for damage, a limit, and a rule that applies but lacks what it needs', () => {
    for (const kind of ['not-json', 'truncated', 'limit', 'bad-record', 'bad-compression']) expect(exitCode({ ...calm, problems: [problem(kind)] }, DEFAULT), kind).toBe(4)
    for (const kind of ['unknown-format', 'skipped', 'no-time', 'ambiguous']) expect(exitCode({ ...calm, problems: [problem(kind)] }, DEFAULT), kind).toBe(0)
    expect(exitCode({ ...calm, verdicts: [verdict('not-evaluable', true)] }, DEFAULT)).toBe(4)
  })

  it('is 4 with --strict for any rule that was not evaluated, but not for one that --rule left out', () => {
    expect(exitCode({ ...calm, verdicts: [verdict('not-evaluable', false)] }, { ...DEFAULT, strict: true })).toBe(4)
    expect(exitCode({ ...calm, verdicts: [verdict('not-evaluable', false, false)] }, { ...DEFAULT, strict: true })).toBe(0)
  })
})

describe('the code of a run', () => {
  const calm = () => folder({ 'access.json': healthy(5) })
  const failing = () => folder({ 'access.json': healthy(5) + reset(9) })

  async function codes(...runs: [args: string[], code: number][]): Promise<void> {
    const ran = []
    for (const [args] of runs) ran.push(await here(...args))
    expect(ran.map((r, i) => [runs[i]?.[0].join(' '), r.code, r.err])).toEqual(runs.map(([args, code]) => [args.join(' '), code, '']))
  }

  it('is the same in every format', async () => {
    const path = failing()
    await codes([[path], 1], [[path, '--format', 'json'], 1], [['analyze', '--format', 'markdown', path], 1], [[path, '--fail-on', 'none', '--format', 'json'], 0])
  })

  it('follows --fail-on, --min-confidence and --strict', async () => {
    const path = failing()
    const only = ['--rule', 'WC104']
    await codes(
      [[...only, path, '--fail-on', 'high'], 1],
      [[...only, path, '--fail-on', 'critical'], 0],
      [[...only, path, '--min-confidence', 'certain'], 0],
      [[calm(), '--strict'], 4],
      [[calm()], 0],
    )
  })

  it('tells nothing recognised (3) from a recognised source that is damaged (4)', async () => {
    const packed = gzipSync(healthy(2000))
    const broken = Buffer.from(packed)
    broken.fill(0xff, packed.length - 200, packed.length - 150)
    await codes(
      [[folder({ 'notes.txt': 'lunch at noon\n' })], 3],
      [[folder()], 3],
      [[folder({ empty: '' })], 3],
      [[folder({ 'notes.txt': 'lunch at noon\n', 'access.json': healthy(5) })], 0],
      [[folder({ 'access.json.gz': broken })], 4],
    )
  })

  it.skipIf(process.platform !== 'linux')('is 70 where the report cannot be printed', async () => {
    const { code, err } = await shell(`wirecase '${failing()}' > /dev/full`)
    expect([code, err]).toEqual([70, 'wirecase: error: the disk is full\nhint: free some space, or set TMPDIR to another disk\n'])
  })
})

describe('what cannot be carried out is 2 and says what would', () => {
  const path = folder({ 'access.json': healthy(5) })
  const refused: readonly (readonly [string, readonly string[], RegExp])[] = [
    ['a missing path', [path, '/nowhere/at/all'], /^wirecase: error: \/nowhere\/at\/all: no such file or folder\n/],
    ['no path', [], /missing required argument 'path'/],
    ['an unknown option', [path, '--formt', 'json'], /unknown option '--formt'\nhint: did you mean --format\?/],
    ['an unknown option of a command', ['owner', '--before', '10.0.0.1', path], /unknown option '--before'/],
    ['a format that is none', [path, '--format', 'xml'], /'xml' is invalid/],
    ['a rule that is none', [path, '--rule', 'WC999'], /--rule WC999: no such rule\nhint: one of WC100, /],
    ['a time that is none', [path, '--from', 'yesterday'], /--from yesterday: not a time\nhint: write it as 2024-12-03T13:31:05Z/],
    ['a day that is none', [path, '--to', '2024-02-30T10:00:00Z'], /--to 2024-02-30T10:00:00Z: not a time/],
    ['a window that is none', [path, '--from', '2024-12-03T10:00:00Z', '--to', '2024-12-03'], /is later than --to/],
    ['a duration that is none', [path, '--clock-error', '2'], /--clock-error 2: not a duration\nhint: write e.g. 500ms/],
    ['a duration of ages', [path, '--clock-error', `${'9'.repeat(400)}h`], /not a duration/],
    ['a zone that is none', [path, '--zone', 'access.json=Mars'], /--zone access.json=Mars: not SOURCE=ZONE\nhint: a zone is UTC/],
    ['a zone without a source', [path, '--zone', '+02:00'], /not SOURCE=ZONE/],
    ['a zone of a source that is not there', [path, '--zone', 'acess.json=+02:00'], /--zone acess.json: no such source\nhint: sources are e.g. access.json/],
    ['an access-log format of a source that is not there', [path, '--access-log-format', 'gw.log=%START_TIME%\\n'], /--access-log-format gw.log: no such source/],
    ['a severity that is none', [path, '--fail-on', 'grave'], /'grave' is invalid/],
    ['a confidence that is none', [path, '--min-confidence', 'sure'], /'sure' is invalid/],
    ['an output of no format', [path, '--output', 'report.docx'], /--output report.docx: the extension names no format/],
  ]

  it.each(refused)('%s', async (_, args, says) => {
    const { code, out, err } = await here(...args)
    expect([code, out]).toEqual([2, ''])
    expect(err).toMatch(ERROR)
    expect(err).toMatch(says)
  })

  it('no place for the private folder', async () => {
    const { code, err } = await wirecase([path], { env: { TMPDIR: '/nowhere' } })
    expect(code).toBe(2)
    expect(err).toMatch(ERROR)
    expect(err).toContain('/nowhere')
  })
})
