/** What the platform says about an instance in an application's log. */

export interface InstanceFact {
  /** The instance; where the line does not name it, the tag of its process; or null. */
  readonly subject: string | null
  readonly node: string | null
  readonly what: string
  readonly reason: string
}

/** The fact that a line states. The tag is the platform's, so an application cannot speak as a cell; its own exit line it could print. */
export function factOf(tag: string, text: string): InstanceFact | null {
  if (tag.startsWith('CELL/')) return cellFact(tag, text)
  if (tag.startsWith('API/')) return apiFact(text)
  // The proxy's `Exit status 137` belongs to every stop; a health check's and a shell's are not the instance's either.
  return tag.toUpperCase().startsWith('APP/') && EXIT.test(text) ? { subject: tag, node: null, what: 'exited', reason: text } : null
}

const EXIT = /^Exit status \d{1,3}(?: \([^()]{1,80}\)){0,2}$/

const CELL = /^Cell ([\w-]{1,128}) ([a-z ]{1,64}?)(?: for)? instance ([\w-]{1,128})(?:: ([^\n]*))?$/
/** Before 2018-03 the lines of a cell named neither the cell nor, mostly, the instance. */
const OLD_CELL = /^([A-Z][a-z]{1,15}(?: [a-z]{1,15}){0,3}?)(?: instance ([\w-]{1,128}))?(?:: ([^\n]*))?$/

const CELL_PHRASES: Readonly<Record<string, string>> = {
  'creating container': 'creating',
  'successfully created container': 'created',
  'failed to create container': 'create-failed',
  stopping: 'stopping',
  'destroying container': 'destroying',
  'successfully destroyed container': 'destroyed',
  'failed to destroy container': 'destroy-failed',
  'requesting replacement': 'evacuating',
  'reached evacuation timeout': 'evacuation-timeout',
}

function cellFact(tag: string, text: string): InstanceFact | null {
  const m = CELL.exec(text)
  if (m) return phrase(m[2] as string, m[3] as string, m[1] as string, m[4])
  const old = OLD_CELL.exec(text)
  return old ? phrase((old[1] as string).toLowerCase(), old[2] ?? tag, null, old[3]) : null
}

function phrase(says: string, subject: string, node: string | null, why: string | undefined): InstanceFact | null {
  const what = Object.hasOwn(CELL_PHRASES, says) ? CELL_PHRASES[says] : undefined
  return what === undefined ? null : { subject, node, what, reason: why ? `${says}: ${why}` : says }
}

/** A Ruby hash (`"reason"=>"CRASHED"`), JSON, or the `reason: CRASHED` of `cf events`. */
function value(text: string, key: 'instance' | 'cell_id' | 'reason' | 'exit_description'): string | null {
  const m = VALUES[key].exec(text)
  return m?.[1] ?? m?.[2] ?? null
}

const VALUES = {
  instance: /\binstance(?:"\s?(?:=>|:)\s?"([\w-]{1,128})"|: ([\w-]{1,128}))/,
  cell_id: /\bcell_id(?:"\s?(?:=>|:)\s?"([\w-]{1,128})"|: ([\w-]{1,128}))/,
  reason: /\breason(?:"\s?(?:=>|:)\s?"([\w-]{1,128})"|: ([\w-]{1,128}))/,
  exit_description: /\bexit_description(?:"?\s?(?:=>|:)?\s?"([^"]{1,1000})"|: ([^,]{1,1000}))/,
} as const

const INSTANCE_EXITED = /^App instance exited with guid [\w-]{1,128} payload: /

function apiFact(text: string): InstanceFact | null {
  const crash = /\bapp\.crash\b/.test(text)
  if (!crash && !INSTANCE_EXITED.test(text)) return null
  const reason = value(text, 'reason')
  return {
    subject: value(text, 'instance'),
    node: value(text, 'cell_id'),
    what: crash || reason === 'CRASHED' ? 'crashed' : 'exited',
    reason: value(text, 'exit_description') ?? reason ?? text,
  }
}
