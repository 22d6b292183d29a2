/** Tables that `kubectl get` prints. */
import { plainAddress, readEndpoint } from '../text/address.js'
import type { Fact } from '../k8s-objects/facts.js'

export interface Columns {
  readonly of: 'nodes' | 'services' | 'endpoints' | 'pods' | 'other'
  readonly names: readonly string[]
}

const AGE = /^(?:\d{1,6}[ydhms]){1,4}$|^<(?:invalid|unknown)>$/
const NAME = /^(?:[a-z]{1,40}(?:\.[a-z0-9.-]{1,100})?\/)?[a-z0-9][a-z0-9.-]{0,252}$/
const READY = /\s\d{1,4}\/\d{1,4}\s/
const WATCHED = new Set(['ADDED', 'MODIFIED', 'DELETED'])

/** Cells of a line: apart by two blanks and more, or by tabs. */
const cellsOf = (line: string): string[] =>
  line
    .split(/ {2,200}|\t/)
    .map(c => c.trim())
    .filter(c => c !== '')

/** The header of a table of named objects, or null. Tables of events, whose name comes last, are another format's. */
export function readColumns(line: string): Columns | null {
  const c = line.charCodeAt(0)
  if (c < 0x41 || c > 0x5a || line.length > 2000) return null
  const names = cellsOf(line)
  const name = names.indexOf('NAME')
  if (names.length < 2 || name < 0 || name > 2 || !names.every(n => /^[A-Z][A-Z0-9()/ -]{0,40}$/.test(n))) return null
  const has = (...wanted: string[]) => wanted.every(w => names.includes(w))
  if (has('INTERNAL-IP')) return { of: 'nodes', names }
  if (has('CLUSTER-IP')) return { of: 'services', names }
  if (has('ENDPOINTS')) return { of: 'endpoints', names }
  return { of: has('IP', 'NODE') ? 'pods' : 'other', names }
}

/** A row of a table with a known header: facts, none for a table that says nothing about addresses; null where the line is no such row. */
export function readRow(line: string, columns: Columns): readonly Fact[] | null {
  const cells = cellsOf(line)
  const cell = (name: string): string | null => {
    const text = cells[columns.names.indexOf(name)]
    return text === undefined || /^<\w{1,20}>$/.test(text) || text === 'None' ? null : text
  }
  const name = cell('NAME')
  if (cells.length !== columns.names.length || name === null || !NAME.test(name)) return null
  const bare = name.slice(name.indexOf('/') + 1)
  const namespace = cell('NAMESPACE') ?? cell('NS')
  const subject = namespace === null ? bare : `${namespace}/${bare}`
  const ips = (text: string | null) =>
    (text ?? '')
      .split(',')
      .map(t => plainAddress(t.trim()))
      .filter(ip => ip !== null)
  switch (columns.of) {
    case 'nodes':
      return [...ips(cell('INTERNAL-IP')).map(ip => ({ ip, reason: 'InternalIP' })), ...ips(cell('EXTERNAL-IP')).map(ip => ({ ip, reason: 'ExternalIP' }))].map(a => ({
        ...a,
        subject: bare,
        kind: 'node',
        what: 'listed',
        node: bare,
        reason: `${a.reason} ${cell('STATUS') ?? ''}`.trim(),
      }))
    case 'services':
      return [...ips(cell('CLUSTER-IP')), ...ips(cell('EXTERNAL-IP'))].map(ip => ({
        subject,
        kind: 'service',
        what: 'listed',
        ip,
        reason: [cell('TYPE'), cell('PORT(S)')].filter(x => x !== null).join(' '),
      }))
    case 'endpoints':
      return (cell('ENDPOINTS') ?? '').split(',').flatMap(text => {
        const end = readEndpoint(text.trim().split(' ', 1)[0])
        const ip = end.ip ?? plainAddress(text.trim().split(' ', 1)[0] as string)
        return ip === null ? [] : [{ subject, kind: 'endpoint', what: 'endpoint', ip, reason: end.port === null ? null : `port ${end.port}` } as const]
      })
    case 'pods': {
      const all = [...new Set([...ips(cell('IP')), ...ips(cell('IPS'))])]
      return (all.length > 0 ? all : [null]).map(ip => ({
        subject,
        kind: 'pod',
        what: 'listed',
        ip,
        node: cell('NODE'),
        uid: cell('UID'),
        reason: cell('STATUS') ?? cell('PHASE'),
      }))
    }
    default:
      return []
  }
}

/**
 * A row of `kubectl get pods`, with or without namespace, watch event and the columns of `-o wide`. Its own columns say
 * what it is (READY, STATUS, RESTARTS, AGE in this order), so that it is read without a header, too.
 */
export function readPodRow(line: string): Fact | null {
  if (line.length > 4000 || !READY.test(line)) return null
  const words = joinAgo(line.split(/\s/).filter(w => w !== ''))
  const ready = words.findIndex(w => /^\d{1,4}\/\d{1,4}$/.test(w))
  if (ready < 1 || ready > 3) return null
  const [status, restarts, age, address, node] = words.slice(ready + 1)
  if (!/^[A-Z][\w:/.-]{1,60}$/.test(status ?? '') || !/^\d{1,7}(?: \(.{1,30} ago\))?$/.test(restarts ?? '') || !AGE.test(age ?? '')) return null
  const before = words.slice(0, ready)
  const watched = WATCHED.has(before[0] as string) ? (before.shift() as string) : null
  const name = before.pop()
  if (name === undefined || before.length > 1 || !NAME.test(name)) return null
  const bare = name.slice(name.indexOf('/') + 1)
  const ip = address === undefined ? null : plainAddress(address)
  const wide = ip !== null || address === '<none>'
  return {
    subject: before.length > 0 ? `${before[0]}/${bare}` : bare,
    kind: 'pod',
    what: watched === 'DELETED' ? 'deleted' : 'listed',
    ip,
    node: wide && node !== undefined && !node.startsWith('<') ? node : null,
    reason: status ?? null,
  }
}

/** RESTARTS prints `4 (2m26s ago)`: one cell. */
function joinAgo(words: readonly string[]): string[] {
  const out: string[] = []
  for (const [i, w] of words.entries()) {
    if (w.startsWith('(') && words[i + 1] === 'ago)') out.push(`${out.pop() ?? ''} ${w} ago)`)
    else if (w !== 'ago)') out.push(w)
  }
  return out
}
