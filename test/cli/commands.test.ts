/** The smaller commands, help, and colours. */
import { afterAll, describe, expect, it, vi } from 'vitest'
import { formats } from '../../src/formats/index.js'
import { rules } from '../../src/rules/index.js'
import { VERSION } from '../../src/version.js'
import { ERROR, folder, here, removeFolders } from './run.js'
import { flows, healthy, owners, reset } from './world.js'

afterAll(removeFolders)

describe('help', () => {
  it('lists the commands', async () => {
    for (const args of [['--help'], ['-h'], ['help']]) {
      const { code, out, err } = await here(...args)
      expect([code, err]).toEqual([0, ''])
      for (const command of ['analyze', 'owner', 'query', 'rules', 'formats']) expect(out).toMatch(new RegExp(`^  ${command}\\b`, 'm'))
    }
  })

  it('of each command lists its options, none of which takes a list', async () => {
    for (const command of ['analyze', 'owner', 'query', 'rules', 'formats']) {
      const { code, out } = await here(command, '--help')
      expect(code).toBe(0)
      expect(out).toMatch(/^ {2}--color <when>/m)
      expect(out.split('\n').filter(l => /^ {2}(-\w, )?--/.test(l) && l.includes('...'))).toEqual([])
    }
    expect((await here('analyze', '--help')).out).toMatch(/--fail-on[\s\S]+--min-confidence[\s\S]+--strict/)
  })

  it('says the version', async () => expect(await here('--version')).toMatchObject({ code: 0, out: `${VERSION}\n` }))

  it('takes a word that is no command for a path, and says where commands are listed', async () => {
    const { code, err } = await here('analyse')
    expect(code).toBe(2)
    expect(err).toMatch(/analyse: no such file or folder\nhint: .*wirecase --help lists the commands\n$/)
  })
})

describe('options', () => {
  const path = folder({ 'access.json': healthy(3) + reset(5) })
  const coloured = async (...args: string[]): Promise<boolean> => (await here(...args)).out.includes('\u001b[')

  it('that all commands share may stand before or after the command', async () => {
    expect(await coloured(path)).toBe(false)
    expect(await coloured(path, '--color', 'always')).toBe(true)
    expect(await coloured('analyze', '--color', 'always', path)).toBe(true)
    expect(await coloured('--color', 'always', 'analyze', path)).toBe(true)
    expect(await coloured('--color=never', path)).toBe(false)
    expect((await here('rules', '--color', 'never')).code).toBe(0)
  })

  it('beat the environment; colours are for the text report only', async () => {
    vi.stubEnv('NO_COLOR', undefined)
    vi.stubEnv('FORCE_COLOR', '1')
    try {
      expect(await coloured(path)).toBe(true)
      expect(await coloured(path, '--color', 'never')).toBe(false)
      expect(await coloured(path, '--format', 'json')).toBe(false)
      vi.stubEnv('NO_COLOR', '1')
      expect(await coloured(path)).toBe(false)
      expect(await coloured(path, '--color', 'always')).toBe(true)
    } finally {
      vi.unstubAllEnvs()
    }
  })

  it('that can be repeated are, one value each', async () => {
    const { out } = await here(path, '--rule', 'wc104', '--rule', 'WC102', '--format', 'json')
    const report = JSON.parse(out) as { verdicts: { rule: string; verdict: string; checked: number; missing: unknown[] }[] }
    expect(report.verdicts.find(v => v.rule === 'WC104')?.checked).toBe(4)
    expect(report.verdicts.filter(v => v.verdict === 'not-evaluable' && v.missing.length > 0).map(v => v.rule)).toEqual(['WC102'])
  })

  it('--from and --to leave findings out', async () => {
    const found = async (...args: string[]): Promise<number> => (JSON.parse((await here(path, '--format', 'json', ...args)).out) as { findings: unknown[] }).findings.length
    expect(await found()).toBe(1)
    expect(await found('--from', '2026-09-10T10:00:04Z', '--to', '2026-09-10T12:00:05.5+02:00')).toBe(1)
    expect(await found('--from', '2026-09-10T10:01')).toBe(0)
    expect(await found('--to', '1789034400.5')).toBe(0)
  })
})

describe('wirecase owner', () => {
  const path = folder({ 'pod-ip-timeline.jsonl': owners, 'flows.json': flows(2) })

  it('says who had an address, and which lines say so', async () => {
    const { code, out } = await here('owner', '10.0.0.7', path)
    expect(code).toBe(0)
    expect(out).toMatch(/^owner +kind +from +to +certain +node +evidence$/m)
    expect(out).toMatch(/^shop\/orders-1 .*2026-09-10T09:00:00Z +2026-09-10T10:00:30Z .*pod-ip-timeline\.jsonl:1/m)
    expect(out).toMatch(/^shop\/orders-2 .*2026-09-10T10:01:00Z +still .*pod-ip-timeline\.jsonl:2/m)
  })

  it('says who had it at one time', async () => {
    const at = async (time: string): Promise<unknown[]> =>
      (JSON.parse((await here('owner', '10.0.0.7', '--at', time, path, '--format', 'json')).out) as { name: string }[]).map(o => o.name)
    expect(await at('2026-09-10T10:00:00Z')).toEqual(['shop/orders-1'])
    expect(await at('2026-09-10T11:00:00Z')).toEqual(['shop/orders-2'])
    expect(await at('2026-09-10T08:00:00Z')).toEqual([])
  })

  it('gives JSON with times as ISO 8601', async () => {
    const [first] = JSON.parse((await here('owner', '10.0.0.7', path, '--format', 'json')).out) as Record<string, unknown>[]
    expect(first).toMatchObject({ ip: '10.0.0.7', kind: 'pod', name: 'shop/orders-1', t_from: '2026-09-10T09:00:00Z', uid: null })
  })

  it('says that nothing is known of an address', async () => {
    expect(await here('owner', '10.9.9.9', path)).toMatchObject({ code: 0, out: 'nothing in the bundle says who had 10.9.9.9\n' })
    expect(await here('owner', '10.9.9.9', folder({ notes: 'x\n' }))).toMatchObject({ code: 3 })
  })

  it.each([
    [['owner', 'orders', path], /orders: not an address/],
    [['owner', '10.0.0.7', '--at', 'noon', path], /--at noon: not a time/],
    [['owner', '10.0.0.7'], /missing required argument/],
  ])('refuses %j', async (args, says) => {
    const { code, err } = await here(...args)
    expect(code).toBe(2)
    expect(err).toMatch(ERROR)
    expect(err).toMatch(says)
  })
})

describe('wirecase rules', () => {
  it('lists every rule', async () => {
    const { code, out } = await here('rules')
    expect(code).toBe(0)
    for (const r of rules) expect(out).toMatch(new RegExp(`^${r.code} +${r.name}`, 'm'))
  })

  it('says what a rule checks, whatever the case of its code', async () => {
    const { code, out } = await here('rules', 'wc102')
    expect(code).toBe(0)
    expect(out).toContain('WC102 stale-connection-reuse')
    for (const part of ['codes', 'needs', 'references', 'WC102.reset-by-new-owner']) expect(out).toContain(part)
  })

  it('refuses others', async () => expect(await here('rules', 'WC7')).toMatchObject({ code: 2, err: expect.stringMatching(ERROR) }))
})

describe('wirecase formats', () => {
  it('lists every format', async () => {
    const { code, out } = await here('formats')
    expect(code).toBe(0)
    for (const f of formats) expect(out).toMatch(new RegExp(`^${f.id} `, 'm'))
  })

  it('says how one is collected', async () => expect((await here('formats', 'hubble-json')).out).toMatch(/^collect: .*hubble observe/m))

  it('refuses others', async () => expect(await here('formats', 'word')).toMatchObject({ code: 2, err: expect.stringMatching(ERROR) }))
})
