/** What members look like that no format reads. */

const MAGIC: readonly (readonly [string, string])[] = [
  ['504b0304', 'a zip archive'],
  ['1f8b08', 'gzip data inside gzip data'],
  ['28b52ffd', 'zstd data'],
  ['fd377a585a00', 'xz data'],
  ['425a68', 'bzip2 data'],
  ['04224d18', 'lz4 data'],
  ['7f454c46', 'an ELF program'],
  ['d4c3b2a1', 'a pcap capture'],
  ['a1b2c3d4', 'a pcap capture'],
  ['4d3cb2a1', 'a pcap capture'],
  ['a1b23c4d', 'a pcap capture'],
  ['0a0d0d0a', 'a pcapng capture'],
  ['89504e47', 'a PNG picture'],
  ['25504446', 'a PDF'],
  ['53514c697465', 'an SQLite database'],
]

/** What the first bytes of an unrecognised member look like. */
export function describe(head: Buffer): string {
  if (head.length === 0) return 'empty'
  const hex = head.subarray(0, 8).toString('hex')
  const magic = MAGIC.find(([m]) => hex.startsWith(m))
  if (magic) return magic[1]
  if (head.subarray(257, 262).toString('latin1') === 'ustar') return 'a tar archive'
  if ((head[0] === 0xff && head[1] === 0xfe) || (head[0] === 0xfe && head[1] === 0xff)) return 'UTF-16 text'
  const sample = head.subarray(0, 512)
  let binary = 0
  for (const b of sample) if (b < 9 || (b > 13 && b < 32) || b === 127) binary++
  if (binary > sample.length / 20) return `binary data that begins with ${hex}`
  const line = sample.toString('utf8').split('\n', 1)[0]?.trim() ?? ''
  return `text that begins with ${JSON.stringify(line.slice(0, 60))}`
}
