/** Where the project is, and how its scripts run programs and speak. Only Node: this runs before anything is installed. */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
export const at = (...parts) => join(ROOT, ...parts)

/** Paths of the files below a folder of the project, relative to it, `/` between parts, in order. */
export function filesOf(folder) {
  if (!existsSync(at(folder))) return []
  const entries = readdirSync(at(folder), { recursive: true, withFileTypes: true })
  const paths = entries.filter(e => !e.isDirectory()).map(e => join(e.parentPath ?? e.path, e.name))
  return paths.map(p => p.slice(at(folder).length + 1).replaceAll('\\', '/')).sort()
}

/** The files of src/ that are built: TypeScript that is no test. */
export const sources = () => filesOf('src').filter(f => f.endsWith('.ts') && !f.endsWith('.test.ts'))

/** A step that failed and has already said why. */
export class Failed extends Error {}

/** stdout belongs to the report: what scripts have to say goes to stderr. */
export const say = text => process.stderr.write(`${text}\n`)

/** Runs a JavaScript program with the running Node in the project's folder, all it prints to stderr. Throws `Failed` unless it exits 0. */
export const node = (program, ...args) => run(process.execPath, [program, ...args], ['ignore', 2, 2])

/** The same for a program whose output is what the user asked for. */
export const show = (program, ...args) => run(process.execPath, [program, ...args], 'inherit')

/** Runs npm: the one that started this script, or the one on the PATH. */
export function npm(...args) {
  const started = process.env.npm_execpath
  if (started?.endsWith('npm-cli.js')) node(started, ...args)
  else run('npm', args, ['ignore', 2, 2])
}

function run(program, args, stdio) {
  const { status, signal, error } = spawnSync(program, args, { cwd: ROOT, stdio })
  if (status !== 0) throw new Failed(error?.message ?? `${[program, ...args].join(' ')} ended with ${signal ?? status}`)
}

/** Runs a script's main function: a failure is one line and exit code 1. */
export async function main(work) {
  try {
    await work()
  } catch (e) {
    if (!(e instanceof Failed)) throw e
    say(`wirecase: error: ${e.message}`)
    process.exitCode = 1
  }
}
