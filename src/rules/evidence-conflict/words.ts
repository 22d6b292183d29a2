/** Every sentence that WC100 says. */
import type { Owner } from '../../correlate/owners.js'
import { type ClockOffset, offsetMs } from '../../correlate/clocks.js'
import { iso } from '../../model/instant.js'

export const words = {
  owners: (ip: string, a: Owner, b: Owner): string => `${ip} is said to belong to ${a.name} and to ${b.name} at the same time`,
  ownersSay: (ip: string, a: Owner, b: Owner, o: { from: bigint; to: bigint | null }): string =>
    `Both ${a.name} and ${b.name} are given as the owner of ${ip} from ${iso(o.from)} ${o.to === null ? 'on' : `to ${iso(o.to)}`}: one of the times is wrong, and what rests on them is possible at most`,
  mixed: (id: bigint | null): string => `One log holds two processes: connection ${id ?? ''} is opened while it is still open, or ids go back`,
  mixedSays: 'Here an id begins that cannot begin in one process: the log mixes two proxies, and nothing is joined by its connection ids',
  ids: (peer: string, ids: readonly string[]): string => `The text names ${ids.length} ids for what it calls one connection to ${peer}: ${ids.join(' and ')}`,
  idsSay: (peer: string, ids: readonly string[]): string =>
    `The connection to ${peer} that was opened and the one that was used again have different ids (${ids.join(', ')}): either they are two connections, or one number is a slip; the debug log of the proxy settles it`,
  clocks: (c: ClockOffset): string => `Two sources show the same ${c.anchors === 1 ? 'request' : `${c.anchors} requests`} ${Math.abs(offsetMs(c.offset))} ms apart`,
  clocksSay: (c: ClockOffset): string =>
    `The same request id begins ${Math.abs(offsetMs(c.offset))} ms ${c.offset < 0n ? 'earlier' : 'later'} in the second source (error ${offsetMs(c.error)} ms): a zone is wrong or a clock is off, and no order between the two is claimed`,
  ambiguous: (n: number): string => `${n} access record${n === 1 ? '' : 's'} can be read in more than one way: a client chose text that looks like other fields`,
  ambiguousSays: 'In these records fields written by the client run into others; no finding rests on the ambiguous ones',
  advice: {
    'owner-conflict': ['Look the address up in the CNI log or the API server audit log: they give the exact times.'],
    'id-conflict': ['Collect one log per proxy (kubectl logs POD, or --prefix), with connection:debug, and follow one id from "connecting to" to its end.'],
    'clock-conflict': ['Give the zone of the source with --zone SOURCE=ZONE, or compare `date -u` and the time service of the two hosts.'],
    'ambiguous-record': ['Use a JSON access-log format: it escapes what clients send.'],
  },
} as const
