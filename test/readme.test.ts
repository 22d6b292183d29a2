/** Every example of the README is run, and prints what the README says. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { build } from '../scripts/lib/build.mjs'
import { examples, run, withOutputs } from '../scripts/lib/readme.mjs'

const text = readFileSync(join(dirname(fileURLToPath(import.meta.url)), '../README.md'), 'utf8')
const hasJq = spawnSync('jq', ['--version']).status === 0

describe('README.md', () => {
  beforeAll(() => build(), 120_000)

  for (const { command, output } of examples(text)) it.skipIf(command.includes('| jq') && !hasJq)(`$ ${command}`, () => expect(run(command)).toBe(output))

  it('lists every format with the command that collects it', () => {
    const table = (s: string): string => /\| format \|[\s\S]*?\n\n/.exec(s)?.[0] ?? ''
    expect(table(text)).toBe(table(withOutputs(text.replace(/^```console\n[\s\S]*?^```$/gm, ''))))
  })
})
