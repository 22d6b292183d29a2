/** What every text parser must stand: any block size, a cut at every byte, flipped bits. */
import { expect } from 'vitest'
import type { Format, MemberContext } from '../../src/formats/format.js'
import { type Collected, collect } from './collect.js'

const seen = (c: Collected) => ({ rows: c.rows, records: c.records, problems: c.problems, notes: c.notes, skips: c.skips, lost: c.lost })

/** Reads `bytes` whole and in blocks of several sizes: the same rows, spans that leave no hole. Answers what was read. */
export function readWell(format: Format, bytes: Buffer | string, more: Partial<MemberContext> = {}): Collected {
  const all = Buffer.from(bytes)
  const whole = collect(format, all, more)
  expect(whole.holes(all.length)).toEqual([])
  for (const size of all.length > 20_000 ? [1000, 65_536] : [1, 7, 64, 1000]) expect(seen(collect(format, all, more, size)), `blocks of ${size}`).toEqual(seen(whole))
  return whole
}

/** Cuts `bytes` after every `step` bytes and flips bytes: no parser throws or leaves a hole. The flips are the same in every run. */
export function survives(format: Format, bytes: Buffer | string, more: Partial<MemberContext> = {}, step = 1): void {
  const all = Buffer.from(bytes)
  for (let end = 0; end < all.length; end += step) {
    const cut = all.subarray(0, end)
    expect(collect(format, cut, more).holes(end), `cut at ${end}`).toEqual([])
  }
  let random = 12_345
  const next = (below: number) => {
    random = (Math.imul(random, 1_103_515_245) + 12_345) & 0x7fff_ffff
    return random % below
  }
  for (let round = 0; round < 60; round++) {
    const bad = Buffer.from(all)
    for (let i = 0; i < Math.max(1, all.length / 50); i++) bad[next(bad.length)] = next(256)
    expect(collect(format, bad, more).holes(bad.length), `round ${round}`).toEqual([])
  }
}

const BLOCK_SIZES = [1, 7, 64, 1000]

/** The same rows, problems and spans however the member is cut into blocks, and spans that cover it. */
export function expectSameInAnyBlocks(format: Format, bytes: Buffer): void {
  const whole = collect(format, bytes)
  expect(whole.holes(bytes.length)).toEqual([])
  for (const size of BLOCK_SIZES) {
    const parts = collect(format, bytes, {}, size)
    expect(parts.rows).toEqual(whole.rows)
    expect(parts.problems).toEqual(whole.problems)
    expect(parts.notes).toEqual(whole.notes)
    expect(parts.records).toEqual(whole.records)
  }
}

/** Cut off after every byte: nothing is thrown, everything is covered. */
export function expectTruncationSurvived(format: Format, bytes: Buffer): void {
  for (let n = 0; n <= bytes.length; n++) {
    const part = bytes.subarray(0, n)
    expect(collect(format, part).holes(n)).toEqual([])
  }
}

/** With every fiftieth byte changed, in many ways: nothing is thrown, everything is covered. */
export function expectFlipsSurvived(format: Format, bytes: Buffer, rounds = 200): void {
  let state = 1
  const random = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 0x1_0000_0000) * below)
  }
  for (let round = 0; round < rounds; round++) {
    const copy = Buffer.from(bytes)
    for (let n = 0; n < copy.length / 50; n++) copy[random(copy.length)] = random(256)
    expect(collect(format, copy).holes(copy.length)).toEqual([])
  }
}
