/**
 * Every limit that evidence can hit, with its reason. Hitting one is a problem record of kind `limit` and exit code 4,
 * never a crash. Sizes are bytes unless said otherwise.
 */
export const limits = {
  /** Longest text line that is read; the rest of a longer one is skipped as one problem. Real lines of debug logs with dumped bodies reach 1 MiB. */
  line: 8 * 1024 * 1024,
  /** Longest multi-line unit (a pretty-printed JSON value, a message with continuation lines). A 64-endpoint slice is 200 KiB. */
  unit: 16 * 1024 * 1024,
  /** Deepest JSON or YAML nesting that is parsed. Kubernetes objects stay under 30. */
  depth: 128,
  /** What is read of a member to recognise its format. */
  head: 64 * 1024,
  /** How much is read from a member at a time. */
  block: 1024 * 1024,
  /** Distinct strings that are interned; the rest is kept as plain text in the row and counted. 262,144 strings of 40 bytes decode within 128 MB of store memory (measured). */
  dictionaryEntries: 262_144,
  /** Bytes of all interned strings together. */
  dictionaryBytes: 24 * 1024 * 1024,
  /** A longer string is never interned. */
  internedString: 2048,
  /** Interned strings kept back for addresses, which joins need most. */
  dictionaryReserve: 65_536,
  /** Decompressed bytes of one member. */
  member: 64 * 1024 * 1024 * 1024,
  /** Decompressed bytes per compressed byte, beyond the first 64 MiB. Real logs reach 60, one line again and again 250, zeros 1030. */
  ratio: 400,
  /** Members of a bundle, files of folders included. */
  members: 1_000_000,
  /** What is held in memory of something that cannot be read twice; beyond that it goes to one file in the private folder. */
  spool: 64 * 1024 * 1024,
  /** Longest captured packet: the snapshot length that tcpdump and dumpcap stay below. */
  packet: 262_144,
  /** Longest block of a pcapng file. Wireshark's own limit. */
  pcapngBlock: 16 * 1024 * 1024,
  /** Interfaces of a pcapng section. A node with 250 pods has 600. */
  interfaces: 4096,
  /** TCP sessions of a capture that are followed at a time, 1 KiB each. Of more the longest idle is cut in two; closed ones go first. */
  sessions: 32_768,
  /** Data segments of a capture that wait for their acknowledgement, 150 bytes each. Beyond that, when the first lost byte was sent is known less exactly. */
  unacknowledged: 65_536,
  /** Entries of `failures.list` in a report; the rest is counted as `omitted`. */
  failuresListed: 10_000,
  /** Characters of an evidence excerpt. */
  excerpt: 2_000,
  /** Citations of one claim. */
  citations: 20,
  /** Rows that `wirecase query` prints as a table, which is held in memory; JSON and CSV print all. */
  queryRows: 10_000,
  /** Memory of the store. 128 MB peaks at about 340 MB resident (measured). */
  storeMemory: '128MB',
} as const
