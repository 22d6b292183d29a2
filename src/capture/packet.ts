import type { Instant } from '../model/instant.js'
import { addressText, IPV4_WORD } from './address.js'

/** What a frame holds that matters here. */
const OTHER = 0
export const TCP = 1
export const ICMP = 2
export const ARP = 3

export const FIN = 0x01
export const SYN = 0x02
export const RST = 0x04
export const ACK = 0x10

/** An interface of which only is known that it is one of many: cooked captures do not number it. */
export const SOME_INTERFACE = -1

const SECOND = 1_000_000_000n

/** `sec` is negative where the time is unknown. */
export const instantOf = (sec: number, nano: number): Instant | null => (sec < 0 ? null : { ns: BigInt(sec) * SECOND + BigInt(nano), guess: null })

/**
 * The frame at hand. There is one such object a capture: readers set where the frame lies and when it was seen, decoders
 * move `at` from header to header and set what they find. Numbers of 32 bits are signed.
 */
export class Packet {
  bytes: Buffer = Buffer.alloc(0)
  /** The next undecoded byte in `bytes`. */
  at = 0
  /** Where the captured bytes of the frame end. */
  end = 0
  /** Where the frame ended on the wire; beyond `end` if the capture cut it. */
  wireEnd = 0
  /** Where the payload of the innermost IP packet ended on the wire. */
  limit = 0

  /** Counts from 1. */
  frame = 0
  /** The record's place in the member. */
  byteStart = 0
  byteEnd = 0
  /** Whole seconds since the epoch and nanoseconds beyond; see `instantOf`. */
  sec = -1
  nano = 0
  /** Tells interfaces of one capture apart, and directions where the link layer has them; SOME_INTERFACE: not known. */
  iface = 0
  /** Name of the interface, where the capture has it. */
  ifaceName: string | null = null
  /** Number of the interface and direction of a cooked frame; -1: none. */
  ifindex = -1
  direction = -1

  what = OTHER
  /** Why the frame contradicts itself. */
  fault: string | null = null
  /** The snapshot length cut a header. */
  cut = false

  src0 = 0
  src1 = 0
  src2 = 0
  src3 = 0
  dst0 = 0
  dst1 = 0
  dst2 = 0
  dst3 = 0
  srcPort = 0
  dstPort = 0
  /** IPv4 identification; 0 for IPv6. */
  ipId = 0
  /** Of ARP, the sender's address. */
  seq = 0
  /** Of ARP, the target's address. */
  ack = 0
  /** TCP flags; of ICMP, type and code. */
  flags = 0
  window = 0
  /** Payload bytes of TCP on the wire. */
  payload = 0
  payloadAt = 0

  /** -1: untagged. */
  vlan = -1
  /** Tunnels around the packet. */
  depth = 0
  /** The innermost tunnel: what it is, its id (-1: none) and its ends. */
  tunnel = ''
  tunnelId = -1
  readonly outer = new Int32Array(8)

  /** Forgets what was decoded before the frame that lies at `at`. */
  reset(): void {
    this.what = OTHER
    this.fault = null
    this.cut = false
    this.limit = this.wireEnd
    this.vlan = -1
    this.depth = 0
    this.ifindex = -1
    this.direction = -1
  }

  /** Enters a tunnel whose own header takes `bytes`: the addresses so far are its ends. */
  enter(bytes: number, name: string, id: number): void {
    const o = this.outer
    o[0] = this.src0
    o[1] = this.src1
    o[2] = this.src2
    o[3] = this.src3
    o[4] = this.dst0
    o[5] = this.dst1
    o[6] = this.dst2
    o[7] = this.dst3
    this.tunnel = name
    this.tunnelId = id
    this.depth++
    this.at += bytes
  }

  has(bytes: number): boolean {
    return this.at + bytes <= this.end
  }

  get isIpv4(): boolean {
    return this.src0 === 0 && this.src1 === 0 && this.src2 === IPV4_WORD
  }

  srcText(): string {
    return addressText(this.src0, this.src1, this.src2, this.src3)
  }

  dstText(): string {
    return addressText(this.dst0, this.dst1, this.dst2, this.dst3)
  }
}
