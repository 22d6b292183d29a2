/** What is written is what is read: through the writers, the dictionary and its limit, the views and a query. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

/** A dictionary that is soon full. */
vi.mock('../../src/limits.js', async original => {
  const { limits } = await original<typeof import('../../src/limits.js')>()
  return { limits: { ...limits, dictionaryEntries: 100, dictionaryReserve: 10, internedString: 50 } }
})

import { Interner } from '../../src/ingest/interner.js'
import { Writers } from '../../src/ingest/writers.js'
import { query } from '../../src/store/query.js'
import { Store } from '../../src/store/store.js'

let folder: string
let store: Store
let interner: Interner
let writers: Writers

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'wirecase-test-'))
  store = await Store.open({ file: join(folder, 'store.duckdb'), spillFolder: folder })
  await store.create()
  interner = new Interner()
  writers = new Writers(interner, batch => store.push(batch))
})
afterEach(() => {
  store.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Puts everything into the store and asks. */
async function ask(sql: string): Promise<unknown[]> {
  writers.flush()
  await store.settle(interner.take(), 1)
  await store.createViews()
  const { columns, rows } = await query(store, sql)
  const out: unknown[] = []
  for await (const some of rows) for (const row of some) out.push(Object.fromEntries(columns.map((c, i) => [c, row[i]])))
  return out
}

describe('a row', () => {
  it('has its number, its span and its time', async () => {
    const event = writers.evidence('event')
    writers.span = { source: 3, byteStart: 9_007_199_254_740_991, byteEnd: 9_007_199_254_740_991, line: 12, frame: null }
    expect(event.begin({ ns: 1_789_034_400_123_456_789n, guess: 'year,zone' })).toBe(0)
    expect(event.begin(null)).toBe(1)
    expect(await ask('SELECT * FROM event ORDER BY "row"')).toEqual([
      {
        row: '0',
        source: 3,
        line: '12',
        byte_start: '9007199254740991',
        byte_end: '9007199254740991',
        t: '1789034400123456789',
        t_utc: '2026-09-10 10:00:00.123456789',
        t_guess: 'year,zone',
        subject: null,
        kind: null,
        reason: null,
        text: null,
      },
      {
        row: '1',
        source: 3,
        line: '12',
        byte_start: '9007199254740991',
        byte_end: '9007199254740991',
        t: null,
        t_utc: null,
        t_guess: null,
        subject: null,
        kind: null,
        reason: null,
        text: null,
      },
    ])
  })

  it('is NULL in every column that is not set, or set to null', async () => {
    const request = writers.evidence('request')
    request.begin(null)
    request.begin(null)
    for (const set of [request.method, request.path, request.status, request.duration_ms, request.probe, request.bytes_sent]) (set as (v: null) => void)(null)
    const rows = (await ask('SELECT COLUMNS(* EXCLUDE ("row", source, line, byte_start, byte_end)) FROM request')) as Record<string, unknown>[]
    expect(rows).toHaveLength(2)
    expect(rows.flatMap(r => Object.entries(r).filter(([, v]) => v !== null))).toEqual([])
  })

  it('keeps the last value of a column that is set twice, whatever came before', async () => {
    const event = writers.evidence('event')
    const long = 'x'.repeat(60)
    for (const values of [
      ['a', 'b'],
      ['a', null],
      [null, 'b'],
      [long, 'b'],
      [long, null],
      ['a', long],
      [long, `${long}y`],
    ]) {
      event.begin(null)
      for (const v of values) event.reason(v as string | null)
    }
    expect(await ask('SELECT reason FROM event ORDER BY "row"')).toEqual(['b', null, 'b', 'b', null, long, `${long}y`].map(reason => ({ reason })))
  })

  it('holds 64-bit numbers exactly, and NULL for what no column can hold', async () => {
    const packet = writers.evidence('packet')
    const values = [9_223_372_036_854_775_807n, -9_223_372_036_854_775_807n, 9_007_199_254_740_993n, 0n, 9_223_372_036_854_775_808n, 2n ** 70n]
    for (const v of values) {
      packet.begin(null)
      packet.seq(v)
    }
    for (const v of [2_147_483_647, -2_147_483_647, 2_147_483_648, 1.5, Number.NaN]) {
      packet.begin(null)
      packet.length(v)
    }
    const rows = await ask('SELECT seq, length FROM packet ORDER BY "row"')
    expect(rows.slice(0, 6)).toEqual(['9223372036854775807', '-9223372036854775807', '9007199254740993', '0', null, null].map(seq => ({ seq, length: null })))
    expect(rows.slice(6)).toEqual([2_147_483_647, -2_147_483_647, null, null, null].map(length => ({ seq: null, length })))
  })

  it('holds doubles and booleans', async () => {
    const flow = writers.evidence('flow')
    for (const [ms, reply] of [
      [0.1, true],
      [1e300, false],
      [Number.POSITIVE_INFINITY, null],
    ] as const) {
      flow.begin(null)
      flow.l7_latency_ms(ms)
      flow.is_reply(reply)
    }
    expect(await ask('SELECT l7_latency_ms AS ms, is_reply AS reply FROM flow ORDER BY "row"')).toEqual([
      { ms: 0.1, reply: true },
      { ms: 1e300, reply: false },
      { ms: null, reply: null },
    ])
  })

  it('holds any text, as a plain value and through the dictionary', async () => {
    const event = writers.evidence('event')
    const texts = ['', ' ', 'NULL', "it's", 'a"b', 'tab\tnew\nline', 'nul\0inside', '日本語 🚀', '\u202eRTL', '$.reason', '{"a":1}', '\u{10ffff}', 'é', 'e\u0301', 'x'.repeat(49)]
    for (const t of texts) {
      event.begin(null)
      event.reason(t)
      event.text(t)
    }
    expect(await ask('SELECT reason, text FROM event ORDER BY "row"')).toEqual(texts.map(t => ({ reason: t, text: t })))
  })

  it('is one of many: batches follow each other without a gap', async () => {
    const event = writers.evidence('event')
    for (let i = 0; i < 5000; i++) {
      event.begin({ ns: BigInt(i), guess: null })
      event.kind(i % 7 === 0 ? null : `k${i % 7}`)
      event.text(`t${i}`)
    }
    expect(
      await ask(
        `SELECT count(*) AS n, count(kind) AS kinds, count(*) FILTER (WHERE text = 't' || "row" AND t = "row" AND kind IS NOT DISTINCT FROM CASE WHEN "row" % 7 > 0 THEN 'k' || "row" % 7 END) AS right FROM event`,
      ),
    ).toEqual([{ n: '5000', kinds: '4285', right: '5000' }])
  })
})

describe('the dictionary', () => {
  it('is full at its limit: later values are text in their rows, counted, and read the same', async () => {
    const event = writers.evidence('event')
    for (let i = 0; i < 300; i++) {
      event.begin(null)
      event.reason(`reason-${i}`)
      event.subject(`reason-${299 - i}`)
    }
    expect(interner.overflowed).toBeGreaterThan(0)
    expect(await ask(`SELECT count(*) AS n FROM event WHERE reason = 'reason-' || "row" AND subject = 'reason-' || (299 - "row")`)).toEqual([{ n: '300' }])
    const [{ stored }] = (await ask('SELECT count(reason) AS stored FROM raw.event')) as [{ stored: string }]
    expect(Number(stored)).toBeLessThan(100)
    expect(Number(stored)).toBeGreaterThan(40)
    expect(await ask("SELECT \"row\" FROM event WHERE reason IN ('reason-0', 'reason-44', 'reason-45', 'reason-46', 'reason-299') ORDER BY \"row\"")).toEqual(
      ['0', '44', '45', '46', '299'].map(row => ({ row })),
    )
  })

  it('keeps a part back for addresses', () => {
    for (let i = 0; i < 200; i++) interner.id(`label-${i}`)
    expect(interner.take()).toHaveLength(90)
    for (const other of ['deadbeef', '12345678', '10.0.0', '1.2.3.4.5', 'a:b'.repeat(20)]) expect(interner.id(other), other).toBe(0)
    for (const address of ['10.0.0.1', '255.255.255.255', '2001:db8::1', '::1', 'fe80::ffff:10.0.0.1']) expect(interner.id(address), address).toBeGreaterThan(90)
    for (let i = 0; i < 20; i++) interner.id(`10.1.0.${i}`)
    expect(interner.take()).toHaveLength(10)
    expect(interner.id('label-3')).toBe(4)
  })

  it('has no place for long strings, which are not counted as a full dictionary', async () => {
    const event = writers.evidence('event')
    event.begin(null)
    event.reason('x'.repeat(51))
    expect([interner.long, interner.overflowed]).toEqual([1, 0])
    expect(await ask('SELECT length(reason) AS n FROM event')).toEqual([{ n: '51' }])
  })

  it('is written in parts', async () => {
    const event = writers.evidence('event')
    let words = 0
    for (const reason of ['a', 'b', 'a', 'c']) {
      event.begin(null)
      event.reason(reason)
      writers.flush()
      const fresh = interner.take()
      await store.settle(fresh, words + 1)
      words += fresh.length
    }
    await store.createViews()
    expect(await store.rows('SELECT reason FROM event ORDER BY "row"')).toEqual(['a', 'b', 'a', 'c'].map(reason => ({ reason })))
    expect(await store.words([1, 2, 3, 0, 99])).toEqual(
      new Map([
        [1, 'a'],
        [2, 'b'],
        [3, 'c'],
      ]),
    )
  })
})

describe('the store', () => {
  it('is locked: what is not our SQL can touch neither files nor settings', async () => {
    for (const sql of [
      "COPY (SELECT 1) TO '/tmp/never'",
      "ATTACH '/tmp/never.duckdb'",
      "SELECT * FROM read_text('/etc/hostname')",
      'INSTALL httpfs',
      'LOAD httpfs',
      "SET memory_limit='1GB'",
      'SET enable_external_access=true',
      'SET threads=8',
      'SET autoload_known_extensions=true',
      'RESET lock_configuration',
    ])
      await expect(store.rows(sql), sql).rejects.toThrow(/disabled|locked|Cannot/i)
  })

  it('streams what may not fit in memory', async () => {
    let n = 0
    for await (const rows of store.stream('SELECT range AS i FROM range(100000)')) n += rows.length
    expect(n).toBe(100_000)
  })

  it('holds in its file what it held, once checkpointed', async () => {
    const event = writers.evidence('event')
    event.begin(null)
    event.text('kept')
    await ask('SELECT 1')
    await store.setMeta('report', "it's")
    await store.checkpoint()
    store.close()
    store = await Store.openCase(join(folder, 'store.duckdb'), folder)
    expect(await store.rows('SELECT text FROM event')).toEqual([{ text: 'kept' }])
    expect([await store.meta('report'), await store.meta('none')]).toEqual(["it's", null])
    await expect(store.rows("INSERT INTO raw.meta VALUES ('a', 'b')")).rejects.toThrow(/read-only/)
  })
})
