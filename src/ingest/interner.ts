import { limits } from '../limits.js'

/**
 * Gives repeated strings small numbers, from 1; 0 stands for NULL. Past its limits it answers 0 and counts: the value is
 * then kept as plain text in its row. A part is kept back for addresses, so that long labels cannot crowd them out.
 */
export class Interner {
  private readonly ids = new Map<string, number>()
  private readonly fresh: string[] = []
  private bytes = 0
  /** Values that were not interned. */
  overflowed = 0

  id(value: string): number {
    const known = this.ids.get(value)
    if (known !== undefined) return known
    const room = isAddress(value) ? limits.dictionaryEntries : limits.dictionaryEntries - limits.dictionaryReserve
    if (this.ids.size >= room || this.bytes + value.length > limits.dictionaryBytes || value.length > limits.internedString) {
      this.overflowed++
      return 0
    }
    const id = this.ids.size + 1
    this.ids.set(value, id)
    this.bytes += value.length
    this.fresh.push(value)
    return id
  }

  /** The id of a string that was interned, or null. */
  known(value: string): number | null {
    return this.ids.get(value) ?? null
  }

  /** Strings interned since the last call, in the order of their ids. */
  take(): string[] {
    return this.fresh.splice(0)
  }
}

/** Close enough for the reserve: an address has only these characters, and few of them. */
const isAddress = (s: string): boolean => s.length <= 45 && /^[0-9a-f:.]+$/.test(s)
