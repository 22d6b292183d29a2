/** What WC101 looks at, in total order. */

export const SKIP = 'Skipping restore of local address on socket: {} - destination is local {}'
export const BIND = 'Restoring local address (original source) on socket: {} ({} -> {})'
export const CONNECT = 'connecting to {}'

/** Bind decisions and connects of proxy logs, in process order. */
export const decisions = (templates: readonly number[]): string => `
  SELECT source, line, byte_start, byte_end, t, thread, connection_id, template, args FROM raw.proxy_line
  WHERE template IN (${templates.join(', ')}) ORDER BY source, byte_start, "row"`

/** First packets of connections that arrive at pods under the ingress identity or a node's. Where a field mask took the flags, the summary has them. */
export const arrivals = (ingress: number, syn: readonly number[]): string => `
  SELECT source, line, byte_start, byte_end, t, node, verdict, src_ip, src_port, dst_ip, dst_port, src_identity, dst_identity, dst_namespace, dst_pod, drop_reason, drop_reason_desc, event_type
  FROM raw.flow WHERE direction = ${ingress} AND (tcp_flags IN (${syn.join(', ')}) OR (tcp_flags IS NULL AND summary IN (${syn.join(', ')})))
    AND (is_reply IS NULL OR NOT is_reply) AND (dst_pod IS NOT NULL OR dst_identity >= 256)
    AND (src_identity IN (6, 7, 8) OR (src_identity >= 33554432 AND src_identity < 50331648)) ORDER BY source, byte_start, "row"`

/** Life of the connections that were judged. */
export const connectionsOf = (pairs: readonly string[]): string => `
  SELECT "row", source, connection_id, t_connecting, t_connected, t_closed, failure FROM raw.connection
  WHERE (source, connection_id) IN (${pairs.join(', ')}) ORDER BY source, t_connecting NULLS LAST, "row"`

/** Finished requests that show the proxy's address towards a pod, and by which address it was reached. */
export const localAddresses = `
  SELECT source, line, byte_start, byte_end, t_start, upstream_ip, upstream_port, upstream_local_ip, upstream_local_port FROM raw.request
  WHERE upstream_local_ip IS NOT NULL AND upstream_ip IS NOT NULL ORDER BY source, byte_start, "row"`

/** Connects of proxy logs with the captured session that began with each: same destination, same moment. */
export const capturedConnects = (upstream: number, within: bigint): string => `
  SELECT c."row" AS connection, c.source AS log, c.connection_id, c.t_connecting, c.remote_ip, c.remote_port, s.client_ip, s.client_port, s.t_syn, s.source, s.frame, s.byte_start, s.byte_end
  FROM raw.connection c JOIN raw.session s ON s.server_ip = c.remote_ip AND s.server_port = c.remote_port
  WHERE c.side = ${upstream} AND c.t_connecting IS NOT NULL AND s.t_syn >= c.t_connecting - ${within} AND s.t_syn <= c.t_connecting + ${within} AND s.client_ip IS NOT NULL AND s.client_port IS NOT NULL
  ORDER BY c.source, c."row", s.source, s."row"`

/** Ingress addresses of nodes, as Cilium lists them. */
export const ingressAddresses = (reason: number): string => `SELECT DISTINCT ip FROM raw.pod_fact WHERE reason = ${reason} AND ip IS NOT NULL ORDER BY ip`

/** On which node an address lives. */
export const nodes = `SELECT ip, node FROM raw.owner WHERE node IS NOT NULL AND ip IS NOT NULL
  UNION SELECT ip, node FROM raw.pod_fact WHERE node IS NOT NULL AND ip IS NOT NULL ORDER BY ip, node`
