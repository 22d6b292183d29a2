/** Nodes of the mdast tree. Text goes through the Markdown escaper here and nowhere else. */
import type { toMarkdown } from 'mdast-util-to-markdown'
import { escapeMarkdownCode, markdownCode, markdownProse } from '../../escape/markdown.js'

type Node = Parameters<typeof toMarkdown>[0]
type NodeOf<T extends Node['type']> = Extract<Node, { type: T }>
export type Block = NodeOf<'root'>['children'][number]
export type Blocks = Block[]
export type Item = NodeOf<'listItem'>
export type Phrasing = NodeOf<'paragraph'>['children'][number]

/** A sentence, or phrasing that is made already. */
type Text = string | readonly Phrasing[]

const phrasing = (text: Text): Phrasing[] => (typeof text === 'string' ? markdownProse(text) : [...text])

export const heading = (depth: 1 | 2 | 3, text: Text): NodeOf<'heading'> => ({ type: 'heading', depth, children: phrasing(text) })
export const paragraph = (text: Text): NodeOf<'paragraph'> => ({ type: 'paragraph', children: phrasing(text) })
export const strong = (text: string): Phrasing => ({ type: 'strong', children: markdownProse(text) })
/** A name, path, address or code as it is. */
export const code = (text: string): Phrasing => markdownCode(text)
/** Names with commas between. */
export const listed = (names: readonly string[]): Phrasing[] => names.flatMap((n, i): Phrasing[] => [...(i > 0 ? [{ type: 'text' as const, value: ', ' }] : []), code(n)])
export const item = (text: Text, ...more: Item['children']): Item => ({ type: 'listItem', spread: false, children: [paragraph(text), ...more] })
export const list = (items: readonly Item[]): NodeOf<'list'> => ({ type: 'list', ordered: false, spread: false, children: [...items] })

/** `**Name:** text` */
export function fact(name: string, text: Text, ...more: Item['children']): Item {
  const says = phrasing(text)
  return item([strong(`${name}:`), ...(says.length > 0 ? [{ type: 'text' as const, value: ' ' }] : []), ...says], ...more)
}

/** Lines as they are, between fences longer than any in them. */
export const fence = (lines: readonly string[], lang: 'text' | 'sh'): NodeOf<'code'> => ({ type: 'code', lang, value: lines.map(escapeMarkdownCode).join('\n') })

/** An address of the web that is surely one becomes a link; whatever else stands there is code. */
export function reference(url: string): Phrasing {
  return /^https:\/\/[a-z0-9.-]{1,253}\/[\w./#?=&%~+-]{0,2000}$/i.test(url) ? { type: 'link', url, children: [{ type: 'text', value: url }] } : code(url)
}
