/** An address and a port as views show them: plain lower-case address, compressed, no brackets; null where unknown. */
export interface Endpoint {
  readonly ip: string | null
  readonly port: number | null
}

/** `10.0.0.1:80`, `[2001:db8::1]:80`, or the address alone where the port is unknown; null without address. */
export function endpointText(ip: string | null, port: number | null): string | null {
  if (ip === null) return null
  if (port === null) return ip
  return ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`
}
