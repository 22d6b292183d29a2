/** The commands and their options. No option takes a list: repeat it. */
import { Command, Option } from 'commander'
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
    .exitOverride()
    .showHelpAfterError('hint: wirecase --help')
    .configureOutput({ outputError: (text, out) => out(text.replace(/^error:/, 'wirecase: error:')) })
    .enablePositionalOptions()
  wirecase.addOption(new Option('--color <when>', 'always, never or auto').choices(['always', 'never', 'auto']).default('auto'))
  analyzeCommand(wirecase, setCode)
  ownerCommand(wirecase, setCode)
  queryCommand(wirecase, setCode)
  rulesCommand(wirecase)
  formatsCommand(wirecase)
  for (const c of wirecase.commands) c.exitOverride().configureOutput({ outputError: (text, out) => out(text.replace(/^error:/, 'wirecase: error:')) })
  return wirecase
}
