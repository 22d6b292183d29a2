/** The commands and their options. No option takes a list: repeat it. */
import { Command, Option } from 'commander'
import { escapeTerminal } from '../report/escape/terminal.js'
import { VERSION } from '../version.js'
import { analyzeCommand } from './analyze.js'
import { formatsCommand } from './formats.js'
import { ownerCommand } from './owner.js'
import { queryCommand } from './query.js'
import { rulesCommand } from './rules.js'

export function program(setCode: (code: number) => void): Command {
  const wirecase = new Command('wirecase')
    .description('says what broke in a bundle of network evidence, on which connection, and which bytes prove it')
    .version(VERSION)
    // The same before and after a command: positional options stay off.
    .addOption(new Option('--color <when>', 'of the text report').choices(['always', 'never', 'auto']).default('auto'))
  analyzeCommand(wirecase, setCode)
  ownerCommand(wirecase, setCode)
  queryCommand(wirecase, setCode)
  rulesCommand(wirecase)
  formatsCommand(wirecase)
  for (const c of [wirecase, ...wirecase.commands]) c.exitOverride().configureOutput({ outputError: usageError }).configureHelp({ showGlobalOptions: true })
  return wirecase
}

/** Commander's `error: …`, with what it suggests on a second line, as our two lines. */
function usageError(text: string, print: (text: string) => void): void {
  const [message, suggestion] = text
    .replace(/^error: /, '')
    .trim()
    .split('\n(')
  const hint = suggestion ? suggestion.replace(/\)$/, '').replace(/^Did/, 'did') : 'wirecase --help'
  print(`wirecase: error: ${escapeTerminal((message ?? '').replace(/\.$/, ''))}\nhint: ${escapeTerminal(hint)}\n`)
}
