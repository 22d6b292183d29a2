/** Addresses of packets as four 32-bit words; an IPv4 address is held as ::ffff:a.b.c.d, and shown as a.b.c.d. */

/** Third word of an IPv4 address. */
export const IPV4_WORD = 0xffff

/** Plain text of an address: IPv6 as RFC 5952 says, the first of the longest runs of zero groups compressed. */
export function addressText(w0: number, w1: number, w2: number, w3: number): string {
  if (w0 === 0 && w1 === 0 && w2 === IPV4_WORD) return `${w3 >>> 24}.${(w3 >>> 16) & 255}.${(w3 >>> 8) & 255}.${w3 & 255}`
  const groups = [w0, w1, w2, w3].flatMap(w => [w >>> 16, w & 0xffff])
  const [from, to] = longestZeros(groups)
  const hex = (part: number[]) => part.map(g => g.toString(16)).join(':')
  return to - from < 2 ? hex(groups) : `${hex(groups.slice(0, from))}::${hex(groups.slice(to))}`
}

function longestZeros(groups: readonly number[]): [from: number, to: number] {
  let best: [number, number] = [0, 0]
  for (let from = 0; from < groups.length; from++) {
    let to = from
    while (to < groups.length && groups[to] === 0) to++
    if (to - from > best[1] - best[0]) best = [from, to]
    from = Math.max(from, to)
  }
  return best
}

/** `aa:bb:cc:dd:ee:ff`. */
export const hardwareText = (bytes: Uint8Array): string => Array.from(bytes, b => b.toString(16).padStart(2, '0')).join(':')
