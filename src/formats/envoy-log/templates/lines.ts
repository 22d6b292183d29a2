/** One template a line; leading blanks count, empty lines do not. */
export const lines = (block: string): string[] => block.split('\n').filter(line => line.trim() !== '')
