/** Writing reports: to stdout without losing the end of it, to files whole or not at all. */
import { rename, rm, writeFile } from 'node:fs/promises'
import { UsageError } from './exit.js'

/** Writes a file beside and renames it when complete. Throws `UsageError` where that is not possible. */
export async function writeFileWhole(file: string, text: string): Promise<void> {
  const beside = `${file}.${process.pid}.part`
  try {
    await writeFile(beside, text)
    await rename(beside, file)
  } catch (e) {
    await rm(beside, { force: true })
    throw new UsageError(`--output ${file} cannot be written: ${(e as NodeJS.ErrnoException).code ?? e}`, 'name a file in a folder that exists and can be written')
  }
}

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
