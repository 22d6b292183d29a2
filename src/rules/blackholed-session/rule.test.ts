import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { analyzeFiles } from '../../../test/support/analyze.js'
import { clientCapture, debugLog, iso, lines, logged, note, owned, podCapture, pooled, type SessionSpec, session } from '../../../test/support/tcp-sessions.js'
import type { Finding, Report } from '../../model/report.js'

const findings = (r: Report): readonly Finding[] => r.findings.filter(f => f.rule === 'WC103')
const brief = (r: Report) => findings(r).map(f => [f.code.slice(6), f.confidence.level, f.severity])
const verdict = (r: Report) => r.verdicts.find(v => v.rule === 'WC103')!
const cited = (f: Finding | undefined) => (f?.claims ?? []).flatMap(c => c.evidence.map(e => `${e.path}:${e.line ?? e.frame}`))
const says = (f: Finding | undefined) => JSON.stringify(f)
const rival = (f: Finding | undefined, about: string) => f?.rivals.find(r => r.says.includes(about))

const POD = '10.0.1.7:5190'
const NEXT = '10.0.1.8:5190'
/** The pod is gone at 1000 s; its successor has another address. */
const PODS = lines(owned('10.0.1.7', 'default/log-a', 0, 1000), owned('10.0.1.8', 'default/log-b', 1012, null))
const LOST: SessionSpec = { start: 100, end: 1950, to: POD, local: '10.0.0.5:40000', client: '192.0.2.9:50000', received: 9000 }
const AFTER: SessionSpec = { start: 1960, end: 8000, to: NEXT, local: '10.0.0.5:40001', client: '192.0.2.9:50001' }
const world = (sessions: readonly SessionSpec[], pods = PODS) => ({ 'access.jsonl': lines(sessions.map(session)), 'pods.jsonl': pods })

describe('a session that outlives its pod by as long as retransmissions take', () => {
  it('ended only because they ran out', async () => {
    const r = await analyzeFiles(world([LOST, AFTER]))
    expect(brief(r)).toEqual([['ended-by-timeout', 'likely', 'high']])
    const [f] = findings(r)
    expect(f?.title).toBe(
      `TCP session 10.0.0.5:40000 → ${POD}, ${iso(100)} to ${iso(1950).slice(11, -1)}, outlived pod default/log-a by 950.0 s and ended only because TCP retransmissions ran out: nothing got through from ${iso(1000).slice(11, -1)} to ${iso(1960).slice(11, -1)} (960.0 s)`
        .replaceAll('.000Z', 'Z')
        .replaceAll('.000', ''),
    )
    expect(f?.subject).toMatchObject({ local: '10.0.0.5:40000', remote: POD, pod: 'default/log-a', downstream_remote: '192.0.2.9:50000' })
    expect(cited(f)).toEqual(['pods.jsonl:1', 'access.jsonl:1', 'access.jsonl:2'])
    expect(f?.controls).toMatchObject([{ checked: 1, passed: 1 }])
    expect(f?.rivals.map(x => x.status)).toEqual(['open', 'open', 'open'])
    expect(f?.missing.map(m => m.needs)).toEqual(['upstream-connections', 'upstream-capture', 'client-capture', 'idle-timeout', 'tcp_retries2'])
    expect(verdict(r)).toMatchObject({ verdict: 'violated', confidence: 'likely', checked: 2 })
    expect(r.incidents[0]).toMatchObject({ root: '10.0.1.7', count: 1, interval: { from: '2026-03-02T10:16:40Z', to: '2026-03-02T10:32:40Z' } })
    expect(r.incidents[0]?.impact).not.toHaveProperty('bytes_lost')
  })

  it('counts as a failure, in its place in time', async () => {
    const r = await analyzeFiles(world([{ ...AFTER, start: 50, end: 60, flags: 'UF,URX' }, LOST, AFTER, { ...AFTER, start: 8100, end: 8200, flags: 'UR' }]))
    expect(r.failures).toMatchObject({ total: 3, explained: 3 })
    expect(r.failures.list.map(f => [f.line, f.cause.slice(0, 5)])).toEqual([
      [1, 'WC104'],
      [2, 'WC103'],
      [4, 'WC104'],
    ])
    expect(r.failures.list[1]).toMatchObject({ cause: 'WC103.ended-by-timeout', finding: findings(r)[0]?.fingerprint, upstream: POD })
  })

  it.each([
    ['too soon', 1000 + 900, 'default/log-a'],
    ['too late', 1000 + 1080, 'default/log-a'],
    ['while the pod stops', 1004, 'default/log-a'],
  ])('is not accused when it ended %s', async (_, end) => {
    const r = await analyzeFiles(world([{ ...LOST, end }, AFTER]))
    expect(brief(r)).toEqual([])
    expect(verdict(r)).toMatchObject({ verdict: 'held', checked: 2 })
  })

  it('is not accused while its pod lives, however long it lasts', async () => {
    const r = await analyzeFiles(
      world([
        { ...LOST, to: NEXT, start: 1100, end: 1100 + 950 },
        { ...AFTER, end: 90_000 },
      ]),
    )
    expect(brief(r)).toEqual([])
  })

  it.each([
    ['a flag', { flags: 'UR' }],
    ['details', { details: 'tcp_session_idle_timeout' }],
  ])('is not accused when the record gives a reason: %s', async (_, more) => {
    expect(brief(await analyzeFiles(world([{ ...LOST, ...more }, AFTER])))).toEqual([])
  })

  it('is not accused when the address was reached again meanwhile', async () => {
    expect(brief(await analyzeFiles(world([LOST, AFTER, { ...AFTER, to: POD, start: 1300, end: 1400, local: '10.0.0.5:40009' }])))).toEqual([])
  })

  it('is WC102’s when somebody else has the address before it ends', async () => {
    expect(brief(await analyzeFiles(world([LOST, AFTER], lines(PODS.trim(), owned('10.0.1.7', 'default/other', 1500, null)))))).toEqual([])
  })

  it('is only possible when the times are about right', async () => {
    const r = await analyzeFiles(world([LOST, AFTER], lines(owned('10.0.1.7', 'default/log-a', 0, 1000, 'approx'))))
    expect(brief(r)).toEqual([['ended-by-timeout', 'possible', 'low']])
  })

  it('cannot be told without the pods', async () => {
    const r = await analyzeFiles({ 'access.jsonl': world([LOST, AFTER])['access.jsonl'] })
    expect(verdict(r)).toMatchObject({ verdict: 'not-evaluable', applies: true, checked: 0 })
    expect(verdict(r).missing.map(m => m.needs)).toEqual(['pod-ends'])
    expect(verdict(await analyzeFiles({ 'pods.jsonl': PODS }))).toMatchObject({ verdict: 'not-evaluable', applies: false })
  })

  it('does not hold for a long session of whose address nobody knows anything', async () => {
    const r = await analyzeFiles(world([{ ...LOST, to: '10.0.9.9:5190' }, AFTER]))
    expect(brief(r)).toEqual([])
    expect(verdict(r)).toMatchObject({ verdict: 'not-evaluable', checked: 1, missing: [{ needs: 'owner-history' }] })
  })

  it('is found the same in any order of lines, and not when the clocks are minutes apart', async () => {
    const there = await analyzeFiles(world([LOST, AFTER]))
    const back = await analyzeFiles({ 'access.jsonl': lines([AFTER, LOST].map(session)), 'pods.jsonl': lines(PODS.trim().split('\n').reverse()) })
    expect(findings(back).map(f => [f.fingerprint, f.title])).toEqual(findings(there).map(f => [f.fingerprint, f.title]))
    const shifted = lines(owned('10.0.1.7', 'default/log-a', 0, 800), owned('10.0.1.8', 'default/log-b', 812, null))
    expect(brief(await analyzeFiles(world([LOST, AFTER], shifted)))).toEqual([])
  })
})

describe('a pod whose address no statement names', () => {
  const NOTES = lines(note(1000, 'pod fluent-bit killed'), note(1012, 'pod fluent-bit ready (new IP)'))

  it('is related by what became of its sessions', async () => {
    const r = await analyzeFiles({ ...world([LOST, AFTER], NOTES), 'pods.jsonl': '', 'notes.txt': NOTES })
    expect(brief(r)).toEqual([['ended-by-timeout', 'likely', 'high']])
    const [f] = findings(r)
    expect(f?.confidence.because.join()).toContain('no statement about the pod names its address')
    expect(rival(f, 'another pod')?.status).toBe('open')
    expect(f?.missing[0]?.needs).toBe('owner-history')
    expect(f?.subject.pod).toBeUndefined()
    expect(says(f)).toContain('(here 12.0 s between killed and ready)')
  })

  const related = async (...sessions: SessionSpec[]) => brief(await analyzeFiles({ 'access.jsonl': lines(sessions.map(session)), 'notes.txt': NOTES }))

  it('is only possibly it when no later session, or many addresses, show whether the address is in use', async () => {
    expect(await related(LOST)).toEqual([['ended-by-timeout', 'possible', 'low']])
    const beside = [2, 3, 4, 5].map(i => ({ ...LOST, to: `10.0.1.${i}:5190`, end: 1500 + i, local: `10.0.0.5:4100${i}` }))
    expect(await related(LOST, AFTER, ...beside)).toEqual([['ended-by-timeout', 'possible', 'low']])
  })

  it('is not it when sessions to several addresses fit, or several pods died, and nothing else tells', async () => {
    const other = { ...LOST, to: '10.0.1.6:5190', local: '10.0.0.5:40006' }
    expect(await related(LOST, other)).toEqual([])
    expect(await related(LOST, other, ...[1, 2, 3, 4, 5].map(i => ({ ...AFTER, local: `10.0.0.5:4200${i}` })))).toEqual([
      ['ended-by-timeout', 'possible', 'low'],
      ['ended-by-timeout', 'possible', 'low'],
    ])
    const two = lines(NOTES.trim(), note(1020, 'pod web-1 killed'))
    expect(brief(await analyzeFiles({ 'access.jsonl': lines(session(LOST)), 'notes.txt': two }))).toEqual([])
  })

  it('is not it when the address is used again, when the session began later, or when nobody died', async () => {
    expect(await related(LOST, AFTER, { ...AFTER, to: POD, start: 5000 })).toEqual([])
    expect(await related({ ...LOST, start: 1005 }, AFTER)).toEqual([])
    expect(brief(await analyzeFiles({ 'access.jsonl': lines([LOST, AFTER].map(session)), 'notes.txt': note(1012, 'pod fluent-bit ready') }))).toEqual([])
  })
})

describe('the proxy’s debug log', () => {
  const writes = [200, 400, 990, 1003, 1100, 1900]
  const at = (end: number, more: object = {}) => logged({ start: 100, end, to: POD, id: 10, writes, ...more })
  const run = (log: string, more: Record<string, string> = {}) => analyzeFiles({ ...world([{ ...LOST, end: 1942 }, AFTER]), 'envoy.log': log, ...more })

  it('shows that the kernel gave up, and when the first byte was lost', async () => {
    const r = await run(debugLog(at(1942)))
    expect(brief(r)).toEqual([['ended-by-timeout', 'certain', 'high']])
    const [f] = findings(r)
    expect(f?.subject).toMatchObject({ connection_id: '11', downstream_connection_id: '10' })
    expect(f?.confidence.because.join()).toContain('errno 110')
    expect(f?.confidence.because.join()).toContain(`written at ${iso(1003).replace('.000', '')}, 939.0 s before the end`)
    expect(f?.rivals.every(x => x.status === 'refuted')).toBe(true)
    expect(r.incidents[0]?.impact.bytes_lost).toBe(240)
    expect(verdict(r).checked).toBe(2)
  })

  it('needs neither the access log nor the pods, but is then less sure', async () => {
    const alone = await analyzeFiles({ 'pods.jsonl': PODS, 'envoy.log': debugLog(at(1942)) })
    expect(brief(alone)).toEqual([['ended-by-timeout', 'certain', 'high']])
    expect(alone.failures).toMatchObject({ total: 1, list: [{ path: 'envoy.log', cause: 'WC103.ended-by-timeout' }] })
    const { 'pods.jsonl': _, ...rest } = { ...world([{ ...LOST, end: 1942 }, AFTER]), 'envoy.log': debugLog(at(1942)) }
    const r = await analyzeFiles(rest)
    expect(brief(r)).toEqual([['ended-by-timeout', 'possible', 'low']])
    expect(rival(findings(r)[0], 'on the path')?.status).toBe('open')
  })

  it.each(['fin', 'idle'] as const)('shows that it ended otherwise: %s', async how => {
    expect(brief(await run(debugLog(at(1942, { how }))))).toEqual([])
  })

  it('tells keep-alive probes from retransmissions: nothing was written after the pod was gone', async () => {
    const r = await analyzeFiles({ ...world([{ ...LOST, end: 1020 }, AFTER]), 'envoy.log': debugLog(logged({ start: 100, end: 1020, to: POD, id: 10, writes: [200, 400] })) })
    expect(brief(r)).toEqual([['ended-by-keepalive', 'likely', 'low']])
  })

  it('shows pooled HTTP connections, whose failures are those of their requests', async () => {
    const r = await analyzeFiles({ 'pods.jsonl': PODS, 'envoy.log': debugLog(pooled({ start: 100, again: 1100, end: 2039, to: POD })) })
    expect(brief(r)).toEqual([['ended-by-timeout', 'certain', 'high']])
    expect(findings(r)[0]?.title).toContain('TCP connection to 10.0.1.7:5190')
    expect(r.failures).toMatchObject({ total: 1, list: [{ cause: 'WC103.ended-by-timeout', details: 'connection termination' }] })
  })

  it('shows sessions that are still open: at risk when nothing is written, lost when something is', async () => {
    const other = logged({ start: 1100, end: 2000, to: NEXT, id: 20, writes: [1200, 1990], how: 'fin' })
    const open = (w: number[]) => analyzeFiles({ 'pods.jsonl': PODS, 'envoy.log': debugLog(logged({ start: 100, end: null, to: POD, id: 10, writes: w }), other) })
    const idle = await open([200, 400])
    expect(brief(idle)).toEqual([['at-risk', 'likely', 'info']])
    expect(idle.incidents.filter(i => i.rule === 'WC103')).toEqual([])
    expect(idle.failures.list.filter(f => f.cause.startsWith('WC103'))).toEqual([])
    expect(brief(await open([200, 1500]))).toEqual([['still-open', 'likely', 'high']])
    // A byte of a moment ago is not late yet, and a log that ends before the pod tells nothing of it.
    expect(brief(await open([200, 1995]))).toEqual([['at-risk', 'likely', 'info']])
    expect(brief(await analyzeFiles({ 'pods.jsonl': PODS, 'envoy.log': debugLog(logged({ start: 100, end: null, to: POD, id: 10, writes: [200] })) }))).toEqual([])
  })
})

describe('a capture of the client’s leg', () => {
  const run = (bursts: readonly number[], sessions: readonly SessionSpec[] = [LOST, AFTER]) => analyzeFiles({ ...world(sessions), 'tcpdump.txt': clientCapture(bursts) })

  it('bounds the first lost byte, and what was accepted, by port and time', async () => {
    const r = await run([1031, 1051, 1071])
    const [f] = findings(r)
    expect(brief(r)).toEqual([['ended-by-timeout', 'likely', 'high']])
    expect(f?.confidence.because.join()).toContain('earlier ones came at 10:16:51 (939.0 s before the end)')
    expect(r.incidents[0]?.impact.bytes_lost).toBe(300)
    expect(says(f)).toContain('At least that many were accepted and lost, and at most the 9,000 bytes')
    expect(rival(f, 'half-close')).toMatchObject({ status: 'open', because: expect.stringContaining('31.0 s after the pod disappeared') })
    expect(rival(f, '15 minutes')?.because).toContain('not of exactly 15 minutes')
  })

  it('shows that nothing was written in time', async () => {
    expect(brief(await run([950, 960, 1200, 1260]))).toEqual([])
  })

  it('shows the last byte an idle timeout before the end', async () => {
    expect(brief(await run([950, 1020, 1051]))).toEqual([['ended-by-timeout', 'likely', 'high']])
    expect(brief(await run([950, 1020, 1050]))).toEqual([])
  })
})

describe('a capture towards the pod', () => {
  const doubling = (n: number): number[] => Array.from({ length: n }, (_, i) => 1001 + 0.2 * 2 ** i)
  const capture = (n: number, until: number) => podCapture({ start: 100, sent: 1001, repeated: doubling(n), until })

  it('shows bytes repeated without an answer', async () => {
    const alone = await analyzeFiles({ 'gw.pcap': capture(6, 1010) })
    expect(brief(alone)).toEqual([['still-open', 'likely', 'high']])
    const gone = await analyzeFiles({ 'gw.pcap': capture(6, 1400) })
    expect(brief(gone)).toEqual([['ended-by-timeout', 'likely', 'high']])
    const both = await analyzeFiles({ ...world([{ ...LOST, end: 1001 + 12.8 }]), 'gw.pcap': capture(6, 1400) })
    expect(brief(both)).toEqual([['ended-by-timeout', 'certain', 'high']])
    expect(cited(findings(both)[0])).toEqual(['pods.jsonl:1', 'access.jsonl:1', 'gw.pcap:7', 'gw.pcap:13'])
  })

  it('does not take a lost packet, or a capture that ends, for more', async () => {
    expect(brief(await analyzeFiles({ 'gw.pcap': capture(1, 1001.5) }))).toEqual([])
  })

  it('shows keep-alive probes', async () => {
    const r = await analyzeFiles({ 'pods.jsonl': PODS, 'gw.pcap': podCapture({ start: 100, sent: 0, repeated: [], probes: [1005, 1010, 1015], until: 1100 }) })
    expect(brief(r)).toEqual([['ended-by-keepalive', 'certain', 'low']])
  })
})

describe('envoyproxy/gateway#4843', () => {
  const folder = new URL('../../../fixtures/reports/envoy-gateway-4843/', import.meta.url)
  const files = Object.fromEntries(
    readdirSync(folder)
      .filter(n => n !== 'README.md')
      .map(n => [n, readFileSync(new URL(n, folder))]),
  )

  it('answers its author', async () => {
    const r = await analyzeFiles(files)
    expect(brief(r)).toEqual([['ended-by-timeout', 'likely', 'high']])
    const [f] = findings(r)
    expect(f?.interval).toEqual({ from: '2024-12-03T13:31:05Z', to: '2024-12-03T13:47:23.013Z' })
    expect(f?.title).toContain('2024-12-03T13:17:00.037Z to 13:47:07.438, outlived its pod by 950.4 to 962.4 s')
    expect(f?.confidence.because.join()).toContain('13:31:17.884 (949.6 s before the end), 13:31:33.435 (934.0 s before the end)')
    expect(r.incidents.find(i => i.rule === 'WC103')?.impact).toEqual({ requests: 3, failed: 1, reached_client: 1, bytes_lost: 1516 })
    expect(new Set(cited(f).map(c => c.split(':')[0]))).toEqual(new Set(['pod.txt', 'envoy-access.jsonl', 'tcpdump.txt', 'fluent-bit.log', 'service.txt']))
    expect(rival(f, 'half-close')?.status).toBe('open')
    expect(rival(f, 'idle timeout')?.status).toBe('open')
    expect(f?.missing.some(m => m.why.includes('10.0.0.112:5190'))).toBe(true)
    expect(says(f)).toContain('Clients that send often are spared')
  })

  it('still answers with the access log and the note alone, and not without the note', async () => {
    const some = await analyzeFiles({ 'envoy-access.jsonl': files['envoy-access.jsonl']!, 'pod.txt': files['pod.txt']! })
    expect(brief(some)).toEqual([['ended-by-timeout', 'likely', 'high']])
    const { 'pod.txt': _, ...none } = files
    expect(verdict(await analyzeFiles(none))).toMatchObject({ verdict: 'not-evaluable', findings: 0 })
  })
})
