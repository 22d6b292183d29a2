/** Runs the command line: in this process, or built and as a process of its own, as a user does. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { vi } from 'vitest'
import { run } from '../../src/cli/main.js'

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
export const cli = join(root, 'bin', 'wirecase.js')

/** The project's own build, which is no TypeScript. */
const build = async (): Promise<void> => ((await import(join(root, 'scripts/lib/build.mjs'))) as { build(): void }).build()

/** Builds dist/ where it is out of date: once, however many test files ask at the same time. */
export async function built(): Promise<void> {
  const lock = join(tmpdir(), `wirecase-build-${createHash('sha256').update(root).digest('hex').slice(0, 8)}`)
  for (;;) {
    try {
      mkdirSync(lock)
      break
    } catch {
      if (Date.now() - (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? 0) > 60_000) rmSync(lock, { recursive: true, force: true })
      else await sleep(100)
    }
  }
  try {
    await build()
  } finally {
    rmdirSync(lock)
  }
}

export interface Ended {
  /** null where a signal ended the process. */
  readonly code: number | null
  readonly signal: string | null
  readonly out: string
  readonly err: string
}

export interface Asked {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly stdin?: string | Buffer
}

/** What a test reads of the surroundings must not be the machine's. */
const PLAIN = { NO_COLOR: undefined, FORCE_COLOR: undefined, WIRECASE_DEBUG: undefined }

export function started(args: readonly string[], asked: Asked = {}): ChildProcess {
  return spawn(process.execPath, [cli, ...args], { cwd: asked.cwd ?? root, env: { ...process.env, ...PLAIN, ...asked.env } })
}

/** Collects what a process prints until it ends. */
export function ended(child: ChildProcess): Promise<Ended> {
  const out: Buffer[] = []
  const err: Buffer[] = []
  child.stdout?.on('data', (b: Buffer) => out.push(b))
  child.stderr?.on('data', (b: Buffer) => err.push(b))
  return new Promise((done, failed) => {
    child.on('error', failed)
    child.on('close', (code, signal) => done({ code, signal, out: Buffer.concat(out).toString(), err: Buffer.concat(err).toString() }))
  })
}

/** `wirecase ARGS`, to its end. */
export function wirecase(args: readonly string[], asked: Asked = {}): Promise<Ended> {
  const child = started(args, asked)
  child.stdin?.on('error', () => undefined)
  child.stdin?.end(asked.stdin ?? '')
  return ended(child)
}

/** The same in this process and much faster, for what needs neither signals nor pipes nor surroundings of its own. One at a time. */
export async function here(...args: readonly string[]): Promise<Ended> {
  let out = ''
  let err = ''
  const take = (put: (text: string) => void) =>
    ((text: string | Uint8Array, then?: unknown) => {
      put(String(text))
      if (typeof then === 'function') then()
      return true
    }) as typeof process.stdout.write
  const stdout = vi.spyOn(process.stdout, 'write').mockImplementation(take(text => (out += text)))
  const stderr = vi.spyOn(process.stderr, 'write').mockImplementation(take(text => (err += text)))
  try {
    const code = await run([process.execPath, cli, ...args])
    return { code, signal: null, out, err }
  } finally {
    stdout.mockRestore()
    stderr.mockRestore()
  }
}

/** A shell command in which `wirecase` is this project's. */
export function shell(command: string, asked: Asked = {}): Promise<Ended> {
  const text = `wirecase() { '${process.execPath}' '${cli}' "$@"; }\n${command}`
  return ended(spawn('bash', ['-c', text], { cwd: asked.cwd ?? root, env: { ...process.env, ...PLAIN, ...asked.env }, stdio: ['ignore', 'pipe', 'pipe'] }))
}

/** An error as the command line says it: one line and a hint, and nothing else. */
export const ERROR = /^wirecase: error: [^\n]+\nhint: [^\n]+\n$/

const folders: string[] = []

/** A folder of this test, with files. */
export function folder(files: Readonly<Record<string, string | Buffer>> = {}): string {
  const path = mkdtempSync(join(tmpdir(), 'wirecase-test-'))
  folders.push(path)
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(path, name)), { recursive: true })
    writeFileSync(join(path, name), content)
  }
  return path
}

/** Removes the folders of a test file. */
export function removeFolders(): void {
  for (const f of folders.splice(0)) rmSync(f, { recursive: true, force: true })
}

/** What is in a folder, by name. */
export const names = (path: string): string[] => readdirSync(path).sort()
