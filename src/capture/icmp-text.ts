import { endpointText } from '../model/endpoint.js'
import { type Packet, TCP } from './packet.js'

const V4_TYPES: Readonly<Record<number, string>> = { 3: 'unreachable', 4: 'source quench', 5: 'redirect', 11: 'time exceeded', 12: 'parameter problem' }
const V6_TYPES: Readonly<Record<number, string>> = { 1: 'unreachable', 2: 'packet too big', 3: 'time exceeded', 4: 'parameter problem' }

const V4_UNREACHABLE: Readonly<Record<number, string>> = {
  0: 'network unreachable',
  1: 'host unreachable',
  2: 'protocol unreachable',
  3: 'port unreachable',
  4: 'fragmentation needed',
  9: 'network prohibited',
  10: 'host prohibited',
  13: 'communication prohibited',
}
const V6_UNREACHABLE: Readonly<Record<number, string>> = {
  0: 'no route',
  1: 'communication prohibited',
  3: 'address unreachable',
  4: 'port unreachable',
  5: 'source address failed policy',
  6: 'route rejected',
}

/** Whether the message says that the quoted packet did not arrive. A redirect does not. */
export const isError = (p: Packet): boolean => !(p.isIpv4 && p.flags >> 8 === 5)

/** What the message says, and about which segment: `host unreachable, about TCP 10.0.0.1:80 > 10.0.0.2:8080`. */
export function icmpText(p: Packet, quoted: Packet): string {
  const v4 = p.isIpv4
  const type = p.flags >> 8
  const code = p.flags & 255
  const named = type === (v4 ? 3 : 1) ? (v4 ? V4_UNREACHABLE : V6_UNREACHABLE)[code] : undefined
  const says = named ?? `${(v4 ? V4_TYPES : V6_TYPES)[type] ?? `type ${type}`}${code === 0 ? '' : ` (code ${code})`}`
  if (quoted.what !== TCP) return says
  return `${says}, about TCP ${endpointText(quoted.srcText(), quoted.srcPort)} > ${endpointText(quoted.dstText(), quoted.dstPort)}`
}
