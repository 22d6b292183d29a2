/** The same bytes in give the same bytes out, whatever surrounds the run. */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { built, folder, here, removeFolders, root, wirecase } from './run.js'
import { flows, healthy, reset } from './world.js'

beforeAll(built, 120_000)
afterAll(removeFolders)

/** Evidence of several kinds, times without a zone among it. */
function bundle(): string {
  const path = folder({
    'gateway/access.json': healthy(30) + reset(40),
    'flows.json': flows(30),
    'notes.txt': 'lunch at noon\n',
    'İ/ı.json': healthy(2, 50),
    'i.json': healthy(2, 60),
    'I.json': reset(70),
  })
  for (const name of ['ztunnel-1637', 'envoy-gateway-4843', 'cilium-proxy-2040']) cpSync(join(root, 'fixtures/reports', name), join(path, name), { recursive: true })
  cpSync(join(path, 'flows.json'), join(path, 'gateway/flows.json'))
  return path
}

describe('a report is the same, byte for byte', () => {
  const path = bundle()
  const parts = ['gateway', 'flows.json', 'notes.txt', 'İ', 'i.json', 'I.json', 'ztunnel-1637', 'envoy-gateway-4843', 'cilium-proxy-2040']
  const json = async (args: string[], asked = {}): Promise<string> => (await wirecase([...args, '--format', 'json'], asked)).out
  let first: string
  beforeAll(async () => {
    first = await json([path])
  })

  it('on a second run', async () => {
    expect(first.length).toBeGreaterThan(10_000)
    expect(await json([path])).toBe(first)
  })

  it('in another zone, another locale, and from another folder', async () => {
    const others = await Promise.all([
      json([path], { env: { TZ: 'Asia/Kolkata', LC_ALL: 'tr_TR.UTF-8', LANG: 'tr_TR.UTF-8' } }),
      json(['.'], { cwd: path, env: { TZ: 'America/St_Johns' } }),
      json([`../${path.split('/').pop()}/`], { cwd: join(path, 'gateway', '..', '..', path.split('/').pop() ?? ''), env: { UV_THREADPOOL_SIZE: '1' } }),
    ])
    for (const other of others) expect(other).toBe(first)
  })

  it('with the arguments in another order', async () => {
    const [forth, back] = await Promise.all([json(parts, { cwd: path }), json([...parts].reverse(), { cwd: path })])
    expect(back).toBe(forth)
    expect(forth).toBe(first)
  })

  it('of a copy in another folder', async () => {
    const copy = join(folder(), 'elsewhere', 'deeper')
    cpSync(path, copy, { recursive: true })
    expect(await json([copy])).toBe(first)
  })

  it('in every other format too, but for where the paths are', async () => {
    for (const format of ['markdown', 'text']) expect((await here(path, '--format', format)).out).toBe((await here(path, '--format', format)).out)
    expect((await here(path, '--format', 'markdown')).out).toBe((await wirecase(['.', '--format', 'markdown'], { cwd: path, env: { TZ: 'Asia/Kolkata' } })).out)
  })
})

it('a query answers the same in another zone and locale', async () => {
  const path = bundle()
  const sql = 'SELECT t, t_utc, t_guess FROM packet ORDER BY source, byte_start'
  const rows = await Promise.all(['UTC', 'Asia/Kolkata'].map(TZ => wirecase(['query', sql, path, '--format', 'csv'], { env: { TZ, LC_ALL: 'tr_TR.UTF-8' } })))
  expect(rows[0]?.out).toMatch(/\d{19},\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/)
  expect(rows[1]).toEqual(rows[0])
})
