/** Holds src/ against the arrows of .dependency-cruiser.mjs, and the arrows against test/arrows/. */
import { cruise } from 'dependency-cruiser'
import extractTsConfig from 'dependency-cruiser/config-utl/extract-ts-config'
import config from '../../.dependency-cruiser.mjs'
import { at, Failed, sources } from './project.mjs'

export async function checkArrows() {
  const { modules, violations } = await cruised(at())
  for (const v of violations) console.log(`${v.from} → ${v.to}\n  ${v.rule.name}: ${commentOf(v.rule.name)}`)
  // A compiler that dependency-cruiser does not know makes it see nothing, and say that all is well.
  const files = sources()
  const unseen = files.filter(f => !modules.has(`src/${f}`))
  for (const f of unseen) console.log(`src/${f}: not seen by dependency-cruiser`)
  const uncaught = await rulesThatCatchNothing()
  for (const name of uncaught) console.log(`test/arrows: no file there is reported by ${name}`)
  if (violations.length + unseen.length + uncaught.length > 0) throw new Failed('the arrows do not hold')
  return `${files.length} files, ${config.forbidden.length} rules`
}

async function rulesThatCatchNothing() {
  const { violations } = await cruised(at('test', 'arrows'))
  for (const v of violations.filter(v => v.from.startsWith('src/cli/'))) throw new Failed(`test/arrows: ${v.from} → ${v.to} is allowed, and reported by ${v.rule.name}`)
  const caught = new Set(violations.map(v => v.rule.name))
  return config.forbidden.map(r => r.name).filter(name => !caught.has(name))
}

const commentOf = name => config.forbidden.find(r => r.name === name).comment

/** The modules below `src` of a folder, and the arrows among them that a rule forbids. */
async function cruised(baseDir) {
  const { tsConfig, enhancedResolveOptions, ...options } = config.options
  const rules = { ruleSet: { forbidden: config.forbidden }, validate: true }
  const { output } = await cruise(['src'], { ...options, ...rules, baseDir }, enhancedResolveOptions, { tsConfig: extractTsConfig(at(tsConfig.fileName)) })
  return { modules: new Set(output.modules.map(m => m.source)), violations: output.summary.violations }
}
