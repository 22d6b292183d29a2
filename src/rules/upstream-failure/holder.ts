/** Who had the upstream's address when a request failed, as far as it bears on other explanations. */
import { type Failure, innermost, innerStream } from '../../correlate/failures.js'
import type { Owner } from '../../correlate/owners.js'
import type { RuleContext } from '../rule.js'

export interface Holder {
  readonly ip: string | null
  /** The owner that surely had the address before and after the failure. */
  readonly lasting: string | null
  /** Nobody is known to have had the address at any time, though others are listed. */
  readonly unlisted: boolean
}

export function holderOf(f: Failure, context: RuleContext): Holder {
  const { owners, clockError } = context
  const ip = innermost(f)?.upstreamIp ?? innerStream(f)?.remote?.ip ?? null
  const start = innermost(f)?.start ?? f.t
  if (ip === null || start === null || f.t === null) return { ip, lasting: null, unlisted: false }
  const before = start - clockError
  const after = f.t + clockError
  const lasting = owners
    .of(ip)
    .find(o => o.kind === 'pod' && o.fromLatest !== null && o.fromLatest <= before && (o.to === null || (o.toEarliest !== null && o.toEarliest >= after)))
  return { ip, lasting: lasting?.name ?? null, unlisted: listedInstead(ip, context).length > 0 }
}

/** Listed pods that are cited where none of them has the address. */
const CITED = 10

/** Pods of the address's own network, where none is known to have had it. A listing is of one moment: it proves nothing alone. */
export function listedInstead(ip: string, { owners }: RuleContext): Owner[] {
  if (owners.of(ip).length > 0) return []
  return owners.all.filter(o => o.kind === 'pod' && sameNetwork(o.ip, ip)).slice(0, CITED)
}

/** Pod networks are cut from one range: virtual addresses, nodes and external hosts lie elsewhere. */
function sameNetwork(a: string, b: string): boolean {
  if (a.includes(':') !== b.includes(':')) return false
  const separator = a.includes(':') ? ':' : '.'
  return a.split(separator).slice(0, 2).join(separator) === b.split(separator).slice(0, 2).join(separator)
}
