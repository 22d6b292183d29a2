/** An object from `key: value` lines whose indentation is lost: its identity and what its kind is about, as far as keys tell. */
import { getObject, getString, isJsonObject, type JsonObject, type JsonValue, parseJson } from '../text/json.js'

type Values = { [key: string]: JsonValue | undefined }

const LINE = /^\s*(?:- )?["']?([\w.$/-]{1,200})["']?:(?: (.*))?$/
/** Lists whose entries are told apart. */
const GROUPS = new Set(['parentRefs', 'backendRefs', 'listeners'])
const APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

/** null where the lines name no kind. */
export function scanObject(text: string): JsonObject | null {
  const lines = text.split('\n')
  const top: Values = {}
  const metadata: Values = {}
  const spec: Values = {}
  const status: Values = {}
  const backends: Values[] = []
  const listeners: Values[] = []
  let section = ''
  let group = ''
  let applied: JsonObject | null = null
  for (const [i, line] of lines.entries()) {
    const m = LINE.exec(line.length > 4000 ? line.slice(0, 4000) : line)
    if (!m) continue
    const key = m[1] as string
    const value = scalar(m[2] ?? '')
    if (key === APPLIED) applied = appliedObject(lines[i + 1] ?? '')
    else if ((key === 'metadata' || key === 'spec' || key === 'status') && value === '') section = key
    else if (section === '' && (key === 'kind' || key === 'apiVersion')) top[key] ??= value
    else if (section === 'metadata') {
      if (['name', 'namespace', 'uid', 'creationTimestamp', 'deletionTimestamp'].includes(key)) metadata[key] ??= value
    } else if (section === 'spec') {
      if (value === '' && GROUPS.has(key)) group = key
      if (['gatewayClassName', 'controllerName', 'nodeName', 'clusterIP', 'type'].includes(key)) spec[key] ??= value
      else if (group === 'backendRefs') collect(backends, ['kind', 'name', 'port'], key, value, line.trimStart().startsWith('- '))
      else if (group === 'listeners') collect(listeners, ['name', 'port', 'protocol'], key, value, line.trimStart().startsWith('- '))
    } else if (section === 'status' && ['phase', 'podIP', 'hostIP', 'startTime'].includes(key)) status[key] ??= value
  }
  if (typeof top.kind !== 'string' || top.kind === '') return null
  if (backends.length > 0) spec.rules = [{ backendRefs: backends }]
  if (listeners.length > 0) spec.listeners = listeners
  return merged({ ...top, metadata, spec, status }, applied)
}

/** A list entry begins with its dash, or where a key comes again. */
function collect(into: Values[], keys: readonly string[], key: string, value: string, dash: boolean): void {
  const last = into.at(-1)
  if (!last || (dash && Object.keys(last).length > 0) || (keys.includes(key) && key in last)) into.push({})
  if (keys.includes(key)) (into.at(-1) as Values)[key] = value
}

function appliedObject(line: string): JsonObject | null {
  const value = line.trimStart().startsWith('{') ? parseJson(line) : undefined
  return isJsonObject(value) ? value : null
}

/** What was applied is whole: its names and its spec are surer than what lines without indentation tell. */
function merged(scanned: { kind?: JsonValue; metadata: Values; spec: Values; status: Values }, applied: JsonObject | null): JsonObject {
  if (applied === null || getString(applied, 'kind') !== scanned.kind) return scanned
  const names = getObject(applied, 'metadata')
  return {
    ...scanned,
    metadata: { ...scanned.metadata, name: getString(names, 'name'), namespace: getString(names, 'namespace') },
    spec: getObject(applied, 'spec') ?? scanned.spec,
  }
}

function scalar(text: string): string {
  const t = text.trim()
  return t.length > 1 && (t[0] === '"' || t[0] === "'") && t.endsWith(t[0] as string) ? t.slice(1, -1) : t
}
