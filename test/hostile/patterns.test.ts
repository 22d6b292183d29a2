/** Every regular expression of the sources against 64 KiB of text made to be hard on it. */
import { describe, expect, it } from 'vitest'
import { attacksOn } from './support/attacks.js'
import { literals, made, type Pattern } from './support/patterns.js'

/** Milliseconds that a pattern may take over 64 KiB. */
const MOST = 50

/** As the sources use it: all matches of a global pattern, else the first. */
function timed(regex: RegExp, text: string): number {
  const from = performance.now()
  if (regex.global) text.replace(regex, '')
  else {
    regex.lastIndex = 0
    regex.exec(text)
  }
  return performance.now() - from
}

/** The slowest attack on a pattern; one that seems slow is tried again, for the machine may have been busy. */
function slowest({ regex }: Pattern): { ms: number; text: string } {
  let worst = { ms: 0, text: '' }
  for (const text of attacksOn(regex)) {
    let ms = timed(regex, text)
    for (let again = 0; ms > MOST && again < 3; again++) ms = Math.min(ms, timed(regex, text))
    if (ms > worst.ms) worst = { ms, text }
  }
  return worst
}

const slow = (patterns: readonly Pattern[]): string[] =>
  patterns.flatMap(p => {
    const worst = slowest(p)
    return worst.ms > MOST ? [`${p.where}: ${p.regex} took ${Math.round(worst.ms)} ms on ${JSON.stringify(worst.text.slice(0, 80))}`] : []
  })

describe('64 KiB of adversarial text', () => {
  it('are hard for what is known to be hard', () => {
    for (const regex of [/\s+$/, /(a+)+b/, /^.*"(\w*)*$/, /(?:\d+,?)+x/]) {
      const all = attacksOn(regex).map(t => t.slice(0, 26))
      expect(Math.max(...all.map(t => t.length))).toBeGreaterThan(20)
    }
    expect(slowest({ where: '', regex: /[^;]\s+$/ }).ms).toBeGreaterThan(MOST)
  })

  it('take no literal of the sources more than 50 ms', () => {
    const patterns = literals()
    expect(patterns.length).toBeGreaterThan(200)
    expect(slow(patterns)).toEqual([])
  }, 180_000)

  it('take no pattern that the sources put together more than 50 ms', async () => {
    const patterns = await made()
    expect(patterns.length).toBeGreaterThan(10)
    expect(slow(patterns)).toEqual([])
  }, 180_000)
})
