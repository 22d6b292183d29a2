/** Upstream connections whose remote address has an owner in the bundle: what the rule judges. */

/** All columns that the rule looks at, in a total order. `ips` are ids of the owned addresses. */
export const connectionsTo = (ips: readonly number[], upstream: number): string => `
  SELECT "row", source, process, connection_id, remote_ip, remote_port, t_connecting, t_connected, t_last_use, t_closed, closed, errno, streams, pending
  FROM raw.connection WHERE side = ${upstream} AND remote_ip IN (${ips.join(', ')}) ORDER BY source, t_connecting NULLS LAST, "row"`

/** The addresses that an owner is known for. */
export const ownedAddresses = `SELECT DISTINCT ip FROM raw.owner ORDER BY ip`

/** The last attempt on each connection that ended without an answer. */
export const unanswered = (connections: readonly bigint[], reset: number): string => `
  SELECT connection, max(t_end) AS t_end, count(*) AS n FROM raw.attempt WHERE outcome = ${reset} AND connection IN (${connections.join(', ')}) GROUP BY connection ORDER BY connection`
