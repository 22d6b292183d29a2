import { limits } from '../limits.js'

/**
 * Gives repeated strings small numbers, from 1. 0 means that a value is kept as plain text in its row: it is too long
 * to be worth a place (`long`), or the dictionary has no room for it (`overflowed`). A part is kept back for addresses,
 * so that long labels cannot crowd them out.
 */
export class Interner {
  private readonly ids = new Map<string, number>()
  private readonly fresh: string[] = []
  private bytes = 0
  /** Values that found the dictionary full. */
  overflowed = 0
  /** Values longer than any that is interned. */
  long = 0

  id(value: string): number {
    const known = this.ids.get(value)
    if (known !== undefined) return known
    if (value.length > limits.internedString) {
      this.long++
      return 0
    }
    const size = Buffer.byteLength(value)
    if (!this.hasRoom(value, size)) {
      this.overflowed++
      return 0
    }
    const id = this.ids.size + 1
    this.ids.set(value, id)
    this.bytes += size
    this.fresh.push(value)
    return id
  }

  private hasRoom(value: string, size: number): boolean {
    const reserve = isAddress(value) ? 0 : limits.dictionaryReserve
    return this.ids.size < limits.dictionaryEntries - reserve && this.bytes + size <= limits.dictionaryBytes - reserve * ADDRESS
  }

  /** Strings interned since the last call, in the order of their ids. */
  take(): string[] {
    return this.fresh.splice(0)
  }
}

/** Bytes of the longest address. */
const ADDRESS = 45

/** Close enough for the reserve: neither the numbers nor the hexadecimal ids that have as few characters. */
const isAddress = (s: string): boolean => s.length <= ADDRESS && (/^\d{1,3}(\.\d{1,3}){3}$/.test(s) || (/^[0-9a-f:.]+$/.test(s) && s.indexOf(':') < s.lastIndexOf(':')))
