/** What requests were sent to, and how they fared there around a stop. */
import { endpointText } from '../../model/endpoint.js'
import { SECOND } from '../../model/instant.js'
import type { RuleContext } from '../rule.js'
import type { Registration } from './facts.js'
import type { Life } from './lives.js'
import { least, most } from './moments.js'
import { requestsAround, requestsBeside, targets as targetsSql, type Window } from './queries.sql.js'
import type { InstanceAt, Suspect } from './suspects.js'

/** Something that requests were sent to. Ids as the store has them. */
export interface Target {
  readonly instance: string | null
  readonly instanceId: number | null
  readonly ip: string
  readonly ipId: number
  readonly port: number | null
  readonly endpoint: string
  readonly cluster: string | null
  readonly clusterId: number | null
  readonly first: bigint
  readonly last: bigint
}

export async function readTargets({ store }: RuleContext): Promise<Target[]> {
  const ids = await store.ids(['http', 'end'])
  const rows = await store.rows(targetsSql(ids.get('http') ?? -1, ids.get('end') ?? -1))
  const words = await store.words(rows.flatMap(r => [r.instance_id, r.upstream_ip, r.upstream_cluster]).filter((v): v is number => typeof v === 'number'))
  return rows
    .map(r => {
      const ip = words.get(r.upstream_ip as number) ?? ''
      const port = r.upstream_port as number | null
      return {
        instance: words.get(r.instance_id as number) ?? null,
        instanceId: r.instance_id as number | null,
        ip,
        ipId: r.upstream_ip as number,
        port,
        endpoint: endpointText(ip, port) ?? ip,
        cluster: words.get(r.upstream_cluster as number) ?? null,
        clusterId: r.upstream_cluster as number | null,
        first: (r.t_first as bigint | null) ?? 0n,
        last: (r.t_last as bigint | null) ?? 0n,
      }
    })
    .sort((a, b) => order(a.endpoint, b.endpoint) || order(a.instance ?? '', b.instance ?? '') || order(a.cluster ?? '', b.cluster ?? ''))
}

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Who had a backend at a time, from registrations and from records that name both; the nearest where several had it. */
export function instancesOf(registrations: readonly Registration[], targets: readonly Target[]): InstanceAt {
  const known = new Map<string, { instance: string; first: bigint; last: bigint }[]>()
  const add = (endpoint: string, instance: string, first: bigint, last: bigint): void => {
    const list = known.get(endpoint)
    if (list) list.push({ instance, first, last })
    else known.set(endpoint, [{ instance, first, last }])
  }
  for (const r of registrations) add(r.endpoint, r.instance, r.first, r.last)
  for (const t of targets) if (t.instance !== null) add(t.endpoint, t.instance, t.first, t.last)
  return (endpoint, t) => {
    const apart = (e: { first: bigint; last: bigint }): bigint => (t < e.first ? e.first - t : t > e.last ? t - e.last : 0n)
    return (
      (known.get(endpoint) ?? []).reduce<{ instance: string; first: bigint; last: bigint } | null>((m, e) => (m === null || apart(e) < apart(m) ? e : m), null)?.instance ?? null
    )
  }
}

/** Targets by instance; where records name none by backend and by address. */
export function indexOf(all: readonly Target[]): ReadonlyMap<string, Target[]> {
  const index = new Map<string, Target[]>()
  for (const t of all)
    for (const key of t.instance !== null ? [t.instance] : [t.endpoint, t.ip]) {
      const list = index.get(key)
      if (list) list.push(t)
      else index.set(key, [t])
    }
  return index
}

export const targetsOf = (life: Life, index: ReadonlyMap<string, Target[]>): Target[] => [...new Set([life.key, ...life.addresses].flatMap(key => index.get(key) ?? []))]

/** Counts of requests around an instant. */
export interface Fared {
  readonly total: number
  readonly before: number
  readonly beforeFine: number
  readonly running: number
  readonly runningFine: number
  readonly lastEnd: bigint | null
  readonly lastStart: bigint | null
}

export const NONE: Fared = { total: 0, before: 0, beforeFine: 0, running: 0, runningFine: 0, lastEnd: null, lastStart: null }

/** How the requests to each group of targets fared. */
export async function faredOf({ store }: RuleContext, groups: readonly { targets: readonly Target[]; low: bigint; high: bigint; at: bigint }[]): Promise<Fared[]> {
  const byInstance: Window[] = []
  const byAddress: Window[] = []
  groups.forEach((g, n) => {
    const seen = new Set<string>()
    for (const t of g.targets) {
      const key = t.instanceId === null ? `${t.ipId}:${t.port}` : String(t.instanceId)
      if (seen.has(key)) continue
      seen.add(key)
      const window = { n, low: g.low, high: g.high, at: g.at }
      if (t.instanceId !== null) byInstance.push({ ...window, target: t.instanceId, port: null })
      else byAddress.push({ ...window, target: t.ipId, port: t.port })
    }
  })
  const ids = await store.ids(['http', 'end'])
  const out = groups.map(() => NONE)
  for (const [by, windows] of [
    ['instance_id', byInstance],
    ['upstream_ip', byAddress],
  ] as const)
    for (let i = 0; i < windows.length; i += MOST_WINDOWS)
      for (const r of await store.rows(requestsAround(by, windows.slice(i, i + MOST_WINDOWS), ids.get('http') ?? -1, ids.get('end') ?? -1))) {
        const n = Number(r.n)
        const a = out[n] ?? NONE
        out[n] = {
          total: a.total + Number(r.total),
          before: a.before + Number(r.before),
          beforeFine: a.beforeFine + Number(r.before_fine),
          running: a.running + Number(r.running),
          runningFine: a.runningFine + Number(r.running_fine),
          lastEnd: most([a.lastEnd, r.last_end as bigint | null]),
          lastStart: most([a.lastStart, r.last_start as bigint | null]),
        }
      }
  return out
}

/** Windows that one query takes: each is a row of constants in it. */
const MOST_WINDOWS = 500

/** How the other backends of the same cluster fared while requests to this one failed. */
export async function besideOf({ store }: RuleContext, groups: readonly (readonly Suspect[])[], all: readonly Target[]): Promise<{ total: number; fine: number }[]> {
  const windows = groups.flatMap((group, n) => {
    const endpoint = group.find(s => s.endpoint !== null)?.endpoint ?? null
    const cluster = group.find(s => s.cluster !== null)?.cluster ?? null
    const target = all.find(t => t.endpoint === endpoint && t.clusterId !== null && (cluster === null || t.cluster === cluster))
    if (!target || target.clusterId === null) return []
    const low = least(group.map(s => s.start ?? s.end)) ?? 0n
    const high = most(group.map(s => s.end)) ?? 0n
    return [{ n, target: target.clusterId, port: target.port, spared: target.ipId, low: low - SECOND, high: high + SECOND, at: low }]
  })
  const ids = await store.ids(['http', 'end'])
  const out = groups.map(() => ({ total: 0, fine: 0 }))
  for (let i = 0; i < windows.length; i += MOST_WINDOWS)
    for (const r of await store.rows(requestsBeside(windows.slice(i, i + MOST_WINDOWS), ids.get('http') ?? -1, ids.get('end') ?? -1)))
      out[Number(r.n)] = { total: Number(r.total), fine: Number(r.fine) }
  return out
}
