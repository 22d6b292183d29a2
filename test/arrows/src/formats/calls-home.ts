import { get } from 'node:https'

export const asked = get('https://example.com')
