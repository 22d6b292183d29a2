/** Configuration with places: YAML or JSON text as a tree whose nodes know where they stand. */
import { type Event, EVENT_ID, getScalarValue, parseEvents, SCALAR_STYLE } from 'js-yaml'
import { limits } from '../../limits.js'
import { isJsonObject, type JsonValue } from '../text/json.js'

/** One entry of a mapping, item of a list, or document. Places are characters of the text. */
export interface Node {
  readonly key: string | null
  /** Where its key begins, or its value where it has none; after its value. */
  readonly start: number
  end: number
  readonly is: 'map' | 'list' | 'scalar'
  /** Of a scalar. */
  readonly value: string | number | boolean | null
  readonly children: Node[]
}

export const childOf = (node: Node | undefined, key: string): Node | undefined => node?.children.find(c => c.key === key)
export const stringOf = (node: Node | undefined, key: string): string | null => {
  const value = childOf(node, key)?.value
  return typeof value === 'string' && value !== '' ? value : null
}

export function toJson(node: Node): JsonValue {
  if (node.is === 'scalar') return node.value
  return node.is === 'list' ? node.children.map(toJson) : Object.fromEntries(node.children.map(c => [c.key ?? '', toJson(c)]))
}

/** The tree of a value that was read already. Its nodes stand nowhere. */
export function valueTree(value: JsonValue | undefined, key: string | null = null): Node {
  const place = { key, start: 0, end: 0 }
  if (Array.isArray(value)) return { ...place, is: 'list', value: null, children: value.map(v => valueTree(v)) }
  if (isJsonObject(value)) return { ...place, is: 'map', value: null, children: Object.entries(value).map(([k, v]) => valueTree(v, k)) }
  return { ...place, is: 'scalar', value: value ?? null, children: [] }
}

/** Builds nodes from what a reader meets, in order. */
class Builder {
  readonly documents: Node[] = []
  private readonly open: Node[] = []
  private key: string | null = null
  private keyStart = 0

  /** Whether the next scalar is a key. */
  get expectsKey(): boolean {
    return this.open.at(-1)?.is === 'map' && this.key === null
  }

  get depth(): number {
    return this.open.length
  }

  /** The kind of what was opened last. */
  get inside(): Node['is'] | undefined {
    return this.open.at(-1)?.is
  }

  setKey(key: string, start: number): void {
    this.key = key
    this.keyStart = start
  }

  begin(is: 'map' | 'list', start: number): void {
    this.open.push(this.add(is, null, start, start))
  }

  scalar(value: Node['value'], start: number, end: number): void {
    this.add('scalar', value, start, end)
  }

  close(end: number): void {
    const node = this.open.pop()
    if (node) node.end = Math.max(node.end, end, node.children.at(-1)?.end ?? 0)
  }

  private add(is: Node['is'], value: Node['value'], start: number, end: number): Node {
    const node: Node = { key: this.key, start: this.key === null ? start : this.keyStart, end: Math.max(start, end), is, value, children: [] }
    this.key = null
    ;(this.open.at(-1)?.children ?? this.documents).push(node)
    return node
  }
}

/** The documents of a YAML text, or null where it is malformed. An alias stands for what it names only where that is a scalar: the rest is read where it is written. */
export function yamlTree(text: string): Node[] | null {
  try {
    return fromEvents(parseEvents(text, { maxDepth: limits.depth }), text)
  } catch {
    return null
  }
}

function fromEvents(events: readonly Event[], text: string): Node[] {
  const builder = new Builder()
  const anchors = new Map<string, Node['value']>()
  let documents = 0
  const put = (value: Node['value'], start: number, end: number) => (builder.expectsKey ? builder.setKey(String(value), start) : builder.scalar(value, start, end))
  for (const e of events) {
    if (e.type === EVENT_ID.DOCUMENT) documents++
    else if (e.type === EVENT_ID.MAPPING || e.type === EVENT_ID.SEQUENCE) {
      // A mapping as a key has no name here.
      if (builder.expectsKey) builder.setKey('', e.start)
      builder.begin(e.type === EVENT_ID.MAPPING ? 'map' : 'list', e.start)
    } else if (e.type === EVENT_ID.SCALAR) {
      const source = getScalarValue(text, e)
      const value = e.style === SCALAR_STYLE.PLAIN && !builder.expectsKey ? plainValue(source) : source
      // The quote stands outside what is called the value.
      const quoted = e.style === SCALAR_STYLE.SINGLE_QUOTED || e.style === SCALAR_STYLE.DOUBLE_QUOTED ? 1 : 0
      if (e.anchorStart >= 0) anchors.set(text.slice(e.anchorStart, e.anchorEnd), value)
      put(value, Math.max(0, e.valueStart - quoted), e.valueEnd + quoted)
    } else if (e.type === EVENT_ID.ALIAS) put(anchors.get(text.slice(e.anchorStart, e.anchorEnd)) ?? null, e.anchorStart, e.anchorEnd)
    else if (builder.depth > 0) builder.close(0)
  }
  return documents > 0 ? builder.documents : []
}

const plainValue = (s: string): Node['value'] => {
  if (s === '' || s === '~' || s === 'null') return null
  if (s === 'true' || s === 'false') return s === 'true'
  return /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,9})?$/.test(s) ? Number(s) : s
}

/** The values of a JSON text that were read whole, one after the other; null where the first is malformed. */
export function jsonTree(text: string): Node[] | null {
  const builder = new Builder()
  const separators = /[\s,:]*/y
  let at = 0
  const skip = () => {
    separators.lastIndex = at
    separators.exec(text)
    at = separators.lastIndex
  }
  for (skip(); at < text.length; skip()) {
    const c = text.charCodeAt(at)
    if (c === 0x7b || c === 0x5b) {
      if (builder.depth >= limits.depth) return null
      builder.begin(c === 0x7b ? 'map' : 'list', at++)
    } else if (c === 0x7d || c === 0x5d) {
      if (builder.inside !== (c === 0x7d ? 'map' : 'list')) break
      builder.close(++at)
    } else {
      const end = c === 0x22 ? endOfString(text, at) : endOfWord(text, at)
      const value = end > at ? scalarOf(text.slice(at, end)) : undefined
      if (value === undefined) break
      if (builder.expectsKey) builder.setKey(String(value), at)
      else builder.scalar(value, at, end)
      at = end
    }
  }
  const whole = builder.depth > 0 ? builder.documents.slice(0, -1) : builder.documents
  return whole.length > 0 ? whole : null
}

function scalarOf(text: string): Node['value'] | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : undefined
  } catch {
    return undefined
  }
}

/** Index after the closing quote, or `at` where there is none. */
function endOfString(text: string, at: number): number {
  for (let i = at + 1; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === 0x5c) i++
    else if (c === 0x22) return i + 1
  }
  return at
}

const WORD = /[\w+.-]{0,64}/y
function endOfWord(text: string, at: number): number {
  WORD.lastIndex = at
  WORD.exec(text)
  return WORD.lastIndex
}
