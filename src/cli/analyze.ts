/** `wirecase [analyze] PATH…`: the main job. */
import { type Command, Option } from 'commander'
import { join, relative, resolve } from 'node:path'
import { type Bundle, openBundle } from '../bundle/open.js'
import { analyze } from '../index.js'
import { CONFIDENCES, type Confidence, type Report, SEVERITIES, type Severity } from '../model/report.js'
import { formatOfFile, type RenderFormat, renderers } from '../report/render/index.js'
import { DAMAGE } from '../model/sink.js'
import { rules } from '../rules/index.js'
import { caseFile } from './case-file.js'
import { EXIT, UsageError } from './exit.js'
import { interruptible } from './interrupt.js'
import { expectSources, instantOf, many, reading, type ReadingOptions, readingOptions, stdin } from './options.js'
import { type Place, placeFor, useColor, write } from './output.js'
import { privateFolder } from './private-folder.js'
import { progress } from './progress.js'
import { type Run, runKey } from './run-key.js'

interface AnalyzeOptions extends ReadingOptions {
  readonly format: RenderFormat
  readonly output?: string[]
  readonly case?: string
  readonly rule?: string[]
  readonly from?: string
  readonly to?: string
  readonly failOn: Severity | 'none'
  readonly minConfidence: Confidence
  readonly strict?: boolean
}

export function analyzeCommand(program: Command, setCode: (code: number) => void): void {
  reading(
    program
      .command('analyze', { isDefault: true })
      .description('read a bundle and say what broke (the default command)')
      .argument('<path...>', 'files, folders, or - for standard input')
      .addOption(new Option('--format <format>', 'of the report on stdout').choices(Object.keys(renderers)).default('text'))
      .option('--output <file>', 'write the report to a file too; the extension gives the format (repeatable)', many)
      .option('--case <file>', 'keep the joined store in a DuckDB file, or reuse it where it holds the same evidence')
      .option('--rule <code>', 'judge only this rule, e.g. WC102 (repeatable)', many)
      .option('--from <time>', 'leave out findings that ended before')
      .option('--to <time>', 'leave out findings that began later')
      .addOption(new Option('--fail-on <severity>', 'exit 1 for findings of this severity or graver').choices([...SEVERITIES, 'none']).default('low'))
      .addOption(new Option('--min-confidence <level>', 'exit 1 only for findings this sure').choices(CONFIDENCES).default('possible'))
      .option('--strict', 'exit 4 where any rule could not be evaluated'),
  ).action(async (paths: string[], options: AnalyzeOptions, command: Command) => {
    const outputs = (options.output ?? []).map(file => ({ file, format: formatFor(file) }))
    const only = options.rule ? options.rule.map(ruleCode) : null
    const run = { ...readingOptions(options), only, ...windowOf(options) }
    const opened = await openBundle(paths, stdin)
    const bundle = withoutOwnFiles(opened, paths, [...outputs.map(o => o.file), ...(options.case === undefined ? [] : [options.case])])
    expectSources(run, bundle)
    const places = []
    for (const o of outputs) places.push({ ...o, place: await placeFor(o.file, '--output') })
    const kept = options.case === undefined ? null : await caseFile(options.case, bundle, run)
    const { report, keep } = kept && 'report' in kept ? { report: kept.report, keep: null } : await analyzed(bundle, run, kept?.place ?? null)
    setCode(exitCode(report, options))
    const color = useColor(command.optsWithGlobals().color as string | undefined, process.stdout)
    const prefix = relative(process.cwd(), bundle.base)
    const text = { color, width: process.stdout.columns ?? 120, prefix: prefix === '' ? '' : `${prefix}/` }
    const unwritten: unknown[] = []
    for (const o of places) await o.place.write(render(report, o.format, { ...text, color: false, width: 120 })).catch(e => unwritten.push(e))
    await keep?.().catch(e => unwritten.push(e))
    await write(render(report, options.format, text))
    // What was found is on stdout, whatever became of the files.
    if (unwritten.length > 0) throw unwritten[0]
  })
}

/** Analyzes, and answers how to keep the store where it is to be kept: not that of an interrupted reading. */
async function analyzed(bundle: Bundle, run: Run, place: Place | null): Promise<{ report: Report; keep: (() => Promise<void>) | null }> {
  const folder = privateFolder()
  const bar = progress()
  const file = join(folder, 'store.duckdb')
  try {
    return await interruptible(async signal => {
      const { store, report } = await analyze(bundle, { ...run, file, spillFolder: folder, onProgress: bar.at, signal })
      const keep = place && !signal.aborted
      try {
        if (keep) {
          await store.setMeta('report', renderers.json(report, PLAIN))
          await store.setMeta('run', runKey(run, bundle))
          await store.checkpoint()
        }
      } finally {
        store.close()
      }
      return { report, keep: keep ? () => place.copyFrom(file) : null }
    })
  } finally {
    bar.stop()
  }
}

/** What the run itself writes is no evidence: a second run would else read the first one's. Throws `UsageError` where it was named as evidence. */
function withoutOwnFiles(bundle: Bundle, paths: readonly string[], own: readonly string[]): Bundle {
  const files = new Set(own.map(f => resolve(f)))
  const both = paths.find(p => p !== '-' && files.has(resolve(p)))
  if (both !== undefined) throw new UsageError(`${both} is named both to be read and to be written`, 'name another file for --output or --case')
  return { ...bundle, members: bundle.members.filter(m => !files.has(resolve(bundle.base, m.path))) }
}

function windowOf(options: AnalyzeOptions): { from: bigint | null; to: bigint | null } {
  const from = options.from === undefined ? null : instantOf(options.from, '--from')
  const to = options.to === undefined ? null : instantOf(options.to, '--to')
  if (from !== null && to !== null && from > to) throw new UsageError(`--from ${options.from} is later than --to ${options.to}`, 'give the earlier time to --from')
  return { from, to }
}

const PLAIN = { color: false, width: 120, prefix: '' }

const render = (report: Report, format: RenderFormat, options: { color: boolean; width: number; prefix: string }): string => renderers[format](report, options)

function formatFor(file: string): RenderFormat {
  const format = formatOfFile(file)
  if (!format) throw new UsageError(`--output ${file}: the extension names no format`, '.json, .md or .txt')
  return format
}

function ruleCode(text: string): string {
  const code = text.toUpperCase()
  if (!rules.some(r => r.code === code)) throw new UsageError(`--rule ${text}: no such rule`, `one of ${rules.map(r => r.code).join(', ')}`)
  return code
}

/**
 * The exit code of a report: errors, then findings, then nothing to read, then incomplete, then clean. `--fail-on none`
 * takes nothing else away than the code 1: what would have given it is known, and gives 0.
 */
export function exitCode(report: Report, options: { failOn: Severity | 'none'; minConfidence: Confidence; strict?: boolean }): number {
  if (report.verdicts.some(v => v.verdict === 'error')) return EXIT.fault
  const least = SEVERITIES.indexOf(options.failOn === 'none' ? 'low' : options.failOn)
  const sure = CONFIDENCES.indexOf(options.minConfidence)
  if (report.findings.some(f => SEVERITIES.indexOf(f.severity) >= least && CONFIDENCES.indexOf(f.confidence.level) >= sure))
    return options.failOn === 'none' ? EXIT.ok : EXIT.findings
  if (!report.sources.some(s => s.records > 0)) return EXIT.nothing
  // A rule that --rule left out lacks nothing.
  const lacking = report.verdicts.some(v => v.verdict === 'not-evaluable' && (v.applies || (options.strict && v.missing.length > 0)))
  const damaged = report.problems.some(p => DAMAGE.has(p.kind))
  return lacking || damaged ? EXIT.incomplete : EXIT.ok
}
