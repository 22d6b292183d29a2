import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import '../bundle/reaches-formats.js'
import '../formats/reaches-bundle.js'
import '../rules/reaches-report.js'

console.log(process.argv, Date.now(), new Date(), hostname(), readFileSync('allowed-here'))
