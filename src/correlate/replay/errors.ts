/** Errnos as proxies print them: as text, as a number, or inside a TLS error. */

const BY_TEXT: Readonly<Record<string, number>> = {
  'Broken pipe': 32,
  'Cannot assign requested address': 99,
  'Network is unreachable': 101,
  'Connection reset by peer': 104,
  'Connection timed out': 110,
  'Connection refused': 111,
  'No route to host': 113,
}

export const EPIPE = 32
export const ECONNRESET = 104
export const ETIMEDOUT = 110
export const ECONNREFUSED = 111
export const EHOSTUNREACH = 113

/** Of `Connection refused`, `111`, or the first part of `Connection refused|remote address:…`; null for any other text. */
export function errnoOf(text: string): number | null {
  const [first = ''] = text.split('|', 1)
  return /^\d{1,3}$/.test(first) ? Number(first) : (BY_TEXT[first] ?? null)
}

/** BoringSSL packs the library into the upper byte and the reason into the lower twelve bits. */
const SYSTEM = 2

/**
 * The errno inside a TLS error, or null where the error is TLS's own. `TLS_error:|33554536:system library:…` since 1.28,
 * `TLS error: 33554536:…` with blanks between entries before, `33554536:…` where the template took the head off.
 */
export function tlsErrno(text: string): number | null {
  for (const m of text.matchAll(/(?:^|[|: ])(\d{6,10}):/g)) {
    const n = Number(m[1])
    if (n >>> 24 === SYSTEM) return n & 0xfff
  }
  return null
}
