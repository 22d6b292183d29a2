import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { judgeCase } from '../support/expect.js'

const here = dirname(fileURLToPath(import.meta.url))
const cases = readdirSync(here).filter(name => existsSync(join(here, name, 'expect.json'))).sort()

describe('every case shows what its expect.json says', () => {
  it('finds the cases', () => expect(cases.length).toBeGreaterThan(8))
  for (const name of cases) it(name, async () => expect(await judgeCase(join(here, name))).toEqual([]), 60_000)
})
