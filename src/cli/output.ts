/** Writing reports: to stdout without losing the end of it, to files whole or not at all. */
import { copyFile, open, rename, stat, writeFile } from 'node:fs/promises'
import { UsageError } from './exit.js'
import { finished, partOf } from './private-folder.js'

/** A place that the user named and that can be written: what is written there appears when it is complete. */
export interface Place {
  write(text: string): Promise<void>
  copyFrom(file: string): Promise<void>
}

/** Makes sure that a file can be written before work is done for it. Throws `UsageError`. */
export async function placeFor(file: string, option: string): Promise<Place> {
  const part = partOf(file)
  try {
    if (await isFolder(file)) throw Object.assign(new Error(), { code: 'EISDIR' })
    await (await open(part, 'w')).close()
  } catch (e) {
    throw cannotWrite(file, option, e)
  }
  const put = async (fill: () => Promise<void>) => {
    try {
      await fill()
      await rename(part, file)
      finished(part)
    } catch (e) {
      throw isFull(e) ? e : cannotWrite(file, option, e)
    }
  }
  return { write: text => put(() => writeFile(part, text)), copyFrom: from => put(() => copyFile(from, part)) }
}

const isFolder = async (file: string): Promise<boolean> => (await stat(file).catch(() => null))?.isDirectory() ?? false

const cannotWrite = (file: string, option: string, e: unknown): UsageError =>
  new UsageError(`${option} ${file} cannot be written: ${(e as NodeJS.ErrnoException).code ?? e}`, 'name a file in a folder that exists and can be written')

/** No room is left on the disk. */
export const isFull = (e: unknown): boolean =>
  ['ENOSPC', 'EDQUOT'].includes((e as NodeJS.ErrnoException).code ?? '') || /no space left on device/i.test(String((e as Error)?.message))

/** Whoever read stdout has gone: nothing is left to do. */
export class ClosedPipe extends Error {}

/** Resolves when the text was handed to the system. Throws `ClosedPipe`. */
export function write(text: string): Promise<void> {
  return new Promise((done, failed) => {
    process.stdout.write(text, e => (e ? failed((e as NodeJS.ErrnoException).code === 'EPIPE' ? new ClosedPipe() : e) : done()))
  })
}

/** Colours are for terminals, unless `NO_COLOR`, `FORCE_COLOR` or `--color` say otherwise. */
export function useColor(asked: string | undefined, stream: { isTTY?: boolean }): boolean {
  if (asked === 'always') return true
  if (asked === 'never') return false
  if (process.env.NO_COLOR) return false
  const force = process.env.FORCE_COLOR
  if (force !== undefined) return force !== '0' && force !== 'false'
  return stream.isTTY === true && process.env.TERM !== 'dumb'
}
