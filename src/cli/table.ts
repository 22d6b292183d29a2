/** Tables for people. */
import Table from 'cli-table3'
import { escapeTerminal } from '../report/escape/terminal.js'

const PLAIN = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
}

/** Columns under their names, two blanks apart, evidence escaped. */
export function table(columns: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const t = new Table({ head: columns.map(escapeTerminal), chars: PLAIN, style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 } })
  for (const row of rows) t.push(row.map(v => escapeTerminal(v === null ? '' : typeof v === 'string' ? v : JSON.stringify(v))))
  return `${t
    .toString()
    .split('\n')
    .map(l => l.trimEnd())
    .join('\n')}\n`
}
