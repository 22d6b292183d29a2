/** The access-log formats that a configuration sets: other members of the bundle are written in them. */
import { decode } from '../text/bytes.js'
import { settingsOf } from './settings.js'
import { jsonTree, type Node, yamlTree } from './tree.js'

/** Text formats as configured, final newline included; a json_format as one JSON string. In the order of the configuration, each once. */
export function accessLogFormatsOf(bytes: Buffer): string[] {
  const text = decode(bytes, bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0, bytes.length)
  const first = /^\s*([{[]?)/.exec(text)?.[1]
  const documents = first ? jsonTree(text) : documentsOf(text)
  return [...new Set(settingsOf(documents ?? []).flatMap(s => (s.name === 'access_log_format' ? [s.value] : [])))]
}

/** One malformed document does not hide the others. */
function documentsOf(text: string): Node[] {
  return yamlTree(text) ?? text.split(/^---.*$/m).flatMap(part => yamlTree(part) ?? [])
}
