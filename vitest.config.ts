import { defineConfig } from 'vitest/config'

/** Suites that need something of their own: `npm run test:NAME` runs one, as the mode NAME. */
const SUITES = ['hostile', 'large', 'browser', 'clickhouse']

export default defineConfig(({ mode }) => ({
  test: {
    include: SUITES.includes(mode) ? [`test/${mode}/**/*.test.ts`] : ['src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: ['node_modules/**', 'dist/**', 'test/arrows/**', ...SUITES.filter(s => s !== mode).map(s => `test/${s}/**`)],
    // Cases run the whole pipeline, several at a time, on machines with two cores.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
}))
