/** What the rule reads: facts about instances, who the requests went to, and how they fared around a stop. */

/** Facts of the kinds `whats`, in a total order. */
export const factsOf = (whats: readonly number[]): string => `
  SELECT "row", source, line, byte_start, byte_end, subject, kind, uid, sandbox, ip, node, what, reason, t_earliest, t_latest
  FROM raw.pod_fact WHERE what IN (${whats.join(', ')}) AND t_earliest IS NOT NULL AND t_latest IS NOT NULL ORDER BY source, "row"`

/** The tag and the text of the log line that a fact was read from: an exit line names its instance only by the tag. */
export const taggedFacts = (whats: readonly number[]): string => `
  SELECT f."row" AS fact, e.subject AS tag, e.text AS says
  FROM raw.pod_fact f JOIN raw.event e ON e.source = f.source AND e.byte_start = f.byte_start
  WHERE f.what IN (${whats.join(', ')}) ORDER BY f."row", e."row"`

/** Which backend (`ip:port`) the router knew under which instance. */
export const registrations = (registered: number): string => `
  SELECT subject, sandbox, min(t_earliest) AS t_first, max(t_latest) AS t_last FROM raw.pod_fact
  WHERE what = ${registered} AND sandbox IS NOT NULL AND subject IS NOT NULL GROUP BY subject, sandbox ORDER BY subject, sandbox`

const finished = (http: number, end: number): string => `r.kind = ${http} AND (r.phase IS NULL OR r.phase = ${end})`
/** Answered by the backend that the record names, which is that of the last attempt. */
const FINE = '(r.status IS NULL OR r.status < 500) AND r.flags IS NULL AND r.router_error IS NULL'

/** Everything that finished requests were sent to. */
export const targets = (http: number, end: number): string => `
  SELECT r.instance_id, r.upstream_ip, r.upstream_port, r.upstream_cluster, min(r.t_start) AS t_first, max(r.t_start) AS t_last
  FROM raw.request r WHERE ${finished(http, end)} AND r.upstream_ip IS NOT NULL
  GROUP BY r.instance_id, r.upstream_ip, r.upstream_port, r.upstream_cluster ORDER BY r.instance_id, r.upstream_ip, r.upstream_port, r.upstream_cluster`

/** Requests to one target within an interval; `at` splits them into before, during and after. */
export interface Window {
  readonly n: number
  readonly target: number
  /** null: any port. */
  readonly port: number | null
  readonly low: bigint
  readonly high: bigint
  readonly at: bigint
}

const constants = (rows: readonly Window[]): string =>
  rows.map(w => `SELECT ${w.n} AS n, ${w.target} AS target, ${w.port ?? -1} AS port, ${w.low} AS low, ${w.high} AS high, ${w.at} AS instant`).join(' UNION ALL ')

/** How the requests of each window fared. By instance where the records name it, else by address. */
export const requestsAround = (by: 'instance_id' | 'upstream_ip', windows: readonly Window[], http: number, end: number): string => `
  SELECT w.n, count(*) AS total, count(*) FILTER (WHERE ${FINE}) AS fine,
    max(r.t_end) FILTER (WHERE ${FINE}) AS last_end, max(r.t_start) FILTER (WHERE ${FINE}) AS last_start,
    count(*) FILTER (WHERE r.t_end < w.instant) AS before, count(*) FILTER (WHERE r.t_end < w.instant AND ${FINE}) AS before_fine,
    count(*) FILTER (WHERE r.t_start < w.instant AND r.t_end >= w.instant) AS running, count(*) FILTER (WHERE r.t_start < w.instant AND r.t_end >= w.instant AND ${FINE}) AS running_fine
  FROM raw.request r JOIN (${constants(windows)}) w ON r.${by} = w.target AND (w.port = -1 OR r.upstream_port = w.port)
  WHERE ${finished(http, end)} ${by === 'upstream_ip' ? 'AND r.instance_id IS NULL' : ''} AND r.t_start >= w.low AND r.t_start <= w.high GROUP BY w.n ORDER BY w.n`

/** Requests to the other backends of a cluster meanwhile; `target` is the cluster, `spared` the address left out. */
export const requestsBeside = (windows: readonly (Window & { readonly spared: number })[], http: number, end: number): string => `
  SELECT w.n, count(*) AS total, count(*) FILTER (WHERE ${FINE}) AS fine
  FROM raw.request r JOIN (${windows.map(w => `SELECT ${w.n} AS n, ${w.target} AS target, ${w.port ?? -1} AS port, ${w.spared} AS spared, ${w.low} AS low, ${w.high} AS high`).join(' UNION ALL ')}) w
    ON r.upstream_cluster = w.target
  WHERE ${finished(http, end)} AND r.t_end >= w.low AND r.t_end <= w.high AND r.upstream_ip IS NOT NULL AND NOT (r.upstream_ip = w.spared AND (w.port = -1 OR r.upstream_port = w.port))
  GROUP BY w.n ORDER BY w.n`

/** Earlier requests that were served over a local port: the connection was a kept-alive one. */
export const servedOver = (ip: number, ports: readonly number[], before: bigint, http: number, end: number): string => `
  SELECT r.source, r.line, r.byte_start, r.byte_end, r.upstream_local_port FROM raw.request r
  WHERE ${finished(http, end)} AND ${FINE} AND r.upstream_local_ip = ${ip} AND r.upstream_local_port IN (${ports.join(', ')}) AND r.t_start < ${before} ORDER BY r.t_start, r.source, r.byte_start`

/** Connections that a sidecar tried to its application, and was refused. */
export const refusedConnections = (from: bigint, to: bigint): string => `
  SELECT "row", t_connecting, t_closed FROM raw.connection WHERE errno = 111 AND t_connecting >= ${from} AND t_connecting <= ${to} ORDER BY t_connecting, source, "row"`
