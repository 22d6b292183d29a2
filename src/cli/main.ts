/**
 * The command line. stdout is the report only; everything else goes to stderr: lower case, no full stop, an error on
 * one line with a hint below it. A closed pipe ends quietly.
 */
import { CommanderError } from 'commander'
import { UnreadablePath } from '../bundle/member.js'
import { QueryError } from '../store/query.js'
import { StoreError } from '../store/store.js'
import { EXIT, UsageError } from './exit.js'
import { program } from './program.js'
import { cleanUp } from './private-folder.js'

/** Runs one command line and ends the process with its exit code. */
export async function main(argv: readonly string[]): Promise<void> {
  let code: number = EXIT.ok
  const setCode = (c: number) => {
    code = c
  }
  const stop = () => {
    cleanUp()
    process.exit(code)
  }
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (e: NodeJS.ErrnoException) => {
      if (e.code === 'EPIPE') stop()
      else throw e
    })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => {
      process.stderr.write('wirecase: interrupted\n')
      code = EXIT.interrupted
      stop()
    })
  try {
    await program(setCode).parseAsync(argv as string[])
  } catch (e) {
    code = failed(e)
  } finally {
    cleanUp()
  }
  process.exitCode = code
}

/** Says what went wrong on stderr and answers the exit code. */
function failed(e: unknown): number {
  if (e instanceof CommanderError) return e.exitCode === 0 ? EXIT.ok : EXIT.usage
  if (e instanceof UsageError) return said(e.message, e.hint, EXIT.usage)
  if (e instanceof UnreadablePath) return said(`${e.path}: ${e.reason}`, 'name files, folders or - for standard input', EXIT.usage)
  if (e instanceof StoreError) return said(e.message, e.hint, EXIT.usage)
  if (e instanceof QueryError) return said(e.message, 'the views are listed in the README; run one SELECT', EXIT.usage)
  const code = (e as NodeJS.ErrnoException).code
  if (code === 'ENOSPC') return said('the disk is full', 'free some space, or set TMPDIR to another disk', EXIT.fault)
  const text = e instanceof Error ? e.message.split('\n', 1)[0] : String(e)
  if (process.env.WIRECASE_DEBUG && e instanceof Error) process.stderr.write(`${e.stack}\n`)
  return said(`internal fault: ${text}`, 'please report it with the command line; WIRECASE_DEBUG=1 prints where it happened', EXIT.fault)
}

function said(message: string, hint: string, code: number): number {
  process.stderr.write(`wirecase: error: ${message}\nhint: ${hint}\n`)
  return code
}
