/**
 * The one definition of the store's tables. The schema, the column writers, the views and the column documentation are
 * generated from it. Columns named in the public schema are never renamed.
 *
 * Kinds: `id` interned text (INTEGER in the table, text in the view) · `text` plain text, for what seldom repeats ·
 * `int` INTEGER · `big` BIGINT · `double` DOUBLE · `bool` BOOLEAN · `time` BIGINT nanoseconds since the epoch, UTC.
 */
export type ColumnKind = 'id' | 'text' | 'int' | 'big' | 'double' | 'bool' | 'time'

export interface Column<K extends ColumnKind = ColumnKind> {
  readonly kind: K
  readonly says: string
}

const of =
  <K extends ColumnKind>(kind: K) =>
  (says: string): Column<K> => ({ kind, says })
const id = of('id')
const text = of('text')
const int = of('int')
const big = of('big')
const double = of('double')
const bool = of('bool')
const time = of('time')

export interface Table {
  /** `line` or `frame`: rows of evidence, with a span and a time of their own. A frame printed as text (tcpdump) has a line instead. null: derived rows. */
  readonly evidence: 'line' | 'frame' | null
  readonly says: string
  readonly columns: Readonly<Record<string, Column>>
}

const table = <const T extends Table>(t: T): T => t

export const tables = {
  flow: table({
    evidence: 'line',
    says: 'a Hubble flow or cilium-monitor line',
    columns: {
      node: id('the node that saw it, as printed (`cluster/name`)'),
      verdict: id('FORWARDED, DROPPED, ERROR, AUDIT, REDIRECTED, TRACED, TRANSLATED'),
      direction: id('INGRESS or EGRESS, seen from the local endpoint'),
      is_reply: bool('from connection tracking; NULL where Hubble does not know'),
      src_ip: id('source address (before SNAT)'),
      src_port: int('source port'),
      dst_ip: id('destination address'),
      dst_port: int('destination port'),
      protocol: id('TCP UDP ICMPv4 ICMPv6 SCTP VRRP IGMP'),
      tcp_flags: id("flag names joined by `,` in Hubble's order"),
      src_identity: big('numeric security identity of the source'),
      dst_identity: big('numeric security identity of the destination'),
      src_labels: id('labels joined by `,`'),
      dst_labels: id('labels joined by `,`'),
      src_namespace: id('namespace of the source pod'),
      src_pod: id('name of the source pod'),
      dst_namespace: id('namespace of the destination pod'),
      dst_pod: id('name of the destination pod'),
      src_xlated_ip: id('source address after SNAT'),
      event_type: int('1 drop, 4 trace, 5 policy verdict, 7 socket, 129 L7'),
      event_subtype: int('drop reason or observation point'),
      drop_reason: int('number of the drop reason'),
      drop_reason_desc: id('name of the drop reason'),
      trace_point: id('trace observation point'),
      policy_match: id('none L3-Only L3-L4 L4-Only all L3-Proto Proto-Only'),
      proxy_port: int('port of the proxy that the flow was redirected to'),
      l7_type: id('REQUEST RESPONSE SAMPLE'),
      l7_protocol: id('http dns kafka'),
      l7_status: int('HTTP status or DNS rcode'),
      l7_method: id('HTTP method'),
      l7_url: text('HTTP URL'),
      l7_latency_ms: double('time until the response'),
      tunnel_src_ip: id('outer source address'),
      tunnel_dst_ip: id('outer destination address'),
      uuid: text('the flow id that several nodes share for one event'),
      summary: id('deprecated summary text'),
    },
  }),
  request: table({
    evidence: 'line',
    says: 'an access-log record (Envoy HTTP and TCP, ztunnel, gorouter)',
    columns: {
      proxy: id('which proxy wrote it: a pod or container name where known, else the kind'),
      kind: id('http tcp listener upstream'),
      phase: id('end start periodic connected'),
      t_start: time('start of the request or session, as precise as printed'),
      t_end: time('t_start + duration'),
      duration_ms: double('as printed'),
      method: id('request method'),
      path: text('request path'),
      protocol: id('HTTP/1.1, HTTP/2 …'),
      status: int('response status; NULL where the proxy prints 0 for none'),
      flags: id('short response flags joined by `,`, as printed'),
      details: id('response code details'),
      termination_details: id('connection termination details'),
      transport_failure: id('upstream transport failure reason'),
      bytes_received: big('bytes received from the client'),
      bytes_sent: big('bytes sent to the client'),
      upstream_host: id('as printed'),
      upstream_ip: id('address of the upstream'),
      upstream_port: int('port of the upstream'),
      upstream_local_ip: id("the proxy's address towards the upstream"),
      upstream_local_port: int("the proxy's port towards the upstream"),
      upstream_cluster: id('as printed'),
      downstream_remote_ip: id("the client's address"),
      downstream_remote_port: int("the client's port"),
      downstream_local_ip: id("the proxy's address towards the client"),
      downstream_local_port: int("the proxy's port towards the client"),
      sni: id('requested server name'),
      route: id('route name'),
      authority: id('authority or Host header'),
      user_agent: id('user agent'),
      x_forwarded_for: id('X-Forwarded-For header'),
      request_id: text('x-request-id, or vcap_request_id of a gorouter'),
      connection_id: big('downstream connection id; NULL where 0 is printed'),
      upstream_connection_id: big('upstream connection id; NULL where 0 is printed'),
      attempts: int('upstream attempts'),
      router_error: id('x_cf_routererror of a gorouter'),
      instance_id: id('Cloud Foundry instance'),
      probe: bool('a health check by its user agent'),
      ambiguous: id('columns that this record cannot prove, joined by `,`'),
    },
  }),
  proxy_line: table({
    evidence: 'line',
    says: "a line of a proxy's application log",
    columns: {
      proxy: id('which proxy wrote it'),
      thread: id('worker thread'),
      level: id('trace debug info warning error critical'),
      logger: id('logger name'),
      file: id('source file, last part'),
      file_line: int('line in the source file'),
      connection_id: big('connection id of the line'),
      stream_id: id('stream id of the line'),
      request_id: text('request id, where the line has one'),
      template: id('the message with its values replaced by {}'),
      args: text('JSON array of the values'),
      text: text('the message'),
    },
  }),
  packet: table({
    evidence: 'frame',
    says: 'a notable frame of a capture, or a line of tcpdump text',
    columns: {
      src_ip: id('source address, or the placeholder printed for it'),
      src_port: int('source port'),
      dst_ip: id('destination address'),
      dst_port: int('destination port'),
      protocol: id('TCP UDP ICMPv4 ICMPv6 ARP'),
      seq: big('sequence number as printed'),
      ack: big('acknowledgement number as printed'),
      tcp_flags: id('flag names joined by `,`'),
      length: int('payload bytes'),
      kind: id('syn synack fin rst first last retransmission probe keepalive icmp arp'),
      session: big('row of the session'),
      detail: id('anything else worth saying'),
    },
  }),
  session: table({
    evidence: 'frame',
    says: 'a TCP session at one capture point',
    columns: {
      capture: int('source id of the capture'),
      client_ip: id('who opened it'),
      client_port: int(''),
      server_ip: id(''),
      server_port: int(''),
      t_syn: time('first SYN'),
      t_established: time('end of the handshake'),
      t_first: time('first packet'),
      t_last: time('last packet'),
      t_client_last: time('last packet of the client'),
      t_server_last: time('last packet of the server'),
      client_bytes: big('payload bytes of the client'),
      server_bytes: big('payload bytes of the server'),
      client_packets: int(''),
      server_packets: int(''),
      client_retransmissions: int(''),
      server_retransmissions: int(''),
      t_client_unacked: time('first byte of the client that was never acknowledged'),
      t_server_unacked: time('first byte of the server that was never acknowledged'),
      keepalive_probes: int(''),
      zero_windows: int(''),
      icmp_errors: int(''),
      ended: id('fin rst refused open none'),
      ended_by: id('client server'),
      mid_stream: bool('the capture began after the session'),
      history: id('letters of what was seen, in order'),
      sni: id('server name of the TLS hello'),
    },
  }),
  socket_seen: table({
    evidence: 'line',
    says: 'a line of ss, conntrack, ip neigh or Envoy /clusters: a state at a moment',
    columns: {
      tool: id('ss conntrack neigh clusters'),
      netns: id(''),
      state: id(''),
      local_ip: id(''),
      local_port: int(''),
      remote_ip: id(''),
      remote_port: int(''),
      send_queue: big('bytes'),
      receive_queue: big('bytes'),
      timer: id(''),
      retransmits: int(''),
      detail: text(''),
    },
  }),
  pod_fact: table({
    evidence: 'line',
    says: 'one statement about a pod, node, endpoint, sandbox or instance',
    columns: {
      subject: id('`ns/name`, a name, or an instance id'),
      kind: id('pod node service endpoint instance'),
      uid: id(''),
      sandbox: id('sandbox or container id'),
      ip: id('the address it is about'),
      node: id(''),
      what: id('owned listed assigned released created ready terminating killed stopped exited crashed deleted endpoint'),
      reason: id(''),
      exact: bool('false where the source calls its time approximate'),
      t_earliest: time('the statement holds not before'),
      t_latest: time('the statement holds not after'),
    },
  }),
  setting: table({
    evidence: 'line',
    says: 'a value that bounds a rule',
    columns: {
      subject: id('whose setting'),
      name: id('connect_timeout idle_timeout tcp_retries2 …'),
      value: id(''),
      unit: id(''),
    },
  }),
  event: table({
    evidence: 'line',
    says: 'anything else with a time: Kubernetes events, application and kernel log lines',
    columns: {
      subject: id('who it is about'),
      kind: id('log, or the kind of object'),
      reason: id('level or reason'),
      text: text('the message'),
    },
  }),
  owner: table({
    evidence: null,
    says: 'who had an address, from when to when',
    columns: {
      ip: id(''),
      kind: id('pod node service instance'),
      name: id('`ns/name` or a name'),
      uid: id(''),
      sandbox: id(''),
      node: id(''),
      t_from: time('best estimate of the start; NULL: unbounded'),
      t_from_earliest: time(''),
      t_from_latest: time(''),
      t_to: time('best estimate of the end; NULL: held when the evidence ends'),
      t_to_earliest: time(''),
      t_to_latest: time(''),
      certain: bool(''),
    },
  }),
  connection: table({
    evidence: null,
    says: "one life of a proxy's connection",
    columns: {
      proxy: id(''),
      process: int('counts process starts seen in the log'),
      connection_id: big(''),
      side: id('upstream downstream'),
      local_ip: id(''),
      local_port: int(''),
      remote_ip: id(''),
      remote_port: int(''),
      cluster: id(''),
      t_connecting: time(''),
      t_connected: time(''),
      t_first_use: time(''),
      t_last_use: time(''),
      t_closed: time(''),
      closed: id('fin rst timeout local goaway idle open'),
      errno: int(''),
      failure: id(''),
      streams: int(''),
      session: big('row of session'),
      owner_at_open: big('row of owner'),
      owner_at_close: big('row of owner'),
      source: int('source of the log'),
      pending: int('requests that its close reset'),
    },
  }),
  attempt: table({
    evidence: null,
    says: 'one upstream attempt of a request',
    columns: {
      request: big('row of request, where an access log has it'),
      number: int('counts the attempts of a stream'),
      connection: big('row of connection'),
      t_start: time('the connection was given to the stream'),
      t_end: time('the attempt ended'),
      outcome: id('reset answered open'),
      reason: id('reset reason, transport failure reason after a comma'),
      source: int('source of the log'),
      stream_id: id("the client's stream"),
      downstream_connection_id: big("the client's connection"),
      request_id: text('x-request-id, where the log shows it'),
      reused: bool('the connection had been used before'),
      healed: bool('a later attempt of the stream was answered'),
    },
  }),
  failure: table({
    evidence: null,
    says: 'a request or session that did not end well for its client',
    columns: {
      t: time(''),
      request_id: text(''),
      status: int(''),
      flags: id(''),
      details: id(''),
      cause: id(''),
      finding: id('fingerprint'),
      hops: id('proxies that logged it, joined by `,`'),
      probe: bool(''),
      request: big('row of request'),
    },
  }),
  chain: table({
    evidence: null,
    says: 'one hop of a failure, and how it was joined',
    columns: {
      failure: big(''),
      hop: id(''),
      view: id(''),
      target: big('row in that view'),
      joined_by: id('request-id connection-id tuple address time'),
      certain: bool(''),
      missing: id(''),
    },
  }),
  clock: table({
    evidence: null,
    says: 'the offset between two sources',
    columns: { a: int(''), b: int(''), offset_ms: double(''), error_ms: double(''), anchors: int('') },
  }),
  coverage: table({
    evidence: null,
    says: 'what a source covers, and its gaps',
    columns: { source: int(''), node: id(''), what: id('covers or gap'), t_from: time(''), t_to: time(''), lost: big('events'), why: id('') },
  }),
  problem: table({
    evidence: null,
    says: 'a region that was not understood',
    columns: { source: int(''), kind: id(''), says: id(''), line: big(''), byte_start: big(''), byte_end: big('') },
  }),
  evidence: table({
    evidence: null,
    says: 'what derived rows rest on',
    columns: {
      view: id(''),
      target: big('row in that view'),
      role: id(''),
      source: int(''),
      line: big(''),
      frame: big(''),
      byte_start: big(''),
      byte_end: big(''),
    },
  }),
} as const satisfies Record<string, Table>

export type TableName = keyof typeof tables
export type EvidenceTable = { [T in TableName]: (typeof tables)[T]['evidence'] extends null ? never : T }[TableName]

/** What a column takes: `big` and `time` are 64-bit. */
export type ValueOf<K extends ColumnKind> = K extends 'id' | 'text' ? string | null : K extends 'int' | 'double' ? number | null : K extends 'bool' ? boolean | null : bigint | null

export interface PhysicalColumn {
  readonly name: string
  readonly kind: ColumnKind
}

/** The columns of a table as stored, in order: row, span and time (evidence only), its own, and `overflow` for text that was not interned. */
export function physicalColumns(name: TableName): PhysicalColumn[] {
  const t: Table = tables[name]
  const head: PhysicalColumn[] = [{ name: 'row', kind: 'big' }]
  if (t.evidence)
    head.push(
      { name: 'source', kind: 'int' },
      ...(t.evidence === 'frame' ? [{ name: 'frame', kind: 'big' } as const] : []),
      { name: 'line', kind: 'big' },
      { name: 'byte_start', kind: 'big' },
      { name: 'byte_end', kind: 'big' },
      { name: 't', kind: 'time' },
      { name: 't_guess', kind: 'id' },
    )
  const own = Object.entries(t.columns).map(([n, c]) => ({ name: n, kind: c.kind }))
  return [...head, ...own, { name: 'overflow', kind: 'text' }]
}
