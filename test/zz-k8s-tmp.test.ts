import { readFileSync, readdirSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { it } from 'vitest'
import { formats, formatById } from '../src/formats/index.js'
import { collect, context } from './support/collect.js'
const dir = '/work/shared/cases/kubernetes/'
const read = (f: string) => f.endsWith('.gz') ? gunzipSync(readFileSync(f)) : readFileSync(f)
it('files', () => {
  for (const f of process.env.FILES!.split(',')) {
    const b = read(f.startsWith('/') ? f : dir + f)
    const fmt = formatById((process.env.FMT ?? 'k8s-objects') as never)!
    const t = performance.now()
    const c = collect(fmt, b)
    const head = b.subarray(0, 65536)
    const scores = formats.map(x => [x.id, x.sniff(head, context({ path: f }))] as const).filter(x => x[1] > 0).map(x => x[0] + '=' + x[1].toFixed(2)).join(' ')
    console.log(f, b.length, Math.round(performance.now() - t) + 'ms', scores, 'records', c.records.length, 'skips', c.skips.length, 'problems', c.problems.length, Object.entries(c.rows).filter(x => x[1].length).map(x => x[0] + ' ' + x[1].length).join(), c.holes(b.length).slice(0, 2))
    const kinds = new Map<string, number>()
    for (const r of c.rows.pod_fact) { const k = r.kind + '/' + r.what; kinds.set(k, (kinds.get(k) ?? 0) + 1) }
    console.log([...kinds].map(x => x.join(' ')).join(', '))
    for (const p of c.problems.slice(0, +(process.env.N ?? 5))) console.log(p.kind, p.says, JSON.stringify(b.subarray(p.span.byteStart, Math.min(p.span.byteStart + 150, p.span.byteEnd)).toString()))
    if (process.env.ROWS) for (const r of [...c.rows.pod_fact, ...c.rows.event].slice(0, +process.env.ROWS)) console.log(JSON.stringify({ ...r, span: r.span.line }, (_, v) => typeof v === 'bigint' ? new Date(Number(v / 1000000n)).toISOString() : v === null ? undefined : v))
  }
})
