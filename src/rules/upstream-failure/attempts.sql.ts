/** Attempts with the connection that they were made on. */
export const attemptsOf = (rows: readonly number[]): string => `
  SELECT a."row", a.connection, a.t_start, a.t_end, a.reused, c.connection_id, c.remote_ip, c.remote_port, c.closed, c.t_closed, c.t_connecting, c.t_connected, c.cluster
  FROM raw.attempt a LEFT JOIN raw.connection c ON c."row" = a.connection WHERE a."row" IN (${rows.join(', ')}) ORDER BY a."row"`
