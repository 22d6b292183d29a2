import type { Block, Parser } from '../formats/format.js'
import type { ProblemKind, Sink } from '../model/sink.js'
import type { Span } from '../model/span.js'
import { Engine } from './engine.js'

/** More bytes are needed to tell. */
export const MORE = 0
/** No record of this kind lies here. */
export const NOT_HERE = -1

/**
 * Cuts a capture into its records and hands frames to the engine. After damage it looks for the next place where records
 * certainly go on; what lies between is one problem.
 */
export abstract class RecordReader implements Parser {
  protected readonly engine = new Engine()
  protected sink!: Sink
  /** Offset of the block at hand in the member. */
  protected base = 0
  private started = false
  /** Where the region began that is not read, and why. */
  private damageFrom = -1
  private damage = ''
  /** The file as a whole is not read. */
  private refused = false

  atStart(): boolean {
    return !this.started
  }

  parse(block: Block, sink: Sink): number {
    this.sink = sink
    this.engine.use(sink)
    this.base = block.byteStart
    const b = block.bytes
    let at = 0
    while (at < b.length) {
      if (this.refused) at = b.length
      const next = at < b.length ? this.step(b, at, block.last) : at
      if (next === at) break
      at = next
    }
    if (!block.last) return at
    this.end(b, at)
    return b.length
  }

  /** Reads or skips what lies at `at` and answers where to go on: `at` itself if more bytes are needed. */
  private step(b: Buffer, at: number, last: boolean): number {
    if (this.damageFrom >= 0) return this.seek(b, at, last)
    const size = this.measure(b, at)
    if (size === NOT_HERE) {
      this.damageFrom = this.base + at
      return at + 1
    }
    if (size === MORE || at + size > b.length) return last ? this.pass(b, at) : at
    this.started = true
    this.read(b, at, size)
    return at + size
  }

  /** The record at `at` does not fit the file: its length is wrong if others follow where it should be, else its end is missing. */
  private pass(b: Buffer, at: number): number {
    for (let next = at + 1; next < b.length; next++) {
      if (this.certain(b, next, true) <= 0) continue
      this.damageFrom = this.base + at
      this.damage = 'a record longer than the file'
      this.report(next)
      return next
    }
    return at
  }

  private seek(b: Buffer, from: number, last: boolean): number {
    for (let at = from; at < b.length; at++) {
      const found = this.certain(b, at, last)
      if (found === MORE && !last) return at
      if (found <= 0) continue
      this.report(at)
      return at === from ? this.step(b, at, last) : at
    }
    return b.length
  }

  private report(at: number): void {
    const from = this.damageFrom - this.base
    this.problem('bad-record', this.damage, from, at - from, null)
    this.damageFrom = -1
  }

  private end(b: Buffer, at: number): void {
    if (this.damageFrom >= 0) this.report(b.length)
    else if (at < b.length) this.problem('truncated', this.cutSays, at, b.length - at, null)
    this.engine.finish()
  }

  /** The span of `size` bytes from `at` in the block at hand. */
  protected span(at: number, size: number, frame: number | null): Span {
    return { byteStart: this.base + at, byteEnd: this.base + at + size, line: null, frame }
  }

  protected problem(kind: ProblemKind, says: string, at: number, size: number, frame: number | null): void {
    this.engine.flush()
    this.sink.problem(kind, says, this.span(at, size, frame))
  }

  protected skip(at: number, size: number): void {
    this.engine.flush()
    this.sink.skip(this.span(at, size, null))
  }

  protected note(kind: ProblemKind, says: string, at: number, size: number): void {
    this.sink.note(kind, says, this.span(at, size, null))
  }

  /** Says why no record lies here: what `measure` calls before it answers NOT_HERE. */
  protected broken(why: string): typeof NOT_HERE {
    this.damage = why
    return NOT_HERE
  }

  /** Gives the whole file up: nothing after this is looked at. */
  protected refuse(why: string): typeof NOT_HERE {
    this.refused = true
    return this.broken(why)
  }

  /** What to say of a last record of which the end is missing. */
  protected abstract readonly cutSays: string
  /** Size of the record at `at`, MORE or NOT_HERE. */
  protected abstract measure(b: Buffer, at: number): number
  /** A positive number if a record begins at `at` beyond doubt, MORE or NOT_HERE. */
  protected abstract certain(b: Buffer, at: number, last: boolean): number
  protected abstract read(b: Buffer, at: number, size: number): void
}
