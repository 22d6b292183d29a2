/**
 * Fills a store through the writers with a million flows, each with strings of its own, and every other table with some
 * rows of the same kind; asks every view for its first rows; prints what it got and how much memory it took, as JSON.
 * A process of its own: what it needs is measured. `node fill.mjs FOLDER FLOWS OTHERS`
 */
import { join } from 'node:path'
import { Interner } from '../../dist/ingest/interner.js'
import { Writers } from '../../dist/ingest/writers.js'
import { tables } from '../../dist/model/tables.js'
import { Store } from '../../dist/store/store.js'

const [folder, flows, others] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])]
const store = await Store.open({ file: join(folder, 'store.duckdb'), spillFolder: folder })
await store.create()
const interner = new Interner()
const writers = new Writers(interner, batch => store.push(batch))
for (const name of Object.keys(tables)) if (name !== 'flow') fill(name, others)
fill('flow', flows)
writers.flush()
await store.settle(interner.take(), 1)
await store.createViews()

const views = {}
for (const name of [...Object.keys(tables), 'source']) {
  const [order] = ['t', 'row', 'id'].filter(c => c in (tables[name]?.columns ?? {}) || (c === 't' && tables[name]?.evidence) || (c === 'row' && name in tables) || (c === 'id' && name === 'source'))
  views[name] = (await store.rows(`SELECT * FROM "${name}" ORDER BY "${order}" LIMIT 3`)).map(text)
}
const wrong = await store.rows(`SELECT count(*) AS n FROM flow WHERE src_pod IS DISTINCT FROM 'src_pod of flow ' || "row" OR uuid IS DISTINCT FROM 'uuid of flow ' || "row" OR verdict IS DISTINCT FROM 'verdict ' || ("row" % 5)`)
const plain = await store.rows('SELECT count(*) AS n FROM raw.flow WHERE src_pod IS NULL')
console.log(JSON.stringify({ views, wrong: Number(wrong[0].n), plain: Number(plain[0].n), overflowed: interner.overflowed, peak: process.resourceUsage().maxRSS * 1024 }))
store.close()

/** Every column of every row has a value; two of the interned ones of their own in each row. Times run backwards. */
function fill(name, count) {
  const own = Object.entries(tables[name].columns)
  const distinct = name === 'flow' ? ['src_pod', 'src_labels'] : own.filter(([, c]) => c.kind === 'id').slice(0, 2).map(([n]) => n)
  const repeated = Object.fromEntries(own.map(([column]) => [column, [0, 1, 2, 3, 4].map(n => `${column} ${n}`)]))
  const writer = tables[name].evidence ? writers.evidence(name) : writers.derived(name)
  for (let i = 0; i < count; i++) {
    writers.span = { source: 1, byteStart: i * 100, byteEnd: i * 100 + 100, line: i + 1, frame: i + 1 }
    writer.begin({ ns: BigInt(count - i), guess: null })
    for (const [column, { kind }] of own) writer[column](kind === 'id' && !distinct.includes(column) ? repeated[column][i % 5] : valueOf(name, column, kind, i, count))
  }
}

function valueOf(table, column, kind, i, count) {
  if (kind === 'id' || kind === 'text') return `${column} of ${table} ${i}`
  if (kind === 'bool') return i % 2 === 0
  if (kind === 'time') return column === 't' ? BigInt(count - i) : BigInt(i)
  return kind === 'big' ? 2n ** 62n + BigInt(i) : i
}

function text(row) {
  return Object.fromEntries(Object.entries(row).map(([k, v]) => [k, typeof v === 'bigint' || (typeof v === 'object' && v !== null) ? v.toString() : v]))
}
