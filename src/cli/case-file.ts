/** `--case FILE`: the joined store, kept. Written beside and renamed when complete; reused where it holds the same evidence. */
import { createHash } from 'node:crypto'
import { lstat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { BundleProblem, type Member } from '../bundle/member.js'
import type { Bundle } from '../bundle/open.js'
import type { Report } from '../model/report.js'
import { Store, StoreError } from '../store/store.js'
import { UsageError } from './exit.js'
import { type Place, placeFor } from './output.js'
import { privateFolder } from './private-folder.js'
import { type Run, runKey } from './run-key.js'

/** The report that the file holds for this evidence and these options, or the place for a new file. */
export type CaseFile = { readonly report: Report } | { readonly place: Place }

/** Throws `UsageError` where the file exists and holds other evidence or was made with other options, or cannot be written. */
export async function caseFile(file: string, bundle: Bundle, run: Run): Promise<CaseFile> {
  if (!(await exists(file))) return { place: await placeFor(file, '--case') }
  const store = await Store.openCase(file, privateFolder())
  try {
    if (!(await sameMembers(store, bundle))) throw unlike(file, 'other evidence')
    const text = await store.meta('report')
    if (text === null || (await store.meta('run')) !== runKey(run, bundle)) throw unlike(file, 'an analysis with other options')
    return { report: await reportOf(text, file) }
  } finally {
    store.close()
  }
}

const unlike = (file: string, what: string): UsageError => new UsageError(`--case ${file} holds ${what}`, 'name another case file, or remove this one')

/** What is in the way of a new file counts, a link that leads nowhere too. */
const exists = (file: string): Promise<boolean> =>
  lstat(file).then(
    () => true,
    e => (e as NodeJS.ErrnoException).code !== 'ENOENT',
  )

async function sameMembers(store: Store, bundle: Bundle): Promise<boolean> {
  const kept = await store.rows('SELECT path, sha256 FROM raw.source ORDER BY id')
  if (kept.length !== bundle.members.length || !bundle.members.every((m, i) => kept[i]?.path === m.path)) return false
  for (const [i, m] of bundle.members.entries()) if (kept[i]?.sha256 !== (await hashOf(m))) return false
  return true
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

/** Case files come from others, too: what is no report is not shown as one. */
async function reportOf(text: string, file: string): Promise<Report> {
  const { Ajv } = await import('ajv')
  const valid = new Ajv({ strict: false }).compile(createRequire(import.meta.url)('../report/report.schema.json'))
  try {
    const report: unknown = JSON.parse(text)
    if (valid(report)) return report as Report
  } catch (e) {
    if (!(e instanceof SyntaxError)) throw e
  }
  throw new StoreError(`${file} holds no report of this version of wirecase`, 'name another case file, or remove this one')
}
