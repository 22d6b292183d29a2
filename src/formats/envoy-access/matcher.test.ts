import { describe, expect, it } from 'vitest'
import { Pattern, type Values } from './matcher.js'
import { operatorOf } from './operators.js'
import { parseTemplate } from './template.js'
import { TextTemplate } from './text-formats.js'

const context = { reference: null, zoneMinutes: null }

describe('format strings', () => {
  it('are text and operators', () => {
    expect(parseTemplate('[%START_TIME(%s.%3f)%] 100%% %REQ(X?Y):10%%DURATION%%')).toEqual([
      '[',
      { name: 'START_TIME', argument: '%s.%3f', cut: null },
      '] 100% ',
      { name: 'REQ', argument: 'X?Y', cut: 10 },
      { name: 'DURATION', argument: null, cut: null },
      '%',
    ])
  })

  it('may have parentheses in an argument', () => {
    expect(parseTemplate('%CEL(a(b) + c)%')).toEqual([{ name: 'CEL', argument: 'a(b) + c', cut: null }])
  })

  it('are read in no time, whatever they are', () => {
    const started = performance.now()
    for (const piece of ['%', '%A(', '%A()', ')', '%REQ(X)%', '%A(%B(']) parseTemplate(piece.repeat((64 * 1024) / piece.length))
    expect(performance.now() - started).toBeLessThan(1000)
  })
})

/** Every way to read `text`, by trying them all. */
function readings(pattern: Pattern, text: string): number[][] {
  const { steps, prefix } = pattern
  const found: number[][] = []
  const fits = (k: number, start: number, end: number): boolean => {
    const { shape } = steps[k]!
    if (shape.end) return shape.end(text, start) === end
    if (text.slice(start, end) === '-') return true
    const length = end - start
    if (length < shape.min || length > shape.max) return false
    const chars = shape.endpointChars && text.startsWith('envoy://', start) ? shape.endpointChars : shape.chars
    for (let i = start; i < end; i++) if (chars && !chars.has(text.charCodeAt(i))) return false
    return shape.accepts === null || shape.accepts(text, start, end)
  }
  const go = (k: number, at: number[]): void => {
    const start = at[k]!
    if (k === steps.length) {
      if (start === text.length) found.push(at)
      return
    }
    for (let end = start; end <= text.length; end++) if (text.startsWith(steps[k]!.literal, end) && fits(k, start, end)) go(k + 1, [...at, end + steps[k]!.literal.length])
  }
  if (text.startsWith(prefix)) go(0, [prefix.length])
  return found
}

/** What all readings agree on. */
function agreed(pattern: Pattern, text: string): Values | null {
  const all = readings(pattern, text).map(at => pattern.steps.map((s, k) => text.slice(at[k], at[k + 1]! - s.literal.length)))
  const [first] = all
  return first ? first.map((value, k) => (pattern.steps[k]!.operator.field !== null && all.every(r => r[k] === value) ? value : null)) : null
}

describe('the matcher', () => {
  const FORMATS = [
    '%RESPONSE_CODE%%BYTES_SENT%%DURATION% %PROTOCOL%%RESPONSE_FLAGS%',
    '"%REQ(USER-AGENT)%" "%REQ(X-REQUEST-ID)%" %DURATION%',
    '%REQ(USER-AGENT)% %UPSTREAM_HOST% %UPSTREAM_CLUSTER%',
    '%UPSTREAM_CLUSTER%a%ROUTE_NAME%a%DURATION%',
    '%RESPONSE_CODE_DETAILS%,%REQ(USER-AGENT):3%,%RESPONSE_FLAGS%,%UPSTREAM_HOST%',
    '%REQ(USER-AGENT)%%REQ(X-REQUEST-ID)%',
    '- %REQ(:METHOD)%a%REQ(:PATH)% "%UPSTREAM_LOCAL_ADDRESS%"',
    '%UPSTREAM_REMOTE_PORT% %REQUESTED_SERVER_NAME%-%CONNECTION_ID%',
  ]
  const ALPHABET = ['a', '-', ' ', '"', ',', '1', ':', '" "', '/', 'UF', 'b:1', 'HTTP/1.1', '200', 'envoy://']

  it('agrees with trying everything', () => {
    let state = 7
    const random = (below: number) => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff
      return (state >> 8) % below
    }
    let read = 0
    for (const format of FORMATS)
      for (const level of ['plain', 'named', 'omitted'] as const) {
        const pattern = new Pattern(parseTemplate(format), level)
        const literals = pattern.steps.map(s => s.literal)
        for (let round = 0; round < 400; round++) {
          let text = pattern.prefix
          for (const literal of literals) text += Array.from({ length: random(4) }, () => ALPHABET[random(ALPHABET.length)]).join('') + literal
          const want = agreed(pattern, text)
          if (want) read++
          expect(pattern.match(text), `${format} (${level}) on ${JSON.stringify(text)}`).toEqual(want)
        }
      }
    expect(read).toBeGreaterThan(1000)
  })

  it.each(['"', ' ', '" "', '-', 'a', '1', 'HTTP/1.1" ', 'a" "b" 1 ', '/x HTTP/1.1" 503 UC 1 2 3 4 "', '10.0.0.1:80 ', 'envoy://a b'])('takes linear time on %j', piece => {
    const started = process.cpuUsage()
    for (const format of [
      ...FORMATS,
      '[%START_TIME%] "%REQ(:METHOD)% %REQ(USER-AGENT)% %PROTOCOL%" %RESPONSE_CODE% "%REQ(X-REQUEST-ID)%" "%UPSTREAM_HOST%" %UPSTREAM_CLUSTER% %ROUTE_NAME%',
    ])
      for (const level of ['plain', 'named', 'omitted'] as const) {
        const pattern = new Pattern(parseTemplate(format), level)
        const body = piece.repeat(Math.ceil((64 * 1024) / piece.length))
        pattern.match(`${pattern.prefix}${body}`)
        pattern.match(`[2026-01-01T00:00:00.000Z] "GET ${body} HTTP/1.1" 200 "${body}" "10.0.0.1:80" a b`)
      }
    expect(process.cpuUsage(started).user / 1000).toBeLessThan(2500)
  })
})

describe('operators', () => {
  it('are free text where nothing else is known', () => {
    for (const [name, argument] of [
      ['A_NEW_ONE', null],
      ['REQ', 'X'],
      ['RESP', 'SERVER'],
      ['DYNAMIC_METADATA', 'a:b'],
      ['constructor', null],
      ['REQ', 'constructor'],
    ] as const)
      expect(operatorOf({ name, argument, cut: null })).toMatchObject({ field: null, free: true })
  })
})

describe('text formats', () => {
  it('count their lines', () => {
    expect(TextTemplate.compile('a %DURATION%\r\nb %DURATION%\r\n')?.lines).toBe(2)
    expect(TextTemplate.compile('no operator\n')).toBeNull()
  })

  it('give null where nothing fits', () => {
    expect(TextTemplate.compile('a %DURATION%\n')?.read('b 5', 'plain', context)).toBeNull()
  })
})
