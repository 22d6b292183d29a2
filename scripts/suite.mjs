/** `node scripts/suite.mjs NAME [VITEST-ARGUMENT…]`: runs the tests of test/NAME, or says what they lack and exits 0. */
import { createRequire } from 'node:module'
import { build } from './lib/build.mjs'
import { install } from './lib/install.mjs'
import { at, Failed, filesOf, main, show } from './lib/project.mjs'

const htmlReport = { needs: 'the HTML report, which this version does not have', has: () => filesOf('src/report/render').some(f => /^html[./]/.test(f)) }
const chdb = { needs: 'chdb, which is installed outside package.json', has: () => canResolve('chdb') }

/** What each suite needs beyond its tests, in the order in which it is looked for. */
const SUITES = { hostile: [], large: [], browser: [htmlReport], clickhouse: [chdb] }

await main(() => {
  const [name, ...args] = process.argv.slice(2)
  if (!Object.hasOwn(SUITES, name)) throw new Failed(`no suite is called ${name}: ${Object.keys(SUITES).join(', ')}`)
  install()
  const tests = { needs: `test/${name}, which this version does not have`, has: () => filesOf(`test/${name}`).some(f => f.endsWith('.test.ts')) }
  const lacks = [...SUITES[name], tests].find(n => !n.has())
  if (lacks) return console.log(`skipped: needs ${lacks.needs}`)
  build()
  show(at('node_modules', 'vitest', 'vitest.mjs'), 'run', '--mode', name, ...args)
})

function canResolve(name) {
  try {
    return Boolean(createRequire(at('package.json')).resolve(name))
  } catch {
    return false
  }
}
