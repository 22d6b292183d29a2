import fastCheck from 'fast-check'

export const sample = fastCheck.sample(fastCheck.integer())
