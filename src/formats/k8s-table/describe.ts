/** What `kubectl describe` prints of a service, pod or node, also where its indentation is lost. */
import type { Instant } from '../../model/instant.js'
import type { Fact } from '../k8s-objects/facts.js'
import { plainAddress, readEndpoint } from '../text/address.js'
import { readIso } from '../text/time.js'

const NAME_LINE = /^Name: {1,40}([a-z0-9][a-z0-9.-]{0,252})\s*$/
const SECOND = /^(?:Namespace|Labels|Roles|Priority|Annotations): /
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

export const beginsDescription = (line: string): boolean => NAME_LINE.test(line)

/** Descriptions have no blank line within. A JSON or timed line, a fence or a prompt is something else. */
export function continuesDescription(lines: number, line: string): boolean {
  if (lines === 1) return SECOND.test(line) || line === 'Labels:' || line === 'Annotations:'
  return line.trim() !== '' && !/^(?:[{[`$]|\d{2,4}[-:/])/.test(line)
}

interface Line {
  readonly indent: number
  readonly key: string
  readonly value: string
}

function readLines(text: string): Line[] {
  return text.split('\n').map(line => {
    const indent = line.length - line.trimStart().length
    const colon = line.indexOf(':')
    return colon < 0 ? { indent, key: '', value: line.trim() } : { indent, key: line.slice(indent, colon), value: line.slice(colon + 1).trim() }
  })
}

/** The facts of one description; null where it is of something that has no address. */
export function readDescription(text: string): readonly Fact[] | null {
  const lines = readLines(text)
  const value = (key: string): string | null => {
    const v = lines.find(l => l.key === key)?.value ?? null
    return v === null || v === '' || /^<\w{1,20}>$/.test(v) || v === 'None' ? null : v
  }
  const has = (...keys: string[]) => keys.every(k => lines.some(l => l.key === k))
  const name = value('Name') as string
  const namespace = value('Namespace')
  const subject = namespace === null ? name : `${namespace}/${name}`
  if (has('Endpoints') || has('Type', 'Session Affinity')) return describeService(subject, lines, value)
  if (has('Containers', 'Node') || has('Node', 'IP')) return describePod(subject, lines, value)
  if (has('Roles', 'Addresses') || has('InternalIP')) return describeNode(name, lines)
  return null
}

type Value = (key: string) => string | null

const addresses = (texts: readonly (string | null)[]): string[] => [
  ...new Set(
    texts
      .flatMap(t => (t ?? '').split(','))
      .map(t => plainAddress(t.trim()))
      .filter(ip => ip !== null),
  ),
]

function describeService(subject: string, lines: readonly Line[], value: Value): Fact[] {
  const own = addresses([value('IP'), value('IPs')])
  const reason = value('Type')
  const service: Fact[] = (own.length > 0 ? own : [null]).map(ip => ({ subject, kind: 'service', what: 'listed', ip, reason }))
  const ends = lines.filter(l => l.key === 'Endpoints').flatMap(l => l.value.split(','))
  const endpoints = ends.flatMap((text): Fact[] => {
    const end = readEndpoint(text.trim().split(' ', 1)[0])
    return end.ip === null ? [] : [{ subject, kind: 'endpoint', what: 'endpoint', ip: end.ip, reason: end.port === null ? null : `port ${end.port}` }]
  })
  return [...service, ...endpoints]
}

function describePod(subject: string, lines: readonly Line[], value: Value): Fact[] {
  const [node, host] = (value('Node') ?? '').split('/', 2)
  const base = { subject, kind: 'pod', node: node ? node : null } as const
  const ips = addresses([value('IP'), ...lines.filter(l => l.key === 'IP').map(l => l.value)])
  const facts: Fact[] = (ips.length > 0 ? ips : [null]).map(ip => ({ ...base, what: 'listed', ip, reason: value('Status') }))
  const hostIp = plainAddress(host ?? '')
  if (base.node && hostIp !== null) facts.push({ subject: base.node, kind: 'node', what: 'listed', ip: hostIp, node: base.node, reason: 'hostIP' })
  const started = describedTime(value('Start Time'))
  if (started) facts.push({ ...base, what: 'started', at: started })
  return [...facts, ...containers(base, lines)]
}

/** State and Last State of each container, in order; the container is the last heading before them. */
function containers(base: Pick<Fact, 'subject' | 'kind' | 'node'>, lines: readonly Line[]): Fact[] {
  const facts: Fact[] = []
  let name = ''
  let sandbox: string | null = null
  let reason = ''
  let code = ''
  for (const [i, l] of lines.entries()) {
    if (l.value === '' && lines[i + 1]?.key === 'Container ID') name = l.key
    else if (l.key === 'Container ID') sandbox = l.value.slice(l.value.indexOf('://') < 0 ? 0 : l.value.indexOf('://') + 3)
    else if (l.key === 'State' || l.key === 'Last State') {
      reason = ''
      code = ''
      if (l.key === 'Last State') sandbox = null
    } else if (l.key === 'Reason') reason = l.value
    else if (l.key === 'Exit Code') code = l.value
    else if (l.key === 'Started' || l.key === 'Finished') {
      const at = describedTime(l.value)
      const exit = [name === '' ? '' : `${name}:`, code === '' ? '' : `exit ${code}`, reason].filter(t => t !== '').join(' ')
      if (at) facts.push({ ...base, what: l.key === 'Started' ? 'container-started' : 'container-exited', sandbox, at, reason: l.key === 'Started' ? name : exit })
    }
  }
  return facts
}

function describeNode(name: string, lines: readonly Line[]): Fact[] {
  const facts = lines
    .filter(l => ['InternalIP', 'ExternalIP'].includes(l.key))
    .flatMap((l): Fact[] => addresses([l.value]).map(ip => ({ subject: name, kind: 'node', what: 'listed', ip, node: name, reason: l.key })))
  return facts.length > 0 ? facts : [{ subject: name, kind: 'node', what: 'listed', node: name }]
}

/** `Mon, 30 Nov 2026 21:47:26 +0000`. */
function describedTime(text: string | null): Instant | null {
  const m = /^[A-Z][a-z]{2}, (\d\d) ([A-Z][a-z]{2}) (\d{4}) (\d\d:\d\d:\d\d) ([+-]\d{4})$/.exec(text ?? '')
  const month = m ? MONTHS.indexOf(m[2] as string) + 1 : 0
  return m && month > 0 ? readIso(`${m[3]}-${String(month).padStart(2, '0')}-${m[1]}T${m[4]}${m[5]}`) : null
}
