/** The regular expressions of the sources: literals by TypeScript's parser, made ones by watching the constructor while all modules load. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import ts from 'typescript'

const root = join(dirname(fileURLToPath(import.meta.url)), '../../../src')

export interface Pattern {
  /** `formats/text/time.ts:22` for a literal, the file that made it for others. */
  readonly where: string
  readonly regex: RegExp
}

const sources = (): string[] =>
  readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter(f => f.endsWith('.ts') && !f.endsWith('.test.ts'))
    .sort()

export function literals(): Pattern[] {
  const found: Pattern[] = []
  for (const name of sources()) {
    const file = ts.createSourceFile(name, readFileSync(join(root, name), 'utf8'), ts.ScriptTarget.ES2023, true)
    const visit = (node: ts.Node): void => {
      if (ts.isRegularExpressionLiteral(node)) {
        const end = node.text.lastIndexOf('/')
        found.push({ where: `${name}:${file.getLineAndCharacterOfPosition(node.getStart()).line + 1}`, regex: new RegExp(node.text.slice(1, end), node.text.slice(end + 1)) })
      }
      ts.forEachChild(node, visit)
    }
    visit(file)
  }
  return found
}

/** Imports every module of `src` with a constructor that remembers what our own code makes. */
export async function made(): Promise<Pattern[]> {
  const found: Pattern[] = []
  const Real = globalThis.RegExp
  globalThis.RegExp = new Proxy(Real, {
    construct(target, args, self) {
      const regex = Reflect.construct(target, args, self) as RegExp
      const caller = /\/src\/([\w./-]+\.ts)/.exec(String(new Error().stack))?.[1]
      if (caller) found.push({ where: caller, regex })
      return regex
    },
  })
  try {
    for (const name of sources()) await import(/* @vite-ignore */ pathToFileURL(join(root, name)).href)
  } finally {
    globalThis.RegExp = Real
  }
  return found
}

export const sourceFolder = (): string => relative(process.cwd(), root)
