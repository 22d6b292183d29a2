import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'

export const opened = [readFileSync('rules.yaml'), await readFile('rules.yaml')]
