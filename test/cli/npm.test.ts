/** How a clone of the project is run: through npm, from any folder of it, in a pipe. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { VERSION } from '../../src/version.js'
import { built, ended, root } from './run.js'

beforeAll(built, 120_000)

/** Tests are run by npm too: what it tells its children is not for these. */
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('npm_') && name !== 'INIT_CWD'))
const bash = (command: string, cwd = root) => ended(spawn('bash', ['-c', command], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] }))

it('npx wirecase is the command', async () => {
  expect(await bash('npx wirecase --version')).toMatchObject({ code: 0, out: `${VERSION}\n` })
})

it('npm start prints the report and nothing else, so that it can be piped; paths are those of the caller', async () => {
  const { out, err } = await bash('npm start --silent -- reports/ztunnel-1637 --format json | cat; echo "$PIPESTATUS" >&2', join(root, 'fixtures'))
  const report = JSON.parse(out) as { schema: string; sources: { path: string }[] }
  expect(report.schema).toBe('wirecase.report/1')
  expect(report.sources.map(s => s.path)).toContain('waypoint-debug.log')
  expect(err).toBe('1\n')
})

it('npm start takes standard input, and ends quietly where its reader does', async () => {
  const { code, out, err } = await bash('npm start --silent -- - --format json < fixtures/reports/ztunnel-1637/waypoint-access.json | head -c 20; exit $PIPESTATUS')
  expect([code, out, err]).toEqual([1, '{\n  "schema": "wirec', ''])
})
