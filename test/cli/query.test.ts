/** `wirecase query`: what it prints, and what it refuses. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { limits } from '../../src/limits.js'
import { ERROR, folder, here, names, removeFolders } from './run.js'
import { flows, healthy, reset } from './world.js'

afterAll(removeFolders)

const path = folder({ 'access.json': healthy(3) + reset(5), 'flows.json': flows(3) })
const file = join(folder(), 'incident.duckdb')
beforeAll(async () => {
  await here(path, '--case', file)
})
const rows = async (sql: string, ...from: string[]): Promise<string> => (await here('query', sql, ...(from.length > 0 ? from : ['--case', file]), '--format', 'json')).out

describe('a query', () => {
  it('gives JSON: keys in the order of the select list, BIGINT as strings, NULL as null', async () => {
    const sql = 'SELECT status, t, duration_ms, probe, flags, sni, upstream_port FROM request ORDER BY t DESC LIMIT 1'
    for (const from of [[path], ['--case', file]])
      expect(await rows(sql, ...from)).toBe('[\n{"status":503,"t":"1789034405000000000","duration_ms":3,"probe":null,"flags":"UC","sni":null,"upstream_port":8080}\n]\n')
  })

  it('gives an empty array where there are no rows', async () => expect(await rows('SELECT * FROM packet')).toBe('[]\n'))

  it('gives every kind of value as JSON that is exact', async () => {
    const sql = `SELECT 9223372036854775807 AS a, (-9223372036854775807 - 1)::BIGINT AS b, 1.50 AS c, 0.1::DOUBLE AS d, 170141183460469231731687303715884105727 AS e, TRUE AS f,
      make_timestamp_ns(1) AS g, [1, NULL] AS h, {'x': 1, 'y': 'z'} AS i, MAP {'k': 2::BIGINT} AS j, 'a"b' || chr(10) AS k, 12345678901234567890.123456789 AS l, 'ab'::BLOB AS m, DATE '2026-01-02' AS n`
    expect(await rows(sql)).toBe(
      '[\n{"a":"9223372036854775807","b":"-9223372036854775808","c":1.50,"d":0.1,"e":"170141183460469231731687303715884105727","f":true,"g":"1970-01-01 00:00:00.000000001","h":[1,null],"i":{"x":1,"y":"z"},"j":[{"key":"k","value":"2"}],"k":"a\\"b\\n","l":12345678901234567890.123456789,"m":"ab","n":"2026-01-02"}\n]\n',
    )
  })

  it('keeps columns of one name apart', async () => expect(await rows('SELECT 1 AS a, 2 AS a')).toBe('[\n{"a":1,"a:1":2}\n]\n'))

  it('gives CSV in which no cell is a formula', async () => {
    const { out } = await here('query', `SELECT '=1+1' AS a, '@x' AS b, '-5' AS c, '-5+cmd' AS d, 'x,"y"' AS e, NULL AS f, -1.5 AS g`, '--case', file, '--format', 'csv')
    expect(out).toBe(`a,b,c,d,e,f,g\n'=1+1,'@x,-5,'-5+cmd,"x,""y""",,-1.5\n`)
  })

  it('gives CSV with its head where there are no rows', async () =>
    expect((await here('query', 'SELECT status, flags FROM request WHERE FALSE', '--case', file, '--format', 'csv')).out).toBe('status,flags\n'))

  it('gives a table for people', async () => {
    const { out } = await here('query', 'SELECT status, flags, sni FROM request ORDER BY t DESC LIMIT 1', path)
    expect(out).toBe('status  flags  sni\n503     UC\n')
  })

  it('shows so many rows as a table and says that there are more; JSON has all', async () => {
    const sql = `SELECT i FROM range(${limits.queryRows + 1}) t(i)`
    const shown = await here('query', sql, '--case', file)
    expect(shown.out.trim().split('\n')).toHaveLength(limits.queryRows + 1)
    expect(shown.err).toBe(`wirecase: only the first ${limits.queryRows} rows are shown; --format json or csv gives all\n`)
    expect(await here('query', `SELECT i FROM range(${limits.queryRows}) t(i)`, '--case', file)).toMatchObject({ code: 0, err: '' })
    expect(JSON.parse(await rows(sql))).toHaveLength(limits.queryRows + 1)
  })

  it.each([
    'SELECT 1 AS x',
    '  select 1 as x ;',
    '-- why\nSELECT 1 AS x',
    '/* why */ SELECT 1 AS x',
    'WITH a AS (SELECT 1 AS x) FROM a',
    'FROM (VALUES (1)) v(x)',
    '(SELECT 1 AS x)',
  ])('may be %j', async sql => expect((await here('query', '--format', 'json', '--case', file, '--', sql)).out).toBe('[\n{"x":1}\n]\n'))

  it.each(['DESCRIBE flow', 'SHOW TABLES', 'SUMMARIZE request'])('may ask what there is: %s', async sql => expect((await here('query', sql, '--case', file)).code).toBe(0))
})

describe('refused is', () => {
  const to = join(folder(), 'written')
  const refused: readonly (readonly [string, RegExp])[] = [
    [`COPY flow TO '${to}'`, /only SELECT is allowed, not COPY/],
    [`COPY (SELECT 1) TO '${to}' (FORMAT parquet)`, /only SELECT/],
    [`EXPORT DATABASE '${to}'`, /only SELECT/],
    [`ATTACH '${to}' AS x`, /only SELECT/],
    ["SELECT * FROM read_text('/etc/passwd')", /file system operations are disabled/],
    ["SELECT * FROM read_csv('/etc/passwd')", /file system operations are disabled/],
    ["SELECT * FROM read_blob('/etc/*')", /file system operations are disabled/],
    ["SELECT * FROM glob('/etc/*')", /file system operations are disabled/],
    ["SELECT * FROM '/etc/passwd'", /does not exist/],
    ["FROM 'https://example.org/x.csv'", /does not exist|disabled/],
    ['INSTALL httpfs', /only SELECT/],
    ['LOAD json', /only SELECT/],
    ['PRAGMA database_list', /only SELECT is allowed, not PRAGMA/],
    ["/* */ pragma table_info('flow')", /not PRAGMA/],
    ["SET memory_limit='8GB'", /only SELECT/],
    ['RESET ALL', /only SELECT/],
    ['CREATE TABLE x (a INTEGER)', /only SELECT/],
    ['CREATE OR REPLACE VIEW flow AS SELECT 1', /only SELECT/],
    ['CREATE MACRO f() AS 1', /only SELECT/],
    ["INSERT INTO raw.meta VALUES ('a', 'b')", /only SELECT/],
    ['UPDATE raw.flow SET t = 0', /only SELECT/],
    ['DELETE FROM raw.flow', /only SELECT/],
    ['DROP VIEW flow', /only SELECT/],
    ['CALL pragma_version()', /only SELECT/],
    ['CHECKPOINT', /only SELECT/],
    ['BEGIN', /only SELECT/],
    ['PREPARE p AS SELECT 1', /only SELECT/],
    ['SELECT 1; SELECT 2', /one SELECT a call, not 2 statements/],
    [`SELECT 1; COPY flow TO '${to}'`, /not 2 statements/],
    ['SELECT 1 INTO x', /SELECT INTO not supported/],
    ['EXPLAIN SELECT 1', /only SELECT is allowed, not EXPLAIN/],
    [`EXPLAIN ANALYZE COPY flow TO '${to}'`, /only SELECT/],
    [`WITH a AS (COPY flow TO '${to}') SELECT 1`, /Parser Error/],
    [`SELECT * FROM query('COPY flow TO ''${to}''')`, /Expected a single SELECT/],
    ['', /the text holds no SQL/],
    [' -- nothing', /the text holds no SQL/],
    [';', /only SELECT/],
    ['SELECT verdct FROM flow', /Referenced column "verdct" not found[^\n]*\nhint: candidate bindings: "verdict"/],
    ['SELECT * FROM flows', /flows does not exist[^\n]*\nhint: did you mean "flow"\?/],
    ['SELECT\u001b[31m FROM\n\n', /Parser Error/],
  ]

  it.each(refused)('%s', async (sql, says) => {
    for (const args of [
      ['--case', file, '--', sql],
      ['--', sql, path],
    ]) {
      const { code, out, err } = await here('query', '--format', 'json', ...args)
      expect([code, out]).toEqual([2, ''])
      expect(err).toMatch(ERROR)
      expect(err).toMatch(says)
    }
    expect(existsSync(to)).toBe(false)
  })

  it('neither or both of paths and a case file', async () => {
    for (const from of [[], [path, '--case', file]]) expect(await here('query', 'SELECT 1', ...from)).toMatchObject({ code: 2, out: '', err: expect.stringMatching(ERROR) })
  })

  it('what needs more memory than the store may use, with 70, and nothing is left behind', async () => {
    const { code, out, err } = await here('query', 'SELECT list(i) FROM range(100000000) t(i)', '--case', file)
    expect([code, out]).toEqual([70, ''])
    expect(err).toMatch(/^wirecase: error: the query needs too much: [^\n]+\nhint: select fewer columns/)
    expect(names(join(file, '..'))).toEqual(['incident.duckdb'])
  })
})
