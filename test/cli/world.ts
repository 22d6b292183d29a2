/** Small evidence whose verdicts are known. */

const time = (second: number): string => new Date(Date.UTC(2026, 8, 10, 10, 0, second)).toISOString()

/** One Envoy JSON access record a line, one a second. */
const record = (second: number, more: Readonly<Record<string, unknown>>): string =>
  `${JSON.stringify({
    start_time: time(second),
    method: 'GET',
    path: '/orders',
    protocol: 'HTTP/1.1',
    response_code: 200,
    response_flags: '-',
    response_code_details: 'via_upstream',
    bytes_received: 0,
    bytes_sent: 95,
    duration: 3,
    upstream_host: '10.0.0.7:8080',
    upstream_cluster: 'orders',
    upstream_local_address: '10.0.0.5:40000',
    downstream_local_address: '10.0.0.5:443',
    downstream_remote_address: '198.51.100.20:56913',
    request_id: `00000000-0000-4000-8000-${String(second).padStart(12, '0')}`,
    ...more,
  })}\n`

/** Requests that were answered, from second `from` on. */
export const healthy = (count: number, from = 0): string => Array.from({ length: count }, (_, i) => record(from + i, {})).join('')

/** A request whose upstream connection was reset: WC104, high, likely. */
export const reset = (second: number): string =>
  record(second, { response_code: 503, response_flags: 'UC', response_code_details: 'upstream_reset_before_response_started{connection_termination}' })

/** Hubble flows, one a second. */
export const flows = (count: number, from = 0): string =>
  Array.from(
    { length: count },
    (_, i) =>
      `${JSON.stringify({
        flow: {
          time: time(from + i),
          uuid: `00000000-0000-4000-9000-${String(from + i).padStart(12, '0')}`,
          verdict: 'FORWARDED',
          IP: { source: '10.0.0.5', destination: '10.0.0.7', ipVersion: 'IPv4' },
          l4: { TCP: { source_port: 40_000 + (i % 20_000), destination_port: 8080, flags: { SYN: true } } },
          source: { identity: 1234, namespace: 'shop', pod_name: `gateway-${from + i}`, labels: ['k8s:app=gateway'] },
          destination: { identity: 4321, namespace: 'shop', pod_name: 'orders', labels: ['k8s:app=orders'] },
          Type: 'L3_L4',
          node_name: 'cluster/node-a',
          traffic_direction: 'EGRESS',
          is_reply: false,
        },
        node_name: 'cluster/node-a',
        time: time(from + i),
      })}\n`,
  ).join('')

/** A pod and its successor under one address, each with its times. */
export const owners = `${JSON.stringify({ ip: '10.0.0.7', pod: 'shop/orders-1', from: '2026-09-10T09:00:00Z', to: '2026-09-10T10:00:30Z' })}
${JSON.stringify({ ip: '10.0.0.7', pod: 'shop/orders-2', from: '2026-09-10T10:01:00Z', to: null })}
`
