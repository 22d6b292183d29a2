/** Reads cited spans back from their members: the bytes that a report quotes and hashes. */
import { createHash } from 'node:crypto'
import { BundleProblem, type Member } from '../bundle/member.js'
import { decode } from '../formats/text/bytes.js'

export interface Cited {
  readonly byteStart: number
  readonly byteEnd: number
}

export interface Excerpt {
  /** Over the span's bytes, unmasked. */
  readonly sha256: string
  /** The bytes as text, without the final line break. */
  readonly text: string
}

export const excerptKey = (c: Cited): string => `${c.byteStart}-${c.byteEnd}`

/** Reads a member once and answers its cited spans by `excerptKey`. Only the spans are held in memory. */
export async function readExcerpts(member: Member, cited: readonly Cited[]): Promise<Map<string, Excerpt>> {
  const wanted = [...new Map(cited.map(c => [excerptKey(c), c])).values()].sort((a, b) => a.byteStart - b.byteStart || a.byteEnd - b.byteEnd)
  const parts = new Map<Cited, Buffer[]>()
  let next = 0
  let open: Cited[] = []
  let at = 0
  try {
    for await (const chunk of member.bytes()) {
      const end = at + chunk.length
      while (next < wanted.length && (wanted[next] as Cited).byteStart < end) {
        const c = wanted[next++] as Cited
        parts.set(c, [])
        open.push(c)
      }
      for (const c of open) parts.get(c)?.push(Buffer.from(chunk.subarray(Math.max(0, c.byteStart - at), Math.max(0, c.byteEnd - at))))
      open = open.filter(c => c.byteEnd > end)
      at = end
      if (next === wanted.length && open.length === 0) break
    }
  } catch (e) {
    if (!(e instanceof BundleProblem)) throw e
  }
  const out = new Map<string, Excerpt>()
  for (const [c, list] of parts) {
    const bytes = Buffer.concat(list)
    out.set(excerptKey(c), { sha256: createHash('sha256').update(bytes).digest('hex'), text: decode(bytes, 0, withoutNewline(bytes)) })
  }
  return out
}

function withoutNewline(b: Buffer): number {
  let n = b.length
  if (n > 0 && b[n - 1] === 10) n--
  if (n > 0 && b[n - 1] === 13) n--
  return n
}
