/** `npm run check`: everything that holds for the code without running it. Each step is run, in order, whether or not the one before holds. */
import { install } from './lib/install.mjs'
import { at, Failed, main, show } from './lib/project.mjs'

const tool = (...path) => at('node_modules', ...path)

/** Name, what holds, and the step; a step may answer with figures. It throws `Failed` after saying what is wrong. */
const STEPS = [
  ['types', () => show(tool('typescript', 'bin', 'tsc'), '-p', 'tsconfig.json', '--noEmit')],
  ['types of tests', () => show(tool('typescript', 'bin', 'tsc'), '-p', 'tsconfig.test.json')],
  ['style', () => show(tool('@biomejs', 'biome', 'bin', 'biome'), 'check', '--error-on-warnings')],
  ['arrows', async () => (await import('./lib/arrows.mjs')).checkArrows()],
  ['surroundings', async () => (await import('./lib/surroundings.mjs')).checkSurroundings()],
  ['unused', () => show(tool('knip', 'bin', 'knip.js'), '--no-progress', '--treat-config-hints-as-errors')],
]

await main(async () => {
  install()
  const failed = []
  for (const [name, step] of STEPS) {
    try {
      const figures = await step()
      console.log(`check: ${name}: ok${figures ? ` (${figures})` : ''}`)
    } catch (e) {
      if (!(e instanceof Failed)) throw e
      console.log(`check: ${name}: failed: ${e.message}`)
      failed.push(name)
    }
  }
  if (failed.length > 0) throw new Failed(`check failed: ${failed.join(', ')}`)
})
