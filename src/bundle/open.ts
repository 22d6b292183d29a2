/** From the user's paths to the members of the bundle, in the byte order of their canonical paths. */
import { createReadStream, type Dirent, type Stats } from 'node:fs'
import { type FileHandle, lstat, open, readdir, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { limits } from '../limits.js'
import { gunzipped, isGzip, type Raw } from './gunzip.js'
import { BundleProblem, type Member, UnreadablePath } from './member.js'

export interface Bundle {
  readonly members: readonly Member[]
  /** What was passed over: links that lead out, devices, sockets. */
  readonly skipped: readonly { readonly path: string; readonly why: string }[]
  /** The folder that member paths are relative to. */
  readonly base: string
}

/** Standard input, and where to keep what does not fit in memory. */
export interface Stdin {
  readonly stream: NodeJS.ReadableStream
  readonly spoolFile: string
}

interface Found {
  readonly file: string
  readonly path: string
}

/**
 * Lists the members of files, folders and `-` (standard input). Throws `UnreadablePath` for an argument that does not
 * exist or cannot be read. A file that is named twice is one member.
 */
export async function openBundle(paths: readonly string[], stdin: Stdin | null): Promise<Bundle> {
  const named = paths.filter(p => p !== '-').map(p => resolve(p))
  const kinds = await Promise.all(named.map(statOf))
  const base = commonFolder(named.map((p, i) => (kinds[i]?.isDirectory() ? p : dirname(p))))
  const found = new Map<string, Found>()
  const skipped: { path: string; why: string }[] = []
  const roots = await Promise.all(named.filter((_, i) => kinds[i]?.isDirectory()).map(p => realpath(p)))
  for (const [i, path] of named.entries()) {
    if (kinds[i]?.isDirectory()) await walk(path, { base, roots, found, skipped })
    else if (kinds[i]?.isFile()) found.set(path, { file: path, path: label(base, path) })
    else throw new UnreadablePath(path, 'not a file or folder')
  }
  const members: Member[] = []
  for (const f of found.values()) {
    await readable(f.file)
    members.push({ path: f.path, bytes: () => decompressed(fileBytes(f.file)) })
  }
  if (paths.includes('-')) {
    if (!stdin) throw new UnreadablePath('-', 'there is no standard input')
    members.push(await spool(stdin, members.some(m => m.path === 'stdin') ? '-' : 'stdin'))
  }
  members.sort((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)))
  return { members, skipped: skipped.sort((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path))), base }
}

async function statOf(path: string): Promise<Stats> {
  try {
    return await stat(path)
  } catch (e) {
    throw new UnreadablePath(path, reasonOf(e))
  }
}

async function readable(file: string): Promise<void> {
  try {
    await (await open(file)).close()
  } catch (e) {
    throw new UnreadablePath(file, reasonOf(e))
  }
}

function reasonOf(e: unknown): string {
  const code = (e as NodeJS.ErrnoException).code
  return code === 'ENOENT' ? 'no such file or folder' : code === 'EACCES' ? 'permission denied' : String(code ?? e)
}

interface Walk {
  readonly base: string
  /** The folders that are walked, without links. */
  readonly roots: readonly string[]
  readonly found: Map<string, Found>
  readonly skipped: { path: string; why: string }[]
}

async function walk(folder: string, w: Walk): Promise<void> {
  let entries: Dirent[]
  try {
    entries = await readdir(folder, { withFileTypes: true })
  } catch (e) {
    throw new UnreadablePath(folder, reasonOf(e))
  }
  entries.sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)))
  for (const e of entries) {
    const path = join(folder, e.name)
    if (e.name.includes('\ufffd') && !(await exists(path))) w.skipped.push({ path: label(w.base, path), why: 'a name that is not UTF-8' })
    else if (e.isDirectory()) await walk(path, w)
    else if (e.isFile()) w.found.set(path, { file: path, path: label(w.base, path) })
    else if (e.isSymbolicLink()) await link(path, w)
    else w.skipped.push({ path: label(w.base, path), why: 'not a file' })
    if (w.found.size > limits.members) throw new UnreadablePath(folder, `more than ${limits.members} files`)
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path)
    return true
  } catch {
    return false
  }
}

/** A link counts where it leads to a file below a folder that is walked; others are passed over and said. */
async function link(path: string, w: Walk): Promise<void> {
  try {
    const target = await realpath(path)
    const inside = w.roots.some(root => target.startsWith(root.endsWith(sep) ? root : root + sep))
    if (inside && (await lstat(target)).isFile()) return // the target itself is walked
    w.skipped.push({ path: label(w.base, path), why: inside ? 'a link to what is no file' : 'a link that leads out of the bundle' })
  } catch {
    w.skipped.push({ path: label(w.base, path), why: 'a link that leads nowhere' })
  }
}

const label = (base: string, path: string): string => relative(base, path).split(sep).join('/') || basename(path)

function commonFolder(folders: readonly string[]): string {
  const [first, ...rest] = folders
  if (first === undefined) return resolve('.')
  let parts = first.split(sep)
  for (const f of rest) {
    const other = f.split(sep)
    let n = 0
    while (n < parts.length && parts[n] === other[n]) n++
    parts = parts.slice(0, n)
  }
  return parts.join(sep) || sep
}

/** Passes bytes through, gunzipped where they are gzip. */
async function* decompressed(raw: Raw): AsyncGenerator<Buffer> {
  let head: Buffer | null = Buffer.alloc(0)
  let total = 0
  for await (const chunk of raw()) {
    total += chunk.length
    if (total > limits.member) throw new BundleProblem('limit', `more than ${limits.member} bytes`)
    if (head === null) {
      yield chunk
      continue
    }
    head = Buffer.concat([head, chunk])
    if (isGzip(head)) break
    if (head.length < 3) continue
    yield head
    head = null
  }
  if (head !== null && isGzip(head)) yield* gunzipped(raw)
  else if (head !== null && head.length > 0) yield head
}

/** The bytes of a file. A disk that fails, or a file that goes away while it is read, ends it as a cut does. */
const fileBytes = (file: string): Raw =>
  async function* () {
    try {
      yield* createReadStream(file, { highWaterMark: limits.block }) as AsyncIterable<Buffer>
    } catch (e) {
      throw new BundleProblem('truncated', `reading stopped: ${reasonOf(e)}`)
    }
  }

/** Standard input can be read once: it is held in memory up to `limits.spool`, beyond that in one private file. */
async function spool(stdin: Stdin, path: string): Promise<Member> {
  const held: Buffer[] = []
  let size = 0
  let file: FileHandle | null = null
  try {
    for await (const chunk of stdin.stream as AsyncIterable<Buffer | string>) {
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
      size += bytes.length
      if (!file && size > limits.spool) {
        file = await open(stdin.spoolFile, 'wx', 0o600)
        for (const h of held.splice(0)) await file.write(h)
      }
      if (file) await file.write(bytes)
      else held.push(bytes)
      if (size > limits.member) break
    }
  } finally {
    await file?.close()
  }
  const raw: Raw = file
    ? fileBytes(stdin.spoolFile)
    : async function* () {
        yield* held
      }
  return { path, bytes: () => decompressed(raw) }
}
