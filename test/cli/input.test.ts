/** What can be read: standard input, gzip, folders with odd things in them. */
import { linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Report } from '../../src/model/report.js'
import { built, ERROR, folder, here, removeFolders, shell, wirecase } from './run.js'
import { flows, healthy, reset } from './world.js'

beforeAll(built, 120_000)
afterAll(removeFolders)

const report = async (...args: string[]): Promise<Report> => JSON.parse((await here(...args, '--format', 'json')).out) as Report
const records = async (...args: string[]) => (await report(...args)).sources.map(s => [s.path, s.format, s.records])
const problems = (r: Report) => r.problems.map(p => [p.source, p.kind, p.says])

describe('standard input', () => {
  it('is read for -, whatever its format, gzipped or not', async () => {
    for (const stdin of [healthy(3) + reset(5), gzipSync(healthy(3) + reset(5))]) {
      const { code, out, err } = await wirecase(['-', '--format', 'json'], { stdin })
      expect([code, err]).toEqual([1, ''])
      expect((JSON.parse(out) as Report).sources).toMatchObject([{ path: 'stdin', format: 'envoy-access', records: 4 }])
    }
  })

  it('can be read together with files, and in every command', async () => {
    const path = folder({ 'access.json': healthy(3) })
    const [both, rows] = await Promise.all([
      wirecase([path, '-', '--format', 'json'], { stdin: flows(2) }),
      wirecase(['query', 'SELECT count(*) AS n FROM flow', '-', '--format', 'csv'], { stdin: flows(7) }),
    ])
    expect((JSON.parse(both.out) as Report).sources.map(s => [s.path, s.records])).toEqual([
      ['access.json', 3],
      ['stdin', 2],
    ])
    expect(rows).toMatchObject({ code: 0, out: 'n\n7\n' })
  })

  it('that is empty has nothing recognised', async () => expect(await wirecase(['-'])).toMatchObject({ code: 3, err: '' }))

  it('larger than what is held in memory is read to its end', async () => {
    const { code, out, err } = await shell(
      `for i in $(seq 40); do cat '${folder({ 'f.json': flows(4000) })}/f.json'; done | wirecase query 'SELECT count(*) AS n FROM flow' - --format csv`,
    )
    expect([code, out, err]).toEqual([0, 'n\n160000\n', ''])
  }, 60_000)
})

describe('gzip', () => {
  const text = healthy(400)

  it('is read by content, whatever the name', async () =>
    expect(await records(folder({ 'access.json': gzipSync(text), 'b.gz': gzipSync(text) }))).toEqual([
      ['access.json', 'envoy-access', 400],
      ['b.gz', 'envoy-access', 400],
    ]))

  it('of several members is read to the last', async () => {
    const packed = Buffer.concat([gzipSync(healthy(100)), gzipSync(''), gzipSync(healthy(300, 100))])
    const r = await report(folder({ 'access.json.gz': packed }))
    expect([r.sources.map(s => s.records), problems(r)]).toEqual([[400], []])
  })

  it('that is cut counts up to the cut, and the cut is said', async () => {
    const path = folder({ 'access.json.gz': gzipSync(text).subarray(0, -400) })
    const r = await report(path)
    const read = r.sources[0]?.records ?? 0
    expect(read).toBeGreaterThan(50)
    expect(read).toBeLessThan(400)
    expect(problems(r)).toContainEqual(['s1', 'truncated', 'the gzip stream ends before its end'])
    expect((await here(path)).code).toBe(4)
  })

  it('that is damaged counts up to the damage, and the damage is said', async () => {
    const packed = gzipSync(text)
    packed.fill(0xff, packed.length - 900, packed.length - 850)
    const path = folder({ 'access.json.gz': packed })
    const r = await report(path)
    expect(r.sources[0]?.records).toBeGreaterThan(50)
    expect(r.sources[0]?.records).toBeLessThan(400)
    expect(r.problems.map(p => p.kind)).toContain('bad-compression')
    expect((await here(path)).code).toBe(4)
  })

  it('with something else after its end is read, and what follows is said', async () => {
    const r = await report(folder({ 'access.json.gz': Buffer.concat([gzipSync(text), Buffer.from('trailing junk')]) }))
    expect([r.sources[0]?.records, r.problems.map(p => p.kind)]).toEqual([400, ['bad-compression']])
  })

  it('with a wrong checksum counts, and the checksum is said', async () => {
    const packed = gzipSync(text)
    packed.writeUInt32LE(1, packed.length - 8)
    const r = await report(folder({ 'access.json.gz': packed }))
    expect([r.sources[0]?.records, r.problems.map(p => p.kind)]).toEqual([400, ['bad-compression']])
  })

  it('far larger than what zlib is given at a time is read, whole, cut and damaged', async () => {
    const large = healthy(20_000)
    const packed = gzipSync(large, { level: 1 })
    const half = packed.length >> 1
    const cut = packed.subarray(0, half)
    const damaged = Buffer.from(packed)
    damaged.fill(0xff, half, half + 64)
    const [a, b, c] = (await report(folder({ 'a.gz': packed, 'b.gz': cut, 'c.gz': damaged }))).sources
    expect(a?.records).toBe(20_000)
    expect(b?.records).toBeGreaterThan(8_000)
    expect(c?.records).toBeGreaterThan(8_000)
    expect(c?.records).toBeLessThan(20_000)
  })

  it('of nothing at all is empty', async () => expect(await records(folder({ 'a.gz': gzipSync('') }))).toEqual([['a.gz', 'unknown', 0]]))
})

describe('a folder', () => {
  it('is read with what lies deeper; each file is one source, in the order of the bytes of their names', async () => {
    const path = folder({
      'b.json': healthy(1),
      'B.json': healthy(1),
      'a/z.json': healthy(1),
      'a.json': healthy(1),
      'é.json': healthy(1),
      '日本.json': healthy(1),
      ' .json': healthy(1),
    })
    expect((await records(path)).map(([p]) => p)).toEqual([' .json', 'B.json', 'a.json', 'a/z.json', 'b.json', 'é.json', '日本.json'])
  })

  it('that is named twice, or by another name, counts once', async () => {
    const path = folder({ 'a/x.json': healthy(2) })
    expect(await records(path, path, join(path, 'a'), join(path, 'a', 'x.json'), join(path, 'a/../a/x.json'))).toEqual([['a/x.json', 'envoy-access', 2]])
  })

  it('with links: those that lead out or nowhere are passed over and said', async () => {
    const path = folder({ 'x.json': healthy(2), 'deep/y.json': healthy(1) })
    symlinkSync('/etc/passwd', join(path, 'out'))
    symlinkSync('nowhere', join(path, 'dangling'))
    symlinkSync('x.json', join(path, 'same'))
    symlinkSync('..', join(path, 'deep', 'loop'))
    symlinkSync('self', join(path, 'self'))
    const r = await report(path)
    expect(r.sources.map(s => s.path)).toEqual(['deep/y.json', 'x.json'])
    const skipped = r.problems.filter(p => p.kind === 'skipped').map(p => p.source)
    expect(skipped).toEqual(expect.arrayContaining(['dangling', 'out', 'self']))
    expect(skipped).not.toContain('same')
  })

  it.skipIf(process.platform === 'win32')('with a pipe in it does not wait for it', async () => {
    const path = folder({ 'x.json': healthy(2) })
    await shell(`mkfifo '${path}/pipe'`)
    const r = await report(path)
    expect(r.sources.map(s => s.path)).toEqual(['x.json'])
    expect(problems(r)).toContainEqual(['pipe', 'skipped', 'not a file'])
  })

  it('with two names of one file has two sources', async () => {
    const path = folder({ 'x.json': healthy(2) })
    linkSync(join(path, 'x.json'), join(path, 'y.json'))
    expect((await records(path)).map(([p]) => p)).toEqual(['x.json', 'y.json'])
  })

  it('with odd names is read', async () => {
    const odd = ['a\nb.json', 'c\u001b[31m.json', 'q\'uo"te.json', 'per%cent.json', '-dash.json', 'back\\slash.json', '__proto__', `${'n'.repeat(250)}.json`]
    const path = folder(Object.fromEntries(odd.map(n => [n === '__proto__' ? 'proto.json' : n, healthy(1)])))
    writeFileSync(join(path, '__proto__'), healthy(1))
    const r = await report(path)
    expect(r.sources.filter(s => s.records === 1)).toHaveLength(odd.length + 1)
    const rows = await here('query', 'SELECT path FROM source WHERE records = 1 ORDER BY id', path, '--format', 'json')
    expect((JSON.parse(rows.out) as { path: string }[]).map(s => s.path)).toEqual(r.sources.map(s => s.path))
  })

  it('without any file, and an empty file, have nothing recognised', async () => {
    const path = folder({ 'empty.json': '' })
    mkdirSync(join(path, 'empty'))
    expect((await here(join(path, 'empty'))).code).toBe(3)
    expect((await here(path)).code).toBe(3)
    expect((await here('query', 'SELECT 1 AS a', join(path, 'empty'), '--format', 'json')).code).toBe(3)
  })
})

describe('a pipe named as a file', () => {
  it('is refused: it can be read only once', async () => {
    const { code, out, err } = await shell(`wirecase <(cat '${folder({ 'flows.json': flows(2) })}/flows.json')`)
    expect([code, out]).toEqual([2, ''])
    expect(err).toMatch(ERROR)
    expect(err).toContain('not a file or folder')
  })
})
