/** The schema of the store, generated from the table definitions: id tables in `raw`, the public views in `main`. */
import { physicalColumns, type PhysicalColumn, type Table, type TableName, tables } from '../model/tables.js'

/** Changes with the tables: a case file of another version is refused. */
export const SCHEMA_VERSION = 1

const SQL_TYPE: Record<PhysicalColumn['kind'], string> = { id: 'INTEGER', int: 'INTEGER', big: 'BIGINT', time: 'BIGINT', double: 'DOUBLE', bool: 'BOOLEAN', text: 'VARCHAR' }

const quoted = (name: string): string => `"${name}"`

/** Statements that create the tables. */
export function tableStatements(): string[] {
  const evidence = (Object.keys(tables) as TableName[]).map(
    name =>
      `CREATE TABLE raw.${quoted(name)} (${physicalColumns(name)
        .map(c => `${quoted(c.name)} ${SQL_TYPE[c.kind]}`)
        .join(', ')})`,
  )
  return [
    'CREATE SCHEMA raw',
    'CREATE TABLE raw.meta (name VARCHAR, value VARCHAR)',
    'CREATE TABLE raw.dictionary (id INTEGER, value VARCHAR)',
    `CREATE TABLE raw.source (id INTEGER, path VARCHAR, format VARCHAR, bytes BIGINT, sha256 VARCHAR, records BIGINT, problems BIGINT, node VARCHAR, namespace VARCHAR,
      pod VARCHAR, container VARCHAR, proxy VARCHAR, zone VARCHAR, t_first BIGINT, t_last BIGINT)`,
    ...evidence,
  ]
}

/** Columns that the tables keep under another name than the views. */
const SHOWN: Partial<Record<TableName, Readonly<Record<string, string>>>> = { evidence: { target: 'row' }, chain: { target: 'row' } }

/**
 * Statements that create the views. They decode ids through one dictionary value, never one join a column: a view with
 * 14 joins ran out of 256 MB on 5 M rows. `overflow` holds as JSON what the dictionary had no room for.
 */
export function viewStatements(): string[] {
  const views = (Object.keys(tables) as TableName[]).map(name => {
    const table: Table = tables[name]
    const renamed = SHOWN[name] ?? {}
    const columns: string[] = []
    let decodes = false
    for (const c of physicalColumns(name)) {
      if (c.name === 'overflow' || (c.name === 'row' && Object.values(renamed).includes('row'))) continue
      if (c.kind === 'id') {
        decodes = true
        columns.push(`coalesce(words[r.${quoted(c.name)}], json_extract_string(r.overflow, '$.${c.name}')) AS ${quoted(c.name)}`)
      } else columns.push(`r.${quoted(c.name)} AS ${quoted(renamed[c.name] ?? c.name)}`)
      if (table.evidence && c.name === 't') columns.push('make_timestamp_ns(r.t) AS t_utc')
    }
    const from = `raw.${quoted(name)} r${decodes ? ', (SELECT list(value ORDER BY id) AS words FROM raw.dictionary) d' : ''}`
    return `CREATE OR REPLACE VIEW ${quoted(name)} AS SELECT ${columns.join(', ')} FROM ${from}`
  })
  return ['CREATE OR REPLACE VIEW source AS SELECT * FROM raw.source', ...views]
}
