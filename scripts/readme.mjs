/** Runs the examples of README.md and writes what they print below them. `--check` only compares, and exits 1 where they differ. */
import { readFileSync, writeFileSync } from 'node:fs'
import { at, main } from './lib/project.mjs'
import { examples, withOutputs } from './lib/readme.mjs'

await main(() => {
  const file = at('README.md')
  const now = readFileSync(file, 'utf8')
  const fresh = withOutputs(now)
  if (fresh === now) console.error(`README.md: ${examples(now).length} examples print what they say`)
  else if (process.argv.includes('--check')) throw new Error('README.md: examples print something else: run node scripts/readme.mjs')
  else writeFileSync(file, fresh)
})
