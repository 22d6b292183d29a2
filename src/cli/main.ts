/**
 * The command line. stdout is the report only; everything else goes to stderr: lower case, no full stop, an error on
 * one line with a hint below it. A closed pipe ends quietly.
 */
import { CommanderError } from 'commander'
import { UnreadablePath } from '../bundle/member.js'
import { escapeTerminal } from '../report/escape/terminal.js'
import { QueryError, QueryTooLarge } from '../store/query.js'
import { Store, StoreError } from '../store/store.js'
import { EXIT, UsageError } from './exit.js'
import { interrupt } from './interrupt.js'
import { ClosedPipe, isFull } from './output.js'
import { cleanUp } from './private-folder.js'
import { program } from './program.js'

/** Runs one command line as this process: with its signals, its pipes and its exit code. */
export async function main(argv: readonly string[]): Promise<void> {
  let interrupted = false
  // Writes answer with their errors; without a listener they would end the process too.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
  for (const fault of ['uncaughtException', 'unhandledRejection'] as const) process.on(fault, (e: unknown) => stop(failed(e)))
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => {
      interrupted = true
      if (signal === 'SIGHUP' || !interrupt()) stop(EXIT.interrupted)
      else process.stderr.write('wirecase: interrupted, reporting what was read; interrupt again to stop at once\n')
    })
  const code = await run(argv)
  process.exitCode = interrupted ? EXIT.interrupted : code
}

let stopping = false

/** Ends the process, whatever it is at, as soon as the store lets go. */
function stop(code: number): void {
  stopping = true
  cleanUp()
  Store.interruptAll()
  // A query that was only about to run has begun by then.
  setTimeout(() => {
    Store.interruptAll()
    cleanUp()
    process.exit(code)
  }, 20)
}

/** Carries out one command line and answers its exit code. */
export async function run(argv: readonly string[]): Promise<number> {
  let code: number = EXIT.ok
  try {
    await program(c => {
      code = c
    }).parseAsync(argv as string[])
  } catch (e) {
    if (!stopping && !(e instanceof ClosedPipe)) code = failed(e)
  } finally {
    cleanUp()
  }
  return code
}

/** Says what went wrong on stderr and answers the exit code. */
function failed(e: unknown): number {
  if (e instanceof CommanderError) return e.exitCode === 0 ? EXIT.ok : EXIT.usage
  if (e instanceof UsageError || e instanceof StoreError) return said(e.message, e.hint, EXIT.usage)
  if (e instanceof UnreadablePath) return said(`${e.path}: ${e.reason}`, 'name files, folders or - for standard input; wirecase --help lists the commands', EXIT.usage)
  if (e instanceof QueryError) return said(e.message, e.hint ?? 'run one SELECT on the views that the README lists', EXIT.usage)
  if (e instanceof QueryTooLarge) return said(`the query needs too much: ${e.message}`, 'select fewer columns, or fewer rows before sorting and joining them', EXIT.fault)
  if (isFull(e)) return said('the disk is full', 'free some space, or set TMPDIR to another disk', EXIT.fault)
  const { code, syscall } = e as NodeJS.ErrnoException
  if (code && (syscall === 'open' || syscall === 'read')) return said(`the evidence cannot be read to its end: ${code}`, 'copy it to a local disk first', EXIT.usage)
  const text = e instanceof Error ? (e.message.split('\n', 1)[0] ?? '') : String(e)
  if (process.env.WIRECASE_DEBUG && e instanceof Error) process.stderr.write(`${e.stack}\n`)
  return said(`internal fault: ${text}`, 'please report it with the command line; WIRECASE_DEBUG=1 prints where it happened', EXIT.fault)
}

/** Two lines, whatever file names and SQL hold. */
function said(message: string, hint: string, code: number): number {
  process.stderr.write(`wirecase: error: ${escapeTerminal(message)}\nhint: ${escapeTerminal(hint)}\n`)
  return code
}
