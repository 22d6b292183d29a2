/** What a case must show: reads `expect.json` and holds a report against it. Keys are described in test/cases/README.md. */
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { exitCode } from '../../src/cli/analyze.js'
import { openBundle, type Report } from '../../src/index.js'
import { CONFIDENCES, type Finding, SEVERITIES } from '../../src/model/report.js'
import { renderers } from '../../src/report/render/index.js'
import { analyzeBundle } from './analyze.js'

interface Wanted {
  args?: string[]
  exit?: number[]
  verdicts?: Record<string, string[]>
  checked?: Record<string, number>
  findings?: { code: string[]; confidence?: string[]; subject?: Record<string, string>; cites?: { path: string; line?: number; frame?: number }[]; count?: number }[]
  only?: boolean
  may_find?: string[]
  absent?: string[]
  absent_about?: { code: string; subject: Record<string, string> }[]
  at_most?: { code: string; confidence?: string; severity?: string }[]
  failures?: { match: Record<string, string | number>; cause: string[] }[]
  failures_total?: number
  records?: Record<string, number>
  formats?: Record<string, string[]>
  problems?: Record<string, [number, number]>
  without?: (Wanted & { drop: string[] })[]
  says?: string[]
  never_says?: string[]
}

/** Runs a case folder, and once more for each `without`. Answers what is not as expected. */
export async function judgeCase(folder: string): Promise<string[]> {
  const wanted = JSON.parse(readFileSync(join(folder, 'expect.json'), 'utf8')) as Wanted
  const wrong = await judge(folder, wanted)
  for (const less of wanted.without ?? []) {
    const copy = mkdtempSync(join(tmpdir(), 'wirecase-case-'))
    try {
      cpSync(folder, copy, { recursive: true })
      for (const f of less.drop) for (const name of [f, `${f}.gz`]) rmSync(join(copy, name), { recursive: true, force: true })
      wrong.push(...(await judge(copy, { args: wanted.args, ...less })).map(w => `without ${less.drop.join(', ')}: ${w}`))
    } finally {
      rmSync(copy, { recursive: true, force: true })
    }
  }
  return wrong
}

async function judge(folder: string, wanted: Wanted): Promise<string[]> {
  const { report } = await analyzeBundle(
    await openBundle(
      (wanted.args ?? ['input']).map(a => join(folder, a)),
      null,
    ),
  )
  const text = renderers.json(report, { color: false, width: 120, prefix: '' })
  const code = exitCode(report, { failOn: 'low', minConfidence: 'possible' })
  return [
    ...(wanted.exit && !wanted.exit.includes(code) ? [`exit ${code}, not ${wanted.exit.join(' or ')}`] : []),
    ...verdicts(report, wanted),
    ...findings(report, wanted),
    ...failures(report, wanted),
    ...sources(report, wanted),
    ...(wanted.says ?? []).filter(s => !text.toLowerCase().includes(s.toLowerCase())).map(s => `never says ${JSON.stringify(s)}`),
    ...(wanted.never_says ?? []).filter(s => text.toLowerCase().includes(s.toLowerCase())).map(s => `says ${JSON.stringify(s)}`),
    ...spans(folder, wanted, report),
  ]
}

function verdicts(report: Report, wanted: Wanted): string[] {
  const of = (rule: string) => report.verdicts.find(v => v.rule === rule)
  return [
    ...Object.entries(wanted.verdicts ?? {})
      .filter(([rule, allowed]) => !allowed.includes(of(rule)?.verdict ?? ''))
      .map(([rule, allowed]) => `${rule} is ${of(rule)?.verdict}, not ${allowed.join(' or ')}`),
    ...Object.entries(wanted.checked ?? {})
      .filter(([rule, least]) => (of(rule)?.checked ?? -1) < least)
      .map(([rule, least]) => `${rule} checked ${of(rule)?.checked}, not at least ${least}`),
  ]
}

const hasPrefix = (code: string, wanted: string): boolean => code === wanted || code.startsWith(`${wanted}.`)
const contains = (key: string, have: string | undefined, want: string): boolean => have !== undefined && (key.endsWith('connection_id') ? have === want : have.includes(want))
const ends = (path: string, want: string): boolean => path.endsWith(want) || path.endsWith(`${want}.gz`)
const subjectOf = (f: Finding): Record<string, string | undefined> => f.subject

function findings(report: Report, wanted: Wanted): string[] {
  const wrong: string[] = []
  const used = new Set<Finding>()
  for (const want of wanted.findings ?? []) {
    const near: string[] = []
    const hit = report.findings.find(f => {
      if (used.has(f) || !want.code.some(c => hasPrefix(f.code, c))) return false
      const why = differences(f, want)
      if (why.length > 0) near.push(why.join('; '))
      return why.length === 0
    })
    if (hit) used.add(hit)
    else wrong.push(`no ${want.code.join(' or ')} ${JSON.stringify(want.subject ?? {})}${near[0] ? ` (nearest: ${near[0]})` : ''}`)
  }
  const real = report.findings.filter(f => f.severity !== 'info')
  for (const a of wanted.absent ?? []) for (const f of real) if (f.code.startsWith(a)) wrong.push(`finds ${f.code}: ${f.title}`)
  for (const a of wanted.absent_about ?? [])
    for (const f of real)
      if (f.code.startsWith(a.code) && Object.entries(a.subject).every(([k, v]) => contains(k, subjectOf(f)[k], v)))
        wrong.push(`finds ${f.code} about ${JSON.stringify(a.subject)}`)
  if (wanted.only) for (const f of real) if (!used.has(f) && !(wanted.may_find ?? []).some(c => hasPrefix(f.code, c))) wrong.push(`finds ${f.code} too: ${f.title}`)
  for (const a of wanted.at_most ?? [])
    for (const f of report.findings) {
      if (!f.code.startsWith(a.code)) continue
      if (a.confidence && CONFIDENCES.indexOf(f.confidence.level) > (CONFIDENCES as readonly string[]).indexOf(a.confidence)) wrong.push(`${f.code} is ${f.confidence.level}`)
      if (a.severity && SEVERITIES.indexOf(f.severity) > (SEVERITIES as readonly string[]).indexOf(a.severity)) wrong.push(`${f.code} is ${f.severity}`)
    }
  return wrong
}

function differences(f: Finding, want: NonNullable<Wanted['findings']>[number]): string[] {
  const spans = f.claims.flatMap(c => c.evidence)
  return [
    ...(want.confidence && !want.confidence.includes(f.confidence.level) ? [`confidence ${f.confidence.level}`] : []),
    ...Object.entries(want.subject ?? {})
      .filter(([k, v]) => !contains(k, subjectOf(f)[k], v))
      .map(([k, v]) => `subject.${k} is ${subjectOf(f)[k]}, not ${v}`),
    ...(want.count !== undefined && f.count !== want.count ? [`count ${f.count}`] : []),
    ...(want.cites ?? [])
      .filter(c => !spans.some(s => ends(s.path, c.path) && (c.line === undefined || s.line === c.line) && (c.frame === undefined || s.frame === c.frame)))
      .map(c => `does not cite ${c.path}:${c.line ?? c.frame ?? ''}`),
  ]
}

function failures(report: Report, wanted: Wanted): string[] {
  const matches = (have: unknown, want: string | number): boolean =>
    typeof want === 'number' ? Number(have) === want : have !== null && have !== undefined && String(have).includes(want)
  return [
    ...(wanted.failures_total !== undefined && report.failures.total !== wanted.failures_total ? [`${report.failures.total} failures, not ${wanted.failures_total}`] : []),
    ...(wanted.failures ?? []).flatMap(w => {
      const hits = report.failures.list.filter(f => Object.entries(w.match).every(([k, v]) => matches((f as unknown as Record<string, unknown>)[k], v)))
      if (hits.length === 0) return [`no failure ${JSON.stringify(w.match)}`]
      return hits.some(h => w.cause.some(c => hasPrefix(h.cause, c)))
        ? []
        : [`failure ${JSON.stringify(w.match)} is ${hits.map(h => h.cause).join(', ')}, not ${w.cause.join(' or ')}`]
    }),
  ]
}

function sources(report: Report, wanted: Wanted): string[] {
  const of = (path: string) => report.sources.find(s => ends(s.path, path))
  const problems = (path: string) => report.problems.filter(p => p.source === of(path)?.id).reduce((n, p) => n + p.count, 0)
  return [
    ...Object.entries(wanted.records ?? {})
      .filter(([p, n]) => (of(p)?.records ?? 0) < n)
      .map(([p, n]) => `${p}: ${of(p)?.records} records, not ${n}`),
    ...Object.entries(wanted.formats ?? {})
      .filter(([p, ids]) => !ids.includes(of(p)?.format ?? ''))
      .map(([p, ids]) => `${p} is ${of(p)?.format}, not ${ids.join(' or ')}`),
    ...Object.entries(wanted.problems ?? {})
      .filter(([p, [least, most]]) => problems(p) < least || problems(p) > most)
      .map(([p, [least, most]]) => `${p}: ${problems(p)} problems, not ${least} to ${most}`),
  ]
}

/** Every cited span must hash to what the report says, read from the file itself. */
function spans(folder: string, wanted: Wanted, report: Report): string[] {
  const wrong: string[] = []
  for (const f of report.findings)
    for (const c of f.claims) {
      if (c.evidence.length === 0) wrong.push(`${f.code}: a claim without evidence: ${c.says}`)
      for (const e of c.evidence) {
        const file = [...(wanted.args ?? ['input'])].map(a => join(folder, a, e.path)).find(p => existsSync(p) && statSync(p).isFile())
        if (!file || file.endsWith('.gz')) continue
        const bytes = readFileSync(file).subarray(e.bytes[0], e.bytes[1])
        if (createHash('sha256').update(bytes).digest('hex') !== e.sha256) wrong.push(`${f.code}: ${e.path} ${e.bytes.join('-')} does not hash to what the report says`)
      }
    }
  return wrong
}
