/** Lines of a gorouter's log about backends that failed a request. */
import type { Store } from '../store/store.js'
import type { Place } from './evidence.js'
import { placeOf } from './owners.js'

export interface BackendFailure {
  /** Row of `proxy_line`. */
  readonly row: bigint
  readonly place: Place
  readonly t: bigint | null
  readonly requestId: string | null
  readonly backend: string | null
  readonly error: string
  readonly attempt: number | null
  readonly retriable: boolean | null
  readonly gotConnection: boolean | null
  readonly wroteHeaders: boolean | null
  readonly reused: boolean | null
}

export async function backendFailures(store: Store): Promise<BackendFailure[]> {
  const rows = await store.rows(
    `SELECT "row", source, line, byte_start, byte_end, t, request_id, args FROM raw.proxy_line
     WHERE template IN (SELECT id FROM raw.dictionary WHERE value = 'backend-endpoint-failed') ORDER BY source, byte_start, "row"`,
  )
  return rows.map(r => {
    const data = dataOf(r.args as string | null)
    const endpoint = data['route-endpoint']
    const flag = (v: unknown): boolean | null => (typeof v === 'boolean' ? v : null)
    const address = typeof endpoint === 'object' && endpoint !== null && 'Addr' in endpoint ? endpoint.Addr : null
    return {
      row: r.row as bigint,
      place: placeOf(r),
      t: r.t as bigint | null,
      requestId: r.request_id as string | null,
      backend: typeof address === 'string' ? address : null,
      error: typeof data.error === 'string' ? data.error : '',
      attempt: typeof data.attempt === 'number' ? data.attempt : null,
      retriable: flag(data.retriable),
      gotConnection: flag(data['got-connection']),
      wroteHeaders: flag(data['wrote-headers']),
      reused: flag(data['conn-reused']),
    }
  })
}

/** `args` of a gorouter line is a JSON array of one string: the line's `data`. */
function dataOf(args: string | null): Record<string, unknown> {
  try {
    const [text] = JSON.parse(args ?? '[]') as unknown[]
    const data: unknown = typeof text === 'string' ? JSON.parse(text) : null
    return typeof data === 'object' && data !== null ? (data as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
