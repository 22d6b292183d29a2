/** Writes what derived rows rest on. */
import type { Writers } from '../ingest/writers.js'

/** A place in a source, 64-bit as the store has it. */
export interface Place {
  readonly source: number
  readonly line: bigint | null
  readonly frame: bigint | null
  readonly byteStart: bigint
  readonly byteEnd: bigint
}

/** Answers a function that cites one place for a row of a derived view. */
export function evidenceWriter(writers: Writers): (view: string, row: number, role: string, place: Place) => void {
  const w = writers.derived('evidence')
  return (view, row, role, place) => {
    w.begin()
    w.view(view)
    w.target(BigInt(row))
    w.role(role)
    w.source(place.source)
    w.line(place.line)
    w.frame(place.frame)
    w.byte_start(place.byteStart)
    w.byte_end(place.byteEnd)
  }
}
