/** One private folder per run (0700), for the store and its spill; removed on exit and on signals. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

let folder: string | null = null

/** The folder, made when first asked for. */
export function privateFolder(): string {
  folder ??= mkdtempSync(join(tmpdir(), 'wirecase-'))
  return folder
}

/** Removes the folder and all in it. */
export function cleanUp(): void {
  if (folder) rmSync(folder, { recursive: true, force: true })
  folder = null
}
