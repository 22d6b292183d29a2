/** Each line that ends in `// forbidden` must be reported by scripts/lib/surroundings.mjs, and no other line. */
import { createHash, randomUUID } from 'node:crypto' // forbidden
import os from 'node:process' // forbidden

const then = new Date(0)
const Clock = Date
const performance = { now: () => 0 }
const replay = { process: 'envoy', console: 'none', fetch: () => performance.now() }
const named = (process: string): string => process + then.getUTCHours() + new Date('2024-12-03T13:17:00Z').toISOString()

export const allowed = [replay.process, replay.console, replay.fetch(), named('envoy'), createHash('sha256'), then.getTime(), Date.UTC(2024, 1)]

export const forbidden = [
  os.argv, // forbidden
  process.env.TZ, // forbidden
  globalThis.process, // forbidden
  globalThis.performance, // forbidden
  console.log('one'), // forbidden
  fetch('https://example.com'), // forbidden
  randomUUID(), // forbidden
  Math.random(), // forbidden
  Date.now(), // forbidden
  Clock.now(), // forbidden
  Date(), // forbidden
  new Date(), // forbidden
  new Date(2024, 1), // forbidden
  then.getHours(), // forbidden
  then.toString(), // forbidden
  then.toLocaleString(), // forbidden
  'a'.localeCompare('b'), // forbidden
  new Intl.NumberFormat(), // forbidden
]
