/** Addresses as logs print them, to the plain form of the store: lower case, compressed, no brackets, port apart. */
import ipaddr from 'ipaddr.js'
import type { Endpoint } from '../../model/endpoint.js'

const NONE: Endpoint = { ip: null, port: null }
const OCTET = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)'
const V4 = new RegExp(`^${OCTET}\\.${OCTET}\\.${OCTET}\\.${OCTET}$`)

/** Plain form of an address, or null where the text is not one. IPv4 keeps its text, so that no leading zero is read as octal. */
export function plainAddress(text: string): string | null {
  if (V4.test(text)) return text
  if (!text.includes(':') || !ipaddr.IPv6.isValid(text)) return null
  return ipaddr.IPv6.parse(text).toRFC5952String()
}

/** `1.2.3.4:80`, `[2001:db8::1]:80`, `tcp://1.2.3.4:80`; port 0 is unknown. Of `envoy://LISTENER/ENDPOINT` the endpoint's. Anything else is NONE. */
export function readEndpoint(text: string | null | undefined): Endpoint {
  if (!text || text === '-') return NONE
  let rest = text
  if (rest.startsWith('envoy://')) {
    const slash = rest.indexOf('/', 8)
    rest = slash < 0 ? '' : rest.slice(slash + 1)
  } else if (rest.startsWith('tcp://')) rest = rest.slice(6)
  const colon = rest.lastIndexOf(':')
  if (colon < 0) return NONE
  const digits = rest.slice(colon + 1)
  if (!/^\d{1,5}$/.test(digits)) return NONE
  const host = rest.startsWith('[') && rest[colon - 1] === ']' ? rest.slice(1, colon - 1) : rest.slice(0, colon)
  if (host.includes(':') && !rest.startsWith('[')) return NONE
  const ip = plainAddress(host)
  const port = Number(digits)
  return ip === null || port > 65_535 ? NONE : { ip, port: port === 0 ? null : port }
}
