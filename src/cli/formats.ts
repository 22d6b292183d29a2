/** `wirecase formats [ID]`: what can be read, and which command collects it. */
import type { Command } from 'commander'
import { formats } from '../formats/index.js'
import { UsageError } from './exit.js'
import { write } from './output.js'
import { table } from './table.js'

export function formatsCommand(program: Command): void {
  program
    .command('formats')
    .description('list the formats, or say how one of them is collected')
    .argument('[id]', 'e.g. hubble-json')
    .action(async (id: string | undefined) => {
      if (id === undefined)
        return write(
          table(
            ['format', 'what it is'],
            formats.map(f => [f.id, f.title]),
          ),
        )
      const format = formats.find(f => f.id === id)
      if (!format) throw new UsageError(`${id}: no such format`, `one of ${formats.map(f => f.id).join(', ')}`)
      return write(
        `${format.id}: ${format.title}\nrecognised by content${format.names.length > 0 ? `; names that hint at it: ${format.names.map(n => n.source).join(', ')}` : ''}\ncollect: ${format.collect}\n`,
      )
    })
}
