/** What people write about a connection in prose: `a new HBONE connection (ID: 7009) being established to Pod-aaa at IP 10.90.142.96`. */
import { plainAddress } from '../text/address.js'

export interface Statement {
  /** The peer that the sentence names. */
  readonly peer: string
  readonly ip: string | null
  readonly connectionId: string
}

const ID = /\bconnection \((?:id|connectionid)[: ]{1,2}(\d{1,19})\)/i
const PEER = /\b(?:established|opened|connected) to ([A-Za-z0-9][\w./-]{0,252})/
const IP = /\bIP:? {0,2}([0-9a-fA-F.:]{3,45})/

/** The statement of a line, or null. Needs an id and the peer. */
export function readStatement(line: string): Statement | null {
  if (line.length > 2000) return null
  const id = ID.exec(line)
  const peer = id && PEER.exec(line.slice(id.index))
  if (!peer) return null
  const ip = IP.exec(line)?.[1]?.replace(/[.:]$/, '') ?? null
  return { peer: (peer[1] as string).replace(/[.,]$/, ''), ip: ip === null ? null : plainAddress(ip), connectionId: id[1] as string }
}
