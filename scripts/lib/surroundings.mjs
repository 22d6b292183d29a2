/**
 * Looks outside cli/ for what makes two runs on the same bytes differ: process and its environment, the clock, chance,
 * the zone and the locale of the machine; and for writing to the console and using the network. All of them are globals:
 * modules that give the same (node:os, …) are arrows of .dependency-cruiser.mjs.
 */
import ts from 'typescript'
import { at, Failed, sources } from './project.mjs'

/** Globals, and members of globals, by the full name that TypeScript gives them. */
const FORBIDDEN = [
  [/^(process|console|performance)$/, 'belongs to the command line'],
  [/^(fetch|WebSocket|EventSource)$/, 'uses the network'],
  [/^(DateConstructor\.now|Math\.random|"crypto"\.random\w+|Crypto\.\w+)$/, 'differs between runs'],
  [/^Date\.([gs]et(?!UTC|Time)\w+|to(Date|Time)?String)$/, 'depends on the zone of the machine'],
  [/^Intl$|\.(localeCompare|toLocale\w+)$/, 'depends on the locale of the machine'],
]

const PROOF = at('test', 'arrows', 'src', 'rules', 'looks-around.ts')

export function checkSurroundings() {
  const files = sources().filter(f => !f.startsWith('cli/'))
  const found = usesIn(files.map(f => at('src', f)))
  for (const u of found) console.log(`${u.file}:${u.line}: ${u.what} ${u.why}`)
  if (found.length > 0) throw new Failed('files outside cli/ read their surroundings')
  const lines = ts.sys.readFile(PROOF).split('\n')
  const marked = lines.flatMap((text, i) => (text.endsWith('// forbidden') ? [i + 1] : []))
  const caught = new Set(usesIn([PROOF]).map(u => u.line))
  const wrong = [...marked.filter(line => !caught.has(line)), ...[...caught].filter(line => !marked.includes(line))]
  if (wrong.length > 0) throw new Failed(`${PROOF}: wrongly judged: line ${wrong.join(', ')}`)
  return `${files.length} files, ${marked.length} of ${marked.length} caught in test/arrows`
}

/** Every forbidden use in the files, in order. */
function usesIn(files) {
  const { config } = ts.readConfigFile(at('tsconfig.json'), ts.sys.readFile)
  const program = ts.createProgram(files, { ...ts.parseJsonConfigFileContent(config, ts.sys, at()).options, noEmit: true })
  const checker = program.getTypeChecker()
  return files.flatMap(name => {
    const file = program.getSourceFile(name)
    const uses = []
    const visit = node => {
      const use = ts.isIdentifier(node) ? namedUse(checker, node) : dateUse(node)
      if (use) uses.push({ file: name.slice(at().length + 1), line: file.getLineAndCharacterOfPosition(node.getStart()).line + 1, ...use })
      ts.forEachChild(node, visit)
    }
    visit(file)
    return uses
  })
}

function namedUse(checker, node) {
  const local = checker.getSymbolAtLocation(node)
  const symbol = local && local.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(local) : local
  if (!symbol?.declarations?.some(d => d.getSourceFile().isDeclarationFile)) return null
  const name = checker.getFullyQualifiedName(symbol).replace(/^global\./, '')
  const why = FORBIDDEN.find(([pattern]) => pattern.test(name))?.[1]
  return why ? { what: name, why } : null
}

/** `new Date()` and `Date()` read the clock, `new Date(year, month)` reads the zone. With one argument it is an instant. */
function dateUse(node) {
  if (!(ts.isNewExpression(node) || ts.isCallExpression(node)) || node.expression.getText() !== 'Date') return null
  if (ts.isNewExpression(node) && node.arguments?.length === 1) return null
  return { what: node.getText(), why: 'reads the clock or the zone of the machine' }
}
