/** What WC102 looks at, in total order. */

const without = (sources: readonly number[]): string => (sources.length === 0 ? '' : ` AND source NOT IN (${sources.join(', ')})`)

/** Upstream connections of proxy logs, those of mixed logs left out. `ips` are ids of addresses that changed their owner. */
export const connectionsTo = (ips: readonly number[], upstream: number, mixed: readonly number[]): string => `
  SELECT "row", source, process, connection_id, remote_ip, remote_port, t_connecting, t_connected, t_last_use, t_closed, closed, errno, streams, pending
  FROM raw.connection WHERE side = ${upstream} AND t_connecting IS NOT NULL AND remote_ip IN (${ips.join(', ')})${without(mixed)} ORDER BY source, t_connecting, "row"`

export const connectionCounts = (ips: readonly number[], upstream: number, mixed: readonly number[]): string => `
  SELECT remote_ip AS ip, count(*) AS n FROM raw.connection WHERE side = ${upstream} AND t_connecting IS NOT NULL AND remote_ip IN (${ips.join(', ')})${without(mixed)} GROUP BY remote_ip ORDER BY remote_ip`

export const mixedCount = (ips: readonly number[], upstream: number, mixed: readonly number[]): string => `
  SELECT count(*) AS n FROM raw.connection WHERE side = ${upstream} AND remote_ip IN (${ips.join(', ')}) AND source IN (${mixed.join(', ')})`

export const sessionCounts = (ips: readonly number[]): string => `
  SELECT server_ip AS ip, count(*) AS n FROM raw.session WHERE server_ip IN (${ips.join(', ')}) GROUP BY server_ip ORDER BY server_ip`

/** The addresses that an owner is known for. */
export const ownedAddresses = `SELECT DISTINCT ip FROM raw.owner WHERE ip IS NOT NULL ORDER BY ip`

/** Reset reasons for which nothing came back: a RST_STREAM or a protocol error is an answer. */
export const silentReasons = `SELECT id FROM raw.dictionary WHERE value = 'upstream timeout' OR value LIKE 'connection termination%' ORDER BY id`

/** Attempts on each connection that ended without an answer, the first and the last. */
export const unanswered = (connections: readonly bigint[], reset: number, reasons: readonly number[]): string => `
  SELECT connection, min(t_start) AS t_start, max(t_end) AS t_end, count(*) AS n FROM raw.attempt
  WHERE outcome = ${reset} AND reason IN (${[-1, ...reasons].join(', ')}) AND connection IN (${connections.join(', ')}) GROUP BY connection ORDER BY connection`

/** Finished requests to these addresses that were answered by the upstream, by address and cluster. */
export const answeredTo = (spans: readonly { ip: number; from: bigint; to: bigint | null }[], end: number, viaUpstream: number): string => `
  SELECT upstream_ip, upstream_port, upstream_cluster, count(*) AS n, min(t_start) AS t_first, max(t_end) AS t_last FROM raw.request
  WHERE upstream_cluster IS NOT NULL AND status IS NOT NULL AND t_start IS NOT NULL AND t_end IS NOT NULL AND flags IS NULL AND (phase IS NULL OR phase = ${end}) AND (details IS NULL OR details = ${viaUpstream})
    AND (${spans.map(s => `(upstream_ip = ${s.ip} AND t_start >= ${s.from}${s.to === null ? '' : ` AND t_end <= ${s.to}`})`).join(' OR ')})
  GROUP BY upstream_ip, upstream_port, upstream_cluster ORDER BY upstream_ip, upstream_port, upstream_cluster`

/** The first records of one such group. */
export const recordsOf = (
  columns: string,
  g: { ip: number; port: number | null; cluster: number; from: bigint; to: bigint },
  end: number,
  viaUpstream: number,
  most: number,
): string => `
  SELECT ${columns} FROM raw.request WHERE upstream_ip = ${g.ip} AND upstream_port ${g.port === null ? 'IS NULL' : `= ${g.port}`} AND upstream_cluster = ${g.cluster} AND t_start >= ${g.from} AND t_end <= ${g.to}
    AND status IS NOT NULL AND flags IS NULL AND (phase IS NULL OR phase = ${end}) AND (details IS NULL OR details = ${viaUpstream}) ORDER BY t_start, source, byte_start, "row" LIMIT ${most}`

/** Which services name which pods as their endpoints, in which record. */
export const endpoints = (endpoint: number): string => `
  SELECT source, line, byte_start, byte_end, subject, uid, ip FROM raw.pod_fact
  WHERE kind = ${endpoint} AND what = ${endpoint} AND subject IS NOT NULL AND uid IS NOT NULL ORDER BY source, byte_start, "row"`

/** Requests on known connections that the upstream answered, by connection: the last of each. */
export const lastAnswers = (ids: readonly bigint[], ips: readonly number[]): string => `
  SELECT upstream_connection_id, upstream_ip, upstream_port, upstream_local_ip, upstream_local_port, max(CASE WHEN status < 500 AND flags IS NULL THEN t_end END) AS answered
  FROM raw.request WHERE upstream_connection_id IN (${ids.join(', ')}) AND upstream_ip IN (${ips.join(', ')})
  GROUP BY upstream_connection_id, upstream_ip, upstream_port, upstream_local_ip, upstream_local_port ORDER BY upstream_connection_id, upstream_ip, upstream_port, upstream_local_ip, upstream_local_port`
