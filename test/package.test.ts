/** What is published: the package says what it is, and holds what it needs. `npm test` has built it. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { VERSION } from '../src/version.js'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const text = (path: string): string => readFileSync(join(root, path), 'utf8')
const manifest = JSON.parse(text('package.json')) as {
  version: string
  bin: Record<string, string>
  main: string
  types: string
  files: string[]
  exports: Record<string, string | Record<string, string>>
}
const published = (path: string): boolean => manifest.files.some(f => path === f || path.startsWith(`${f}/`)) && existsSync(join(root, path))

describe('the package', () => {
  it('has the version that reports name', () => {
    expect(VERSION).toBe(manifest.version)
  })

  it('publishes its commands and the modules that they load', () => {
    for (const bin of Object.values(manifest.bin)) {
      expect(published(bin), bin).toBe(true)
      expect(text(bin)).toMatch(/^#!\/usr\/bin\/env node\n/)
      const loaded = [...text(bin).matchAll(/from '(\.[^']+)'/g)].map(m => join(dirname(bin), m[1] as string))
      expect(loaded.length).toBeGreaterThan(0)
      for (const module of loaded) expect(published(module), module).toBe(true)
    }
  })

  it('publishes everything that it lets others import', () => {
    const targets = Object.values(manifest.exports).flatMap(e => (typeof e === 'string' ? [e] : Object.values(e)))
    for (const target of [...targets, manifest.main, manifest.types]) {
      const path = join(target)
      expect(path === 'package.json' || published(path), target).toBe(true)
    }
  })

  it('publishes no tests', () => {
    expect(manifest.files).not.toContain('test')
    expect(manifest.files).not.toContain('src')
  })

  it('can be installed through any registry: the lock file names none', () => {
    const lock = JSON.parse(text('package-lock.json')) as { version: string; packages: Record<string, { resolved?: string }> }
    expect(lock.version).toBe(manifest.version)
    expect(Object.values(lock.packages).filter(p => p.resolved !== undefined)).toEqual([])
  })
})
