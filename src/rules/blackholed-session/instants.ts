/** Order of instants: Math knows no bigint. */
export const compare = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0)
export const earlierOf = (a: bigint, b: bigint): bigint => (compare(a, b) < 0 ? a : b)
export const laterOf = (a: bigint, b: bigint): bigint => (compare(a, b) > 0 ? a : b)
export const distance = (a: bigint, b: bigint): bigint => (a > b ? a - b : b - a)
