/** What a signal interrupts: a reading that can stop where it is and report what it has. */

let reading: AbortController | null = null

/** Runs work whose reading stops at the first signal. */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController()
  reading = controller
  try {
    return await work(controller.signal)
  } finally {
    reading = null
  }
}

/** Stops the reading. Answers false where there is none, or it was told before. */
export function interrupt(): boolean {
  if (!reading || reading.signal.aborted) return false
  reading.abort()
  return true
}
