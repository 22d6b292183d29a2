/** The settings of a configuration: walks its tree, whatever wraps the parts that matter (a dump, a patch, an object of Kubernetes). */
import { formatAt, inSeconds, settingName, snake, SOCKET_OPTIONS } from './names.js'
import { childOf, type Node, stringOf, toJson, yamlTree } from './tree.js'

export interface Setting {
  /** The cluster, listener or object that it is a setting of; null where nothing around it has a name. */
  readonly subject: string | null
  readonly name: string
  readonly value: string
  readonly unit: string | null
  /** Characters of the text. */
  readonly start: number
  readonly end: number
}

interface Around {
  readonly subject: string | null
  /** Keys from the root on, in snake_case; items of a list have that of the list. */
  readonly above: readonly string[]
  /** The place of the text that holds the one being read: configuration in a string. */
  readonly held: Node | null
}

/** Configuration in a string is read up to this size. */
const LONGEST_STRING = 4 * 1024 * 1024

export function settingsOf(documents: readonly Node[]): Setting[] {
  const out: Setting[] = []
  for (const d of documents) visit(d, { subject: null, above: [], held: null }, out)
  return out
}

function visit(node: Node, around: Around, out: Setting[]): void {
  const inside = { ...around, subject: subjectOf(node, around) }
  if (node.is === 'map') socketOption(node, inside, out)
  const names = node.is === 'map' && isConnectionManager(node) ? [...inside.above, 'http_connection_manager'] : inside.above
  for (const child of node.children) {
    const key = child.key === null ? null : snake(child.key)
    const format = key === null ? null : formatAt(key, names)
    const name = key === null || format ? null : settingName(key, names)
    const value = format ? formatText(child, node) : name === null ? null : valueText(child)
    if (format && value !== null) push(format === 'access' ? 'access_log_format' : 'application_log_format', value, null, child, inside, out)
    else if (name !== null && value !== null) pushTimed(name, value, child, inside, out)
    else if (child.is === 'scalar') embedded(child, { ...inside, above: key === null ? names : [...names, key] }, out)
    else if (key === 'tcp_keepalive' && child.children.length === 0) push('tcp_keepalive', 'on', null, child, inside, out)
    else if (!format) visit(child, { ...inside, above: key === null ? inside.above : [...inside.above, key] }, out)
  }
}

const isConnectionManager = (node: Node): boolean => stringOf(node, '@type')?.endsWith('.HttpConnectionManager') === true

/** Whose settings those of a mapping are: of the cluster that its requests go to, of itself where it is a thing with a name. */
function subjectOf(node: Node, { above, subject, held }: Around): string | null {
  if (node.is !== 'map') return subject
  const cluster = stringOf(node, 'cluster')
  if (cluster !== null && above.at(-1) !== 'node') return cluster
  const metadata = childOf(node, 'metadata')
  const object = stringOf(metadata, 'name')
  if (object !== null && stringOf(node, 'kind') !== null) return [stringOf(metadata, 'namespace'), object].filter(p => p !== null).join('/')
  const last = above.at(-1)
  if (last !== undefined && !NAMED.has(last)) return subject
  if (last === undefined && held !== null) return subject
  return stringOf(node, 'name') ?? listenAddress(node) ?? subject
}

/** Keys of things whose name says whose settings are inside. */
const NAMED = new Set(['listeners', 'listener', 'clusters', 'cluster', 'virtual_hosts', 'resources', 'route_config', 'extension_providers'])

/** `0.0.0.0:8080` of a listener without a name. */
function listenAddress(node: Node): string | null {
  const socket = childOf(childOf(node, 'address'), 'socket_address') ?? childOf(childOf(node, 'address'), 'socketAddress')
  const port = (childOf(socket, 'port_value') ?? childOf(socket, 'portValue'))?.value
  const address = stringOf(socket, 'address')
  return address === null || typeof port !== 'number' ? null : `${address}:${port}`
}

/** `{ level: 6, name: 18, int_value: 30000 }`. */
function socketOption(node: Node, around: Around, out: Setting[]): void {
  const option = childOf(node, 'level')?.value === 6 ? SOCKET_OPTIONS[Number(childOf(node, 'name')?.value)] : undefined
  const value = (childOf(node, 'int_value') ?? childOf(node, 'intValue'))?.value
  if (option && (typeof value === 'number' || typeof value === 'string')) push(option[0], String(value), option[1], node, around, out)
}

/** A scalar as text; the items of a list joined; `{ seconds: 5 }` as `5s`. null: there is none, or it holds settings of its own. */
function valueText(node: Node): string | null {
  if (node.is === 'scalar') return node.value === null || node.value === '' ? null : String(node.value)
  if (node.is === 'list') {
    const items = node.children.map(c => (c.is === 'scalar' && c.value !== null ? String(c.value) : null))
    return items.length > 0 && !items.includes(null) ? items.join(',') : null
  }
  const seconds = childOf(node, 'seconds')?.value
  return node.children.every(c => c.key === 'seconds' || c.key === 'nanos') && (typeof seconds === 'number' || typeof seconds === 'string') ? `${seconds}s` : null
}

/** A text format as it is, a json_format as one JSON string. */
function formatText(node: Node, parent: Node): string | null {
  if (node.is !== 'scalar') return node.is === 'map' && node.children.length > 0 ? JSON.stringify(toJson(node)) : null
  if (typeof node.value !== 'string' || !node.value.includes('%')) return null
  // Istio writes a format for JSON as text, too.
  return stringOf(parent, 'accessLogEncoding') === 'JSON' ? node.value.trim() : node.value
}

const DURATION = /^(\d{1,12}(?:\.\d{1,9})?)(ns|us|ms|s|m|h)$/

function pushTimed(name: string, value: string, node: Node, around: Around, out: Setting[]): void {
  const m = DURATION.exec(value)
  push(name, m ? (m[1] as string) : value, m ? (m[2] as string) : inSeconds(name) && /^\d+$/.test(value) ? 's' : null, node, around, out)
}

function push(name: string, value: string, unit: string | null, node: Node, { subject, held }: Around, out: Setting[]): void {
  const { start, end } = held ?? node
  out.push({ subject, name, value, unit, start, end })
}

/** A ConfigMap, or an EnvoyProxy's bootstrap, keeps configuration as text: its settings have the place of all of it. */
function embedded(node: Node, around: Around, out: Setting[]): void {
  const text = node.value
  if (typeof text !== 'string' || around.held || text.length > LONGEST_STRING || !text.includes('\n') || !holdsConfiguration(around.above)) return
  for (const d of yamlTree(text) ?? []) visit(d, { subject: around.subject, above: [], held: node }, out)
}
const holdsConfiguration = (above: readonly string[]): boolean => above[0] === 'data' || above.at(-2) === 'bootstrap'
