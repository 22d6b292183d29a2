/** One private folder per run (0700), for the store and its spill; removed on exit and on signals, as is what was not written to its end. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { UsageError } from './exit.js'

let folder: string | null = null
const unfinished = new Set<string>()

/** The folder, made when first asked for. Throws `UsageError` where there is no place for it. */
export function privateFolder(): string {
  try {
    folder ??= mkdtempSync(join(tmpdir(), 'wirecase-'))
  } catch (e) {
    throw new UsageError(`no private folder can be made in ${tmpdir()}: ${(e as NodeJS.ErrnoException).code ?? e}`, 'set TMPDIR to a folder that exists and can be written')
  }
  return folder
}

/** The name under which a file is written, beside its place, until it is complete. */
export function partOf(file: string): string {
  const part = `${file}.${process.pid}.part`
  unfinished.add(part)
  return part
}

/** The part has become the file. */
export const finished = (part: string): boolean => unfinished.delete(part)

/** Removes the folder and all in it, and files that were not completed. */
export function cleanUp(): void {
  for (const part of unfinished) rmSync(part, { force: true })
  unfinished.clear()
  if (folder) rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  folder = null
}
