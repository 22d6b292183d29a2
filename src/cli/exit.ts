/** Exit codes, the same in every format; precedence is that of the report contract. */
export const EXIT = { ok: 0, findings: 1, usage: 2, nothing: 3, incomplete: 4, fault: 70, interrupted: 130 } as const

/** A command line that cannot be carried out. */
export class UsageError extends Error {
  constructor(
    message: string,
    readonly hint: string,
  ) {
    super(message)
  }
}
