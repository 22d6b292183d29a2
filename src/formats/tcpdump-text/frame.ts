/** What tcpdump prints of one frame after its time: link layer, addresses, transport. Reads text only; absolute and relative sequence numbers stay as printed. */
import { plainAddress } from '../text/address.js'

export interface Frame {
  readonly protocol: string | null
  readonly srcIp: string | null
  readonly srcPort: number | null
  readonly dstIp: string | null
  readonly dstPort: number | null
  readonly seq: bigint | null
  readonly ack: bigint | null
  readonly flags: string | null
  /** Payload bytes of the transport. */
  readonly length: number | null
  readonly kind: string | null
  /** Remarks in the order of the line, innermost frame last. */
  readonly notes: readonly string[]
  /** False where the line breaks off: a `-v` head without its second line, a tunnel without its inner packet, a wrapped line. */
  readonly complete: boolean
}

const BLANK: Frame = {
  protocol: null,
  srcIp: null,
  srcPort: null,
  dstIp: null,
  dstPort: null,
  seq: null,
  ack: null,
  flags: null,
  length: null,
  kind: null,
  notes: [],
  complete: true,
}

/** Frames within frames that are followed. */
const MAX_NESTING = 4
/** Characters after a tunnel's name in which its inner frame must begin. */
const TUNNEL_HEAD = 600

const ETHERNET = /^(\S{1,64}) > (\S{1,64}), (?:ethertype )?([\w .-]{2,24}?)(?: \(0x[0-9a-f]{4}\))?, length \d{1,9}: /
const COOKED = /^(?:ifindex \d{1,9} )?(?:\S{1,64} )?ethertype ([\w .-]{2,24}?) \(0x[0-9a-f]{4}\), length \d{1,9}: /
const VLAN = /^vlan (\d{1,4}), p \d(?:, DEI)?, (?:ethertype )?([\w .-]{2,24}?)(?: \(0x[0-9a-f]{4}\))?, /
const RAW = /^ip: /
const NULL_LINK = /^AF (IPv4|IPv6) \(\d{1,3}\), length \d{1,9}: /
const IP = /^(IP6?) (?!\()/
const IP_VERBOSE = /^(IP6?) (?=\()/
const OTHER = /^(?:STP|RSTP|LLDP|LACPv\d|CDPv\d|EAPOL|EAP|IS-IS|PPPoE|PPP|MPLS|RARP|IPX|AARP|LLC|Loopback|802\.1\w*|Realtek|ESIS|STP)\b/
const TRUNCATED_IP = /^truncated-ip6? - \d{1,9} bytes missing!\s?/
/** What tcpdump says of a header that it cannot read. */
const DAMAGED = /^(?:bad-|truncated-|unknown |\[\||\s?\[\|)/
/** Up to the `: ` after the destination; addresses hold no blanks. */
const ENDPOINTS = /^(\S{1,256}) > (\S{1,256}):(?:\s|$)/
const PORTS = /^(\w[\w-]{0,31}) > (\w[\w-]{0,31}):(?:\s|$)/
const TUNNEL = /^(?:\[[^\]]{1,60}\] )?(VXLAN|OTV|VXLAN-GPE|Geneve|GREv\d|LISP|L2TPv\d|GRE)\b,? ?/
const SECURITY_HEADER =
  /^(AH\([^()]{1,80}(?:\([^()]{1,20}\)[^()]{0,100})?\)|frag \([^)]{1,30}\)|RT\d? \([^)]{1,200}\)|HBH(?: \([^)]{1,60}\)){0,4}|DSTOPT(?: \([^)]{1,60}\)){0,4}|IPComp\([^)]{1,60}\)):? ?/
const FLAGS = /^(?:\[[^\]]{1,60}\] )?Flags \[([^\]]{0,12})\]/
const QUIET_TCP = /^tcp (\d{1,9})\b/
/** tcpdump before 4.0: `S 1:1(0) ack 2 win 5840`. */
const OLD_TCP = /^([SFRPWEU.]{1,6}) (?:(\d{1,10}):(\d{1,10})\((\d{1,9})\) )?(?:ack (\d{1,10}) )?win (\d{1,7})/
const UDP = /^(?:\[[^\]]{1,60}\] )?UDP, (?:bad )?length (\d{1,9})/
const ICMP = /^(?:\[[^\]]{1,60}\] )?ICMP(6?)[ ,]/
const LENGTH = /[, ]length (\d{1,9})(?!\d)/

/** The frame that `text` begins with, or null where it does not begin with one. Lines of one record are joined by `\n`. */
export function readFrame(text: string, depth = 0): Frame | null {
  if (depth > MAX_NESTING) return null
  const link = readLink(text)
  if (link) {
    const frame = readNetwork(link.type, link.rest, depth)
    return frame && withNotes(link.notes, frame)
  }
  const ip = IP.exec(text) ?? IP_VERBOSE.exec(text)
  if (ip) return readNetwork(ip[1] === 'IP6' ? 'IPv6' : 'IPv4', text.slice(ip[0].length), depth)
  if (text.startsWith('ARP, ')) return readArp(text.slice(5))
  if (OTHER.test(text)) return { ...BLANK, notes: [oneLine(text)] }
  const bare = ENDPOINTS.exec(text)
  return bare && FLAGS.test(text.slice(bare[0].length)) ? readNetwork('IPv4', text, depth) : null
}

/** Whether a frame carries addresses, so that a row can say something. */
export const hasAddresses = (f: Frame): boolean => f.srcIp !== null || f.dstIp !== null

function readLink(text: string): { type: string; rest: string; notes: string[] } | null {
  const ethernet = ETHERNET.exec(text)
  const cooked = ethernet ? null : COOKED.exec(text)
  const none = ethernet || cooked ? null : NULL_LINK.exec(text)
  const raw = ethernet || cooked || none ? null : RAW.exec(text)
  const m = ethernet ?? cooked ?? none ?? raw
  if (!m) return null
  let type = ethernet ? (ethernet[3] as string) : cooked ? (cooked[1] as string) : none ? (none[1] as string) : 'IPv4'
  let rest = text.slice(m[0].length)
  const notes: string[] = []
  for (let i = 0; i < 3; i++) {
    const vlan = VLAN.exec(rest)
    if (!vlan) break
    notes.push(`vlan ${vlan[1]}`)
    type = vlan[2] as string
    rest = rest.slice(vlan[0].length)
  }
  return { type, rest, notes }
}

function readNetwork(type: string, text: string, depth: number): Frame | null {
  if (type === 'ARP' || type === 'RARP') return readArp(text)
  if (type !== 'IPv4' && type !== 'IPv6') return readFrame(text, depth + 1) ?? { ...BLANK, notes: [oneLine(`${type} ${text}`)] }
  let rest = text
  const cut = TRUNCATED_IP.exec(rest)
  if (cut) rest = rest.slice(cut[0].length)
  if (rest.startsWith('(')) {
    const end = closing(rest)
    rest = end < 0 ? '' : rest.slice(end).trimStart()
    if (rest === '') return { ...BLANK, complete: false }
  }
  const ends = ENDPOINTS.exec(rest)
  if (!ends) return DAMAGED.test(rest) ? { ...BLANK, notes: [oneLine(rest)] } : null
  const body = rest.slice(ends[0].length).trimStart()
  return readTransport(ends[1] as string, ends[2] as string, body, depth)
}

/** Index after the parenthesis that closes the one at 0, within the header of one packet; -1 without. */
function closing(text: string): number {
  let open = 0
  for (let i = 0; i < text.length && i < 1000; i++) {
    const c = text.charCodeAt(i)
    if (c === 0x28) open++
    else if (c === 0x29 && --open === 0) return i + 1
  }
  return -1
}

function readTransport(source: string, target: string, text: string, depth: number): Frame {
  let body = text
  const notes: string[] = []
  let [from, to] = [source, target]
  for (let i = 0; i < 4; i++) {
    const header = SECURITY_HEADER.exec(body)
    if (!header) break
    notes.push(header[1] as string)
    body = body.slice(header[0].length)
    const ports = PORTS.exec(body)
    if (ports) {
      from = `${from}.${ports[1]}`
      to = `${to}.${ports[2]}`
      body = body.slice(ports[0].length)
    }
  }
  if (/^IP6? /.test(body) || (notes.length > 0 && ENDPOINTS.test(body))) {
    const inner = readInner(body, depth + 1)
    if (inner) return withNotes([...notes, `outer ${from} > ${to}`], inner)
  }
  const tunnel = TUNNEL.exec(body)
  if (tunnel) return withNotes(notes, readTunnel(from, to, tunnel[1] as string, body.slice(tunnel[0].length), depth))
  return withNotes(notes, transport(from, to, body))
}

/** The inner frame counts; the outer one becomes a remark. */
function readTunnel(source: string, target: string, name: string, body: string, depth: number): Frame {
  const head = body.slice(0, TUNNEL_HEAD)
  const id = /\b(?:vni|instance|key=)\s?(0x[0-9a-f]{1,8}|\d{1,9})/.exec(head)?.[1]
  const from = address(source, true)
  const to = address(target, true)
  const remark = `${name}${id ? ` ${id}` : ''} ${from.ip ?? source} > ${to.ip ?? target}`
  for (let at = 0; at < head.length; at++) {
    const c = head.charCodeAt(at)
    if (c !== 0x0a && !(c === 0x3a && head.charCodeAt(at + 1) === 0x20)) continue
    let start = at + 1
    while (start < body.length && (body.charCodeAt(start) === 32 || body.charCodeAt(start) === 9)) start++
    const inner = readInner(body.slice(start), depth + 1)
    if (inner && (hasAddresses(inner) || !inner.complete)) return withNotes([remark], inner)
  }
  return {
    ...BLANK,
    ...endpoints(source, target, true),
    protocol: name.startsWith('GRE') ? null : 'UDP',
    notes: [remark],
    complete: !/^(?:VXLAN|OTV|Geneve)/.test(name) && /: |\n/.test(head),
  }
}

/** After `proto IPv4 (0x0800), …: ` of a tunnel, `-e` leaves the word IP out. */
function readInner(text: string, depth: number): Frame | null {
  return readFrame(text, depth) ?? (ENDPOINTS.test(text) && depth <= MAX_NESTING ? readNetwork('IPv4', text, depth) : null)
}

function transport(source: string, target: string, body: string): Frame {
  const flags = FLAGS.exec(body)
  if (flags) return readTcp(source, target, flags[1] as string, body.slice(flags[0].length))
  const quiet = QUIET_TCP.exec(body)
  if (quiet) return { ...BLANK, ...endpoints(source, target, true), protocol: 'TCP', length: Number(quiet[1]) }
  const old = OLD_TCP.exec(body)
  if (old) return readOldTcp(source, target, old)
  const udp = UDP.exec(body)
  if (udp) return { ...BLANK, ...endpoints(source, target, true), protocol: 'UDP', length: Number(udp[1]) }
  const icmp = ICMP.exec(body)
  if (icmp) {
    const text = oneLine(body.split('\n', 1)[0] as string)
    return { ...BLANK, ...endpoints(source, target, false), protocol: icmp[1] === '6' ? 'ICMPv6' : 'ICMPv4', kind: 'icmp', length: lengthIn(body), notes: [text] }
  }
  const ends = endpoints(source, target, false)
  const ported = ends.srcPort !== null && ends.dstPort !== null
  return { ...BLANK, ...ends, protocol: ported ? 'UDP' : null, length: lengthIn(body), notes: body === '' ? [] : [oneLine(body)], complete: body !== '' }
}

function readTcp(source: string, target: string, letters: string, rest: string): Frame {
  const line = rest.split('\n', 1)[0] as string
  // What follows the length is payload that a client wrote: nothing before it is.
  const length = LENGTH.exec(line)
  const head = length ? line.slice(0, length.index) : line
  const tail = length ? line.slice(length.index + length[0].length) : ''
  const seq = /, seq (\d{1,10})(?::(\d{1,10}))?/.exec(head)
  const notes: string[] = []
  if (seq?.[2]) notes.push(`seq ${seq[1]}:${seq[2]}`)
  for (const pattern of [/, (win \d{1,10})/, /\b(mss \d{1,6})/, /\b(wscale \d{1,3})/, /\b(TS val \d{1,10} ecr \d{1,10})/, /\b(sack \d [\d:{}]{1,120})/, /, (urg \d{1,6})/]) {
    const m = pattern.exec(head)
    if (m) notes.push(m[1] as string)
  }
  if (tail.startsWith(':')) notes.push(oneLine(tail.slice(1)))
  else if (/\[\|\w{1,12}\]/.test(line)) notes.push('cut by the snapshot length')
  return {
    ...BLANK,
    ...endpoints(source, target, true),
    protocol: 'TCP',
    seq: seq ? BigInt(seq[1] as string) : null,
    ack: big(/, ack (\d{1,10})/.exec(head)?.[1]),
    flags: flagNames(letters),
    length: length ? Number(length[1]) : null,
    kind: kindOf(letters),
    notes,
    complete: length !== null || /\[\|\w{1,12}\]/.test(line),
  }
}

function readOldTcp(source: string, target: string, m: RegExpExecArray): Frame {
  const letters = `${m[1]}${m[5] !== undefined && !(m[1] as string).includes('.') ? '.' : ''}`
  const notes = m[2] !== undefined && m[2] !== m[3] ? [`seq ${m[2]}:${m[3]}`] : []
  return {
    ...BLANK,
    ...endpoints(source, target, true),
    protocol: 'TCP',
    seq: big(m[2]),
    ack: big(m[5]),
    flags: flagNames(letters),
    length: m[4] === undefined ? 0 : Number(m[4]),
    kind: kindOf(letters),
    notes: [...notes, `win ${m[6]}`],
  }
}

const REQUEST = /^(?:[\w .]{1,40} \(len \d{1,3}\), [\w .()]{1,40} \(len \d{1,3}\), )?(?:Request|Probe) who-has (\S{1,64})(?: \([^)]{1,40}\))? tell (\S{1,64}?)(?:,|$|\s)/
const REPLY = /^(?:[\w .]{1,40} \(len \d{1,3}\), [\w .()]{1,40} \(len \d{1,3}\), )?Reply (\S{1,64}) is-at (\S{1,64}?)(?:,|$|\s)/

function readArp(text: string): Frame {
  const arp = { ...BLANK, protocol: 'ARP', kind: 'arp', length: lengthIn(text) }
  const request = REQUEST.exec(text)
  if (request) return { ...arp, srcIp: token(request[2] as string), dstIp: token(request[1] as string), notes: ['who-has'] }
  const reply = REPLY.exec(text)
  if (reply) return { ...arp, srcIp: token(reply[1] as string), notes: [`is-at ${reply[2]}`] }
  return { ...arp, notes: [oneLine(text)] }
}

/** Hubble's order. */
const LETTERS: readonly (readonly [string, string])[] = [
  ['S', 'SYN'],
  ['.', 'ACK'],
  ['R', 'RST'],
  ['F', 'FIN'],
  ['P', 'PSH'],
  ['U', 'URG'],
  ['E', 'ECE'],
  ['W', 'CWR'],
  ['e', 'NS'],
]

/** `S.` as `SYN,ACK`; null for `none` and for no letter at all. */
function flagNames(letters: string): string | null {
  if (letters === 'none') return null
  const names = LETTERS.filter(([l]) => letters.includes(l)).map(([, n]) => n)
  return names.length > 0 ? names.join(',') : null
}

function kindOf(letters: string): string | null {
  if (letters === 'none') return null
  if (letters.includes('R')) return 'rst'
  if (letters.includes('S')) return letters.includes('.') ? 'synack' : 'syn'
  return letters.includes('F') ? 'fin' : null
}

function endpoints(source: string, target: string, ports: boolean): Pick<Frame, 'srcIp' | 'srcPort' | 'dstIp' | 'dstPort'> {
  const from = address(source, ports)
  const to = address(target, ports)
  return { srcIp: from.ip, srcPort: from.port, dstIp: to.ip, dstPort: to.port }
}

/** Ports that tcpdump without `-n` prints by name. */
const SERVICES = new Map<string, number>([
  ['ftp', 21],
  ['ssh', 22],
  ['telnet', 23],
  ['smtp', 25],
  ['domain', 53],
  ['bootps', 67],
  ['bootpc', 68],
  ['http', 80],
  ['kerberos', 88],
  ['ntp', 123],
  ['snmp', 161],
  ['ldap', 389],
  ['https', 443],
  ['syslog', 514],
  ['ldaps', 636],
  ['openvpn', 1194],
  ['ms-sql-s', 1433],
  ['nfs', 2049],
  ['mysql', 3306],
  ['postgresql', 5432],
  ['amqp', 5672],
  ['mdns', 5353],
  ['x11', 6000],
  ['redis', 6379],
  ['http-alt', 8080],
  ['webcache', 8080],
  ['tproxy', 8081],
  ['https-alt', 8443],
  ['bacula-dir', 9101],
  ['etcd-client', 2379],
])

/** `10.0.0.1.80`, `fd00::5.80`, `CLIENT_IP.56939`, `web.example.http`, or an address alone. Where `ports`, the last part of a name is the port. */
function address(text: string, ports: boolean): { ip: string | null; port: number | null } {
  const whole = plainAddress(text.includes('%') ? text.slice(0, text.indexOf('%')) : text)
  if (whole !== null) return { ip: whole, port: null }
  const dot = text.lastIndexOf('.')
  if (dot < 1) return { ip: text, port: null }
  const head = text.slice(0, dot)
  const last = text.slice(dot + 1)
  const digits = /^\d{1,5}$/.test(last)
  const port = digits ? Number(last) : (SERVICES.get(last) ?? null)
  if (digits && (port ?? 0) > 65_535) return { ip: text, port: null }
  if (!ports && !digits && plainAddress(head) === null) return { ip: text, port: null }
  return { ip: token(head), port: port === 0 ? null : port }
}

/** An address in its plain form, or the printed name: names and placeholders are opaque. */
const token = (text: string): string => plainAddress(text) ?? text

const big = (digits: string | undefined): bigint | null => (digits === undefined ? null : BigInt(digits))
function lengthIn(text: string): number | null {
  const m = LENGTH.exec(text.length > 2000 ? text.slice(0, 2000) : text)
  return m ? Number(m[1]) : null
}
const withNotes = (notes: readonly string[], f: Frame): Frame => (notes.length === 0 ? f : { ...f, notes: [...notes, ...f.notes] })

/** The first 200 characters, white space as single blanks. */
function oneLine(text: string): string {
  return text
    .slice(0, 200)
    .split(/\s/)
    .filter(w => w !== '')
    .join(' ')
}
