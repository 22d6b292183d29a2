import { describe, expect, it } from 'vitest'
import { collect, context } from '../../../test/support/collect.js'
import { readWell, survives } from '../../../test/support/robust.js'
import type { Format } from '../format.js'
import { formatById } from '../index.js'

const format = formatById('pod-ip-timeline') as Format
const at = (text: string) => BigInt(Date.parse(text)) * 1_000_000n
const facts = (text: string) => readWell(format, `${text}\n`).rows.pod_fact
const FROM = at('2024-12-03T13:17:00Z')
const TO = at('2024-12-03T13:31:05Z')
const OWNED = { subject: 'default/fluent-bit-x', kind: 'pod', ip: '10.0.0.66', what: 'owned', exact: true, t: FROM, t_earliest: FROM, t_latest: TO }

/** istio/ztunnel#1637: the pods of the report, times derived from its text. */
const ZTUNNEL = `{"pod":"app-old","ip":"10.208.21.119","from":"2025-10-22T09:20:00Z","to":"2025-10-22T09:33:00Z","note":"approx"}
{"pod":"app-new","ip":"10.208.21.119","from":"2025-10-22T09:34:30Z","to":null,"note":"approx"}
`
/** aws/amazon-vpc-cni-k8s#3634, with a fixed start. */
const VPC_CNI = `{"pod":"svc-a-1","ip":"10.0.12.34","from":"2026-03-30T10:00:00Z","to":"2026-03-30T11:00:00Z"}
{"pod":"svc-b-1","ip":"10.0.12.34","from":"2026-03-30T11:00:30Z","to":null}
`
/** istio/istio#6085: a list of pods as CSV, without times. */
const LIST = 'pod,ip,status\ngatewayapp-1,10.244.25.4,Running\ngatewayapp-2,10.244.14.34,Running\n'

describe('JSON', () => {
  it('reads one object a line; approximate where the note says so; open where `to` is null', () => {
    const { rows, problems } = readWell(format, ZTUNNEL)
    expect(problems).toEqual([])
    expect(rows.pod_fact).toMatchObject([
      {
        subject: 'app-old',
        ip: '10.208.21.119',
        what: 'owned',
        exact: false,
        reason: 'approx',
        t_earliest: at('2025-10-22T09:20:00Z'),
        t_latest: at('2025-10-22T09:33:00Z'),
        span: { line: 1 },
      },
      { subject: 'app-new', exact: false, t: at('2025-10-22T09:34:30Z'), t_latest: null, span: { line: 2 } },
    ])
    expect(facts(VPC_CNI)).toMatchObject([
      { subject: 'svc-a-1', exact: true },
      { subject: 'svc-b-1', t_latest: null },
    ])
  })

  it('reads pretty-printed objects, arrays, and other names of keys', () => {
    expect(
      facts(
        '[\n  {\n    "podIP": "10.0.0.66",\n    "namespace": "default",\n    "name": "fluent-bit-x",\n    "start": "2024-12-03T13:17:00Z",\n    "until": "2024-12-03T13:31:05Z"\n  }\n]',
      ),
    ).toMatchObject([OWNED])
    expect(
      facts('[{"ip":"10.0.0.66","owner":"default/fluent-bit-x","since":1733231820,"end":"1733232665000"},{"ip":"fd00::1","owner":"b","to":"2024-12-03T13:31:05Z"}]'),
    ).toMatchObject([OWNED, { ip: 'fd00::1', t: null, t_earliest: null }])
    expect(facts('{"ip":"10.0.0.66","pod":"a","uid":"u-1","sandbox":"s-1","node":"n-1","from":"","to":"present"}')).toMatchObject([
      { uid: 'u-1', sandbox: 's-1', node: 'n-1', t: null, t_earliest: null, t_latest: null },
    ])
  })

  it('has one problem for a bad entry and leaves other objects alone', () => {
    const { rows, problems } = readWell(
      format,
      '{"pod":"a","ip":"10.0.0.1","from":"yesterday"}\n{"pod":"a","ip":"10.0.0.1","from":"2024-12-03T13:17:00Z","to":"2024-12-03T13:16:00Z"}\n{"pod":"a","ip":"10.0.0.1"}\n{"name":"x","address":"Main Street","from":"Bob"}\n',
    )
    expect(rows.pod_fact).toEqual([])
    expect(problems.map(p => [p.kind, p.says])).toEqual([
      ['bad-record', 'a time that is none'],
      ['bad-record', 'an interval that ends before it begins'],
      ['not-recognised', 'a JSON object of no known format'],
      ['not-recognised', 'a JSON object of no known format'],
    ])
  })
})

describe('CSV', () => {
  it.each([',', ';', '\t'])('separated by %j', s => {
    const rows = [
      ['pod', 'namespace', 'ip', 'from', 'to', 'note'],
      ['fluent-bit-x', 'default', '10.0.0.66', '2024-12-03T13:17:00Z', '2024-12-03T13:31:05Z', ''],
      ['b', '', '10.0.0.67', '', '-', '"about, or so"'],
    ]
    expect(facts(rows.map(r => r.join(s)).join('\n'))).toMatchObject([OWNED, { subject: 'b', t: null, t_earliest: null, t_latest: null, exact: false }])
  })

  it('without times is a listing', () => {
    expect(facts(LIST)).toMatchObject([
      { subject: 'gatewayapp-1', ip: '10.244.25.4', what: 'listed', reason: 'Running', t: null, t_earliest: null, t_latest: null, span: { line: 2 } },
      { subject: 'gatewayapp-2', ip: '10.244.14.34', what: 'listed' },
    ])
  })

  it('takes no row without a header, nor one of another width', () => {
    expect(collect(format, 'a,10.0.0.1,Running\n').problems).toHaveLength(1)
    expect(collect(format, `${LIST}c,10.0.0.1\nd,not an address,Running\n`).problems).toHaveLength(2)
  })
})

describe('text', () => {
  it.each([
    '10.0.0.66 default/fluent-bit-x from 2024-12-03T13:17:00Z to 2024-12-03T13:31:05Z',
    '10.0.0.66: default/fluent-bit-x, since 2024-12-03T13:17:00Z until 2024-12-03T13:31:05Z',
    'default/fluent-bit-x 10.0.0.66 2024-12-03T13:17:00Z - 2024-12-03T13:31:05Z',
    '10.0.0.66   default/fluent-bit-x   2024-12-03T13:17:00Z   2024-12-03T13:31:05Z',
    'ip=10.0.0.66 pod=default/fluent-bit-x from=2024-12-03T13:17:00Z to=2024-12-03T13:31:05Z',
    'pod default/fluent-bit-x had 10.0.0.66 from 2024-12-03T13:17:00Z to 2024-12-03T13:31:05Z',
    '10.0.0.66 belonged to default/fluent-bit-x from 2024-12-03 13:17:00Z to 2024-12-03 13:31:05Z',
  ])('%s', line => {
    expect(facts(line)).toMatchObject([OWNED])
  })

  it('says what is approximate and what is open', () => {
    expect(facts('10.0.0.66 a from 2024-12-03T13:17:00Z to 2024-12-03T13:31:05Z approx')).toMatchObject([{ exact: false, reason: 'approx' }])
    expect(facts('10.0.0.66 a from ~2024-12-03T13:17:00Z to now')).toMatchObject([{ exact: false, t: FROM, t_latest: null }])
    expect(facts('10.0.0.66 a from about 2024-12-03T13:17:00Z')).toMatchObject([{ exact: false, t_latest: null }])
    expect(facts('10.0.0.66 a until 2024-12-03T13:31:05Z')).toMatchObject([{ exact: true, t: null, t_earliest: null, t_latest: TO }])
  })

  it.each([
    '10.0.0.66 a 2024-12-03T13:17:00Z GET /',
    '10.0.0.66 - - [03/Dec/2024:13:17:00 +0000] "GET / HTTP/1.1" 200',
    '10.0.0.66 connects to 10.0.0.67',
    '2024-12-03T13:31:05Z pod fluent-bit killed',
    'from 2024-12-03T13:17:00Z to 2024-12-03T13:31:05Z',
  ])('does not take %s', line => {
    expect(collect(format, `${line}\n`).rows.pod_fact.filter(f => f.what === 'owned')).toEqual([])
  })
})

it('is recognised by content', () => {
  for (const text of [ZTUNNEL, VPC_CNI, LIST]) expect(format.sniff(Buffer.from(text), context())).toBeGreaterThan(0.9)
})

it('survives cuts and flips', () => {
  for (const text of [ZTUNNEL, LIST, 'pod default/fluent-bit-x had 10.0.0.66 from 2024-12-03T13:17:00Z to 2024-12-03T13:31:05Z\n']) survives(format, text)
})
