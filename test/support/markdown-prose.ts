/** What a reader of Markdown takes as markup rather than as code: the lines of a document without fenced code and code spans, by CommonMark's rules. */
export function proseOf(markdown: string): string[] {
  const lines: string[] = []
  let fence: string | null = null
  for (const line of markdown.split('\n')) {
    const run = /^ *(?:- +)*(`{3,})/.exec(line)?.[1] ?? ''
    if (fence === null && run !== '') fence = run
    else if (fence === null) lines.push(withoutSpans(line))
    else if (run.length >= fence.length && line.trim() === run) fence = null
  }
  if (fence !== null) throw new Error('a fence is left open')
  return lines
}

/** A span opens with a run of backticks and ends at the next run as long; a backslash before the opening run makes its first backtick text. */
function withoutSpans(line: string): string {
  let out = ''
  let at = 0
  while (at < line.length) {
    if (line[at] === '\\') {
      out += line.slice(at, at + 2)
      at += 2
    } else if (line[at] === '`') {
      const run = runAt(line, at)
      const end = closing(line, at + run, run)
      out += end < 0 ? line.slice(at, at + run) : '\u2423'
      at = end < 0 ? at + run : end
    } else out += line[at++]
  }
  return out
}

function runAt(line: string, at: number): number {
  let end = at
  while (line[end] === '`') end++
  return end - at
}

/** The end of the closing run, or -1. */
function closing(line: string, from: number, length: number): number {
  for (let at = line.indexOf('`', from); at >= 0; ) {
    const run = runAt(line, at)
    if (run === length) return at + run
    at = line.indexOf('`', at + run)
  }
  return -1
}
