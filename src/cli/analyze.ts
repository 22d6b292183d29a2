/** `wirecase [analyze] PATH…`: the main job. */
import { type Command, Option } from 'commander'
import { join, relative } from 'node:path'
import { type Bundle, openBundle } from '../bundle/open.js'
import { analyze } from '../index.js'
import { CONFIDENCES, type Confidence, type Report, SEVERITIES, type Severity } from '../model/report.js'
import { formatOfFile, type RenderFormat, renderers } from '../report/render/index.js'
import { DAMAGE } from '../model/sink.js'
import { rules } from '../rules/index.js'
import { caseFile } from './case-file.js'
import { EXIT, UsageError } from './exit.js'
import { instantOf, many, reading, type ReadingOptions, readingOptions, stdinFor } from './options.js'
import { useColor, write, writeFileWhole } from './output.js'
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
    const bundle = await openBundle(paths, stdinFor(paths))
    const run = {
      ...readingOptions(options),
      only,
      from: options.from === undefined ? null : instantOf(options.from, '--from'),
      to: options.to === undefined ? null : instantOf(options.to, '--to'),
    }
    const kept = options.case === undefined ? null : await caseFile(options.case, bundle, run)
    const report = kept?.report ?? (await analyzed(bundle, run, kept?.write ?? null))
    const prefix = relative(process.cwd(), bundle.base)
    const color = useColor(command.optsWithGlobals().color as string | undefined, process.stdout)
    const text = { color, width: process.stdout.columns ?? 120, prefix: prefix === '' ? '' : `${prefix}/` }
    for (const o of outputs) await writeFileWhole(o.file, render(report, o.format, { ...text, color: false, width: 120 }))
    await write(render(report, options.format, text))
    setCode(exitCode(report, options))
  })
}

async function analyzed(bundle: Bundle, run: Run, keep: ((report: Report) => { file: string; done: () => Promise<void> }) | null): Promise<Report> {
  const folder = privateFolder()
  const bar = progress()
  const file = join(folder, 'store.duckdb')
  try {
    const { store, report } = await analyze(bundle, { ...run, file, spillFolder: folder, onProgress: bar.at })
    try {
      if (keep) {
        await store.setMeta('report', JSON.stringify(report))
        await store.setMeta('run', runKey(run))
      }
    } finally {
      store.close()
    }
    if (keep) await keep(report).done()
    return report
  } finally {
    bar.stop()
  }
}

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

/** The exit code of a report: errors, then findings, then nothing to read, then incomplete, then clean. */
export function exitCode(report: Report, options: { failOn: Severity | 'none'; minConfidence: Confidence; strict?: boolean }): number {
  if (report.verdicts.some(v => v.verdict === 'error')) return EXIT.fault
  const grave = (s: Severity) => options.failOn !== 'none' && SEVERITIES.indexOf(s) >= SEVERITIES.indexOf(options.failOn)
  const sure = (c: Confidence) => CONFIDENCES.indexOf(c) >= CONFIDENCES.indexOf(options.minConfidence)
  if (report.findings.some(f => grave(f.severity) && sure(f.confidence.level))) return EXIT.findings
  if (options.failOn === 'none' && report.findings.length > 0) return EXIT.ok
  if (!report.sources.some(s => s.records > 0)) return EXIT.nothing
  const lacking = report.verdicts.some(v => v.verdict === 'not-evaluable' && (v.applies || options.strict))
  const damaged = report.problems.some(p => DAMAGE.has(p.kind))
  return lacking || damaged ? EXIT.incomplete : EXIT.ok
}
