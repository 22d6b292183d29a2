/** Writing to stdout without losing the end of it. */

/** Resolves when the text was handed to the system. */
export function write(text: string): Promise<void> {
  return new Promise((done, failed) => {
    process.stdout.write(text, e => (e && (e as NodeJS.ErrnoException).code !== 'EPIPE' ? failed(e) : done()))
  })
}

/** Colours are for terminals, unless `NO_COLOR`, `FORCE_COLOR` or `--color` say otherwise. */
export function useColor(asked: string | undefined, stream: { isTTY?: boolean }): boolean {
  if (asked === 'always') return true
  if (asked === 'never') return false
  if (process.env.NO_COLOR) return false
  const force = process.env.FORCE_COLOR
  if (force !== undefined) return force !== '0' && force !== 'false'
  return stream.isTTY === true
}
