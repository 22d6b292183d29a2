/** Text that tcpdump prints, one packet a line or, with `-v` and tunnels, on several. */
import type { Instant } from '../../model/instant.js'
import type { Sink } from '../../model/sink.js'
import type { MemberContext } from '../format.js'
import type { Recogniser, TextFormat, Unit } from '../text/reader.js'
import { readClock, readEpoch, readIso, type TimeContext } from '../text/time.js'
import { type Frame, hasAddresses, readFrame } from './frame.js'

interface Head {
  /** As printed, or null. */
  readonly time: string | null
  /** `-ttt` and `-ttttt` print a blank or a minus before what is no time of day but a difference. */
  readonly relative: boolean
  readonly note: string | null
  readonly rest: string
}

interface Packet {
  readonly is: 'packet'
  readonly head: Head
  frame: Frame
  /** The first line alone; further ones are added while the frame is incomplete. */
  text: string
  /** Characters of the payload dump (`-A`) so far. */
  dumped: number
  dumping: boolean
}
interface Loss {
  readonly is: 'loss'
  readonly events: number
  readonly where: string
}
type Found = Packet | Loss

const NUMBER = /^ {0,9}\d{1,9} {2}/
const TIME = /^([ -]?)((?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d\.\d{1,9}|\d{9,10}\.\d{1,9}) /
const COOKED = /^ {0,3}(?:([\w.@:-]{1,16}) {1,6})?(In|Out|B|M|P) {1,3}(?=IP|ARP|ifindex|ethertype|\S{1,64} ethertype)/
/** Lines without a time that are packets all the same (`-t`, or pasted without). */
const UNTIMED =
  /^(?:IP6? | {0,3}(?:[\w.@:-]{1,16} {1,6})?(?:In|Out|B|M|P) {1,3}(?:IP6? |ARP, |ifindex \d)|ARP, (?:Request|Reply|Ethernet)|\S{1,64} > \S{1,64}, ethertype |\S{1,256} > \S{1,256}: Flags \[)/
const LOST = /^(\d{1,12}) packets? dropped by (kernel|interface)\b/
const COUNTS = /^\d{1,12} packets? (?:captured|received by filter|dropped by (?:kernel|interface))/
const BANNERS = ['reading from file ', 'listening on ', 'tcpdump: ', 'dropped privs to ', '^C', 'Warning: ', 'WARNING: ', 'capability mode sandbox ']
const PROMPT = /^[^>#$]{0,80}[#$] (?:sudo )?(?:kubectl [^|]{0,200} )?tcpdump\b/
/** Headers that precede a payload: link layer, IP and TCP, each with all their options. */
const HEADER_ROOM = 150
/** Bytes of a frame whose line does not say its length: DNS, ARP … */
const UNKNOWN_LENGTH = 1500

const isBanner = (line: string): boolean => BANNERS.some(b => line.startsWith(b)) || COUNTS.test(line) || PROMPT.test(line)

function readHead(line: string): Head | null {
  let rest = line
  const number = NUMBER.exec(rest)
  // `-#` counts packets; what follows must still be a time or a packet.
  if (number && (TIME.test(rest.slice(number[0].length)) || UNTIMED.test(rest.slice(number[0].length)))) rest = rest.slice(number[0].length)
  const time = TIME.exec(rest)
  if (time) rest = rest.slice(time[0].length)
  else if (!UNTIMED.test(rest)) return null
  const cooked = COOKED.exec(rest)
  if (cooked) rest = rest.slice(cooked[0].length)
  const note = cooked ? [cooked[1], cooked[2]].filter(x => x !== undefined).join(' ') : null
  return { time: time ? (time[2] as string) : null, relative: time !== null && time[1] !== '', note, rest }
}

/** Whether the line can begin a packet, without reading all of it. */
const mayBegin = (line: string): boolean => {
  const c = line.charCodeAt(0)
  return (c >= 0x30 && c <= 0x39) || c === 0x20 || c === 0x2d || line.startsWith('IP') || line.startsWith('ARP, ') || line.indexOf(' > ') > 0
}

function match({ text: line }: { readonly text: string }): Found | null {
  if (!mayBegin(line)) return null
  const lost = LOST.exec(line)
  if (lost && Number(lost[1]) > 0) return { is: 'loss', events: Number(lost[1]), where: lost[2] as string }
  const head = readHead(line)
  const frame = head ? readFrame(head.rest) : null
  return head && frame ? { is: 'packet', head, frame, text: head.rest, dumped: 0, dumping: false } : null
}

const startsPacket = (line: string): boolean => TIME.test(line) || NUMBER.test(line) || UNTIMED.test(line)
/** `-v` continues on lines that begin with a tab or four blanks. */
const isVerbose = (p: Packet, line: string): boolean => line.charCodeAt(0) === 9 || (line.startsWith('    ') && /\((?:tos|class|flowlabel|hlim) /.test(p.text.slice(0, 300)))
const isHex = (line: string): boolean => /^\s{1,12}0x[0-9a-f]{4,8}: /.test(line)

/** Adds a line to an unfinished frame. A line with a time of its own never belongs to another. */
function grow(p: Packet, line: string): boolean {
  if (p.frame.complete || TIME.test(line) || NUMBER.test(line)) return false
  const text = `${p.text}\n${line}`
  const frame = readFrame(text)
  if (!frame) return false
  p.text = text
  p.frame = frame
  return true
}

/** `-A` prints one character a byte: a dump is never longer than the packet. */
function dump(p: Packet, line: string): boolean {
  p.dumped += line.length + 1
  p.dumping = p.dumped <= (p.frame.length ?? UNKNOWN_LENGTH) + HEADER_ROOM
  return p.dumping
}

/** The first characters of an IP header: version and length, type of service, total length …; of ARP they are unprintable. */
const beginsAscii = (line: string): boolean => /^(?:E[^a-gi-z ]|`|\.{3})/.test(line) && line.slice(0, 40).split('.').length > 2

/** A line that a terminal or a poster broke in the middle of a word. */
function continues(p: Found, line: string): boolean {
  if (p.is !== 'packet' || p.dumping || p.frame.complete || p.frame.protocol !== 'TCP' || p.text.includes('\n') || line.length > 400) return false
  const whole = readFrame(p.text + line)
  if (!whole?.complete) return false
  p.text += line
  p.frame = whole
  return true
}

function recogniser(context: MemberContext): Recogniser<Found> {
  let first: Instant | null = null
  let last: Instant | null = null
  let seen = false
  let relative = false
  let ascii = false

  /** Lines that belong to the packet before them: the rest of a verbose or tunnelled one, and its payload dump. */
  const holds = (p: Found, line: string): boolean => {
    if (p.is !== 'packet' || isBanner(line)) return false
    if (p.dumping) return match({ text: line }) === null && dump(p, line)
    if (startsPacket(line)) return grow(p, line)
    if (isHex(line)) return true
    if (isVerbose(p, line)) return grow(p, line) || true
    ascii ||= beginsAscii(line)
    return ascii && line !== '' && dump(p, line)
  }

  /** Differences start at nought, and no packet at midnight to the microsecond begins a capture. */
  const isRelative = (head: Head): boolean => {
    if (!seen && head.time !== null && /^00:00:00\.0{1,9}$/.test(head.time)) relative = true
    seen = true
    return head.relative || relative
  }

  const write = (found: Found, unit: Unit, sink: Sink): void => {
    sink.record(unit.span)
    if (found.is === 'loss') {
      sink.lost(unit.span, first, last, found.events, `packets dropped by ${found.where}`)
      return
    }
    const difference = isRelative(found.head)
    const at =
      found.head.time === null || difference
        ? null
        : instantOf(found.head.time, unit.wrapper.at ? { ...context, reference: { from: unit.wrapper.at.ns, to: unit.wrapper.at.ns } } : context)
    if (!at)
      sink.note('no-time', difference ? 'a time that counts from another packet' : found.head.time === null ? 'a packet without a time' : 'a time of day without a date', unit.span)
    else {
      first = first === null || at.ns < first.ns ? at : first
      last = last === null || at.ns > last.ns ? at : last
    }
    if (hasAddresses(found.frame)) writePacket(found, at, sink)
  }

  return { match, holds, continues, write, skips: line => isBanner(line) || isHex(line) }
}

function instantOf(time: string, context: TimeContext): Instant | null {
  if (time.charCodeAt(2) === 0x3a) return readClock(time, context)
  return time.charCodeAt(4) === 0x2d ? readIso(time, context) : readEpoch(time)
}

function writePacket(p: Packet, at: Instant | null, sink: Sink): void {
  const f = p.frame
  const row = sink.packet
  row.begin(at)
  row.src_ip(f.srcIp)
  row.src_port(f.srcPort)
  row.dst_ip(f.dstIp)
  row.dst_port(f.dstPort)
  row.protocol(f.protocol)
  row.seq(f.seq)
  row.ack(f.ack)
  row.tcp_flags(f.flags)
  row.length(f.length)
  row.kind(f.kind)
  const notes = p.head.note === null ? f.notes : [p.head.note, ...f.notes]
  row.detail(notes.length > 0 ? notes.join(', ') : null)
}

export const tcpdumpText: TextFormat = {
  id: 'tcpdump-text',
  title: 'tcpdump, printed as text',
  names: [/tcpdump[^/]{0,100}\.(txt|log|out)(\.gz)?$/],
  collect: 'tcpdump -i any -nn -tttt -S --nano <filter> > tcpdump.txt',
  split: 'none',
  recogniser: context => recogniser(context) as Recogniser,
}
