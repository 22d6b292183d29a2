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
