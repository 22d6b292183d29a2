/** The server name of a TLS ClientHello that begins a payload. */
import { u8, u16 } from './bytes.js'

const HANDSHAKE = 0x16
const CLIENT_HELLO = 1
const SERVER_NAME = 0
const HOST_NAME = 0
const NAME = /^[\w.-]{1,255}$/

/** Null where the bytes up to `end` are no ClientHello, hold no name, or are cut before it. */
export function serverName(b: Uint8Array, at: number, end: number): string | null {
  if (at + 43 > end || u8(b, at) !== HANDSHAKE || u8(b, at + 1) !== 3 || u8(b, at + 5) !== CLIENT_HELLO) return null
  // Record header 5, handshake header 4, version 2, random 32; then session id, cipher suites, compression methods.
  const suites = at + 44 + u8(b, at + 43)
  if (suites + 2 > end) return null
  const methods = suites + 2 + u16(b, suites)
  if (methods + 1 > end) return null
  const extensions = methods + 1 + u8(b, methods)
  for (let x = extensions + 2; x + 4 <= end; x += 4 + u16(b, x + 2)) if (u16(b, x) === SERVER_NAME) return nameIn(b, x + 4, Math.min(end, x + 4 + u16(b, x + 2)))
  return null
}

/** A list of one name: length 2, type 1, length 2, the name. */
function nameIn(b: Uint8Array, at: number, end: number): string | null {
  if (at + 5 > end || u8(b, at + 2) !== HOST_NAME) return null
  const length = u16(b, at + 3)
  if (at + 5 + length > end) return null
  const name = String.fromCharCode(...b.subarray(at + 5, Math.min(at + 5 + length, at + 5 + 256))).toLowerCase()
  return NAME.test(name) ? name : null
}
