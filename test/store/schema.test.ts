/** The public schema: every view with the columns and types that users and checks rely on. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tables } from '../../src/model/tables.js'
import { checkQuery } from '../../src/store/query.js'
import { Store } from '../../src/store/store.js'
import { PUBLIC_VIEWS } from './public-schema.js'

describe('the views', () => {
  let store: Store
  const folder = mkdtempSync(join(tmpdir(), 'wirecase-test-'))
  beforeAll(async () => {
    store = await Store.open({ file: ':memory:', spillFolder: folder })
    await store.create()
    await store.createViews()
  })
  afterAll(() => {
    store.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it('are those of the public schema', async () => {
    const rows = await store.rows("SELECT view_name FROM duckdb_views() WHERE schema_name = 'main' AND NOT internal")
    expect(rows.map(r => r.view_name).sort()).toEqual(Object.keys(PUBLIC_VIEWS).sort())
    expect(
      Object.keys(PUBLIC_VIEWS)
        .filter(v => v !== 'source')
        .sort(),
    ).toEqual(Object.keys(tables).sort())
  })

  for (const [view, columns] of Object.entries(PUBLIC_VIEWS))
    it(`${view} has its columns`, async () => {
      const rows = await store.rows(`SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = '${view}' AND schema_name = 'main'`)
      const has = Object.fromEntries(rows.map(r => [r.column_name as string, r.data_type]))
      expect(Object.fromEntries(Object.keys(columns).map(c => [c, has[c]]))).toEqual(columns)
    })

  it('answer when they are empty', async () => {
    for (const view of Object.keys(PUBLIC_VIEWS)) expect(await store.rows(`SELECT * FROM "${view}"`)).toEqual([])
  })

  it('can be read under their names without quotes, but for the column row', async () => {
    for (const [view, columns] of Object.entries(PUBLIC_VIEWS))
      await checkQuery(
        store,
        `SELECT ${Object.keys(columns)
          .map(c => (c === 'row' ? '"row"' : c))
          .join(', ')} FROM ${view}`,
      )
  })
})
