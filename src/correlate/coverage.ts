/** What each source covers, its gaps, and what was not understood. */
import { type ClockOffset, offsetMs } from './clocks.js'
import type { Correlation } from './correlate.js'

/** Writes `problem` rows and the `coverage` of every source that has times. */
export function writeProblems({ writers, ingested }: Correlation): void {
  const problem = writers.derived('problem')
  for (const p of ingested.problems) {
    problem.begin()
    problem.source(p.source)
    problem.kind(p.kind)
    problem.says(p.says)
    problem.line(p.span.line === null ? null : BigInt(p.span.line))
    problem.byte_start(BigInt(p.span.byteStart))
    problem.byte_end(BigInt(p.span.byteEnd))
  }
  const coverage = writers.derived('coverage')
  for (const s of ingested.sources) {
    if (s.first === null) continue
    coverage.begin()
    coverage.source(s.id)
    coverage.what('covers')
    coverage.t_from(s.first)
    coverage.t_to(s.last)
  }
  for (const l of ingested.lost) {
    coverage.begin()
    coverage.source(l.source)
    coverage.what('gap')
    coverage.t_from(l.from)
    coverage.t_to(l.to)
    coverage.lost(BigInt(l.events))
    coverage.why(l.why)
  }
}

/** Writes the measured offsets. */
export function writeClocks({ writers }: Correlation, clocks: readonly ClockOffset[]): void {
  const clock = writers.derived('clock')
  for (const c of clocks) {
    clock.begin()
    clock.a(c.a)
    clock.b(c.b)
    clock.offset_ms(offsetMs(c.offset))
    clock.error_ms(offsetMs(c.error))
    clock.anchors(c.anchors)
  }
}
