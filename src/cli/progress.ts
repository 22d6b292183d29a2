/** A progress bar on stderr, on a terminal and nowhere else. */
import cliProgress from 'cli-progress'

export interface Progress {
  readonly at: (done: number, of: number, path: string) => void
  stop(): void
}

/** Shows the bar only once reading has taken half a second: small bundles need none. */
export function progress(): Progress {
  if (!process.stderr.isTTY) return { at: () => undefined, stop: () => undefined }
  const begun = performance.now()
  let bar: cliProgress.SingleBar | null = null
  return {
    at: (done, of, path) => {
      if (!bar && performance.now() - begun < 500) return
      if (!bar) {
        bar = new cliProgress.SingleBar(
          { format: 'reading {bar} {value}/{total} {path}', stream: process.stderr, clearOnComplete: true, hideCursor: true },
          cliProgress.Presets.shades_classic,
        )
        bar.start(of, done, { path: '' })
      }
      // biome-ignore lint/suspicious/noControlCharactersInRegex: a file name must not control the terminal
      bar.update(done, { path: path.replace(/[\u0000-\u001f\u007f-\u009f]/g, '?').slice(0, 60) })
    },
    stop: () => bar?.stop(),
  }
}
