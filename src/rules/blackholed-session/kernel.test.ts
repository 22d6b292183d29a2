import { expect, it } from 'vitest'
import { SECOND } from '../../model/instant.js'
import type { RuleStore } from '../rule.js'
import { limitsOf, windowOf } from './kernel.js'

const whole = (w: { low: bigint; high: bigint }) => [Number(w.low / SECOND), Number(w.high / SECOND)]

it('follows the kernel: from the boundary to its next repetition', () => {
  expect([6, 8, 10, 12, 15].map(n => whole(windowOf(n)))).toEqual([
    [25, 51],
    [101, 207],
    [322, 451],
    [561, 694],
    [919, 1060],
  ])
  // A lower tcp_rto_max_ms lowers the plateau.
  expect(whole(windowOf(15, 10n * SECOND))).toEqual([112, 124])
})

it('holds all deaths that were measured', () => {
  const within = (n: number, s: number) => {
    const { low, high } = windowOf(n)
    const t = BigInt(Math.round(s * 1000)) * 1_000_000n
    return t >= low && t <= high
  }
  for (const s of [938.9, 926.9, 932.8, 932.7, 937.733, 939.63, 939.527, 938.229, 1044.4]) expect(within(15, s)).toBe(true)
  for (const s of [26.8, 26.6, 26.5]) expect(within(6, s)).toBe(true)
  for (const s of [900, 1109, 3600]) expect(within(15, s)).toBe(false)
})

/** A store that holds only settings. */
function storeOf(settings: readonly [string, string, string | null][]): RuleStore {
  const words = [...new Set(settings.flat().filter(w => w !== null))]
  const id = (w: string | null) => (w === null ? null : words.indexOf(w))
  return {
    ids: async values => new Map(values.filter(v => words.includes(v)).map(v => [v, words.indexOf(v)])),
    words: async ids => new Map([...ids].map(i => [i, words[i] as string])),
    rows: async () =>
      settings.map(([name, value, unit], i) => ({ source: 1, line: BigInt(i + 1), byte_start: 0n, byte_end: 1n, name: id(name), value: id(value), unit: id(unit) })),
    evidence: async () => new Map(),
  }
}

it('takes the settings of the evidence, the widest where hosts differ, else the defaults', async () => {
  expect(await limitsOf(storeOf([]))).toMatchObject({ retries: 15, assumed: true, idle: [], places: [] })
  const two = await limitsOf(
    storeOf([
      ['net.ipv4.tcp_retries2', '8', null],
      ['tcp_retries2', '15', null],
    ]),
  )
  expect([two.retries, two.assumed, ...whole(two), two.places.length]).toEqual([15, false, 101, 1060, 2])
  const idle = await limitsOf(
    storeOf([
      ['idle_timeout', '15m', null],
      ['idle_timeout', '900', 's'],
      ['idle_timeout', '0s', null],
      ['idle_timeout', 'never', null],
      ['idle_timeout', '1500', 'ms'],
    ]),
  )
  expect(idle.idle.map(i => Number(i.value) / 1e9)).toEqual([900, 900, 1.5])
})
