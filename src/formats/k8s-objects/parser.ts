/** Kubernetes objects as `kubectl get -o json` and `-o yaml` print them, alone, in lists, one after another. */
import type { Sink } from '../../model/sink.js'
import type { JsonObject } from '../text/json.js'
import type { Recogniser, TextFormat, Unit } from '../text/reader.js'
import { itemsOf, kindOf, writeObject } from './objects.js'
import { getString } from '../text/json.js'
import { beginBlock, type Block, holdsLine, readBlock } from './yaml.js'

function recogniser(): Recogniser<Block> {
  /** Columns of the items of the YAML list being read; -1 outside one. */
  let inItems = -1
  /** Kind of the JSON list being read item by item: of the items of a PodList only the list says what they are. */
  let listKind: string | null = null

  const match = ({ text }: Unit): Block | null => {
    const block = mayBegin(text) ? beginBlock(text, inItems) : null
    if (block?.item) inItems = block.indent - 2
    else inItems = -1
    return block
  }

  const holds = (block: Block, line: string): boolean => {
    const held = holdsLine(block, line)
    if (held && block.head) inItems = 0
    return held
  }

  const write = (block: Block, unit: Unit, sink: Sink): void => {
    if (block.head || block.tail) {
      sink.skip(unit.span)
      return
    }
    const object = readBlock(block, unit.text)
    const kind = object && kindOf(object, block.item ? 'List' : null)
    if (object && kind) {
      sink.record(unit.span)
      writeObject(kind, object, sink)
    } else if (block.lost) sink.skip(unit.span)
    else sink.problem('not-recognised', 'YAML that is no whole object of Kubernetes', unit.span)
  }

  const list = (head: string): boolean => {
    listKind = /"kind"\s{0,8}:\s{0,8}"(\w{1,64})"/.exec(head)?.[1] ?? null
    return head.includes('"apiVersion"')
  }

  return { match, holds, write, list, json: (o, unit, sink) => writeJson(o, listKind, unit, sink), skips: line => line === '---' || line === '...' }
}

const mayBegin = (line: string): boolean => {
  const c = line.charCodeAt(0)
  return (c === 0x61 || c === 0x6b || c === 0x2d || c === 0x20) && line.indexOf(':') > 0
}

function writeJson(o: JsonObject, listKind: string | null, unit: Unit, sink: Sink): boolean {
  const items = itemsOf(o)
  if (items === null) {
    const kind = kindOf(o, listKind)
    if (kind === null) return false
    sink.record(unit.span)
    writeObject(kind, o, sink)
    return true
  }
  const list = getString(o, 'kind')
  const kinds = items.map(i => kindOf(i, list))
  if (items.length > 0 && kinds.every(k => k === null)) return false
  sink.record(unit.span)
  for (const [i, kind] of kinds.entries()) if (kind !== null) writeObject(kind, items[i] as JsonObject, sink)
  if (kinds.includes(null)) sink.note('bad-record', 'an item of a list that is no object of Kubernetes', unit.span)
  return true
}

export const k8sObjects: TextFormat = {
  id: 'k8s-objects',
  title: 'Kubernetes objects, JSON or YAML',
  names: [/\.(?:ya?ml|json)(\.gz)?$/],
  collect: 'kubectl get pods,nodes,services,endpointslices -A -o json > objects.json',
  split: 'none',
  recogniser: () => recogniser() as Recogniser,
}
