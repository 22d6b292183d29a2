/**
 * `npm start` shows what a report looks like; `npm start -- ARGUMENT…` is the command line on the user's own evidence.
 * It runs in this process: signals, standard input, a closed pipe and the exit code are its own.
 */
import { at } from './lib/project.mjs'

const DEMO = ['analyze', 'fixtures/reports/envoy-gateway-4843', '--fail-on', 'none']

// scripts/setup.mjs may just have built it.
const { main } = await import('../dist/cli/main.js')
const given = process.argv.slice(2)
// npm runs scripts in the project's folder, but users name paths from where they are.
process.chdir(given.length === 0 ? at() : (process.env.INIT_CWD ?? process.cwd()))
await main([process.execPath, at('bin', 'wirecase.js'), ...(given.length === 0 ? DEMO : given)])
