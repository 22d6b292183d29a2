/** Texts that are hard on one regular expression: what it repeats is repeated 64 KiB long, after what leads there and before what cannot follow. */

export const ATTACK_SIZE = 64 * 1024

type Node =
  | { readonly kind: 'set'; readonly source: string }
  | { readonly kind: 'empty' }
  | { readonly kind: 'group'; readonly options: readonly (readonly Node[])[]; readonly look: boolean }
  | { readonly kind: 'repeat'; readonly of: Node; readonly min: number; readonly max: number }

/** Characters that stand for the classes that patterns are written with. */
const CHARACTERS = [...`a0 \t"'[](){}<>/\\.,:;-_=+*&?!@#$%|~^Zz9fTé\n\u0000\u00a0`]

/** A tree of the pattern, as far as the attacks need it. Back references stand for nothing. */
function parse(source: string): Node[][] {
  let at = 0
  const options = (): Node[][] => {
    const all: Node[][] = [[]]
    while (at < source.length && source[at] !== ')') {
      if (source[at] === '|') {
        at++
        all.push([])
        continue
      }
      const node = repeated(atom())
      all.at(-1)?.push(node)
    }
    return all
  }
  const group = (): Node => {
    const head = /^\((?:\?(?:<?[=!]|:|<[\w$]{1,40}>))?/.exec(source.slice(at))?.[0] ?? '('
    at += head.length
    const inside = options()
    at++
    return { kind: 'group', options: inside, look: /^\(\?<?[=!]/.test(head) }
  }
  const atom = (): Node => {
    const c = source[at]
    if (c === '(') return group()
    if (c === '[') {
      const from = at++
      while (at < source.length && source[at] !== ']') at += source[at] === '\\' ? 2 : 1
      at++
      return { kind: 'set', source: source.slice(from, at) }
    }
    if (c === '\\') {
      const escape = /^\\(?:[pP]\{[^}]{1,60}\}|u\{[^}]{1,8}\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)/s.exec(source.slice(at))?.[0] ?? '\\\\'
      at += escape.length
      return /^\\[bB1-9]/.test(escape) ? { kind: 'empty' } : { kind: 'set', source: escape }
    }
    at++
    return c === '^' || c === '$' ? { kind: 'empty' } : { kind: 'set', source: c === '.' ? '.' : (c ?? '') }
  }
  const repeated = (of: Node): Node => {
    const m = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/.exec(source.slice(at))
    if (!m) return of
    at += m[0].length
    if (m[1]) return { kind: 'repeat', of, min: m[1] === '+' ? 1 : 0, max: m[1] === '?' ? 1 : Number.POSITIVE_INFINITY }
    const min = Number(m[2])
    return { kind: 'repeat', of, min, max: m[3] === '' ? min : m[4] === '' ? Number.POSITIVE_INFINITY : Number(m[4]) }
  }
  return options()
}

const members = new Map<string, string[]>()

/** Some of the characters that a class takes. */
function membersOf(source: string, flags: string): string[] {
  const key = `${source} ${flags}`
  let known = members.get(key)
  if (!known) {
    const regex = new RegExp(`^(?:${source})$`, flags.replace(/[gy]/g, ''))
    known = CHARACTERS.filter(c => regex.test(c))
    if (known.length === 0) for (let code = 33; code < 0x3000 && known.length === 0; code++) if (regex.test(String.fromCharCode(code))) known = [String.fromCharCode(code)]
    members.set(key, known)
  }
  return known
}

/** A text that the node takes, as short as can be. */
function sample(node: Node, flags: string): string {
  if (node.kind === 'empty') return ''
  if (node.kind === 'set') return membersOf(node.source, flags)[0] ?? ''
  if (node.kind === 'group') return node.look ? '' : sampleAll(node.options[0] ?? [], flags)
  return sample(node.of, flags).repeat(Math.min(Math.max(node.min, 1), 40))
}
const sampleAll = (nodes: readonly Node[], flags: string): string => nodes.map(n => sample(n, flags)).join('')

/** What can be repeated inside a node: runs of each character that a class takes, and of whole groups. */
function runs(node: Node, flags: string): string[] {
  if (node.kind === 'set') return membersOf(node.source, flags).slice(0, 12)
  if (node.kind === 'group') return [...new Set(node.options.flatMap(o => [sampleAll(o, flags), ...o.flatMap(n => (n.kind === 'repeat' ? runs(n.of, flags) : []))]))].filter(r => r !== '')
  return node.kind === 'repeat' ? runs(node.of, flags) : []
}

interface Place {
  readonly before: string
  readonly run: string
  readonly after: string
}

function places(options: readonly (readonly Node[])[], flags: string, before: string, after: string, out: Place[]): void {
  for (const option of options)
    option.forEach((node, i) => {
      const lead = before + sampleAll(option.slice(0, i), flags)
      const rest = sampleAll(option.slice(i + 1), flags) + after
      const inner = node.kind === 'repeat' ? node.of : node
      if (node.kind === 'repeat' && node.max > 1) for (const run of runs(node.of, flags)) out.push({ before: lead, run, after: rest })
      if (inner.kind === 'group') places(inner.options, flags, lead, rest, out)
    })
}

const filled = (unit: string): string => unit.repeat(Math.ceil(ATTACK_SIZE / Math.max(1, unit.length))).slice(0, ATTACK_SIZE)

export function attacksOn(regex: RegExp): string[] {
  const { source, flags } = regex
  const found: Place[] = []
  places(parse(source), flags, '', '', found)
  const out = new Set<string>()
  for (const { before, run, after } of found) {
    // The run alone, after its lead, with an end that cannot follow; the lead and a short run again and again; the whole match again and again.
    for (const end of ['', '\u0000', '\n!']) out.add(before + filled(run) + end)
    out.add(filled(before + run))
    out.add(filled(before + run.repeat(30)))
    out.add(filled(before + run + after))
    out.add(`${filled(before + run.repeat(3) + after)}\u0000`)
  }
  for (const c of CHARACTERS) out.add(filled(c))
  for (const pair of ['a ', 'a.', 'a:', 'a-', '0.', '0:', '0a', '/a', '"a', "'a", '[a', '{"', '":', '\\"', ' \t', '=a', 'a=', '%a', '::', '00:', '[0]', 'aA', 'a,']) out.add(filled(pair))
  return [...out]
}
