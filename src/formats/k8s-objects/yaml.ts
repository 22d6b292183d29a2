/**
 * Objects in YAML, item by item. A unit is one document, one item of a list, or what stands around the items. Where a
 * poster's editor ate the indentation, an object is the run of `key: value` lines after its first.
 */
import { CORE_SCHEMA, load } from 'js-yaml'
import { limits } from '../../limits.js'
import { isJsonObject, type JsonObject } from '../text/json.js'
import { scanObject } from './scan.js'

export interface Block {
  /** Columns before the unit's own keys: 0 of a document, 2 and more of an item. */
  readonly indent: number
  readonly item: boolean
  lines: number
  /** `items:` was read: the list's head ends here, its items are units of their own. */
  head: boolean
  /** `kind: List` after the items. */
  readonly tail: boolean
  lost: boolean
  /** Lines of a `|` block belong to it whatever they look like: columns of its key, or -1 outside. */
  scalar: number
  /** The last line was blank: what follows must show that it still belongs. */
  blank: boolean
  /** The key of the last line, where its value may go on. */
  key: string
  readonly seen: Set<string>
}

const DOCUMENT = /^(apiVersion|kind): ["']?([A-Za-z][\w./-]{0,120})["']?\s*$/
const FIRST_KEY = /^( {0,8})- ([a-z][A-Za-z]{2,40}):(?:\s|$)/
/** With these an item begins even where no `items:` was seen. */
const ITEM_KEYS = new Set(['apiVersion', 'kind', 'metadata', 'addressType', 'aggregationRule'])
const KEY = /^( *)(?:- )?("?[\w.$/@{}:~-]{1,300}"?|'[^']{1,300}'):(?: (.*))?$/
const TOP_KEYS = new Set(['metadata', 'spec', 'status', 'kind', 'data', 'items', 'endpoints', 'ports', 'addressType', 'subsets', 'type', 'involvedObject'])
const SCALAR = /^[|>][+-]?\d?\s*$/

/** The unit that a line begins, or null. `inItems` are the columns of the list being read, -1 outside one. */
export function beginBlock(line: string, inItems: number): Block | null {
  const document = DOCUMENT.exec(line)
  if (document) {
    const key = document[1] as string
    return { ...fresh(), tail: key === 'kind' && (document[2] as string).endsWith('List'), key, seen: new Set([key]) }
  }
  const item = line.length < 500 ? FIRST_KEY.exec(line) : null
  if (!item) return null
  const indent = (item[1] as string).length
  const key = item[2] as string
  if (!ITEM_KEYS.has(key) && indent !== inItems) return null
  return { ...fresh(), indent: indent + 2, item: true, key, scalar: scalarAt(line, indent + 2), seen: new Set([key]) }
}

const fresh = (): Block => ({ indent: 0, item: false, lines: 1, head: false, tail: false, lost: false, scalar: -1, blank: false, key: '', seen: new Set() })

/** Columns of the key whose value is a block scalar, or -1. */
const scalarAt = (line: string, column: number): number => {
  const m = KEY.exec(line.length > 1000 ? line.slice(0, 1000) : line)
  return m && SCALAR.test(m[3] ?? '') ? column : -1
}

/** Whether the next line still belongs to the unit. */
export function holdsLine(b: Block, line: string): boolean {
  if (b.head) return false
  const held = b.lost ? holdsLost(b, line) : holdsIntact(b, line)
  if (held) b.lines++
  return held
}

function holdsIntact(b: Block, line: string): boolean {
  const column = columnOf(line)
  if (column < 0) {
    b.blank = true
    return true
  }
  if (b.scalar >= 0 && column > b.scalar) return true
  b.scalar = -1
  const key = KEY.exec(line.length > 1000 ? line.slice(0, 1000) : line)
  if (loses(b, column, key)) return holdsLost(b, line)
  if (column < b.indent || (b.item && column === b.indent && !key && !line.startsWith('- ', column))) return !b.item && column === 0 ? holdsTop(b, line, key) : false
  if (b.indent === 0 && column === 0) return holdsTop(b, line, key)
  b.blank = false
  remember(b, line, column, key)
  return true
}

/** A key of the document itself. */
function holdsTop(b: Block, line: string, key: RegExpExecArray | null): boolean {
  if (line.startsWith('- ')) return !b.blank && b.key !== 'apiVersion' && b.key !== 'kind'
  if (line.startsWith('#')) return !b.blank
  if (!key) return false
  const name = key[2] as string
  if (b.seen.has(name) || (b.blank && !TOP_KEYS.has(name))) return false
  if (b.tail && !['metadata', 'resourceVersion', 'selfLink'].includes(name)) return false
  b.seen.add(name)
  b.head = name === 'items' && (key[3] ?? '') === ''
  b.blank = false
  remember(b, line, 0, key)
  return true
}

function remember(b: Block, line: string, column: number, key: RegExpExecArray | null): void {
  if (!key) return
  b.key = key[2] as string
  if (SCALAR.test(key[3] ?? '')) b.scalar = column + (line.charCodeAt(column) === 0x2d ? 2 : 0)
}

/** An item whose second key stands left of its first, or a mapping whose first key does not stand right of it. */
function loses(b: Block, column: number, key: RegExpExecArray | null): boolean {
  if (!key || column !== 0) return false
  const name = key[2] as string
  b.lost = (b.item && b.lines === 1 && b.indent === 2 && name === 'kind') || (!b.item && (b.key === 'metadata' || b.key === 'spec') && !TOP_KEYS.has(name) && !b.tail)
  return b.lost
}

function holdsLost(b: Block, line: string): boolean {
  if (b.scalar >= 0) {
    // One line of it, which is how kubectl prints the JSON of last-applied-configuration.
    b.scalar = -1
    return line.trim() !== ''
  }
  if (line.trim() === '' || /^- apiVersion:/.test(line) || /^kind: \w{1,60}List\b|^kind: List$/.test(line)) return false
  const key = KEY.exec(line.length > 1000 ? line.slice(0, 1000) : line)
  if (!key) return /^- [\w."']/.test(line) || b.key === 'message'
  b.key = key[2] as string
  b.scalar = SCALAR.test(key[3] ?? '') ? 0 : -1
  return true
}

function columnOf(line: string): number {
  let i = 0
  while (line.charCodeAt(i) === 32) i++
  return i === line.length ? -1 : i
}

/** The object that a unit holds, by its YAML or, where that is broken, by its lines; null where it is none. */
export function readBlock(b: Block, text: string): JsonObject | null {
  if (!b.lost) {
    const own = b.item ? `${' '.repeat(b.indent)}${text.slice(b.indent)}` : text
    const value = loadYaml(own)
    if (value) return value
  }
  return scanObject(text)
}

/** One document, or null. Depth and aliases are bounded; tags other than the core's are errors. */
export function loadYaml(text: string): JsonObject | null {
  try {
    const value = load(text, { schema: CORE_SCHEMA, json: true, maxDepth: limits.depth, maxAliases: 100 })
    return isJsonObject(value) ? value : null
  } catch {
    return null
  }
}
