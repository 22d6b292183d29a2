/** Where reports go: files, stdout, pipes that close. */
import { chmodSync, existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { built, cli, ERROR, folder, here, names, removeFolders, shell, wirecase } from './run.js'
import { flows, healthy, reset } from './world.js'

beforeAll(built, 120_000)
afterAll(removeFolders)

const evidence = (): string => folder({ 'access.json': healthy(3) + reset(5) })

describe('--output', () => {
  it('writes a report to each file, in the format of its name, whole', async () => {
    const path = evidence()
    const to = folder({ 'a.json': 'an older report' })
    const ran = await here(path, '--output', join(to, 'a.json'), '--output', join(to, 'b.md'), '--output', join(to, 'c.TXT'))
    expect([ran.code, ran.err]).toEqual([1, ''])
    expect(names(to)).toEqual(['a.json', 'b.md', 'c.TXT'])
    expect(readFileSync(join(to, 'a.json'), 'utf8')).toBe((await here(path, '--format', 'json')).out)
    expect(readFileSync(join(to, 'b.md'), 'utf8')).toBe((await here(path, '--format', 'markdown')).out)
    expect(readFileSync(join(to, 'c.TXT'), 'utf8')).toBe(ran.out)
  })

  it('holds no colours, whatever stdout has', async () => {
    const to = join(folder(), 'r.txt')
    await here(evidence(), '--color', 'always', '--output', to)
    expect(readFileSync(to, 'utf8')).not.toContain('\u001b')
  })

  it.each(['/nowhere/r.json', '/proc/r.json'])('is refused before anything is read where %s cannot be written', async to => {
    const { code, out, err } = await here(evidence(), '--output', to)
    expect([code, out]).toEqual([2, ''])
    expect(err).toMatch(ERROR)
    expect(err).toContain(`--output ${to} cannot be written`)
  })

  it('is refused where a folder has its name', async () => {
    const to = folder({ 'r.json/x': '' })
    expect(await here(evidence(), '--output', join(to, 'r.json'))).toMatchObject({ code: 2, err: expect.stringMatching(/EISDIR/) })
    expect(names(to)).toEqual(['r.json'])
  })

  it.skipIf(process.getuid?.() === 0)('is refused in a folder that is read-only', async () => {
    const to = folder()
    chmodSync(to, 0o500)
    expect(await here(evidence(), '--output', join(to, 'r.json'))).toMatchObject({ code: 2, err: expect.stringMatching(/EACCES/) })
  })

  it('never overwrites evidence', async () => {
    const path = evidence()
    const file = join(path, 'access.json')
    const before = readFileSync(file)
    const { code, err } = await here(file, '--output', file)
    expect(code).toBe(2)
    expect(err).toMatch(/is named both to be read and to be written/)
    expect(readFileSync(file)).toEqual(before)
  })

  it('is no evidence of the next run', async () => {
    const path = evidence()
    const args = [path, '--format', 'json', '--output', join(path, 'report.json'), '--case', join(path, 'incident.duckdb')]
    const first = await here(...args)
    const second = await here(...args)
    expect(first.code).toBe(1)
    expect(second).toEqual(first)
    expect(names(path)).toEqual(['access.json', 'incident.duckdb', 'report.json'])
  })

  it('leaves nothing where the run fails', async () => {
    const to = folder()
    expect((await here('/nowhere', '--output', join(to, 'r.json'))).code).toBe(2)
    expect((await here(evidence(), '--output', join(to, 'r.json'), '--output', '/nowhere/r.md')).code).toBe(2)
    expect(names(to)).toEqual([])
  })
})

describe('a pipe', () => {
  it('that closes ends the run quietly, with the code it would have had', async () => {
    const path = folder({ 'access.json': healthy(3) + Array.from({ length: 60 }, (_, i) => reset(10 + i)).join(''), 'calm/access.json': healthy(9) })
    const codes = async (command: string) => (await shell(`${command}; echo "\${PIPESTATUS[0]}"`)).out.trim().split('\n').pop()
    const [json, text, calm] = await Promise.all([codes(`wirecase '${path}' --format json | true`), codes(`wirecase '${path}' | head -1`), codes(`wirecase '${path}/calm' | true`)])
    expect([json, text, calm]).toEqual(['1', '1', '0'])
    const quiet = await shell(`wirecase '${path}' --format json | head -c 10`)
    expect(quiet.err).toBe('')
  })

  it('that closes ends a long query at once', async () => {
    const path = folder({ 'flows.json': flows(10) })
    const { out, err } = await shell(`wirecase query 'SELECT i FROM range(100000000) t(i)' '${path}' --format json | head -2; echo "\${PIPESTATUS[0]}"`)
    expect([out, err]).toEqual(['[\n{"i":"0"},\n0\n', ''])
  }, 30_000)

  it('takes a report of any length to its end', async () => {
    const path = folder({ 'access.json': Array.from({ length: 400 }, (_, i) => reset(i)).join('') })
    const { out } = await shell(`wirecase '${path}' --format json | (sleep 0.5; cat)`)
    expect(out.length).toBeGreaterThan(100_000)
    expect((JSON.parse(out) as { failures: { total: number } }).failures.total).toBe(400)
  })

  it.skipIf(!existsSync('/usr/bin/jq'))('into jq works', async () => {
    const { out, err } = await shell(`wirecase '${evidence()}' --format json | jq -r '.findings[].code'`)
    expect([out, err]).toEqual(['WC104.reset-before-response\n', ''])
  })
})

describe('a terminal', () => {
  /** `script` gives the command a terminal; on another machine there may be none. */
  const hasScript = existsSync('/usr/bin/script')
  const onTerminal = (command: string, env = {}) => shell(`script -qec "${command}" /dev/null < /dev/null`, { env: { TERM: 'xterm', ...env } })

  it.skipIf(!hasScript)('gets colours, unless NO_COLOR is set, and no progress for what is small', async () => {
    const path = evidence()
    const run = `'${process.execPath}' '${cli}' '${path}'`
    const [plain, coloured] = await Promise.all([onTerminal(run, { NO_COLOR: '1' }), onTerminal(run)])
    expect(plain.out).toContain('WC104')
    expect(plain.out).not.toContain('\u001b[')
    expect(coloured.out).toContain('\u001b[')
    expect(coloured.out).not.toContain('reading')
  })

  it('is not controlled by names of files', async () => {
    const path = folder({ 'a\u001b]0;owned\u0007\nb.json': healthy(3) + reset(5), 'c\u009b31m.txt': 'nothing\n' })
    const bad = /(?!\n)\p{Cc}/u
    for (const args of [
      [path],
      [path, '--format', 'json'],
      [path, '--format', 'markdown'],
      ['query', 'SELECT path FROM source', path],
      ['query', 'SELECT path FROM source', path, '--format', 'csv'],
      ['query', 'SELECT path FROM source', path, '--format', 'json'],
    ]) {
      const { out, err } = await here(...args)
      expect(out, args.join(' ')).not.toMatch(bad)
      expect(out).toMatch(/owned/)
      expect(err).toBe('')
    }
    const { err } = await here(join(path, 'no\u001b[31m\nsuch'))
    expect(err).toMatch(ERROR)
    expect(err).not.toMatch(bad)
    expect(err).toContain('no\\u{1b}[31m\\u{a}such')
  })

  it('is not controlled by links', async () => {
    const path = evidence()
    symlinkSync('/etc/passwd', join(path, 'out\u001b[2J'))
    expect((await here(path)).out).not.toContain('\u001b')
    writeFileSync(join(path, 'x'), '')
  })
})

describe('the private folder', () => {
  it('is removed after every kind of end', async () => {
    const tmp = folder()
    const env = { TMPDIR: tmp }
    await Promise.all([
      wirecase([evidence()], { env }),
      wirecase(['query', 'SELECT 1', evidence()], { env }),
      wirecase(['query', 'DROP TABLE flow', evidence()], { env }),
      wirecase(['-'], { env, stdin: flows(3) }),
      wirecase(['/nowhere'], { env }),
    ])
    expect(names(tmp)).toEqual([])
  })
})
