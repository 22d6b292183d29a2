/** The whole objects at the beginning of a member: what formats that print objects in their own way are recognised by. */
import { limits } from '../../limits.js'
import type { JsonObject } from '../text/json.js'
import { silent, TextParser } from '../text/reader.js'
import { objectRecogniser } from './parser.js'

export interface Peeked {
  /** They are items of a list. */
  readonly inList: boolean
  /** The member goes on after what was looked at. */
  readonly cut: boolean
  readonly objects: readonly { readonly kind: string; readonly object: JsonObject }[]
}

const known = new WeakMap<Buffer, Peeked>()

const LIST = /^\s{0,64}\{[^[]{0,4096}"items"\s{0,8}:\s{0,8}\[|(?:^|\n)items:/

/** Each head is read once, however many formats ask. */
export function peekObjects(head: Buffer): Peeked {
  const before = known.get(head)
  if (before) return before
  const objects: { kind: string; object: JsonObject }[] = []
  const recogniser = objectRecogniser((kind, object) => objects.push({ kind, object }))
  const cut = head.length >= limits.head
  new TextParser([{ id: 'k8s-objects', recogniser }]).parse({ bytes: head, byteStart: 0, line: 1, last: !cut }, silent)
  const peeked = { inList: LIST.test(head.toString('latin1', 0, 8192)), cut, objects }
  known.set(head, peeked)
  return peeked
}
