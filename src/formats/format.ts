import type { Nanoseconds } from '../model/instant.js'
import type { Sink } from '../model/sink.js'

/** Ids of formats, fixed by the report contract. */
export const FORMAT_IDS = [
  'hubble-json',
  'hubble-text',
  'cilium-monitor',
  'envoy-access',
  'envoy-log',
  'ztunnel-log',
  'gorouter-access',
  'gorouter-log',
  'diego-log',
  'cf-app-log',
  'pcap',
  'pcapng',
  'tcpdump-text',
  'k8s-objects',
  'k8s-watch',
  'k8s-events',
  'k8s-table',
  'envoy-config',
  'pod-ip-timeline',
  'conntrack',
  'ss',
  'app-log',
  'unknown',
] as const
export type FormatId = (typeof FORMAT_IDS)[number]

/** A run of bytes of a member, in order. Unless `last`, it may end in the middle of a record. */
export interface Block {
  readonly bytes: Buffer
  /** Offset of `bytes[0]` in the member. */
  readonly byteStart: number
  /** Number of the line that starts at or holds `bytes[0]`, from 1. */
  readonly line: number
  readonly last: boolean
}

/** What a parser needs to know about its member and the bundle. */
export interface MemberContext {
  readonly path: string
  /** The interval of fully dated times in the bundle; times without year or date are placed next to it. */
  readonly reference: { readonly from: Nanoseconds; readonly to: Nanoseconds } | null
  /** Minutes east of UTC for times printed without zone; null: UTC is assumed and `zone` is marked as guessed. */
  readonly zoneMinutes: number | null
  /** Access-log formats that the user or the bundle's own configuration gives for this member, in order. */
  readonly accessLogFormats: readonly string[]
}

/** Reads one member from its first byte to its last. Never throws on content. */
export interface Parser {
  /**
   * Reads records from the block and answers how many of its bytes were consumed; the rest is given again at the front
   * of the next block. With `last`, everything is consumed.
   */
  parse(block: Block, sink: Sink): number
  /** Whether the next byte is read as the member's first would be: what makes a chunk independent of its predecessor. */
  atStart(): boolean
}

/**
 * A format of evidence: one folder, one such object, one line in `index.ts`.
 * `split` says whether chunks may be read apart: `none`, `line` (any line start will do) or `resync`.
 */
export interface Format {
  readonly id: FormatId
  readonly title: string
  /** File names that hint at it. Content decides. */
  readonly names: readonly RegExp[]
  readonly split: 'none' | 'line' | 'resync'
  /** The command that collects it, with `<placeholders>`. */
  readonly collect: string
  /** 0 (not this format) to 1 (certain), from the first bytes of the member. */
  sniff(head: Buffer, context: MemberContext): number
  open(context: MemberContext): Parser
}
