/** Kubernetes objects as `kubectl get -o json` and `-o yaml` print them, alone, in lists, one after another. */
import type { Sink } from '../../model/sink.js'
import { hasSettings } from '../envoy-config/kinds.js'
import { settingsOf } from '../envoy-config/settings.js'
import { valueTree } from '../envoy-config/tree.js'
import { writeSetting } from '../envoy-config/write.js'
import { getString, type JsonObject } from '../text/json.js'
import type { Recogniser, TextFormat, Unit } from '../text/reader.js'
import { subjectOf } from './facts.js'
import { itemsOf, kindOf, writeObject } from './objects.js'
import { beginBlock, type Block, holdsLine, readBlock } from './yaml.js'

/** Writes one object. Its record was begun. */
export type ObjectWriter = (kind: string, o: JsonObject, sink: Sink, unit: Unit) => void

/** Reads objects in JSON and YAML, alone and in lists, and hands each to `writeOne`. */
export function objectRecogniser(writeOne: ObjectWriter): Recogniser<Block> {
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
      writeOne(kind, object, sink, unit)
    } else if (block.lost) sink.skip(unit.span)
    else sink.problem('not-recognised', 'YAML that is no whole object of Kubernetes', unit.span)
  }

  const list = (head: string): boolean => {
    listKind = /"kind"\s{0,8}:\s{0,8}"(\w{1,64})"/.exec(head)?.[1] ?? null
    return head.includes('"apiVersion"')
  }

  return { match, holds, write, list, json: (o, unit, sink) => writeJson(o, listKind, writeOne, unit, sink), skips: line => line === '---' || line === '...' }
}

const mayBegin = (line: string): boolean => {
  const c = line.charCodeAt(0)
  return (c === 0x61 || c === 0x6b || c === 0x2d || c === 0x20) && line.indexOf(':') > 0
}

function writeJson(o: JsonObject, listKind: string | null, writeOne: ObjectWriter, unit: Unit, sink: Sink): boolean {
  const items = itemsOf(o)
  if (items === null) {
    const kind = kindOf(o, listKind)
    if (kind === null) return false
    sink.record(unit.span)
    writeOne(kind, o, sink, unit)
    return true
  }
  const list = getString(o, 'kind')
  const kinds = items.map(i => kindOf(i, list))
  if (items.length > 0 && kinds.every(k => k === null)) return false
  sink.record(unit.span)
  for (const [i, kind] of kinds.entries()) if (kind !== null) writeOne(kind, items[i] as JsonObject, sink, unit)
  if (kinds.includes(null)) sink.note('bad-record', 'an item of a list that is no object of Kubernetes', unit.span)
  return true
}

/** What an object says, and what it sets. */
const writeOne: ObjectWriter = (kind, o, sink) => {
  writeObject(kind, o, sink)
  if (hasSettings(kind, o)) for (const s of settingsOf([valueTree(o)])) writeSetting(s, subjectOf(o) ?? kind, sink)
}

export const k8sObjects: TextFormat = {
  id: 'k8s-objects',
  title: 'Kubernetes objects, JSON or YAML',
  names: [/\.(?:ya?ml|json)(\.gz)?$/],
  collect: 'kubectl get pods,nodes,services,endpointslices -A -o json > objects.json',
  split: 'none',
  recogniser: () => objectRecogniser(writeOne) as Recogniser,
}
