/** Makes a fresh clone ready to run: installs and builds what is missing or out of date, and nothing else. */
import { build } from './lib/build.mjs'
import { install } from './lib/install.mjs'
import { main } from './lib/project.mjs'

await main(() => {
  install()
  build()
})
