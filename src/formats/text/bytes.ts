/** Bytes of logs as text. */

/** UTF-8, undecodable bytes as U+FFFD. ASCII takes the fast way. */
export function decode(bytes: Buffer, start: number, end: number): string {
  const latin = bytes.toString('latin1', start, end)
  for (let i = 0; i < latin.length; i++) if (latin.charCodeAt(i) > 0x7f) return bytes.toString('utf8', start, end)
  return latin
}
