/** From the user's paths to the members of the bundle, in the byte order of their canonical paths. */
import { createReadStream, createWriteStream } from 'node:fs'
import { lstat, open, readdir, realpath, stat } from 'node:fs/promises'
import { once } from 'node:events'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { createGunzip } from 'node:zlib'
import { limits } from '../limits.js'
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
  for (const [i, path] of named.entries()) {
    if (kinds[i]?.isDirectory()) await walk(path, base, found, skipped)
    else found.set(path, { file: path, path: label(base, path) })
  }
  const members: Member[] = []
  for (const f of found.values()) {
    await readable(f.file)
    members.push({ path: f.path, bytes: () => decompressed(createReadStream(f.file, { highWaterMark: limits.block })) })
  }
  if (paths.includes('-')) {
    if (!stdin) throw new UnreadablePath('-', 'there is no standard input')
    members.push(await spool(stdin))
  }
  members.sort((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)))
  return { members, skipped: skipped.sort((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path))), base }
}

async function statOf(path: string) {
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

async function walk(folder: string, base: string, found: Map<string, Found>, skipped: { path: string; why: string }[]): Promise<void> {
  let entries: import('node:fs').Dirent[]
  try {
    entries = await readdir(folder, { withFileTypes: true })
  } catch (e) {
    throw new UnreadablePath(folder, reasonOf(e))
  }
  entries.sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)))
  for (const e of entries) {
    const path = join(folder, e.name)
    if (e.isDirectory()) await walk(path, base, found, skipped)
    else if (e.isFile()) found.set(path, { file: path, path: label(base, path) })
    else if (e.isSymbolicLink()) await link(path, base, skipped)
    else skipped.push({ path: label(base, path), why: 'not a file' })
    if (found.size > limits.members) throw new UnreadablePath(folder, `more than ${limits.members} files`)
  }
}

/** A link counts where it leads to a file below the same folder; others are passed over and said. */
async function link(path: string, base: string, skipped: { path: string; why: string }[]): Promise<void> {
  try {
    const target = await realpath(path)
    const inside = !relative(await realpath(base), target).startsWith('..')
    if (inside && (await lstat(target)).isFile()) return // the target itself is walked
    skipped.push({ path: label(base, path), why: 'a link that leads out of the bundle' })
  } catch {
    skipped.push({ path: label(base, path), why: 'a link that leads nowhere' })
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

const isGzip = (b: Buffer): boolean => b.length > 2 && b[0] === 0x1f && b[1] === 0x8b && b[2] === 8

/** Passes bytes through, gunzipped where they are gzip. Sizes are counted in the stream: zlib's own limit does not hold for streams. */
async function* decompressed(raw: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const chunks = raw[Symbol.asyncIterator]()
  let first = await chunks.next()
  let head: Buffer = first.done ? Buffer.alloc(0) : first.value
  while (!first.done && head.length < 3) {
    first = await chunks.next()
    if (!first.done) head = Buffer.concat([head, first.value])
  }
  const all = (async function* () {
    yield head
    for (let c = await chunks.next(); !c.done; c = await chunks.next()) yield c.value as Buffer
  })()
  if (!isGzip(head)) {
    let total = 0
    for await (const chunk of all) {
      total += chunk.length
      if (total > limits.member) throw new BundleProblem('limit', `more than ${limits.member} bytes`)
      yield chunk
    }
    return
  }
  yield* gunzipped(all)
}

async function* gunzipped(packed: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const gunzip = createGunzip({ chunkSize: 256 * 1024 })
  let read = 0
  let failed: unknown = null
  const feed = (async () => {
    for await (const chunk of packed) {
      read += chunk.length
      if (gunzip.destroyed) return
      if (!gunzip.write(chunk)) await Promise.race([once(gunzip, 'drain'), once(gunzip, 'close')])
    }
    gunzip.end()
  })().catch(e => {
    failed = e
    gunzip.destroy()
  })
  let total = 0
  try {
    for await (const chunk of gunzip as AsyncIterable<Buffer>) {
      total += chunk.length
      if (total > limits.member) throw new BundleProblem('limit', `decompresses to more than ${limits.member} bytes`)
      if (total > 1024 * 1024 && total > read * limits.ratio) throw new BundleProblem('limit', `decompresses to more than ${limits.ratio} times its size`)
      yield chunk
    }
  } catch (e) {
    if (e instanceof BundleProblem) throw e
    const code = (e as NodeJS.ErrnoException).code
    throw code === 'Z_BUF_ERROR' ? new BundleProblem('truncated', 'the gzip stream ends before its end') : new BundleProblem('bad-compression', `the gzip stream is damaged (${code ?? String(e)})`)
  } finally {
    gunzip.destroy()
    await feed
  }
  if (failed) throw failed
}

/** Standard input can be read once: it is held in memory up to `limits.spool`, beyond that in one private file. */
async function spool(stdin: Stdin): Promise<Member> {
  const held: Buffer[] = []
  let size = 0
  let file: ReturnType<typeof createWriteStream> | null = null
  for await (const chunk of stdin.stream as AsyncIterable<Buffer | string>) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    size += bytes.length
    if (!file && size > limits.spool) {
      file = createWriteStream(stdin.spoolFile, { mode: 0o600 })
      for (const h of held.splice(0)) file.write(h)
    }
    if (!file) held.push(bytes)
    else if (!file.write(bytes)) await once(file, 'drain')
  }
  if (file) {
    file.end()
    await once(file, 'finish')
    return { path: 'stdin', bytes: () => decompressed(createReadStream(stdin.spoolFile, { highWaterMark: limits.block })) }
  }
  return {
    path: 'stdin',
    bytes: () =>
      decompressed(
        (async function* () {
          yield* held
        })(),
      ),
  }
}
