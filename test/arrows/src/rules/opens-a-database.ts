import { DuckDBInstance } from '@duckdb/node-api'

export const unlocked = await DuckDBInstance.create()
