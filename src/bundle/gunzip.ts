/** gzip as evidence: limited, several members in a row, and whatever could be decompressed before damage counts. */
import { createGunzip, type Gunzip } from 'node:zlib'
import { limits } from '../limits.js'
import { BundleProblem } from './member.js'

/** Where the bytes come from; asked again where damage is looked at closely. */
export type Raw = () => AsyncIterable<Buffer>

/** Compressed bytes given to zlib at a time. What it makes of the piece in which it fails is lost, so pieces are small. */
const PIECE = 16 * 1024

/** No ratio is held against the first of this many decompressed bytes. */
const RATIO_FROM = 64 * 1024 * 1024

export const isGzip = (b: Buffer): boolean => b.length > 2 && b[0] === 0x1f && b[1] === 0x8b && b[2] === 8

/** Damage that zlib met: `good` compressed bytes were read whole before the piece in which it lies. */
class Damage extends Error {
  constructor(
    readonly code: string,
    readonly good: number,
    message: string,
  ) {
    super(message)
  }
}

/** The decompressed bytes. Ends with a `BundleProblem` where the data is cut, damaged, followed by something else, or larger than the limits. */
export async function* gunzipped(raw: Raw): AsyncGenerator<Buffer> {
  let given = 0
  let damage: Damage | null = null
  const pass = new Pass(raw)
  try {
    for await (const chunk of pass.bytes(Number.POSITIVE_INFINITY)) {
      given += chunk.length
      yield chunk
    }
    await pass.checkRest()
    return
  } catch (e) {
    if (!(e instanceof Damage)) throw e
    damage = e
  }
  // Once more, byte by byte where it fails: all that comes before the damage is evidence.
  let skip = given
  try {
    for await (const chunk of new Pass(raw).bytes(damage.good)) {
      if (chunk.length > skip) yield chunk.subarray(skip)
      skip = Math.max(0, skip - chunk.length)
    }
  } catch (e) {
    if (!(e instanceof Damage)) throw e
    damage = e
  }
  throw problemOf(damage)
}

function problemOf({ code, message, good }: Damage): BundleProblem {
  if (code === 'Z_BUF_ERROR') return new BundleProblem('truncated', 'the gzip stream ends before its end')
  if (good > 0 && message === 'incorrect header check') return new BundleProblem('bad-compression', 'what follows the gzip stream is not gzip, and was not read')
  return new BundleProblem('bad-compression', `the gzip stream is damaged (${message})`)
}

/** One reading of the compressed bytes. */
class Pass {
  private read = 0
  private consumed = 0
  private failed: unknown = null

  constructor(private readonly raw: Raw) {}

  /** From the compressed offset `careful` on, zlib gets its input byte by byte. Throws `Damage`, and `BundleProblem` for limits. */
  async *bytes(careful: number): AsyncGenerator<Buffer> {
    const gunzip = createGunzip({ chunkSize: 256 * 1024 })
    const feeding = this.feed(gunzip, careful).catch(e => {
      this.failed = e
      gunzip.destroy()
    })
    let total = 0
    try {
      for await (const chunk of gunzip as AsyncIterable<Buffer>) {
        total += chunk.length
        this.limit(total)
        yield chunk
      }
    } catch (e) {
      if (e instanceof BundleProblem) throw e
      if (this.failed) throw this.failed
      const { code, message } = e as NodeJS.ErrnoException
      throw new Damage(code ?? '', gunzip.bytesWritten, message)
    } finally {
      this.consumed = gunzip.bytesWritten
      gunzip.destroy()
      await feeding
    }
  }

  private limit(total: number): void {
    if (total > limits.member) throw new BundleProblem('limit', `decompresses to more than ${limits.member} bytes`)
    if (total > RATIO_FROM && total > this.read * limits.ratio) throw new BundleProblem('limit', `decompresses to more than ${limits.ratio} times its size`)
  }

  private async feed(gunzip: Gunzip, careful: number): Promise<void> {
    for await (const chunk of this.raw())
      for (let at = 0; at < chunk.length; ) {
        const size = this.read >= careful ? 1 : Math.min(PIECE, careful - this.read, chunk.length - at)
        this.read += size
        await taken(gunzip, chunk.subarray(at, at + size))
        if (gunzip.destroyed) return
        at += size
      }
    gunzip.end()
  }

  /** zlib passes over what follows a zero byte. Zeros alone are padding; anything else was not read. */
  async checkRest(): Promise<void> {
    if (this.read === this.consumed) return
    let at = 0
    for await (const chunk of this.raw()) {
      const rest = chunk.subarray(Math.max(0, this.consumed - at))
      if (rest.some(b => b !== 0)) throw new BundleProblem('bad-compression', 'what follows the gzip stream is not gzip, and was not read')
      at += chunk.length
    }
  }
}

/** Gives zlib a piece and waits until it was taken, or until the stream is closed: after an error it answers no more. */
function taken(gunzip: Gunzip, piece: Buffer): Promise<void> {
  return new Promise(done => {
    const end = () => {
      gunzip.off('close', end)
      done()
    }
    gunzip.once('close', end)
    gunzip.write(piece, end)
  })
}
