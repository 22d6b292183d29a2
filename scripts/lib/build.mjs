/** Compiles src/ to dist/, where dist/ is not what the sources give. */
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { at, filesOf, node, say, sources } from './project.mjs'

/** Lives in node_modules, which a new compiler or new types replace: then dist/ is built again. */
const STAMP = at('node_modules', '.cache', 'wirecase', 'build.json')

export function build() {
  const copied = filesOf('src').filter(f => f.endsWith('.schema.json'))
  const compiled = sources()
  const state = () => ({ inputs: digest('src', [...compiled, ...copied, '../tsconfig.json']), outputs: digest('dist', filesOf('dist')) })
  if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === JSON.stringify(state())) return
  say('wirecase: building')
  node(at('node_modules', 'typescript', 'bin', 'tsc'), '-p', at('tsconfig.json'), '--noEmitOnError')
  const made = new Set([...copied, ...compiled.flatMap(f => ['.js', '.d.ts'].map(end => f.replace(/\.ts$/, end)))])
  for (const f of filesOf('dist').filter(f => !made.has(f))) rmSync(at('dist', f))
  for (const f of copied) {
    mkdirSync(dirname(at('dist', f)), { recursive: true })
    copyFileSync(at('src', f), at('dist', f))
  }
  mkdirSync(dirname(STAMP), { recursive: true })
  writeFileSync(STAMP, JSON.stringify(state()))
}

/** A hash of the names and contents of files of a folder. */
function digest(folder, files) {
  const hash = createHash('sha256')
  for (const f of files) {
    const bytes = readFileSync(at(folder, f))
    hash.update(`${f}\0${bytes.length}\0`).update(bytes)
  }
  return hash.digest('hex')
}
