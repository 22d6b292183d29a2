/** `--case FILE`: kept whole, used again for the same evidence and options, refused otherwise. */
import { DuckDBInstance } from '@duckdb/node-api'
import { copyFileSync, existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { built, ERROR, ended, folder, here, names, removeFolders, root, started } from './run.js'
import { healthy, owners, reset } from './world.js'

beforeAll(built, 120_000)
afterAll(removeFolders)

const evidence = (): string => folder({ 'access.json': healthy(3) + reset(5), 'pod-ip-timeline.jsonl': owners })
const refused = (says: RegExp | string) => ({
  code: 2,
  out: '',
  err: expect.stringMatching(new RegExp(`^wirecase: error: .*${typeof says === 'string' ? says : says.source}.*\\nhint: .+\\n$`)),
})

describe('a case file', () => {
  it('is used again for the same evidence and options: the same bytes come out, and it is not touched', async () => {
    const path = evidence()
    const file = join(folder(), 'incident.duckdb')
    const args = [path, '--case', file, '--format', 'json']
    const first = await here(...args)
    expect([first.code, first.err]).toEqual([1, ''])
    const [bytes, at] = [readFileSync(file), statSync(file).mtimeMs]
    for (const again of [
      args,
      [path, '--format', 'json', '--case', file, '--fail-on', 'high'],
      [join(path, 'pod-ip-timeline.jsonl'), join(path, 'access.json'), '--case', file, '--format', 'json'],
    ])
      expect(await here(...again)).toEqual(first)
    expect((await here(path, '--case', file)).out).toBe((await here(path)).out)
    expect([readFileSync(file).equals(bytes), statSync(file).mtimeMs]).toEqual([true, at])
    expect(names(join(file, '..'))).toEqual(['incident.duckdb'])
  })

  it('is opened by any DuckDB client, with the views', async () => {
    const file = join(folder(), 'incident.duckdb')
    await here(evidence(), '--case', file)
    const instance = await DuckDBInstance.create(file, { access_mode: 'READ_ONLY' })
    const connection = await instance.connect()
    const rows = (await connection.runAndReadAll('SELECT status, flags, upstream_ip FROM request ORDER BY t DESC LIMIT 1')).getRowObjects()
    expect(rows).toEqual([{ status: 503, flags: 'UC', upstream_ip: '10.0.0.7' }])
    connection.closeSync()
    instance.closeSync()
  })

  it('is refused for other evidence, other names of it, and other options, and stays', async () => {
    const path = evidence()
    const file = join(folder(), 'incident.duckdb')
    await here(path, '--case', file)
    const bytes = readFileSync(file)
    expect(await here(path, '--case', file, '--clock-error', '3s')).toEqual({ signal: null, ...refused('holds an analysis with other options') })
    expect(await here(path, '--case', file, '--rule', 'WC104')).toMatchObject(refused('other options'))
    expect(await here(path, '--case', file, '--zone', '*=+02:00')).toMatchObject(refused('other options'))
    expect(await here(join(path, 'access.json'), '--case', file)).toMatchObject(refused('other evidence'))
    symlinkSync('/etc/hostname', join(path, 'z'))
    expect(await here(path, '--case', file)).toMatchObject(refused('other options'))
    writeFileSync(join(path, 'access.json'), healthy(3) + reset(6))
    expect(await here(path, '--case', file)).toMatchObject(refused('holds other evidence'))
    expect(readFileSync(file).equals(bytes)).toBe(true)
  })

  it('is refused where it is none', async () => {
    const path = evidence()
    const dir = folder({ empty: '', text: 'a text\n', 'folder/x': '', 'sqlite.db': Buffer.from(`SQLite format 3\0${'\0'.repeat(200)}`) })
    symlinkSync('/nowhere/at/all', join(dir, 'dangling'))
    for (const name of ['empty', 'text', 'folder', 'sqlite.db', 'dangling']) {
      for (const args of [
        [path, '--case', join(dir, name)],
        ['query', 'SELECT 1', '--case', join(dir, name)],
      ]) {
        const { code, out, err } = await here(...args)
        expect([name, code, out]).toEqual([name, 2, ''])
        expect(err).toMatch(ERROR)
      }
    }
    expect(await here('query', 'SELECT 1', '--case', join(dir, 'none.duckdb'))).toMatchObject(refused('no such case file'))
    expect(await here(path, '--case', '/nowhere/incident.duckdb')).toMatchObject(refused('--case /nowhere/incident.duckdb cannot be written: ENOENT'))
    expect(names(dir)).toEqual(['dangling', 'empty', 'folder', 'sqlite.db', 'text'])
  })

  it('is never an address of a database elsewhere', async () => {
    for (const name of ['md:incidents', 'https://localhost:1/x.duckdb', 'sqlite:x.db', ':memory:'])
      expect(await here('query', 'SELECT 1', '--case', name), name).toMatchObject({ code: 2, out: '', err: expect.stringMatching(/no such case file/) })
  })

  it('of another version is refused', async () => {
    const file = join(folder(), 'incident.duckdb')
    await here(evidence(), '--case', file)
    await change(file, "UPDATE raw.meta SET value = '0' WHERE name = 'schema'")
    expect(await here('query', 'SELECT 1', '--case', file)).toMatchObject(refused('is not a case file of this version of wirecase'))
  })

  it('that another process has open for writing is in use', async () => {
    const path = evidence()
    const file = join(folder(), 'incident.duckdb')
    await here(path, '--case', file)
    const instance = await DuckDBInstance.create(file)
    try {
      for (const args of [
        ['query', 'SELECT 1', '--case', file],
        [path, '--case', file],
      ]) {
        const { code, err } = await ended(started(args))
        expect(code).toBe(2)
        expect(err).toBe(`wirecase: error: ${file} is in use by another process\nhint: close the other client, or name another case file\n`)
      }
    } finally {
      instance.closeSync()
    }
  })

  it('can be read by several at a time', async () => {
    const file = join(folder(), 'incident.duckdb')
    await here(evidence(), '--case', file)
    const all = await Promise.all([1, 2, 3].map(i => ended(started(['query', `SELECT count(*) + ${i} AS n FROM request`, '--case', file, '--format', 'csv']))))
    expect(all.map(r => [r.code, r.out, r.err])).toEqual([1, 2, 3].map(i => [0, `n\n${4 + i}\n`, '']))
  })
})

describe('a case file from someone else', () => {
  const path = evidence()
  const sound = join(folder(), 'sound.duckdb')
  beforeAll(async () => {
    await here(path, '--case', sound)
  })

  /** A case file in which something was replaced. */
  async function hostile(...sql: string[]): Promise<string> {
    const file = join(folder(), 'incident.duckdb')
    copyFileSync(sound, file)
    await change(file, ...sql)
    return file
  }
  const count = async (file: string, view: string) => here('query', `SELECT count(*) AS n FROM ${view}`, '--case', file, '--format', 'csv')

  it('cannot answer with views of its own', async () => {
    const file = await hostile(
      "CREATE OR REPLACE VIEW flow AS SELECT * FROM read_text('/etc/passwd')",
      'CREATE OR REPLACE VIEW request AS SELECT range AS status FROM range(100000000000)',
    )
    expect(await count(file, 'flow')).toMatchObject({ code: 0, out: 'n\n0\n' })
    expect(await count(file, 'request')).toMatchObject({ code: 0, out: 'n\n4\n' })
    expect(await count(file, 'main.flow')).toMatchObject({ code: 0, out: 'n\n0\n' })
    expect(await count(file, 'incident.flow')).toMatchObject(refused('file system operations are disabled'))
  })

  it.each([
    ['a table that is a view of files', ['DROP VIEW flow', 'DROP TABLE raw.flow', "CREATE VIEW raw.flow AS SELECT * FROM read_text('/etc/passwd')"]],
    ['a list of sources without end', ['DROP VIEW source', 'DROP TABLE raw.source', 'CREATE VIEW raw.source AS SELECT range AS id FROM range(100000000000)']],
    [
      'a column that computes',
      [
        'DROP VIEW clock',
        'DROP TABLE raw.clock',
        'CREATE TABLE raw.clock ("row" BIGINT, a INTEGER, b INTEGER, offset_ms DOUBLE, error_ms DOUBLE, anchors INTEGER GENERATED ALWAYS AS (b), overflow VARCHAR)',
      ],
    ],
    ['functions of its own', ["CREATE MACRO make_timestamp_ns(x) AS 'never'"]],
    ['a table less', ['DROP VIEW owner', 'DROP TABLE raw.owner']],
    ['no tables at all', ['DROP SCHEMA raw CASCADE']],
  ])('with %s is refused', async (_, sql) => {
    const file = await hostile(...sql)
    expect(await here('query', 'SELECT 1', '--case', file)).toMatchObject(refused('is not a case file of this version of wirecase'))
  })

  it.each([
    ['that is no JSON', 'not JSON'],
    ['that is no report', '{"schema":"wirecase.report/1"}'],
  ])('with a report %s is refused', async (_, report) => {
    const file = await hostile(`UPDATE raw.meta SET value = '${report}' WHERE name = 'report'`)
    expect(await here(path, '--case', file)).toMatchObject(refused('holds no report'))
  })
})

describe('a run that is stopped', () => {
  /** Enough to read for seconds. */
  function large(): string {
    const path = folder({ 'a/0.json': healthy(20_000) })
    const bytes = readFileSync(join(path, 'a/0.json'))
    for (let i = 1; i < 40; i++) writeFileSync(join(path, `a/${i}.json`), bytes)
    return path
  }

  /** Starts a run, and waits until it reads. */
  async function reading(args: readonly string[]) {
    const tmp = folder()
    const child = started(args, { env: { TMPDIR: tmp } })
    const end = ended(child)
    const store = () => names(tmp).some(n => existsSync(join(tmp, n, 'store.duckdb')))
    for (let i = 0; i < 200 && !store(); i++) await new Promise(r => setTimeout(r, 20))
    await new Promise(r => setTimeout(r, 300))
    return { child, end, tmp }
  }

  it('says what it had, ends with 130 and leaves nothing behind', async () => {
    const to = folder()
    const { child, end, tmp } = await reading([large(), '--rule', 'WC104', '--format', 'json', '--case', join(to, 'incident.duckdb'), '--output', join(to, 'report.json')])
    child.kill('SIGINT')
    const { code, out, err } = await end
    expect(code).toBe(130)
    expect(err).toBe('wirecase: interrupted, reporting what was read; interrupt again to stop at once\n')
    const report = JSON.parse(out) as { sources: { records: number }[]; problems: { kind: string; says: string }[] }
    expect(report.sources).toHaveLength(40)
    expect(report.problems).toContainEqual(expect.objectContaining({ kind: 'truncated', says: 'the reading was interrupted' }))
    expect(readFileSync(join(to, 'report.json'), 'utf8')).toBe(out)
    expect(names(to)).toEqual(['report.json'])
    expect(names(tmp)).toEqual([])
  })

  it('twice ends at once and leaves nothing behind', async () => {
    const to = folder()
    const { child, end, tmp } = await reading([large(), '--case', join(to, 'incident.duckdb'), '--output', join(to, 'report.json')])
    child.kill('SIGTERM')
    await new Promise(r => setTimeout(r, 50))
    child.kill('SIGTERM')
    expect(await end).toMatchObject({ code: 130, out: '' })
    expect([names(to), names(tmp)]).toEqual([[], []])
  })

  it('while it waits for standard input ends at once', async () => {
    const tmp = folder()
    const child = started(['-'], { env: { TMPDIR: tmp } })
    const end = ended(child)
    // More than a pipe holds: once it is gone, somebody reads.
    await new Promise(taken => child.stdin?.write(healthy(4000), taken))
    child.kill('SIGINT')
    expect(await end).toMatchObject({ code: 130, out: '', err: '' })
    expect(names(tmp)).toEqual([])
  })

  it('in a query ends at once', async () => {
    const { child, end, tmp } = await reading(['query', 'SELECT count(*) FROM range(1000000000000)', join(root, 'fixtures/reports/ztunnel-1637')])
    await new Promise(r => setTimeout(r, 2000))
    child.kill('SIGINT')
    expect(await end).toMatchObject({ code: 130, out: '', err: '' })
    expect(names(tmp)).toEqual([])
  })
})

/** Changes a database as its owner could. */
async function change(file: string, ...sql: string[]): Promise<void> {
  const instance = await DuckDBInstance.create(file)
  const connection = await instance.connect()
  for (const s of sql) await connection.run(s)
  await connection.run('CHECKPOINT')
  connection.closeSync()
  instance.closeSync()
}
