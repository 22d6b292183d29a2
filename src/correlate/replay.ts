/**
 * The life of a proxy's connections and streams, replayed line by line from its debug log. State is bounded by what is
 * live. Lines without an id are joined by worker thread (an errno line stands just before the close that it explains, on
 * the same thread).
 */
import type { Line, Sinks } from './replay/life.js'
import { type Handler, socketHandlers } from './replay/sockets.js'
import { State } from './replay/state.js'
import { DUMPS, streamHandlers } from './replay/streams.js'

export type { Attempt, Connection, Line, Mark, Sinks, Stream } from './replay/life.js'

const HANDLERS: ReadonlyMap<string, Handler> = new Map(Object.entries({ ...socketHandlers, ...streamHandlers }))

/** The templates that the replay looks at, and those among them whose whole message it reads. */
export const replayTemplates = (): string[] => [...HANDLERS.keys()]
export const dumpTemplates: readonly string[] = DUMPS

/** Replays the log of one process after another. `take` gets its lines in file order, `end` closes what is left open. */
export class Replay {
  private readonly state: State

  constructor(source: number, proxy: string | null, out: Sinks) {
    this.state = new State(source, proxy, out)
  }

  take(l: Line): void {
    HANDLERS.get(l.template)?.(this.state, l)
  }

  end(): void {
    this.state.end()
  }
}
