import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { analyzeBundle, analyzeFiles, bundleOf } from '../../../test/support/analyze.js'
import * as cf from '../../../test/support/cloud-foundry.js'
import type { Finding, Report } from '../../model/report.js'
import { cutOffOnStop } from './rule.js'

const { access, failed, lines } = cf
const findings = (r: Report): readonly Finding[] => r.findings.filter(f => f.rule === 'WC105')
const brief = (r: Report) => findings(r).map(f => [f.code.slice(6), f.confidence.level, f.severity, f.count])
const verdict = (r: Report) => r.verdicts.find(v => v.rule === 'WC105')!
const causes = (r: Report) => Object.fromEntries(r.failures.list.map(f => [f.request_id, f.cause]))

/** Stop at 5 s, SIGTERM and exit at 10 s. Four long requests and what the router says of them; traffic goes on at the other instance. */
const LONG = ['a', 'b', 'c'].map((id, i) => ({ id, start: 3000 + i * 300, end: 10_001 + i * 0.4 }))
const cutAccess = LONG.map(l => access({ id: l.id, start: l.start, took: l.end - l.start, status: 502, error: 'EOF' }))
const cutLog = LONG.map(l => failed({ id: l.id, at: l.end, error: 'EOF', reused: true }))
const stopLogs = lines(cf.stopping(5000), cf.exited(10_000.6, '143'), cf.destroying(10_001), cf.proxyExited(10_200), cf.destroyed(10_210))
const repLogs = lines(cf.repStop(5000.1), cf.repCertificate(5000.2), cf.repSignal(10_000.1), cf.repExit(10_001.2, 143, true))
const cutWorld = {
  'access.log': lines(cf.traffic(14_000, 9900), cutAccess),
  'gorouter.stdout.log': lines(cf.registered(0), cutLog, cf.unregistered(10_300)),
  'cf-logs.txt': stopLogs,
  'rep.stdout.log': repLogs,
}

describe('requests in flight when their instance ends', () => {
  it('are cut by a stop that they had begun before', async () => {
    const r = await analyzeFiles(cutWorld)
    expect(brief(r)).toEqual([['in-flight-cut', 'certain', 'high', 3]])
    expect(causes(r)).toEqual({ a: 'WC105.in-flight-cut', b: 'WC105.in-flight-cut', c: 'WC105.in-flight-cut' })
    const [f] = findings(r)
    expect(f?.title).toBe(
      `3 requests to ${cf.BACKEND} (instance ${cf.GUID}) were in flight and cut when it exited with status 143 at 2026-11-30T12:00:10.001200Z, 5.00 s after it was told to stop`,
    )
    expect(f?.subject).toMatchObject({ remote: cf.BACKEND, instance: cf.GUID })
    expect(f?.rivals.filter(x => x.status === 'open')).toEqual([])
    expect(new Set(f?.claims.flatMap(c => c.evidence.map(e => e.path)))).toEqual(new Set(Object.keys(cutWorld)))
    expect(f?.controls.every(c => c.checked === c.passed || c.says.includes('when the stop began'))).toBe(true)
    expect(verdict(r)).toMatchObject({ verdict: 'violated', confidence: 'certain', missing: [] })
  })

  it('are cut by the same stop without the router’s log, and without the cell’s', async () => {
    for (const drop of ['gorouter.stdout.log', 'rep.stdout.log', 'cf-logs.txt'] as const) {
      const { [drop]: _, ...rest } = cutWorld
      expect(brief(await analyzeFiles(rest))[0]?.[0]).toBe('in-flight-cut')
    }
  })

  it('are killed at the end of the grace period', async () => {
    const r = await analyzeFiles({
      ...cutWorld,
      'cf-logs.txt': lines(cf.stopping(1000), cf.exited(10_000.6, '137 (exceeded 10s graceful shutdown interval)')),
      'rep.stdout.log': '',
    })
    expect(findings(r)[0]?.code).toBe('WC105.in-flight-cut')
    expect(findings(r)[0]?.title).toContain('killed at the end of its grace period')
  })

  it('die with an instance that runs out of memory', async () => {
    const r = await analyzeFiles({ ...cutWorld, 'cf-logs.txt': lines(cf.exited(10_000.6, '137 (out of memory)'), cf.destroying(15_000)), 'rep.stdout.log': '' })
    expect(brief(r)).toEqual([['out-of-memory', 'certain', 'high', 3]])
    expect(findings(r)[0]?.subject.stop_reason).toBe('out-of-memory')
  })

  it('die with one that crashes, although the cell says `stopping` then, too', async () => {
    const r = await analyzeFiles({
      ...cutWorld,
      'cf-logs.txt': lines(cf.exited(10_000.6, '1'), cf.stopping(10_010), cf.destroying(10_010), cf.crashed(10_400, 'APP/PROC/WEB: Exited with status 1')),
      'rep.stdout.log': '',
    })
    expect(brief(r)).toEqual([['crashed', 'certain', 'high', 3]])
  })

  it('are undetermined where only the exit is known, and not whether it was asked for', async () => {
    const r = await analyzeFiles({ ...cutWorld, 'cf-logs.txt': lines(cf.exited(10_000.6, '137')), 'rep.stdout.log': '' })
    expect(brief(r)[0]?.[0]).toBe('undetermined')
  })

  it('are retried where the router could, which is no failure of a client', async () => {
    const healed = [access({ id: 'g', method: 'GET', start: 4000, took: 8000, other: true, attempts: 2 })]
    const r = await analyzeFiles({
      ...cutWorld,
      'access.log': lines(cf.traffic(14_000, 9900), healed),
      'gorouter.stdout.log': lines(failed({ id: 'g', at: 10_001, error: 'EOF (via idempotent request)', retriable: true })),
    })
    expect(brief(r)).toEqual([['in-flight-cut', 'certain', 'medium', 1]])
    expect(r.failures.list).toMatchObject([{ request_id: 'g', cause: 'retried', finding: null }])
  })
})

describe('requests that came too late', () => {
  const late = [0, 1, 2, 3].map(i => ({ id: `l${i}`, start: 10_100 + i * 200, end: 10_103 + i * 200 }))
  const lateAccess = (error: string) => late.map(l => access({ id: l.id, start: l.start, took: l.end - l.start, status: 502, error }))
  const world = (error: string, reused: boolean) => ({
    ...cutWorld,
    'access.log': lines(cf.traffic(14_000, 9990), lateAccess(error)),
    'gorouter.stdout.log': lines(late.map(l => failed({ id: l.id, at: l.end, error, reused }))),
  })

  it('were accepted by the sidecar of an application that had exited', async () => {
    const r = await analyzeFiles(world('EOF', false))
    expect(brief(r)).toEqual([['accepted-after-exit', 'certain', 'high', 4]])
    expect(findings(r)[0]?.confidence.because).toContain('the instance answered until its exit and failed from then on, which ties the two clocks')
  })

  it('are likely accepted where only their duration speaks for a new connection', async () => {
    const { 'gorouter.stdout.log': _, ...rest } = world('EOF', false)
    const r = await analyzeFiles(rest)
    expect(brief(r)).toEqual([['accepted-after-exit', 'likely', 'high', 4]])
    expect(findings(r)[0]?.missing.map(m => m.needs)).toEqual(['route-changes'])
  })

  it('were sent on a kept-alive connection, which the error’s port proves', async () => {
    const { 'gorouter.stdout.log': _, ...rest } = world('write tcp 10.0.4.5:57108->10.0.16.12:61016: write: broken pipe', true)
    const served = access({ id: 'served', start: 900, took: 20, local: '10.0.4.5:57108' })
    const r = await analyzeFiles({ ...rest, 'access.log': `${rest['access.log']}${served}\n` })
    expect(brief(r)).toEqual([['stale-keepalive', 'certain', 'high', 4]])
    expect(findings(r)[0]?.claims.at(-1)?.says).toContain('The local port of the failed writes had served earlier requests')
  })

  it('found no listener', async () => {
    expect(brief(await analyzeFiles(world('dial tcp 10.0.16.12:61016: connect: connection refused', false)))).toEqual([['refused-while-stopping', 'certain', 'high', 4]])
  })

  it('found no listener behind the sidecar while the application drained', async () => {
    const r = await analyzeFiles({
      'access.log': lines(cf.traffic(14_000, 10_050), lateAccess('EOF')),
      'gorouter.stdout.log': lines(late.map(l => failed({ id: l.id, at: l.end, error: 'EOF' }))),
      'rep.stdout.log': lines(cf.repStop(5000), cf.repCertificate(5000.1), cf.repSignal(10_050), cf.repExit(17_500, 0, true)),
    })
    expect(brief(r)).toEqual([['refused-while-stopping', 'likely', 'high', 4]])
  })

  it('met the certificate without a name, and were retried', async () => {
    const error = `incomplete request (tls: failed to verify certificate: x509: certificate is not valid for any names, but wanted to match ${cf.GUID})`
    const r = await analyzeFiles({
      ...cutWorld,
      'access.log': lines(cf.traffic(14_000, 9990), access({ id: 'x', start: 6000, took: 40, other: true, attempts: 2 })),
      'gorouter.stdout.log': lines(failed({ id: 'x', at: 6004, error, retriable: true })),
    })
    expect(brief(r)).toEqual([['certificate-window', 'certain', 'medium', 1]])
    expect(causes(r)).toEqual({ x: 'retried' })
  })

  it('are told apart from those in flight, request by request', async () => {
    const r = await analyzeFiles({
      ...world('EOF', false),
      'access.log': lines(cf.traffic(14_000, 9900), cutAccess, lateAccess('EOF')),
      'gorouter.stdout.log': lines(
        cutLog,
        late.map(l => failed({ id: l.id, at: l.end, error: 'EOF' })),
      ),
    })
    expect(brief(r).map(b => b[0])).toEqual(['in-flight-cut', 'accepted-after-exit'])
    expect(new Set(findings(r).map(f => f.fingerprint)).size).toBe(2)
    expect(r.incidents.filter(i => i.rule === 'WC105')).toHaveLength(1)
  })
})

describe('what cannot be settled', () => {
  const { 'cf-logs.txt': _1, 'rep.stdout.log': _2, ...routerOnly } = cutWorld

  it('is undetermined, and says what would settle it', async () => {
    const r = await analyzeFiles(routerOnly)
    expect(brief(r)).toEqual([['undetermined', 'likely', 'high', 3]])
    const [f] = findings(r)
    expect(f?.rivals.filter(x => x.status === 'open').length).toBeGreaterThanOrEqual(3)
    expect(f?.rivals.every(x => x.separated_by !== '')).toBe(true)
    expect(f?.missing.map(m => m.collect).join('\n')).toMatch(/cf logs .*rep\.stdout\.log[\s\S]*cf tail <app> .*--start-time \d{19}/)
    expect(verdict(r).missing.map(m => m.needs)).toEqual(['instance-stops'])
  })

  it('keeps its fingerprint as an alias of what more evidence makes of it', async () => {
    const less = findings(await analyzeFiles(routerOnly))[0]
    const more = findings(await analyzeFiles(cutWorld))[0]
    expect(more?.aliases).toContain(less?.fingerprint)
  })

  it('is possible at most for one failure of which nothing else is known', async () => {
    const r = await analyzeFiles({ 'gorouter.log': lines(access({ id: 'one', start: 0, took: 6.6, status: 502, error: 'EOF' })) })
    expect(brief(r)).toEqual([['undetermined', 'possible', 'low', 1]])
  })

  it('is joined to an exit by time alone where the line names no instance, and says so', async () => {
    const r = await analyzeFiles({ ...routerOnly, 'cf-logs.txt': lines(cf.exited(10_000.6, '137 (out of memory)')) })
    expect(brief(r)).toEqual([['out-of-memory', 'likely', 'high', 3]])
    expect(findings(r)[0]?.confidence.because).toContain('the exit line does not name its instance: the two are joined by time')
  })

  it('survives clocks that differ by less than their error', async () => {
    const later = (line: string) => line.replace(/12:00:(\d\d)\./g, (_, s: string) => `12:00:${String(Number(s) + 1).padStart(2, '0')}.`)
    const r = await analyzeFiles({ ...cutWorld, 'cf-logs.txt': later(stopLogs), 'rep.stdout.log': later(repLogs) })
    expect(brief(r)).toEqual([['in-flight-cut', 'certain', 'high', 3]])
  })

  it('accuses nobody surely where the clocks contradict each other', async () => {
    const earlier = (text: string) => text.replaceAll('12:00:', '11:59:')
    const r = await analyzeFiles({ ...cutWorld, 'cf-logs.txt': earlier(stopLogs), 'rep.stdout.log': earlier(repLogs) })
    expect(brief(r)).toEqual([['undetermined', 'possible', 'low', 3]])
    expect(findings(r)[0]?.confidence.because.join()).toContain('one of the clocks is wrong')
  })
})

describe('what looks like it and is not', () => {
  const { 'cf-logs.txt': _1, 'rep.stdout.log': _2, ...router } = cutWorld

  it('a race with an instance that lived on', async () => {
    const r = await analyzeFiles({ ...router, 'access.log': lines(cf.traffic(14_000, 14_000), cutAccess) })
    expect(findings(r)).toEqual([])
    expect(verdict(r).verdict).toBe('not-evaluable')
  })

  it('an answer of the application, a client that left, a timeout, a wrong certificate', async () => {
    const errors: [string, number, string | undefined][] = [
      ['app', 502, undefined],
      ['left', 499, 'context canceled'],
      ['slow', 502, 'context deadline exceeded'],
      ['cert', 503, 'x509: certificate is valid for 11, not 12'],
      ['name', 503, `x509: certificate is not valid for any names, but wanted to match ${cf.GUID}`],
    ]
    const r = await analyzeFiles({ 'access.log': lines(errors.map(([id, status, error], i) => access({ id, start: 13_000 + i, took: 5, status, ...(error ? { error } : {}) }))) })
    expect(findings(r)).toEqual([])
    expect(causes(r)).toMatchObject({ app: 'answered-by-app', left: 'client-gone' })
  })

  it('failures long before the stop, and `Exit status 137` of the proxy', async () => {
    const early = access({ id: 'early', start: 100, took: 5, status: 502, error: 'EOF' })
    const r = await analyzeFiles({ 'access.log': lines(cf.traffic(14_000, 9900), early), 'cf-logs.txt': stopLogs })
    expect(findings(r)).toEqual([])
    expect(verdict(r)).toMatchObject({ verdict: 'held', checked: 1 })
  })
})

describe('the verdict', () => {
  it('is held where a stop is known and every request near it was fine', async () => {
    const r = await analyzeFiles({ 'access.log': lines(cf.traffic(14_000, 9900)), 'cf-logs.txt': stopLogs, 'rep.stdout.log': repLogs })
    expect(verdict(r)).toMatchObject({ verdict: 'held', applies: true, checked: 1, findings: 0, missing: [] })
  })

  it('is open where requests were retried during the stop and nothing names the first attempt', async () => {
    const r = await analyzeFiles({ 'access.log': lines(cf.traffic(14_000, 9900), access({ id: 'x', start: 6000, took: 40, other: true, attempts: 2 })), 'cf-logs.txt': stopLogs })
    expect(verdict(r)).toMatchObject({ verdict: 'not-evaluable', missing: [{ needs: 'route-changes' }] })
    expect(causes(r)).toEqual({ x: 'retried' })
  })

  it('needs requests, and needs stops', async () => {
    const stops = await analyzeFiles({ 'cf-logs.txt': stopLogs })
    expect(verdict(stops)).toMatchObject({ verdict: 'not-evaluable', applies: true, missing: [{ needs: 'http-requests' }] })
    const requests = await analyzeFiles({ 'access.log': lines(cf.traffic(3000, 3000)) })
    expect(verdict(requests)).toMatchObject({ verdict: 'not-evaluable', applies: false, missing: [{ needs: 'instance-stops' }] })
  })

  it('of a stop of which no request is in the bundle is open', async () => {
    const r = await analyzeFiles({ 'access.log': lines(cf.traffic(3000, 0)), 'cf-logs.txt': stopLogs })
    expect(verdict(r)).toMatchObject({ verdict: 'not-evaluable', checked: 0 })
  })

  it('of the text of report 004 names the commands that would settle it', async () => {
    const text = readFileSync(new URL('../../../fixtures/reports/diego-release-711/report.txt', import.meta.url))
    const r = await analyzeFiles({ 'report.txt': text })
    expect(verdict(r).verdict).toBe('not-evaluable')
    expect(
      verdict(r)
        .missing.map(m => m.collect)
        .join('\n'),
    ).toMatch(/gorouter\/access\.log[\s\S]*cf logs <app> --recent/)
  })

  it('is the same for lines in any order', async () => {
    const shuffled = (text: string) => lines(text.trimEnd().split('\n').reverse())
    const a = await analyzeFiles(cutWorld)
    const b = await analyzeFiles({ ...cutWorld, 'access.log': shuffled(cutWorld['access.log']), 'cf-logs.txt': shuffled(stopLogs), 'rep.stdout.log': shuffled(repLogs) })
    const said = (r: Report) => findings(r).map(f => ({ ...f, claims: f.claims.map(c => [c.says, c.evidence.map(e => e.text).sort()]) }))
    expect(said(b)).toEqual(said(a))
  })

  it('reads no table that it does not declare', async () => {
    const { outcome } = await analyzeBundle(bundleOf(cutWorld))
    for (const table of outcome.reads.get('WC105') ?? []) expect(cutOffOnStop.reads).toContain(table)
  })
})
