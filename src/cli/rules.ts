/** `wirecase rules [CODE]`: what is judged, and what each rule needs. */
import type { Command } from 'commander'
import { capabilities } from '../correlate/capabilities.js'
import { rules } from '../rules/index.js'
import type { Rule } from '../rules/rule.js'
import { UsageError } from './exit.js'
import { write } from './output.js'
import { table } from './table.js'

export function rulesCommand(program: Command): void {
  program
    .command('rules')
    .description('list the rules, or say what one of them checks and needs')
    .argument('[code]', 'e.g. WC102')
    .action(async (code: string | undefined) => {
      if (code === undefined)
        return write(
          table(
            ['rule', 'name', 'invariant'],
            rules.map(r => [r.code, r.name, r.invariant]),
          ),
        )
      const rule = rules.find(r => r.code === code.toUpperCase())
      if (!rule) throw new UsageError(`${code}: no such rule`, `one of ${rules.map(r => r.code).join(', ')}`)
      return write(described(rule))
    })
}

function described(rule: Rule): string {
  const needs = (ids: readonly (keyof typeof capabilities)[]): string[] =>
    ids.flatMap(id => [
      `  ${id}: ${capabilities[id].title}`,
      `    from ${capabilities[id].formats.join(', ')}`,
      `    collect (${capabilities[id].when}): ${capabilities[id].collect}`,
    ])
  return `${[
    `${rule.code} ${rule.name}`,
    rule.invariant,
    `checks: ${rule.subjects}`,
    '',
    'codes',
    ...Object.entries(rule.codes).map(([c, says]) => `  ${rule.code}.${c}: ${says}`),
    '',
    'needs',
    ...needs(rule.needs),
    ...(rule.helps.length > 0 ? ['', 'is surer with', ...needs(rule.helps)] : []),
    '',
    'references',
    ...rule.references.map(r => `  ${r}`),
  ].join('\n')}\n`
}
