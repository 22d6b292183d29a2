import { readFileSync } from 'node:fs'
import { brotliDecompressSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { collect, type Row } from '../../../test/support/collect.js'
import { formatById } from '../index.js'

const format = formatById('envoy-access')!
const bytes = (name: string): Buffer => readFileSync(new URL(`samples/${name}`, import.meta.url))

interface Corpus {
  readonly formats: Record<string, { shipped: boolean; given: string | null; lines: number }>
  readonly files: Record<string, CorpusFile>
}
interface CorpusFile {
  readonly format: string
  readonly text: string
  readonly records: number
  /** Records with several readings, as far as `unknownBeyond`. */
  readonly ambiguous: number[]
  readonly unknownBeyond?: number
  /** Columns that the format always proves. */
  readonly sure: string[]
  /** What is right in each record: one value for all, several for all, or one or several each. */
  readonly columns: Record<string, { all?: string | null; allOf?: (string | null)[]; each?: (string | null | (string | null)[])[] }>
}
const corpus = JSON.parse(brotliDecompressSync(bytes('envoy-1.40.json.br')).toString()) as Corpus

/** What a file's rows have wrong, and which records are ambiguous. */
function compare(file: CorpusFile, rows: readonly Row[]): { wrong: string[]; ambiguous: number[] } {
  const wrong: string[] = []
  const ambiguous: number[] = []
  rows.forEach((row, i) => {
    const n = i + 1
    const named = String(row.ambiguous ?? '')
      .split(',')
      .filter(Boolean)
    if (named.length > 0) ambiguous.push(n)
    const maybe = file.ambiguous.includes(n) || (file.unknownBeyond !== undefined && n > file.unknownBeyond)
    for (const [column, { all, allOf, each }] of Object.entries(file.columns)) {
      if (maybe && named.includes(column) && !file.sure.includes(column)) continue
      const want = [all === undefined ? (allOf ?? each?.[i] ?? null) : all].flat()
      const have = row[column] === null ? null : String(row[column])
      if (!want.includes(have)) wrong.push(`record ${n}: ${column} is ${have}, want ${want.join(' or ')}`)
    }
  })
  return { wrong, ambiguous }
}

function check(name: string, file: CorpusFile, given: string[]): void {
  const all = Buffer.from(file.text, 'latin1')
  const found = collect(format, all, { accessLogFormats: given })
  expect(found.holes(all.length)).toEqual([])
  const { request } = found.rows
  expect(request).toHaveLength(file.records)
  const { wrong, ambiguous } = compare(file, request)
  expect(wrong, name).toEqual([])
  expect(file.ambiguous.filter(n => !ambiguous.includes(n))).toEqual([])
  // Mixed strings with operators that touch are open beyond what the corpus lists.
  if (!file.unknownBeyond && !file.format.startsWith('x-json')) expect(ambiguous.filter(n => !file.ambiguous.includes(n))).toEqual([])
}

describe('what a real Envoy 1.40 wrote, against what it knew', () => {
  const files = Object.entries(corpus.files)
  it.each(files)('%s, with its format given', (name, file) => {
    const { given } = corpus.formats[file.format]!
    check(name, file, given === null ? [] : [given])
  })
  it.each(files.filter(([, f]) => corpus.formats[f.format]!.shipped))('%s, recognised', (name, file) => check(name, file, []))
})
