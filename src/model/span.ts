/**
 * Where a piece of evidence lies in its member. Offsets count bytes of the decompressed member, before any charset
 * decoding, and are half-open; `line` and `frame` count from 1 and name the first line or frame of the evidence.
 * Slicing the member at the span gives back exactly the evidence.
 */
export interface Span {
  readonly byteStart: number
  readonly byteEnd: number
  readonly line: number | null
  readonly frame: number | null
}

/** A span together with the source (`source.id`) it lies in. */
export interface SourceSpan extends Span {
  readonly source: number
}

/** The span of a text line or of several, from the first one's number. */
export const lineSpan = (byteStart: number, byteEnd: number, line: number): Span => ({ byteStart, byteEnd, line, frame: null })
