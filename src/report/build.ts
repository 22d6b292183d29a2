/** Makes the report object from what was read, joined and judged. Cited bytes are read back here, once per source. */
import type { Member } from '../bundle/member.js'
import { offsetMs } from '../correlate/clocks.js'
import type { Joined } from '../correlate/correlate.js'
import type { Place } from '../correlate/evidence.js'
import { type Failure, innermost, placeOfFailure, statusOf } from '../correlate/failures.js'
import { type Excerpt, excerptKey, readExcerpts } from '../ingest/excerpts.js'
import type { Ingested, Source } from '../ingest/ingest.js'
import { limits } from '../limits.js'
import { GUESSES, isoOrNull } from '../model/instant.js'
import type { Claim, Evidence, FailureReport, Finding, Incident, Report, SourceReport } from '../model/report.js'
import type { Found, Outcome } from '../rules/run.js'
import { VERSION } from '../version.js'
import { incidents } from './incidents.js'
import { mask } from './mask.js'

export interface ReportInput {
  readonly members: readonly Member[]
  readonly skipped: readonly { readonly path: string; readonly why: string }[]
  readonly ingested: Ingested
  readonly joined: Joined
  readonly outcome: Outcome
  readonly overflowed: number
}

export async function buildReport(input: ReportInput): Promise<Report> {
  const { ingested, joined, outcome } = input
  const excerpts = await excerptsOf(input)
  const findings = outcome.findings.map(f => findingOf(f, ingested.sources, excerpts))
  return {
    schema: 'wirecase.report/1',
    tool: { name: 'wirecase', version: VERSION },
    sources: ingested.sources.map(sourceOf),
    verdicts: outcome.verdicts,
    incidents: incidents(outcome.findings) satisfies Incident[],
    findings,
    failures: failuresOf(joined, ingested.sources),
    owners: ownersOf(joined, outcome.findings),
    coverage: ingested.sources
      .filter(s => s.first !== null)
      .map(s => ({
        source: sourceId(s.id),
        node: null,
        from: isoOrNull(s.first),
        to: isoOrNull(s.last),
        gaps: ingested.lost.filter(l => l.source === s.id).map(l => ({ from: isoOrNull(l.from), to: isoOrNull(l.to), why: l.why })),
      })),
    clocks: clocksOf(ingested.sources, outcome.findings, joined),
    problems: problemsOf(input),
  }
}

const sourceId = (id: number): string => `s${id}`

function sourceOf(s: Source): SourceReport {
  return {
    id: sourceId(s.id),
    path: s.path,
    format: s.format,
    bytes: s.bytes,
    sha256: s.sha256,
    records: s.records,
    problems: s.problems,
    from: isoOrNull(s.first),
    to: isoOrNull(s.last),
    clock: { zone: s.zone, guessed: GUESSES.filter(g => s.guessed.has(g)) },
  }
}

type Excerpts = ReadonlyMap<number, ReadonlyMap<string, Excerpt>>

async function excerptsOf({ members, ingested, outcome }: ReportInput): Promise<Excerpts> {
  const cited = new Map<number, { byteStart: number; byteEnd: number }[]>()
  for (const f of outcome.findings)
    for (const c of f.claims)
      for (const p of places(c.places)) {
        const span = { byteStart: Number(p.byteStart), byteEnd: Number(p.byteEnd) }
        const list = cited.get(p.source)
        if (list) list.push(span)
        else cited.set(p.source, [span])
      }
  const out = new Map<number, ReadonlyMap<string, Excerpt>>()
  for (const [id, spans] of [...cited].sort(([a], [b]) => a - b)) {
    const source = ingested.sources.find(s => s.id === id)
    const member = members.find(m => m.path === source?.path)
    if (member) out.set(id, await readExcerpts(member, spans))
  }
  return out
}

/** The places that a claim cites: each once, in order, up to the limit. */
function places(all: readonly Place[]): Place[] {
  const seen = new Map<string, Place>()
  for (const p of all) seen.set(`${p.source}:${p.byteStart}-${p.byteEnd}`, p)
  return [...seen.values()].slice(0, limits.citations)
}

function findingOf(f: Found, sources: readonly Source[], excerpts: Excerpts): Finding {
  return {
    fingerprint: f.fingerprint,
    aliases: f.aliasFingerprints,
    rule: f.rule,
    code: f.code,
    severity: f.severity,
    confidence: f.confidence,
    title: f.title,
    count: f.count,
    subject: f.subject,
    interval: { from: isoOrNull(f.interval.from), to: isoOrNull(f.interval.to) },
    claims: f.claims.map((c): Claim => ({ says: c.says, evidence: places(c.places).map(p => evidenceOf(p, sources, excerpts)) })),
    controls: f.controls,
    rivals: f.rivals,
    missing: f.missing,
    advice: f.advice,
    references: f.references,
  }
}

function evidenceOf(p: Place, sources: readonly Source[], excerpts: Excerpts): Evidence {
  const span = { byteStart: Number(p.byteStart), byteEnd: Number(p.byteEnd) }
  const excerpt = excerpts.get(p.source)?.get(excerptKey(span))
  const { text, masked } = mask((excerpt?.text ?? '').slice(0, limits.excerpt))
  return {
    source: sourceId(p.source),
    path: sources.find(s => s.id === p.source)?.path ?? '',
    line: p.line === null ? null : Number(p.line),
    frame: p.frame === null ? null : Number(p.frame),
    bytes: [span.byteStart, span.byteEnd],
    sha256: excerpt?.sha256 ?? '',
    text,
    ...(masked ? { masked: true as const } : {}),
  }
}

function failuresOf(joined: Joined, sources: readonly Source[]): Report['failures'] {
  const all = joined.failures.list.filter(f => f.cause !== null)
  const unexplained = all.filter(f => f.cause === 'WC104.unknown').length
  const list = all.slice(0, limits.failuresListed)
  return {
    total: all.length,
    explained: all.length - unexplained,
    unexplained,
    requests: joined.failures.requests,
    omitted: all.length - list.length,
    list: list.map(f => failureOf(f, sources)),
  }
}

function failureOf(f: Failure, sources: readonly Source[]): FailureReport {
  const place = placeOfFailure(f)
  const status = statusOf(f)
  const inner = innermost(f)
  const path = sources.find(s => s.id === place.source)?.path ?? ''
  return {
    source: sourceId(place.source),
    path,
    line: place.line === null ? null : Number(place.line),
    t: isoOrNull(f.t),
    request_id: f.requestId,
    // An HTTP record always has a status: 0 is printed where no response was sent.
    status: status !== null ? String(status) : f.hops[0]?.kind === 'http' ? '0' : null,
    flags: inner?.flags ?? [],
    details: inner?.details ?? inner?.routerError ?? f.streams.at(-1)?.details ?? f.streams.at(-1)?.reason ?? f.backends.at(-1)?.error ?? null,
    upstream: upstreamText(inner?.upstreamHost ?? null) ?? f.backends.at(-1)?.backend ?? null,
    hops: f.hops.map(h => h.proxy ?? sources.find(s => s.id === h.place.source)?.path ?? ''),
    probe: f.probe,
    cause: f.cause ?? 'WC104.unknown',
    finding: f.finding,
  }
}

/** Of `envoy://LISTENER/IP:PORT` the address. */
const upstreamText = (host: string | null): string | null => host?.replace(/^envoy:\/\/[^/]*\//, '') ?? null

/** The owners of addresses that findings name. */
function ownersOf(joined: Joined, findings: readonly Found[]): Report['owners'] {
  const named = new Set<string>()
  for (const f of findings)
    for (const v of [f.subject.ip, f.subject.remote, f.subject.local]) {
      const ip = v && /^(?:\[([^\]]+)\]|([^:]+|[0-9a-f:]+))(?::\d+)?$/.exec(v)
      if (ip) named.add(ip[1] ?? ip[2] ?? '')
    }
  return joined.owners.all
    .filter(o => named.has(o.ip))
    .map(o => ({ ip: o.ip, owner: o.name, uid: o.uid, kind: o.kind, from: isoOrNull(o.from), to: isoOrNull(o.to), certain: o.certain }))
}

/** Measured offsets, and pairs of sources that one finding rests on without a measurement: those have 0 anchors. */
function clocksOf(sources: readonly Source[], findings: readonly Found[], joined: Joined): Report['clocks'] {
  const measured = joined.clocks.map(c => ({ pair: [c.a, c.b] as const, offset_ms: offsetMs(c.offset), error_ms: offsetMs(c.error), anchors: c.anchors }))
  const known = new Set(measured.map(m => m.pair.join(' ')))
  const assumed = new Set<string>()
  for (const f of findings) {
    const ids = [...new Set(f.claims.flatMap(c => c.places.map(p => p.source)))].filter(id => (sources.find(s => s.id === id)?.first ?? null) !== null).sort((a, b) => a - b)
    for (const a of ids) for (const b of ids) if (a < b && !known.has(`${a} ${b}`)) assumed.add(`${a} ${b}`)
  }
  const pairs = [...measured, ...[...assumed].map(p => ({ pair: p.split(' ').map(Number) as [number, number], offset_ms: 0, error_ms: offsetMs(joined.clockError), anchors: 0 }))]
  return pairs.sort((p, q) => p.pair[0] - q.pair[0] || p.pair[1] - q.pair[1]).map(({ pair, ...rest }) => ({ a: sourceId(pair[0]), b: sourceId(pair[1]), ...rest }))
}

function problemsOf({ ingested, skipped, overflowed }: ReportInput): Report['problems'] {
  const out: Report['problems'][number][] = []
  const firsts = new Map<string, (typeof ingested.problems)[number]>()
  for (const p of ingested.problems) {
    const key = `${p.source} ${p.kind} ${p.says}`
    if (!firsts.has(key)) firsts.set(key, p)
  }
  for (const [key, count] of [...ingested.problemTotals].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const first = firsts.get(key)
    if (!first) continue
    out.push({ source: sourceId(first.source), kind: first.kind, count, says: first.says, first: { line: first.span.line, bytes: [first.span.byteStart, first.span.byteEnd] } })
  }
  for (const s of ingested.sources)
    if (s.describes !== null)
      out.push({ source: sourceId(s.id), kind: 'unknown-format', count: 1, says: mask(s.describes).text, first: { line: null, bytes: [0, Math.min(s.bytes, 64)] } })
  for (const s of skipped) out.push({ source: s.path, kind: 'skipped', count: 1, says: s.why, first: { line: null, bytes: [0, 0] } })
  if (overflowed > 0)
    out.push({
      source: '',
      kind: 'limit',
      count: overflowed,
      says: `more than ${limits.dictionaryEntries} distinct strings: the rest is kept as text, and joins by it may be incomplete`,
      first: { line: null, bytes: [0, 0] },
    })
  return out
}
