/** What the rule looks at: ends of TCP sessions, the connections and captures behind them, what was written, and what happened around. */
import { recordColumns } from '../../correlate/failures.js'

const span = (t: string): string => `${t}.source, ${t}.line, ${t}.byte_start, ${t}.byte_end`

export const settings = (names: readonly number[]): string => `
  SELECT ${span('s')}, s.name, s.value, s.unit FROM raw.setting s WHERE s.name IN (${[-1, ...names].join(', ')}) ORDER BY s.source, s.byte_start, s."row"`

/** Statements about pods, of the kinds `whats`. */
export const podFacts = (whats: readonly number[]): string => `
  SELECT ${span('f')}, f.subject, f.kind, f.uid, f.ip, f.what, f.reason, f.exact, f.t_earliest, f.t_latest FROM raw.pod_fact f
  WHERE f.what IN (${whats.join(', ')}) AND f.t_earliest IS NOT NULL ORDER BY f.source, f."row"`

/** Ids of `tcp` and `end`. */
export interface Kinds {
  readonly tcp: number
  readonly end: number
}

/** Two logs of one process agree on an end to this many nanoseconds: records print whole milliseconds, of a start and a duration. */
const SAME_END = 5_000_000

const ended = ({ tcp, end }: Kinds): string => `r.kind = ${tcp} AND (r.phase IS NULL OR r.phase = ${end}) AND r.t_start IS NOT NULL AND r.t_end IS NOT NULL`
/** A record that gives no reason of its own for its end. */
const unexplained = 'r.flags IS NULL AND r.details IS NULL AND r.termination_details IS NULL AND r.transport_failure IS NULL'
/** Constants as a table. */
const rows = <T>(items: readonly T[], select: (item: T) => string): string => items.map(i => `SELECT ${select(i)}`).join(' UNION ALL ')
const records = (rowIds: string): string => `SELECT ${recordColumns} FROM raw.request WHERE "row" IN (${rowIds}) ORDER BY source, byte_start, "row"`

/**
 * Ended sessions; those that give no reason, and whose upstream side neither a log nor a capture shows; and of these the
 * ones that were as long as retransmissions take, to addresses that nobody reached later and that are not among `known`.
 */
export const sessionCounts = (k: Kinds, upstream: number, least: bigint, known: readonly number[]): string => `
  SELECT count(*) AS sessions, count(*) FILTER (WHERE unseen) AS unseen, count(*) FILTER (WHERE unseen AND lasted >= ${least} AND last_use <= t_end AND upstream_ip NOT IN (${[-1, ...known].join(', ')})) AS unknown FROM (
    SELECT r.upstream_ip, r.t_end, r.t_end - r.t_start AS lasted, u.last_use,
      ${unexplained} AND r.upstream_ip IS NOT NULL AND NOT EXISTS (SELECT 1 FROM raw.connection c WHERE c.side = ${upstream} AND c.remote_ip = r.upstream_ip AND c.remote_port = r.upstream_port
        AND c.t_closed >= r.t_end - ${SAME_END} AND c.t_closed <= r.t_end + ${SAME_END})
      AND NOT EXISTS (SELECT 1 FROM raw.session s WHERE s.client_ip = r.upstream_local_ip AND s.client_port = r.upstream_local_port AND s.server_ip = r.upstream_ip AND s.server_port = r.upstream_port) AS unseen
    FROM raw.request r LEFT JOIN (SELECT o.upstream_ip, max(o.t_start) AS last_use FROM raw.request o WHERE o.flags IS NULL AND o.upstream_ip IS NOT NULL GROUP BY o.upstream_ip) u ON u.upstream_ip = r.upstream_ip
    WHERE ${ended(k)}) x`

/** That it was used shows that a connection was established, where the log does not reach back to that. */
const ESTABLISHED = '(c.t_connected IS NOT NULL OR c.t_first_use IS NOT NULL)'

/** Upstream connections that were established, and TCP sessions in captures. */
export const otherCounts = (upstream: number): string => `
  SELECT (SELECT count(*) FROM raw.connection c WHERE c.side = ${upstream} AND ${ESTABLISHED}) AS connections, (SELECT count(*) FROM raw.session) AS captured`

/** A pod that disappeared, as a query sees it. */
export interface Gone {
  /** Id of its address; null: not known. */
  readonly ip: number | null
  /** A session of interest began not after, and ended between. */
  readonly opened: bigint
  readonly from: bigint
  readonly to: bigint
}

/** Sessions that were open when their pod, or some pod, disappeared, and ended within the window without a reason. */
export function outlivedRecords(k: Kinds, gone: readonly Gone[]): string {
  const known = gone.filter(g => g.ip !== null)
  const unknown = gone.filter(g => g.ip === null)
  const select = (g: Gone): string => `${g.ip ?? -1} AS ip, ${g.opened} AS opened, ${g.from} AS t_from, ${g.to} AS t_to`
  const part = (list: readonly Gone[], on: string): string => `SELECT r."row" FROM raw.request r JOIN (${rows(list, select)}) d ON ${on}
    WHERE ${ended(k)} AND ${unexplained} AND r.upstream_ip IS NOT NULL AND r.t_start <= d.opened AND r.t_end >= d.t_from AND r.t_end <= d.t_to`
  return records([...(known.length > 0 ? [part(known, 'r.upstream_ip = d.ip')] : []), ...(unknown.length > 0 ? [part(unknown, 'r.t_start <= d.opened')] : [])].join(' UNION '))
}

/** Records of the connections that ended at `t`. */
export const recordsEnding = (k: Kinds, list: readonly { readonly ip: number; readonly port: number; readonly t: bigint }[]): string =>
  records(`SELECT r."row" FROM raw.request r JOIN (${rows(list, c => `${c.ip} AS ip, ${c.port} AS port, ${c.t} AS t`)}) c ON r.upstream_ip = c.ip AND r.upstream_port = c.port
    WHERE ${ended(k)} AND r.t_end >= c.t - ${SAME_END} AND r.t_end <= c.t + ${SAME_END}`)

/** Records of sessions over a known pair of sockets that were open at `t`. */
export const recordsOver = (k: Kinds, list: readonly { readonly local: readonly [number, number]; readonly remote: readonly [number, number]; readonly t: bigint }[]): string =>
  records(`SELECT r."row" FROM raw.request r JOIN (${rows(list, c => `${c.local[0]} AS local_ip, ${c.local[1]} AS local_port, ${c.remote[0]} AS ip, ${c.remote[1]} AS port, ${c.t} AS t`)}) c
    ON r.upstream_local_ip = c.local_ip AND r.upstream_local_port = c.local_port AND r.upstream_ip = c.ip AND r.upstream_port = c.port
    WHERE ${ended(k)} AND r.t_start <= c.t + 2000000000 AND r.t_end >= c.t - 2000000000`)

/** Established upstream connections that timed out, or that went to one of `ips` and ended after `since`, if at all. */
export const upstreamConnections = (upstream: number, timeout: number, ips: readonly number[], since: bigint): string => `
  SELECT c."row", c.source, c.process, c.connection_id, c.remote_ip, c.remote_port, c.t_connecting, c.t_connected, c.t_first_use, c.t_closed, c.closed, c.errno, c.streams FROM raw.connection c
  WHERE c.side = ${upstream} AND ${ESTABLISHED} AND (c.closed = ${timeout}${ips.length > 0 ? ` OR (c.remote_ip IN (${ips.join(', ')}) AND (c.t_closed IS NULL OR c.t_closed >= ${since}))` : ''})
  ORDER BY c.source, c.t_connecting NULLS LAST, c."row"`

/** The last process of each log: what an earlier one left open ended with it. */
export const lastProcesses = `SELECT source, max(process) AS process FROM raw.connection GROUP BY source ORDER BY source`

/** Downstream connections, by id. */
export const downstreamConnections = (downstream: number, list: readonly { readonly source: number; readonly id: bigint }[]): string => `
  SELECT c.source, c.process, c.connection_id, c.remote_ip, c.remote_port FROM raw.connection c
  JOIN (${rows(list, d => `${d.source} AS source, ${d.id} AS id`)}) d ON c.source = d.source AND c.connection_id = d.id WHERE c.side = ${downstream} ORDER BY c.source, c.process, c.connection_id, c."row"`

/** Lines of `template` within an interval of a source. */
export const linesWithin = (template: number, list: readonly { readonly n: number; readonly source: number; readonly from: bigint; readonly to: bigint }[]): string => `
  SELECT w.n, p.args FROM raw.proxy_line p JOIN (${rows(list, w => `${w.n} AS n, ${w.source} AS source, ${w.from} AS t_from, ${w.to} AS t_to`)}) w ON p.source = w.source
  WHERE p.template = ${template} AND p.t >= w.t_from AND p.t <= w.t_to ORDER BY w.n, p.source, p."row"`

/** A connection in a log, and two instants to count from. */
export interface Watched {
  readonly n: number
  readonly source: number
  readonly id: bigint
  readonly from: bigint
  readonly to: bigint
  readonly lo: bigint
  readonly hi: bigint
}

/** What lines of `template` with the connection's id count, by their arguments: all, and from the two instants on. */
export const counted = (template: number, list: readonly Watched[]): string => `
  SELECT w.n, p.args, count(*) AS lines, max(p.t) AS t_last, min(CASE WHEN p.t >= w.lo THEN p.t END) AS t_maybe, min(CASE WHEN p.t >= w.hi THEN p.t END) AS t_sure, count(*) FILTER (WHERE p.t >= w.hi) AS sure
  FROM raw.proxy_line p JOIN (${rows(list, w => `${w.n} AS n, ${w.source} AS source, ${w.id} AS id, ${w.from} AS t_from, ${w.to} AS t_to, ${w.lo} AS lo, ${w.hi} AS hi`)}) w
    ON p.source = w.source AND p.connection_id = w.id
  WHERE p.template = ${template} AND p.t >= w.t_from AND p.t <= w.t_to GROUP BY w.n, p.args ORDER BY w.n, p.args`

/** The lines themselves, at given instants. */
export const linesAt = (template: number, list: readonly { readonly n: number; readonly source: number; readonly id: bigint; readonly t: bigint }[]): string => `
  SELECT w.n, p.t, ${span('p')} FROM raw.proxy_line p JOIN (${rows(list, w => `${w.n} AS n, ${w.source} AS source, ${w.id} AS id, ${w.t} AS t`)}) w
    ON p.source = w.source AND p.connection_id = w.id AND p.t = w.t WHERE p.template = ${template} ORDER BY w.n, p.source, p."row"`

/** Sources whose log has such lines. */
export const sourcesOf = (column: 'template' | 'logger', id: number): string => `SELECT DISTINCT source FROM raw.proxy_line WHERE ${column} = ${id} ORDER BY source`

/** Requests on upstream connections. */
export const attemptsOn = (connections: readonly bigint[]): string => `
  SELECT connection, t_start, t_end, outcome FROM raw.attempt WHERE connection IN (${connections.join(', ')}) AND t_start IS NOT NULL ORDER BY connection, t_start, "row"`

/** Packets of `sources`, between two ports and two instants. */
export const packetsBetween = (sources: readonly number[], list: readonly { readonly n: number; readonly a: number; readonly from: bigint; readonly to: bigint }[]): string => `
  SELECT w.n, p.source, p.frame, p.byte_start, p.byte_end, p.t, p.src_ip, p.src_port, p.dst_ip, p.dst_port, p.seq, p.ack, p.tcp_flags, p.length FROM raw.packet p
  JOIN (${rows(list, w => `${w.n} AS n, ${w.a} AS a, ${w.from} AS t_from, ${w.to} AS t_to`)}) w ON p.src_port = w.a OR p.dst_port = w.a
  WHERE p.source IN (${sources.join(', ')}) AND p.t >= w.t_from AND p.t <= w.t_to ORDER BY w.n, p.t, p.source, p.byte_start`

/** Captured sessions to one of `ips`, or whose opener was never answered again. */
export const capturedSessions = (ips: readonly number[]): string => `
  SELECT s."row", s.source, s.line, s.frame, s.byte_start, s.byte_end, s.client_ip, s.client_port, s.server_ip, s.server_port, s.t_syn, s.t_established, s.t_first, s.t_last, s.t_client_last, s.t_server_last,
    s.client_retransmissions, s.t_client_unacked, s.keepalive_probes, s.ended, s.ended_by, s.server_packets, s.history FROM raw.session s
  WHERE s.t_client_unacked IS NOT NULL OR s.keepalive_probes > 0${ips.length > 0 ? ` OR s.server_ip IN (${ips.join(', ')})` : ''} ORDER BY s.source, s.t_first NULLS LAST, s."row"`

/** What the opener of captured sessions sent, of the frames that are kept. */
export const framesOf = (
  list: readonly {
    readonly n: number
    readonly source: number
    readonly from: readonly [number, number]
    readonly to: readonly [number, number]
    readonly first: bigint
    readonly last: bigint
  }[],
): string => `
  SELECT w.n, p.source, p.frame, p.byte_start, p.byte_end, p.t FROM raw.packet p
  JOIN (${rows(list, w => `${w.n} AS n, ${w.source} AS source, ${w.from[0]} AS src, ${w.from[1]} AS src_port, ${w.to[0]} AS dst, ${w.to[1]} AS dst_port, ${w.first} AS t_first, ${w.last} AS t_last`)}) w
    ON p.source = w.source AND p.src_ip = w.src AND p.src_port = w.src_port AND p.dst_ip = w.dst AND p.dst_port = w.dst_port
  WHERE p.t >= w.t_first AND p.t <= w.t_last ORDER BY w.n, p.t, p.byte_start`

/** An address of a pod, the siblings of its sessions (the same cluster and port), and when the pod disappeared. */
export interface Circle {
  readonly n: number
  readonly cluster: number | null
  readonly port: number
  readonly ip: number
  readonly lo: bigint
  readonly hi: bigint
}

const circles = (list: readonly Circle[]): string => rows(list, w => `${w.n} AS n, ${w.cluster ?? -1} AS cluster, ${w.port} AS port, ${w.ip} AS ip, ${w.lo} AS lo, ${w.hi} AS hi`)
const SIBLING = 'COALESCE(r.upstream_cluster, -1) = w.cluster AND r.upstream_port = w.port'

/** When the address was reached again for the first time: by a request or session that did not fail to connect, or by an established connection. */
export const usedAgain = (list: readonly Circle[]): string => `
  SELECT n, min(t) AS t FROM (
    SELECT w.n, min(r.t_start) AS t FROM raw.request r JOIN (${circles(list)}) w ON r.upstream_ip = w.ip WHERE r.t_start > w.hi AND r.flags IS NULL GROUP BY w.n
    UNION ALL SELECT w.n, min(c.t_connected) AS t FROM raw.connection c JOIN (${circles(list)}) w ON c.remote_ip = w.ip WHERE c.t_connected > w.hi GROUP BY w.n) x
  GROUP BY n ORDER BY n`

/**
 * Addresses that the siblings used when the pod disappeared; sessions that began afterwards to other addresses, and how
 * many of them ended without a fault; sessions to the same address that ended while it disappeared.
 */
export const siblingsAround = (k: Kinds, list: readonly Circle[], termination: bigint): string => `
  SELECT w.n, count(DISTINCT CASE WHEN r.t_start <= w.lo AND r.t_end >= w.lo THEN r.upstream_ip END) AS beside,
    count(*) FILTER (WHERE r.t_start > w.hi AND r.upstream_ip <> w.ip) AS later, count(*) FILTER (WHERE r.t_start > w.hi AND r.upstream_ip <> w.ip AND ${unexplained}) AS later_fine,
    count(*) FILTER (WHERE r.t_start <= w.lo AND r.upstream_ip = w.ip AND r.t_end >= w.lo AND r.t_end <= w.hi + ${termination}) AS closed_at_once
  FROM raw.request r JOIN (${circles(list)}) w ON ${SIBLING} WHERE ${ended(k)} AND r.upstream_ip IS NOT NULL GROUP BY w.n ORDER BY w.n`

/** Sessions of one cluster and port that began within an interval, in order. */
export const sessionsFrom = (k: Kinds, c: { readonly cluster: number | null; readonly port: number }, from: bigint, to: bigint): string => `
  SELECT r."row", r.t_start, r.downstream_remote_ip FROM raw.request r
  WHERE ${ended(k)} AND COALESCE(r.upstream_cluster, -1) = ${c.cluster ?? -1} AND r.upstream_port = ${c.port} AND r.t_start >= ${from} AND r.t_start <= ${to} AND r.flags IS NULL AND r.upstream_ip IS NOT NULL
  ORDER BY r.t_start, r.source, r.byte_start LIMIT 50000`

export const recordsOf = (rowIds: readonly bigint[]): string => records(rowIds.join(', '))

/** Earlier siblings of the same shape: long, without a reason for their end, and their address never came back. */
export const siblingsBefore = (k: Kinds, list: readonly Circle[], least: bigint): string => `
  SELECT w.n, r.upstream_ip, r.upstream_port, r.t_start, r.t_end FROM raw.request r JOIN (${circles(list)}) w ON ${SIBLING}
    JOIN (SELECT o.upstream_ip, max(o.t_start) AS last_use FROM raw.request o WHERE o.upstream_ip IS NOT NULL GROUP BY o.upstream_ip) u ON u.upstream_ip = r.upstream_ip
  WHERE ${ended(k)} AND ${unexplained} AND r.upstream_ip <> w.ip AND r.t_end < w.lo AND r.t_end - r.t_start >= ${least} AND u.last_use <= r.t_end ORDER BY w.n, r.t_end, r.source, r.byte_start LIMIT 1000`

/** Endpoints that some listing names: `ip` of the subject, and other addresses of the same subject. */
export const endpointsNaming = (endpoint: number, ips: readonly number[]): string => `
  SELECT ${span('f')}, f.subject, f.ip FROM raw.pod_fact f WHERE f.kind = ${endpoint} AND f.ip IN (${ips.join(', ')}) ORDER BY f.source, f.byte_start, f."row"`

/** Lines of application logs within seconds of an instant that ends a silence: their source said something before `quiet`, and nothing since. */
export const logResumes = (
  log: number,
  list: readonly { readonly n: number; readonly from: bigint; readonly quiet: bigint; readonly at: bigint; readonly to: bigint }[],
): string => `
  SELECT w.n, ${span('e')}, e.t FROM raw.event e JOIN (${rows(list, w => `${w.n} AS n, ${w.from} AS t_from, ${w.quiet} AS quiet, ${w.at} AS t_at, ${w.to} AS t_to`)}) w ON e.t >= w.t_at AND e.t <= w.t_to
  WHERE e.kind = ${log} AND EXISTS (SELECT 1 FROM raw.event o WHERE o.source = e.source AND o.kind = ${log} AND o.t >= w.t_from AND o.t <= w.quiet)
    AND NOT EXISTS (SELECT 1 FROM raw.event o WHERE o.source = e.source AND o.kind = ${log} AND o.t > w.quiet AND o.t < w.t_at) ORDER BY w.n, e.t, e.source, e.byte_start LIMIT 200`
