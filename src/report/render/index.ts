/** The renderings of a report. Each shows the one object, and adds nothing to it. */
import type { Report } from '../../model/report.js'
import { renderJson } from './json.js'
import { renderMarkdown } from './markdown.js'
import { renderText, type TextOptions } from './text.js'

export type RenderFormat = 'text' | 'json' | 'markdown'

/** Only text has options. */
export const renderers: Readonly<Record<RenderFormat, (report: Report, options: TextOptions) => string>> = {
  text: renderText,
  json: report => renderJson(report),
  markdown: report => renderMarkdown(report),
}

const EXTENSIONS: Readonly<Record<string, RenderFormat>> = { '.txt': 'text', '.log': 'text', '.json': 'json', '.md': 'markdown', '.markdown': 'markdown' }

/** The format that a file's name asks for, or null. */
export function formatOfFile(path: string): RenderFormat | null {
  const extension = /\.[a-z]{1,8}$/i.exec(path)?.[0].toLowerCase() ?? ''
  return Object.hasOwn(EXTENSIONS, extension) ? (EXTENSIONS[extension] as RenderFormat) : null
}
