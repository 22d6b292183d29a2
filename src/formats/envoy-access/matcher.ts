/**
 * Finds every way to read a line as a format, and so what of it is certain. Text formats escape nothing and clients
 * write part of each line, so one reading proves nothing: a value is certain only where all readings have it.
 *
 * One pass forward collects, operator by operator, the places where its value may begin; one pass back drops those from
 * which the end cannot be reached. Both take time linear in the line (times the operators), and no expression is built
 * for a record. Most lines have one place a step.
 */
import { type Operator, operatorOf } from './operators.js'
import { beginsEndpoint, type Level, type Shape } from './shapes.js'
import type { Token } from './template.js'

/** An operator and the literal text after it. */
interface Step {
  readonly operator: Operator
  readonly shape: Shape
  readonly literal: string
  /**
   * How the end of a value is found. `own`: the value says so. `clear`: where its characters end, as none of them can
   * begin the literal. `bounded`, `run` and `free`: wherever the literal stands, within a length, within a run of the
   * value's characters, or anywhere.
   */
  readonly ends: 'own' | 'clear' | 'bounded' | 'run' | 'free'
  /** `-` for an unset value has to be looked for apart: its character is none of the value's. */
  readonly dash: boolean
}

function stepOf(operator: Operator, shape: Shape, literal: string): Step {
  const first = literal.charCodeAt(0)
  const clear = literal !== '' && shape.chars !== null && !shape.chars.has(first) && !shape.endpointChars?.has(first)
  const ends = shape.end ? 'own' : clear ? 'clear' : Number.isFinite(shape.max) ? 'bounded' : shape.chars ? 'run' : 'free'
  return { operator, shape, literal, ends, dash: shape.chars !== null && !shape.chars.has(DASH) }
}

/** The printed value of each operator, null where the readings of a line differ. Operators that fill no field are not looked at. */
export type Values = readonly (string | null)[]

const DASH = 0x2d

/** A longer line is no record: Envoy takes 60 KiB of headers unless told otherwise. Bounds the memory that hostile text can make a match take. */
const LONGEST = 256 * 1024

export class Pattern {
  readonly prefix: string
  readonly steps: readonly Step[]

  /** `tokens` has at least one operator. */
  constructor(tokens: readonly Token[], level: Level) {
    const multiline = tokens.some(t => typeof t === 'string' && t.includes('\n'))
    this.prefix = typeof tokens[0] === 'string' ? tokens[0] : ''
    const steps: Step[] = []
    tokens.forEach((token, i) => {
      if (typeof token === 'string') return
      const operator = operatorOf(token)
      const shape = operator.shape(level, multiline)
      const next = tokens[i + 1]
      const literal = typeof next === 'string' ? next : ''
      steps.push(stepOf(operator, shape, literal))
    })
    this.steps = steps
  }

  /** What all readings of `text` as one record agree on, or null where there is none. */
  match(text: string): Values | null {
    if (text.length > LONGEST || !text.startsWith(this.prefix) || !text.endsWith(this.lastLiteral)) return null
    const places = this.forward(text)
    return places && this.settle(text, places, text.length)
  }

  /** The end of the first record in `text`, where another may follow without a line break; or -1. `whole`: nothing follows `text`. */
  firstEnd(text: string, whole: boolean): number {
    if (!text.startsWith(this.prefix)) return -1
    let places: Places = this.prefix.length
    for (const step of this.steps) {
      places = advance(step, text, places)
      if (places === NOWHERE) return -1
    }
    return listOf(places).find(p => p > 0 && ((whole && p === text.length) || this.mayBegin(text, p))) ?? -1
  }

  private mayBegin(text: string, at: number): boolean {
    const first = this.steps[0] as Step
    return text.startsWith(this.prefix, at) && advance(first, text, at + this.prefix.length) !== NOWHERE
  }

  private get lastLiteral(): string {
    return (this.steps[this.steps.length - 1] as Step).literal
  }

  /** Where each operator's value may begin, seen from the left. */
  private forward(text: string): Places[] | null {
    let places: Places = this.prefix.length
    const all: Places[] = [places]
    for (let k = 0; k < this.steps.length - 1; k++) {
      places = advance(this.steps[k] as Step, text, places)
      if (places === NOWHERE) return null
      all.push(places)
    }
    return all
  }

  /** Drops the places from which `end` cannot be reached, and takes the values between those that are left. */
  private settle(text: string, places: readonly Places[], end: number): Values | null {
    const last = this.steps.length - 1
    const out: (string | null)[] = []
    let next: Places = end
    for (let k = last; k >= 0; k--) {
      const step = this.steps[k] as Step
      // A single place is on every reading once there is one.
      const here: Places = typeof places[k] === 'number' && k < last ? (places[k] as number) : survivors(step, text, listOf(places[k] as Places), listOf(next))
      if (here === NOWHERE) return null
      out[k] = step.operator.field === null ? null : valueBetween(step, text, here, next)
      next = here
    }
    return out
  }
}

/** One place, several in ascending order, or NOWHERE: most steps have one, which needs no list. */
type Places = number | readonly number[]
const NOWHERE = -1

const listOf = (places: Places): readonly number[] => (typeof places === 'number' ? [places] : places)
const placesOf = (list: readonly number[]): Places => (list.length > 1 ? list : (list[0] ?? NOWHERE))

/** Where the value after this one may begin, if this one begins at one of `starts`. */
function advance(step: Step, text: string, starts: Places): Places {
  const { shape, ends } = step
  if (typeof starts === 'number') {
    if (ends === 'clear' && !(step.dash && text.charCodeAt(starts) === DASH)) return clearEnd(step, text, starts)
    if (ends === 'own') return ownEnd(step, text, starts)
  }
  const out: number[] = []
  const list = listOf(starts)
  if (ends === 'free') everyLiteral(step, text, (list[0] as number) + shape.min, text.length, out)
  else if (ends === 'own') for (const start of list) add(out, ownEnd(step, text, start))
  else eachRun(step, text, list, out)
  return placesOf(out)
}

/** All places that unbounded values allow in one run of their characters are found from the run's first start. */
function eachRun(step: Step, text: string, starts: readonly number[], out: number[]): void {
  const { shape, literal, ends } = step
  const bounded = Number.isFinite(shape.max)
  let runEnd = -1
  for (const start of starts) {
    if (step.dash && text.charCodeAt(start) === DASH && text.startsWith(literal, start + 1)) add(out, start + 1 + literal.length)
    if (!bounded && start < runEnd) continue
    if (ends === 'clear') {
      add(out, clearEnd(step, text, start))
      if (!bounded) runEnd = endOfRun(shape, text, start)
    } else {
      runEnd = endOfRun(shape, text, start)
      if (bounded) everyPlace(step, text, start, runEnd, out)
      else everyLiteral(step, text, start + shape.min, runEnd, out)
    }
  }
}

function clearEnd({ shape, literal }: Step, text: string, start: number): number {
  const end = endOfRun(shape, text, start)
  return end - start >= shape.min && text.startsWith(literal, end) && accepted(shape, text, start, end) ? end + literal.length : NOWHERE
}

function ownEnd({ shape, literal }: Step, text: string, start: number): number {
  const end = shape.end ? shape.end(text, start) : NOWHERE
  return end >= 0 && text.startsWith(literal, end) ? end + literal.length : NOWHERE
}

const accepted = (shape: Shape, text: string, start: number, end: number): boolean => shape.accepts === null || shape.accepts(text, start, end)

/** Where the literal begins from `from` to `to`. */
function everyLiteral({ literal }: Step, text: string, from: number, to: number, out: number[]): void {
  const size = literal.length
  if (size === 0) for (let e = from; e <= to; e++) add(out, e)
  else if (to === text.length) for (let e = text.indexOf(literal, from); e >= 0; e = text.indexOf(literal, e + 1)) add(out, e + size)
  else {
    // Not `indexOf`: behind each of many runs it would search the rest of the text.
    const first = literal.charCodeAt(0)
    for (let e = from; e <= to; e++) if (text.charCodeAt(e) === first && text.startsWith(literal, e)) add(out, e + size)
  }
}

function everyPlace({ shape, literal }: Step, text: string, start: number, runEnd: number, out: number[]): void {
  const first = literal === '' ? -1 : literal.charCodeAt(0)
  for (let e = start + shape.min; e <= runEnd; e++)
    if ((first < 0 || (text.charCodeAt(e) === first && text.startsWith(literal, e))) && accepted(shape, text, start, e)) add(out, e + literal.length)
}

/** The end of the characters that a value from `start` may have. */
function endOfRun(shape: Shape, text: string, start: number): number {
  const limit = Math.min(start + shape.max, text.length)
  const chars = shape.endpointChars && beginsEndpoint(text, start) ? shape.endpointChars : shape.chars
  if (chars === null) return limit
  let i = start
  while (i < limit && chars.has(text.charCodeAt(i))) i++
  return i
}

/** Those of `starts` from which a value reaches one of `targets`, the places of the next value. */
function survivors(step: Step, text: string, starts: readonly number[], targets: readonly number[]): Places {
  const { shape, literal } = step
  let runEnd = -1
  const kept = starts.filter(start => {
    if (shape.end) return has(targets, shape.end(text, start) + literal.length, literal.length)
    if (text.charCodeAt(start) === DASH && has(targets, start + 1 + literal.length, literal.length)) return true
    if (start >= runEnd || Number.isFinite(shape.max)) runEnd = endOfRun(shape, text, start)
    for (let i = firstFrom(targets, start + shape.min + literal.length); i < targets.length; i++) {
      const end = (targets[i] as number) - literal.length
      if (end > runEnd) return false
      if (accepted(shape, text, start, end)) return true
    }
    return false
  })
  return placesOf(kept)
}

/** How many pairs of places are compared: more do not agree anyway. */
const PAIRS = 64

/** The value from one of `starts` to before one of `nexts`, or null where there are several. */
function valueBetween(step: Step, text: string, starts: Places, nexts: Places): string | null {
  const size = step.literal.length
  if (typeof starts === 'number' && typeof nexts === 'number') return text.slice(starts, nexts - size)
  const from = listOf(starts)
  const to = listOf(nexts)
  if (from.length * to.length > PAIRS) return null
  let value: string | null = null
  for (const start of from)
    for (const next of to) {
      if (survivors(step, text, [start], [next]) === NOWHERE) continue
      const found = text.slice(start, next - size)
      if (value !== null && value !== found) return null
      value = found
    }
  return value
}

/** Index of the first of the ascending `places` that is `at` or beyond. */
function firstFrom(places: readonly number[], at: number): number {
  let low = 0
  let high = places.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((places[middle] as number) < at) low = middle + 1
    else high = middle
  }
  return low
}

const has = (places: readonly number[], place: number, least: number): boolean => place >= least && places[firstFrom(places, place)] === place

/** Adds a place to an ascending list without doubles; NOWHERE is none. */
function add(places: number[], place: number): void {
  if (place === NOWHERE) return
  const last = places[places.length - 1]
  if (last === undefined || place > last) places.push(place)
  else if (place < last && !has(places, place, 0)) places.splice(firstFrom(places, place), 0, place)
}
