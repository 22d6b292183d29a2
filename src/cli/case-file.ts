/** `--case FILE`: the joined store, kept. Written beside and renamed when complete; reused where it holds the same evidence. */
import { createHash } from 'node:crypto'
import { copyFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { BundleProblem, type Member } from '../bundle/member.js'
import type { Bundle } from '../bundle/open.js'
import type { Report } from '../model/report.js'
import { UsageError } from './exit.js'
import { openCase } from './open-case.js'
import { privateFolder } from './private-folder.js'
import { runKey } from './run-key.js'

export interface CaseFile {
  /** The report that the file holds for this evidence and these options, or null. */
  readonly report: Report | null
  /** Moves the finished store to the file. */
  readonly write: (report: Report) => { file: string; done: () => Promise<void> }
}

/** Throws `UsageError` where the file exists and holds other evidence or was made with other options. */
export async function caseFile(file: string, bundle: Bundle, run: Parameters<typeof runKey>[0]): Promise<CaseFile> {
  const write = () => ({ file, done: () => moveStore(file) })
  if (!(await exists(file))) return { report: null, write }
  const store = await openCase(file)
  try {
    const kept = await store.rows('SELECT path, sha256 FROM raw.source ORDER BY id')
    const now = await Promise.all(bundle.members.map(async m => ({ path: m.path, sha256: await hashOf(m) })))
    const same = kept.length === now.length && now.every((m, i) => kept[i]?.path === m.path && kept[i]?.sha256 === m.sha256)
    const text = await store.meta('report')
    if (!same || text === null || (await store.meta('run')) !== runKey(run))
      throw new UsageError(`${file} holds ${same ? 'an analysis with other options' : 'other evidence'}`, 'name another case file, or remove this one')
    return { report: JSON.parse(text) as Report, write }
  } finally {
    store.close()
  }
}

async function exists(file: string): Promise<boolean> {
  try {
    await stat(file)
    return true
  } catch {
    return false
  }
}

async function hashOf(member: Member): Promise<string> {
  const hash = createHash('sha256')
  try {
    for await (const chunk of member.bytes()) hash.update(chunk)
  } catch (e) {
    if (!(e instanceof BundleProblem)) throw e
  }
  return hash.digest('hex')
}

async function moveStore(file: string): Promise<void> {
  const beside = `${file}.${process.pid}.part`
  try {
    await copyFile(join(privateFolder(), 'store.duckdb'), beside)
    await rename(beside, file)
  } catch (e) {
    await rm(beside, { force: true })
    throw new UsageError(`--case ${file} cannot be written: ${(e as NodeJS.ErrnoException).code ?? e}`, 'name a file in a folder that exists and can be written')
  }
}
