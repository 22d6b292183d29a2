/** `wirecase query SQL (PATH… | --case FILE)`: one SELECT against the public views. */
import type { Command } from 'commander'
import { stringify } from 'csv-stringify/sync'
import { query, type QueryResult } from '../store/query.js'
import type { Store } from '../store/store.js'
import { EXIT, UsageError } from './exit.js'
import { loadPaths, reading, type ReadingOptions } from './options.js'
import { openCase } from './open-case.js'
import { write } from './output.js'
import { table } from './table.js'

interface QueryOptions extends ReadingOptions {
  readonly format: string
  readonly case?: string
}

export function queryCommand(program: Command, setCode: (code: number) => void): void {
  reading(
    program
      .command('query')
      .description('run one SELECT on the views of a bundle or a case file')
      .argument('<sql>', 'one SELECT')
      .argument('[path...]', 'files, folders, or - for standard input')
      .option('--format <format>', 'table, json or csv', 'table')
      .option('--case <file>', 'a case file written by analyze --case'),
  ).action(async (sql: string, paths: string[], options: QueryOptions) => {
    const render = RENDER[options.format]
    if (!render) throw new UsageError(`--format ${options.format}: unknown`, 'table, json or csv')
    if ((paths.length === 0) === (options.case === undefined)) throw new UsageError('name either paths or --case FILE', 'wirecase query "SELECT …" bundle/')
    const { store, recognised } = options.case === undefined ? await fromPaths(paths, options) : { store: await openCase(options.case), recognised: true }
    try {
      const result = await query(store, sql)
      if (result.truncated) process.stderr.write(`wirecase: only the first ${result.rows.length} rows are shown\n`)
      await write(render(result))
      setCode(recognised ? EXIT.ok : EXIT.nothing)
    } finally {
      store.close()
    }
  })
}

async function fromPaths(paths: string[], options: QueryOptions): Promise<{ store: Store; recognised: boolean }> {
  const loaded = await loadPaths(paths, options)
  return { store: loaded.store, recognised: loaded.ingested.sources.some(s => s.records > 0) }
}

const RENDER: Record<string, (r: QueryResult) => string> = {
  json: r => {
    const rows = r.rows.map(row => `{${r.columns.map((c, i) => `${JSON.stringify(c)}:${JSON.stringify(row[i])}`).join(',')}}`)
    return rows.length === 0 ? '[]\n' : `[\n${rows.join(',\n')}\n]\n`
  },
  csv: r => stringify([[...r.columns], ...r.rows.map(row => row.map(cell))], { record_delimiter: '\n' }),
  table: r => table(r.columns, r.rows),
}

/** A cell that a spreadsheet would run as a formula gets a quote. */
function cell(value: unknown): string {
  if (value === null) return ''
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return /^[=+\-@\t\r\n]/.test(text) && !/^-?\d+(\.\d+)?$/.test(text) ? `'${text}` : text
}
