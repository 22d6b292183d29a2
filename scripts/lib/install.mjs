/** Installs the dependencies, where they are missing or older than package-lock.json. */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { at, npm, say } from './project.mjs'

export function install() {
  if (installed()) return
  say('wirecase: installing dependencies (npm ci)')
  // Settings of an npm that runs this script reach us through the environment: the arguments say again what must not be lost.
  npm('ci', `--prefix=${at()}`, '--include=dev', '--include=optional', '--no-dry-run', '--no-global', '--loglevel=error')
}

/** npm writes node_modules/.package-lock.json last, so an install that was interrupted has none. */
function installed() {
  const marker = at('node_modules', '.package-lock.json')
  if (!existsSync(marker) || statSync(marker).mtimeMs < statSync(at('package-lock.json')).mtimeMs) return false
  const { dependencies, devDependencies } = JSON.parse(readFileSync(at('package.json'), 'utf8'))
  return Object.keys({ ...dependencies, ...devDependencies }).every(name => existsSync(at('node_modules', name, 'package.json')))
}
