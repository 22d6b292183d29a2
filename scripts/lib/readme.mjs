/** The examples of README.md: fences of kind `console`, a command after `$ `, and what it prints. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { at } from './project.mjs'

const FENCE = /^```console\n\$ (.+)\n([\s\S]*?)^```$/gm
const FORMATS = /(\| format \| what it is \| collect it with \|\n\|---\|---\|---\|\n)(?:FORMATS_TABLE\n|(?:\|.*\n)*)/

/** `[{ command, output }]`, in order. */
export const examples = text => [...text.matchAll(FENCE)].map(([, command, output]) => ({ command, output }))

/** What a shell prints for a command, with `wirecase` being this project's. */
export function run(command) {
  const bin = mkdtempSync(join(tmpdir(), 'wirecase-readme-'))
  try {
    writeFileSync(join(bin, 'wirecase'), `#!/bin/sh\nexec '${process.execPath}' '${at('bin', 'wirecase.js')}' "$@"\n`, { mode: 0o755 })
    const { stdout, stderr, error } = spawnSync('sh', ['-c', command], {
      cwd: at(),
      encoding: 'utf8',
      env: { ...process.env, PATH: `${bin}:${process.env.PATH}`, NO_COLOR: '1', COLUMNS: '' },
    })
    if (error || stderr) throw new Error(`${command}: ${error?.message ?? stderr}`)
    return stdout
  } finally {
    rmSync(bin, { recursive: true, force: true })
  }
}

/** The text with the outputs of its examples, and with the table of formats, as they are now. */
export const withOutputs = text => text.replace(FENCE, (_, command) => `\`\`\`console\n$ ${command}\n${run(command)}\`\`\``).replace(FORMATS, (_, head) => head + formatsTable())

/** One row a format, from `wirecase formats`. */
function formatsTable() {
  const ids = run('wirecase formats')
    .trim()
    .split('\n')
    .slice(1)
    .map(l => l.split(/\s{2,}/)[0])
  return ids
    .map(id => {
      const lines = run(`wirecase formats ${id}`).trim().split('\n')
      const title = lines[0].slice(id.length + 2)
      const collect = lines.at(-1).replace(/^collect: /, '')
      return `| \`${id}\` | ${title.replaceAll('|', '\\|')} | \`${collect.replaceAll('|', '\\|')}\` |\n`
    })
    .join('')
}
