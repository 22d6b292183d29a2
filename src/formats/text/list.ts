/** List objects (`kubectl get -o json`) are read item by item: each item has its own span, and no list is too long. */
import { limits } from '../../limits.js'
import type { Sink } from '../../model/sink.js'
import { lineSpan } from '../../model/span.js'
import type { Block, FormatId } from '../format.js'
import { decode } from './bytes.js'
import { parseJson, scanJson } from './json.js'
import type { Unit } from './reader.js'
import { peel } from './wrappers.js'

/** Who reads the items. */
export interface ItemReader {
  /** Reads one item; false where no format takes it. */
  item(text: string, unit: Unit, sink: Sink): boolean
  /** An item, or the rest of the list, was not understood. */
  lost(): void
}

/**
 * Whether a list object begins at `at`, and where its first item does. `reader` answers who reads a list with this head.
 * null: none does; `to` 0: more bytes are needed to tell.
 */
export function openingOf(block: Block, at: number, reader: (head: string) => FormatId | null): { by: FormatId | null; to: number } | null {
  const head = block.bytes.toString('latin1', at, at + LIST_HEAD_BYTES)
  if (!LIST_BEGINS.test(head)) return null
  const m = LIST_HEAD.exec(head) ?? DUMP_HEAD.exec(head)
  if (!m) return head.length < LIST_HEAD_BYTES && !block.last ? { by: null, to: 0 } : null
  const by = reader(m[0])
  return by === null ? null : { by, to: at + m[0].length }
}

/** Reads one list, from its first item to its closing brace. */
export class ListReader {
  /** The list is over, or was given up. */
  ended = false
  private in: 'items' | 'tail' = 'items'

  constructor(private readonly reads: ItemReader) {}

  /** The next part of a list: an item, what stands between items, or the end of the list. */
  part(block: Block, at: number, line: number, sink: Sink): number {
    const { bytes } = block
    let from = at
    while (from < bytes.length && isBetween(bytes[from] as number)) from++
    if (from === bytes.length) return block.last ? skipTo(block, at, from, line, sink) : 0
    if (this.in === 'items' && bytes[from] === 0x7b) {
      if (from > at) return skipTo(block, at, from, line, sink)
      const found = scanJson(bytes, from, limits.depth)
      if (found.end === 'more' && !block.last && bytes.length - at < limits.unit) return 0
      if (found.end !== 'closed') return this.giveUp(block, at, line, sink)
      const span = lineSpan(block.byteStart + at, block.byteStart + found.at, line)
      const text = decode(bytes, found.from, found.at)
      if (!this.reads.item(text, { span, text, wrapper: peel('') }, sink)) {
        this.reads.lost()
        sink.problem(parseJson(text) === undefined ? 'not-json' : 'not-recognised', 'an item of a list that no format reads', span)
      }
      return found.at
    }
    if (this.in === 'items') {
      if (bytes[from] !== 0x5d) return this.plainItem(block, at, from, line, sink)
      this.in = 'tail'
      return skipTo(block, at, from + 1, line, sink)
    }
    // The tail holds a few keys of the list object: up to its closing brace.
    const end = closingBrace(bytes, from)
    if (end < 0) return block.last || bytes.length - at >= limits.unit ? this.giveUp(block, at, line, sink) : 0
    const close = bytes[end] === 13 ? end + 1 : end
    if (close === bytes.length && !block.last) return 0
    this.ended = true
    return skipTo(block, at, bytes[close] === 10 ? close + 1 : close, line, sink)
  }

  /** An item that is no object: a number, a word, a string. */
  private plainItem(block: Block, at: number, from: number, line: number, sink: Sink): number {
    const { bytes } = block
    const m = /^(?:"(?:[^"\\\n]|\\.)*"|[\w.+-]+)(?=[\s,\]])/.exec(bytes.toString('latin1', from, from + LIST_HEAD_BYTES))
    if (!m) return !block.last && bytes.length - from < LIST_HEAD_BYTES ? 0 : this.giveUp(block, at, line, sink)
    this.reads.lost()
    sink.problem('bad-record', 'an item of a list that is no object', lineSpan(block.byteStart + at, block.byteStart + from + m[0].length, line))
    return from + m[0].length
  }

  /** The list is cut off or malformed here: the rest of the line is one problem, and reading goes on as if outside. */
  private giveUp(block: Block, at: number, line: number, sink: Sink): number {
    this.ended = true
    const end = block.bytes.indexOf(10, at)
    const to = end < 0 ? block.bytes.length : end + 1
    this.reads.lost()
    sink.problem('truncated', 'a list that was cut off', lineSpan(block.byteStart + at, block.byteStart + to, line))
    return to
  }
}

function skipTo(block: Block, at: number, to: number, line: number, sink: Sink): number {
  sink.skip(lineSpan(block.byteStart + at, block.byteStart + to, line))
  return to
}

/** `{ "apiVersion": "v1", "kind": …, "metadata": {…}, "items": [`: keys with plain values, then the items. */
const LIST_HEAD = /^\s{0,64}\{(?:\s{0,64}"(?:apiVersion|kind|metadata)"\s{0,8}:\s{0,8}(?:"[^"\n]{0,256}"|\{[^{}]{0,1024}\})\s{0,8},){0,3}\s{0,64}"items"\s{0,8}:\s{0,8}\[/
/** `{ "configs": [ { "@type": …`: what Envoy's admin interface dumps. */
const DUMP_HEAD = /^\s{0,64}\{\s{0,64}"configs"\s{0,8}:\s{0,8}\[(?=\s{0,64}\{\s{0,64}"@type")/
const LIST_BEGINS = /^\s{0,64}\{\s{0,64}(?:"(?:apiVersion|kind|metadata|items|configs)"|$)/
const LIST_HEAD_BYTES = 4096

/** White space and commas. */
const isBetween = (c: number): boolean => c === 32 || c === 10 || c === 13 || c === 9 || c === 44

/** Index after the brace that closes an object whose inside begins at `from`, strings respected; -1 where the bytes end first. */
function closingBrace(bytes: Buffer, from: number): number {
  let depth = 1
  for (let i = from; i < bytes.length; i++) {
    const c = bytes[i]
    if (c === 0x22) for (i++; i < bytes.length && bytes[i] !== 0x22; i++) if (bytes[i] === 0x5c) i++
    if (c === 0x7b || c === 0x5b) depth++
    else if ((c === 0x7d || c === 0x5d) && --depth === 0) return i + 1
  }
  return -1
}
