/** What every format must stand, whoever wrote it: one suite for all of the registry. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { FORMAT_IDS } from '../../src/formats/format.js'
import { formats } from '../../src/formats/index.js'
import { limits } from '../../src/limits.js'
import { collect, context } from '../support/collect.js'
import { readWell, survives } from '../support/robust.js'

const root = join(dirname(fileURLToPath(import.meta.url)), '../../src/formats')

/** Formats without a folder of samples show their shape here. */
const SHORT: Record<string, string> = {
  'app-log': '[2024/12/03 13:31:18] [ info] [in_syslog] TCP server binding 0.0.0.0:5190\n[2024/12/03 13:31:19] [error] connection lost\n  at line 7\n',
  'pod-ip-timeline':
    '{"pod":"app-old","ip":"10.0.0.9","from":"2025-10-22T09:20:00Z","to":"2025-10-22T09:33:00Z"}\n{"pod":"app-new","ip":"10.0.0.9","from":"2025-10-22T09:34:30Z","to":null,"note":"approx"}\n',
}

/** Small samples of a format, by file name. */
function samplesOf(id: string): [string, Buffer][] {
  const folder = join(root, id, 'samples')
  const short: [string, Buffer][] = SHORT[id] ? [['short', Buffer.from(SHORT[id])]] : []
  if (!existsSync(folder)) return short
  const files = readdirSync(folder)
    .filter(name => !/\.(tsv(\.gz)?|br|README\.md|ts)$/.test(name))
    .map((name): [string, Buffer] => {
      const bytes = readFileSync(join(folder, name))
      return [name, name.endsWith('.gz') ? gunzipSync(bytes) : bytes]
    })
  return [...short, ...files].sort((a, b) => a[1].length - b[1].length)
}

describe('the registry', () => {
  it('knows each id once, and only ids of the contract', () => {
    const ids = formats.map(f => f.id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.filter(id => !FORMAT_IDS.includes(id))).toEqual([])
  })
  it('has a folder for each format, and a format for each folder', () => {
    const folders = readdirSync(root, { withFileTypes: true })
      .filter(e => e.isDirectory() && e.name !== 'text')
      .map(e => e.name)
    expect(folders.sort()).toEqual(formats.map(f => f.id as string).sort())
  })
})

describe.each(formats.map(f => [f.id, f] as const))('%s', (id, format) => {
  const samples = samplesOf(id)

  it('has a README, a test, a title and a command that collects it', () => {
    const readme = readFileSync(join(root, id, 'README.md'), 'utf8')
    expect(readme.length).toBeGreaterThan(400)
    expect(existsSync(join(root, id, 'parser.test.ts'))).toBe(true)
    expect(format.title.length).toBeGreaterThan(5)
    expect(format.collect).not.toMatch(/TODO|\.\.\./)
  })

  it('has a sample, and recognises it by content', () => {
    expect(samples.length).toBeGreaterThan(0)
    // A sample may mix formats; most are of one.
    const best = (bytes: Buffer) => formats.map(f => [f.id, f.sniff(bytes.subarray(0, limits.head), context({ path: 'x' }))] as const).sort((a, b) => b[1] - a[1])[0]?.[0]
    const recognised = samples.filter(([, bytes]) => best(bytes) === id)
    expect(recognised.length).toBeGreaterThan(samples.length / 2)
    for (const [, bytes] of recognised) expect(collect(format, bytes).records.length).toBeGreaterThan(0)
  })

  it('reads the same in blocks of any size, without hole or overlap', () => {
    for (const [, bytes] of samples.slice(0, 2)) readWell(format, bytes.subarray(0, 6000))
  })

  it('survives cuts and changed bytes', () => {
    const [, bytes] = samples[0] as [string, Buffer]
    survives(format, bytes.subarray(0, 3000), {}, 13)
  })

  it.each([
    ['nothing', ''],
    ['one newline', '\n'],
    ['a long run of brackets', '['.repeat(100_000)],
    ['a million braces', '{"a":'.repeat(50_000)],
    ['NUL bytes', '\0'.repeat(5000)],
    ['one line without end', 'x'.repeat(70_000)],
    ['prose', 'The quick brown fox jumps over the lazy dog.\n'.repeat(20)],
  ])('makes no record of %s', (_, text) => {
    const bytes = Buffer.from(text)
    const out = collect(format, bytes)
    if (id !== 'pcap' && id !== 'pcapng') expect(out.holes(bytes.length)).toEqual([])
    expect(Object.values(out.rows).flat()).toEqual([])
  })
})
