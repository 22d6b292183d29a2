/** One stream of evidence: a file, or what a compressed file holds. Its path is a label, never a place to write to. */
export interface Member {
  /** Relative to the common folder of the arguments, `/` between parts. */
  readonly path: string
  /** The bytes, decompressed, in order; may be asked for more than once. Ends early with a `BundleProblem` as its last word. */
  bytes(): AsyncIterable<Buffer>
}

/** What was wrong with the container of a member, found while it was read. */
export class BundleProblem extends Error {
  constructor(
    readonly kind: 'bad-compression' | 'limit' | 'truncated',
    message: string,
  ) {
    super(message)
  }
}

/** A path that cannot be read: the user's mistake, exit code 2. */
export class UnreadablePath extends Error {
  constructor(
    readonly path: string,
    readonly reason: string,
  ) {
    super(`${path}: ${reason}`)
  }
}
