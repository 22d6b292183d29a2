/** `wirecase owner IP [--at TIME] PATH…`: who had an address, when, and the lines that say so. */
import { type Command, Option } from 'commander'
import { plainAddress } from '../formats/text/address.js'
import { escapeJson } from '../report/escape/json.js'
import { iso } from '../model/instant.js'
import type { SqlRow } from '../store/store.js'
import { literal } from '../store/store.js'
import { EXIT, UsageError } from './exit.js'
import { instantOf, loadPaths, reading, type ReadingOptions } from './options.js'
import { write } from './output.js'
import { table } from './table.js'

interface OwnerOptions extends ReadingOptions {
  readonly at?: string
  readonly format: 'table' | 'json'
}

export function ownerCommand(program: Command, setCode: (code: number) => void): void {
  reading(
    program
      .command('owner')
      .description('who had an address, from when to when, and the evidence for it')
      .argument('<ip>', 'an IPv4 or IPv6 address')
      .argument('<path...>', 'files, folders, or - for standard input')
      .option('--at <time>', 'only who had it at this time')
      .addOption(new Option('--format <format>', 'of the answer').choices(['table', 'json']).default('table')),
  ).action(async (text: string, paths: string[], options: OwnerOptions) => {
    const ip = plainAddress(text)
    if (ip === null) throw new UsageError(`${text}: not an address`, 'wirecase owner 10.0.0.66 bundle/')
    const at = options.at === undefined ? null : instantOf(options.at, '--at')
    const loaded = await loadPaths(paths, options)
    try {
      const rows = await loaded.store.rows(ownersOf(ip, at))
      setCode(loaded.ingested.sources.some(s => s.records > 0) ? EXIT.ok : EXIT.nothing)
      await write(options.format === 'json' ? `${escapeJson(JSON.stringify(rows.map(plainRow), null, 2))}\n` : shown(rows, ip))
    } finally {
      loaded.store.close()
    }
  })
}

const ownersOf = (ip: string, at: bigint | null): string => `
  SELECT o.ip, o.kind, o.name, o.uid, o.node, o.t_from, o.t_from_earliest, o.t_from_latest, o.t_to, o.t_to_earliest, o.t_to_latest, o.certain,
    (SELECT string_agg(s.path || ':' || coalesce(e.line, e.frame), ' ' ORDER BY s.path, e.line, e.frame) FROM evidence e JOIN source s ON s.id = e.source WHERE e.view = 'owner' AND e."row" = o."row") AS evidence
  FROM owner o WHERE o.ip = ${literal(ip)}
  ${at === null ? '' : `AND (o.t_from IS NULL OR coalesce(o.t_from_earliest, o.t_from) <= ${at}) AND (o.t_to IS NULL OR coalesce(o.t_to_latest, o.t_to) >= ${at})`}
  ORDER BY o.t_from NULLS FIRST, o.name, o."row"`

const plainRow = (r: SqlRow): Record<string, unknown> => Object.fromEntries(Object.entries(r).map(([k, v]) => [k, typeof v === 'bigint' ? iso(v) : v]))

function shown(rows: readonly SqlRow[], ip: string): string {
  if (rows.length === 0) return `nothing in the bundle says who had ${ip}\n`
  const time = (v: unknown, open: string): string => (typeof v === 'bigint' ? iso(v) : open)
  return table(
    ['owner', 'kind', 'from', 'to', 'certain', 'node', 'evidence'],
    rows.map(r => [r.name, r.kind, time(r.t_from, 'unknown'), time(r.t_to, 'still'), r.certain ? 'yes' : 'no', r.node, r.evidence]),
  )
}
