/** Numbers in buffers. Callers check bounds; a read outside of them gives some number, never an error. */

export const u8 = (b: Uint8Array, at: number): number => b[at] as number
export const u16 = (b: Uint8Array, at: number): number => ((b[at] as number) << 8) | (b[at + 1] as number)
/** Signed: what sequence numbers and address words are kept as. */
export const i32 = (b: Uint8Array, at: number): number => ((b[at] as number) << 24) | ((b[at + 1] as number) << 16) | ((b[at + 2] as number) << 8) | (b[at + 3] as number)
export const u32 = (b: Uint8Array, at: number): number => i32(b, at) >>> 0

/** The same in the byte order of a file's writer. */
export const u16in = (b: Uint8Array, at: number, little: boolean): number => (little ? ((b[at + 1] as number) << 8) | (b[at] as number) : u16(b, at))
export const u32in = (b: Uint8Array, at: number, little: boolean): number =>
  little ? (((b[at + 3] as number) << 24) | ((b[at + 2] as number) << 16) | ((b[at + 1] as number) << 8) | (b[at] as number)) >>> 0 : u32(b, at)
export const u64in = (b: Uint8Array, at: number, little: boolean): bigint => {
  const [high, low] = little ? [at + 4, at] : [at, at + 4]
  return (BigInt(u32in(b, high, little)) << 32n) | BigInt(u32in(b, low, little))
}
