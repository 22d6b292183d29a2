/** Sentences about connections, in the order of their sources. */
export const statements = (kind: number): string =>
  `SELECT source, line, byte_start, byte_end, subject, reason FROM raw.event WHERE kind = ${kind} ORDER BY source, byte_start, "row"`

/** How many access records there are, and how many can be read in more than one way. */
export const ambiguousRecords = 'SELECT count(*) AS all_records, count(*) FILTER (WHERE ambiguous IS NOT NULL) AS ambiguous FROM raw.request'

/** The first request whose id stands once in each of two sources, in both. */
export const sharedBy = (a: number, b: number): string => `
  WITH once AS (SELECT request_id, source FROM raw.request WHERE source IN (${a}, ${b}) AND request_id IS NOT NULL AND t_start IS NOT NULL GROUP BY request_id, source HAVING count(*) = 1),
  shared AS (SELECT request_id FROM once GROUP BY request_id HAVING count(*) = 2 ORDER BY request_id LIMIT 1)
  SELECT source, line, byte_start, byte_end, request_id, t_start FROM raw.request WHERE source IN (${a}, ${b}) AND request_id IN (SELECT request_id FROM shared) AND t_start IS NOT NULL ORDER BY source, byte_start, "row"`
