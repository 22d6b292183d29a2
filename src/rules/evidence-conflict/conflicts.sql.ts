/** Sentences about connections, in the order of their sources. */
export const statements = (kind: number): string =>
  `SELECT source, line, byte_start, byte_end, subject, reason FROM raw.event WHERE kind = ${kind} ORDER BY source, byte_start, "row"`

/** How many access records there are, and how many can be read in more than one way. */
export const ambiguousRecords = 'SELECT count(*) AS all_records, count(*) FILTER (WHERE ambiguous IS NOT NULL) AS ambiguous FROM raw.request'

/** The first request that two sources share, in both. */
export const sharedBy = (a: number, b: number): string => `
  SELECT source, line, byte_start, byte_end FROM raw.request WHERE source IN (${a}, ${b}) AND request_id = (
    SELECT min(x.request_id) FROM raw.request x JOIN raw.request y ON x.request_id = y.request_id WHERE x.source = ${a} AND y.source = ${b}) ORDER BY source, byte_start, "row" LIMIT 4`
