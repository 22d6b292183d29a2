/** `wirecase query SQL (PATH… | --case FILE)`: one SELECT against the public views. */
import { type Command, Option } from 'commander'
import { stringify } from 'csv-stringify/sync'
import { limits } from '../limits.js'
import { escapeJson } from '../report/escape/json.js'
import { escapeTerminal } from '../report/escape/terminal.js'
import { checkQuery, Digits, query, type QueryResult, type QueryValue } from '../store/query.js'
import { Store } from '../store/store.js'
import { EXIT, UsageError } from './exit.js'
import { loadPaths, reading, type ReadingOptions } from './options.js'
import { write } from './output.js'
import { privateFolder } from './private-folder.js'
import { table } from './table.js'

interface QueryOptions extends ReadingOptions {
  readonly format: keyof typeof RENDER
  readonly case?: string
}

export function queryCommand(program: Command, setCode: (code: number) => void): void {
  reading(
    program
      .command('query')
      .description('run one SELECT on the views of a bundle or a case file')
      .argument('<sql>', 'one SELECT')
      .argument('[path...]', 'files, folders, or - for standard input')
      .addOption(new Option('--format <format>', 'of the rows').choices(['table', 'json', 'csv']).default('table'))
      .option('--case <file>', 'a case file written by analyze --case'),
  ).action(async (sql: string, paths: string[], options: QueryOptions) => {
    if ((paths.length === 0) === (options.case === undefined)) throw new UsageError('name either paths or --case FILE', 'wirecase query "SELECT …" bundle/')
    const { store, recognised } =
      options.case === undefined ? await fromPaths(sql, paths, options) : { store: await Store.openCase(options.case, privateFolder()), recognised: true }
    try {
      const result = await query(store, sql)
      setCode(recognised ? EXIT.ok : EXIT.nothing)
      for await (const text of RENDER[options.format](result)) await write(text)
    } finally {
      store.close()
    }
  })
}

async function fromPaths(sql: string, paths: string[], options: ReadingOptions): Promise<{ store: Store; recognised: boolean }> {
  await refuseFirst(sql)
  const loaded = await loadPaths(paths, options)
  return { store: loaded.store, recognised: loaded.ingested.sources.some(s => s.records > 0) }
}

/** What cannot be run is said before gigabytes are read for it. */
async function refuseFirst(sql: string): Promise<void> {
  const store = await Store.open({ file: ':memory:', spillFolder: privateFolder() })
  try {
    await store.create()
    await store.createViews()
    await checkQuery(store, sql)
  } finally {
    store.close()
  }
}

/** Text to print, some rows at a time. */
const RENDER = { json, csv, table: asTable }

async function* json({ columns, rows }: QueryResult): AsyncGenerator<string> {
  const names = columns.map(c => JSON.stringify(c))
  let between = '[\n'
  for await (const some of rows) {
    yield escapeJson(between + some.map(row => `{${row.map((v, i) => `${names[i]}:${jsonText(v)}`).join(',')}}`).join(',\n'))
    between = ',\n'
  }
  yield between === '[\n' ? '[]\n' : '\n]\n'
}

function jsonText(value: QueryValue): string {
  if (value instanceof Digits) return value.text
  if (Array.isArray(value)) return `[${value.map(jsonText).join(',')}]`
  if (value !== null && typeof value === 'object')
    return `{${Object.entries(value)
      .map(([k, v]) => `${JSON.stringify(k)}:${jsonText(v)}`)
      .join(',')}}`
  return JSON.stringify(value)
}

async function* csv({ columns, rows }: QueryResult): AsyncGenerator<string> {
  const lines = (some: readonly (readonly string[])[]) => stringify([...some], { record_delimiter: '\n' })
  let head = [columns]
  for await (const some of rows) {
    yield lines([...head, ...some.map(row => row.map(cell))])
    head = []
  }
  if (head.length > 0) yield lines(head)
}

/** A cell that a spreadsheet would run as a formula gets a quote; what would control a terminal is shown. */
function cell(value: QueryValue): string {
  const text = escapeTerminal(plainText(value))
  return /^[=+\-@]/.test(text) && !/^-?\d+(\.\d+)?(e[+-]?\d+)?$/.test(text) ? `'${text}` : text
}

async function* asTable({ columns, rows }: QueryResult): AsyncGenerator<string> {
  const shown: string[][] = []
  for await (const some of rows) {
    const room = limits.queryRows - shown.length
    shown.push(...some.slice(0, room).map(row => row.map(plainText)))
    if (some.length <= room) continue
    process.stderr.write(`wirecase: only the first ${limits.queryRows} rows are shown; --format json or csv gives all\n`)
    break
  }
  yield table(columns, shown)
}

const plainText = (value: QueryValue): string => (value === null ? '' : typeof value === 'string' ? value : jsonText(value))
