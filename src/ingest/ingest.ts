/** Reads the members of a bundle into batches of typed columns, in order. */
import { createHash } from 'node:crypto'
import { BundleProblem, type Member } from '../bundle/member.js'
import { accessLogFormatsOf } from '../formats/envoy-config/formats.js'
import type { Format, FormatId, MemberContext } from '../formats/format.js'
import { formats as allFormats } from '../formats/index.js'
import { storable } from '../formats/text/time.js'
import { limits } from '../limits.js'
import type { Batch } from '../model/batch.js'
import type { Instant, Nanoseconds } from '../model/instant.js'
import { DAMAGE, type EvidenceWriter, type ProblemKind, type Sink } from '../model/sink.js'
import type { Span } from '../model/span.js'
import { type EvidenceTable, type Table, tables } from '../model/tables.js'
import { describe } from './describe.js'
import type { Interner } from './interner.js'
import { Writers } from './writers.js'

/** What is known of a member once it was read. */
export interface Source {
  readonly id: number
  readonly path: string
  readonly format: FormatId
  bytes: number
  sha256: string
  records: number
  problems: number
  first: Nanoseconds | null
  last: Nanoseconds | null
  readonly guessed: Set<string>
  readonly zone: string
  /** For an unknown member: its first bytes, described. */
  readonly describes: string | null
  damaged: boolean
  /** Instance that logged it, where wrappers or path say so. */
  proxy: string | null
}

export interface Problem {
  readonly source: number
  readonly kind: ProblemKind
  readonly says: string
  readonly span: Span
}

export interface LostEvents {
  readonly source: number
  readonly from: Nanoseconds | null
  readonly to: Nanoseconds | null
  readonly events: number
  readonly why: string
}

export interface IngestOptions {
  /** `[source path or suffix, minutes east of UTC]` for times printed without a zone. */
  readonly zones: readonly (readonly [string, number])[]
  readonly accessLogFormats: readonly { readonly pattern: string | null; readonly format: string }[]
  readonly onProgress?: ((done: number, of: number, path: string) => void) | undefined
}

export interface Ingested {
  readonly sources: Source[]
  readonly problems: Problem[]
  readonly problemTotals: Map<string, number>
  readonly lost: LostEvents[]
}

/** How many problems of one kind a source keeps with their place; all are counted. */
const PROBLEMS_KEPT = 1000

/** How many things a source can be said to have wrong; what quotes the evidence may differ each time. */
const SAYINGS = 100

/** Reads all members. `onBatch` gets full batches as they come; `interner` gets the strings. */
export async function ingest(members: readonly Member[], interner: Interner, onBatch: (batch: Batch) => void, options: IngestOptions): Promise<Ingested> {
  const writers = new Writers(interner, onBatch)
  const plans = await recognise(members, options)
  const out: Ingested = { sources: [], problems: [], problemTotals: new Map(), lost: [] }
  for (const [i, member] of members.entries()) {
    options.onProgress?.(i, members.length, member.path)
    await readMember(member, i + 1, plans[i] as Plan, writers, out)
  }
  writers.flush()
  return out
}

/** How a member is read. */
interface Plan {
  readonly format: Format | null
  readonly context: MemberContext
  /** Of a member that no format reads: its first bytes, described. */
  readonly describes: string | null
}

/** Chooses the format of every member by its head. Heads are read one at a time, and again where needed: there may be a million. */
async function recognise(members: readonly Member[], options: IngestOptions): Promise<Plan[]> {
  const given = members.map(m => ({ path: m.path, reference: null, zoneMinutes: zoneOf(m.path, options), accessLogFormats: formatsOf(m.path, options) }))
  const first = await look(members, given, null)
  const configured = await configuredFormats(members, first.plans)
  if (configured.length === 0) return dated(first)
  // A log in a format that only the configuration knows is recognised now.
  const contexts = given.map(c => ({ ...c, accessLogFormats: [...new Set([...c.accessLogFormats, ...configured])] }))
  return dated(await look(members, contexts, first.plans))
}

interface Look {
  readonly plans: Plan[]
  readonly times: HeadTimes
}

const dated = ({ plans, times }: Look): Plan[] => {
  const reference = times.reference()
  return plans.map(p => ({ ...p, context: { ...p.context, reference } }))
}

async function look(members: readonly Member[], contexts: readonly MemberContext[], before: readonly Plan[] | null): Promise<Look> {
  const times = new HeadTimes()
  const plans: Plan[] = []
  for (const [i, member] of members.entries()) {
    const head = await bytesOf(member, limits.head)
    const context = contexts[i] as MemberContext
    const known = before?.[i]?.format
    const format = known?.id === 'envoy-config' ? known : choose(head, context)
    if (format) times.see(format, head, context)
    plans.push({ format, context, describes: format ? null : describe(head) })
  }
  return { plans, times }
}

/** The access-log formats that the bundle's own configuration of Envoy sets, each once. */
async function configuredFormats(members: readonly Member[], plans: readonly Plan[]): Promise<string[]> {
  const out = new Set<string>()
  for (const [i, member] of members.entries())
    if (plans[i]?.format?.id === 'envoy-config') for (const format of accessLogFormatsOf(await bytesOf(member, limits.unit))) out.add(format)
  return [...out].slice(0, CONFIGURED)
}

/** Each line of a log that no product's format reads is held against all of them. */
const CONFIGURED = 256

/** The first bytes of a member, as many as there are up to `most`. */
async function bytesOf(member: Member, most: number): Promise<Buffer> {
  const parts: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of member.bytes()) {
      parts.push(chunk)
      size += chunk.length
      if (size >= most) break
    }
  } catch (e) {
    if (!(e instanceof BundleProblem)) throw e
  }
  // A copy: a part of a block would hold on to all of it.
  return Buffer.from(Buffer.concat(parts).subarray(0, most))
}

/** Whether `--zone SOURCE=…` speaks of a member. */
export const zoneApplies = (path: string, source: string): boolean =>
  source === '*' || path === source || path.endsWith(`/${source}`) || path.endsWith(`/${source}.gz`) || path === `${source}.gz`
const zoneOf = (path: string, o: IngestOptions): number | null => o.zones.find(([p]) => zoneApplies(path, p))?.[1] ?? null

/** Whether `--access-log-format PATTERN=…` speaks of a member; without a pattern it speaks of all. */
export const formatApplies = (path: string, pattern: string | null): boolean => pattern === null || globMatches(path, pattern)
const formatsOf = (path: string, o: IngestOptions): string[] => o.accessLogFormats.filter(f => formatApplies(path, f.pattern)).map(f => f.format)

/** `*` stands for any run of characters; a pattern without `/` is held against the last part of the path. */
function globMatches(path: string, pattern: string): boolean {
  const parts = pattern.split('*')
  const text = pattern.includes('/') ? path : path.slice(path.lastIndexOf('/') + 1)
  if (parts.length === 1) return text === pattern || text === `${pattern}.gz`
  let at = 0
  for (const [i, part] of parts.entries()) {
    const found =
      i === 0
        ? text.startsWith(part)
          ? 0
          : -1
        : i === parts.length - 1
          ? text.length - part.length >= at && text.endsWith(part)
            ? text.length - part.length
            : -1
          : text.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return true
}

/** The format with the highest score; between equals the first of the registry, which is the more specific. */
function choose(head: Buffer, context: MemberContext): Format | null {
  let best: Format | null = null
  let score = 0
  for (const f of allFormats) {
    const s = f.sniff(head, context)
    const hinted = s > 0 && f.names.some(n => n.test(context.path)) ? s + 0.05 : s
    if (hinted > score) {
      best = f
      score = hinted
    }
  }
  return best
}

/** Tables whose times are those of the incident; objects also hold times of long before. */
const LIVE: ReadonlySet<string> = new Set(['flow', 'request', 'proxy_line', 'packet', 'session'])

/** The interval of times in the heads that needed no guess: of live records where there are any, else of events, else of facts. */
class HeadTimes {
  private readonly seen = new Map<string, { from: Nanoseconds; to: Nanoseconds }>()
  private readonly probe: Sink

  constructor() {
    const writers = { live: this.writer('live'), event: this.writer('event'), fact: this.writer('fact') }
    const rank = (table: string) => (LIVE.has(table) ? writers.live : table === 'event' ? writers.event : writers.fact)
    this.probe = new Proxy({}, { get: (_, key) => ((tables as Record<string, Table>)[String(key)]?.evidence ? rank(String(key)) : () => undefined) }) as Sink
  }

  see(format: Format, head: Buffer, context: MemberContext): void {
    format.open(context).parse({ bytes: head, byteStart: 0, line: 1, last: head.length < limits.head }, this.probe)
  }

  reference(): MemberContext['reference'] {
    return this.seen.get('live') ?? this.seen.get('event') ?? this.seen.get('fact') ?? null
  }

  private at(rank: string, ns: Nanoseconds): void {
    const r = this.seen.get(rank)
    this.seen.set(rank, r ? { from: ns < r.from ? ns : r.from, to: ns > r.to ? ns : r.to } : { from: ns, to: ns })
  }

  private writer(rank: string): unknown {
    const begin = (at: Instant | null) => {
      if (at && storable(at.ns) !== null && (at.guess === null || at.guess === 'zone')) this.at(rank, at.ns)
      return 0
    }
    const end = (value: unknown) => {
      if (typeof value === 'bigint' && storable(value) !== null) this.at(rank, value)
    }
    return new Proxy({}, { get: (_, key) => (key === 'begin' ? begin : key === 't_end' ? end : () => undefined) })
  }
}

async function readMember(member: Member, id: number, { format, context, describes }: Plan, writers: Writers, out: Ingested): Promise<void> {
  const source: Source = {
    id,
    path: member.path,
    format: format?.id ?? 'unknown',
    bytes: 0,
    sha256: '',
    records: 0,
    problems: 0,
    first: null,
    last: null,
    guessed: new Set(),
    zone: context.zoneMinutes === null ? 'utc' : zoneText(context.zoneMinutes),
    describes,
    damaged: false,
    proxy: null,
  }
  out.sources.push(source)
  const sink = new MemberSink(source, writers, out)
  const parser = format?.open(context) ?? null
  const hash = createHash('sha256')
  let carry: Buffer = Buffer.alloc(0)
  let start = 0
  let line = 1
  const feed = (bytes: Buffer, last: boolean) => {
    if (!parser) return
    const used = parser.parse({ bytes, byteStart: start, line, last }, sink.sink)
    line += countNewlines(bytes, used)
    start += used
    carry = bytes.subarray(used)
  }
  let container: BundleProblem | null = null
  try {
    for await (const chunk of member.bytes()) {
      hash.update(chunk)
      source.bytes += chunk.length
      feed(carry.length > 0 ? Buffer.concat([carry, chunk]) : chunk, false)
    }
  } catch (e) {
    if (!(e instanceof BundleProblem)) throw e
    container = e
  }
  feed(carry, true)
  if (container) sink.problem(container.kind, container.message, { byteStart: source.bytes, byteEnd: source.bytes, line, frame: null })
  source.sha256 = hash.digest('hex')
}

/** The sink of one member: gives rows their source and span, and counts. */
class MemberSink {
  readonly sink: Sink
  private readonly kept = new Map<ProblemKind, number>()
  private sayings = 0

  constructor(
    private readonly source: Source,
    writers: Writers,
    private readonly out: Ingested,
  ) {
    const evidence = {} as { -readonly [T in EvidenceTable]: EvidenceWriter<T> }
    for (const [name, table] of Object.entries(tables))
      if (table.evidence) {
        const writer = writers.evidence(name as EvidenceTable) as unknown as Record<string, unknown>
        const begin = writer.begin as (at: Instant | null) => number
        Object.assign(evidence, {
          [name]: Object.assign(Object.create(writer), {
            begin: (at: Instant | null) => {
              const time = at && storable(at.ns) !== null ? at : null
              this.see(time)
              return begin(time)
            },
          }),
        })
      }
    // Spelled out: a spread costs a microsecond, more than reading a packet.
    const place = ({ byteStart, byteEnd, line, frame }: Span) => {
      writers.span = { source: source.id, byteStart, byteEnd, line, frame }
    }
    this.sink = Object.assign(evidence, {
      record: (span: Span) => {
        source.records++
        place(span)
      },
      records: (count: number) => {
        source.records += count
      },
      recall: place,
      problem: (kind: ProblemKind, says: string, span: Span) => this.problem(kind, says, span),
      skip: () => undefined,
      note: (kind: ProblemKind, says: string, span: Span) => this.keep(kind, says, span),
      covers: (from: Instant, to: Instant) => {
        this.see(from)
        this.see(to)
      },
      lost: (_: Span, from: Instant | null, to: Instant | null, events: number, why: string) => {
        this.out.lost.push({ source: source.id, from: from?.ns ?? null, to: to?.ns ?? null, events, why })
      },
    }) as unknown as Sink
  }

  private see(at: Instant | null): void {
    if (!at) return
    const s = this.source
    if (s.first === null || at.ns < s.first) s.first = at.ns
    if (s.last === null || at.ns > s.last) s.last = at.ns
    if (at.guess) for (const g of at.guess.split(',')) s.guessed.add(g)
  }

  problem(kind: ProblemKind, says: string, span: Span): void {
    this.source.problems++
    if (DAMAGE.has(kind)) this.source.damaged = true
    this.keep(kind, says, span)
  }

  private keep(kind: ProblemKind, says: string, span: Span): void {
    const { problemTotals, problems } = this.out
    const keyOf = (text: string) => `${this.source.id} ${kind} ${text}`
    const told = problemTotals.has(keyOf(says)) || this.sayings < SAYINGS ? says : 'more problems of this kind'
    const key = keyOf(told)
    const total = problemTotals.get(key) ?? 0
    problemTotals.set(key, total + 1)
    if (total === 0) this.sayings++
    const n = (this.kept.get(kind) ?? 0) + 1
    this.kept.set(kind, n)
    // The first of its sort is kept in any case: the report names its place.
    if (n <= PROBLEMS_KEPT || total === 0) problems.push({ source: this.source.id, kind, says: told, span })
  }
}

const zoneText = (minutes: number): string => {
  const m = Math.abs(minutes)
  return minutes === 0 ? 'utc' : `${minutes < 0 ? '-' : '+'}${String(Math.floor(m / 60)).padStart(2, '0')}:${String(m % 60).padStart(2, '0')}`
}

function countNewlines(b: Buffer, to: number): number {
  let n = 0
  for (let i = b.indexOf(10); i >= 0 && i < to; i = b.indexOf(10, i + 1)) n++
  return n
}
