/** The views as users and checks from outside rely on them: name, and SQL type where it is not the one of its kind. Columns may be added, none renamed. */

type Columns = Readonly<Record<string, string>>

/** `a b:BIGINT` as columns; VARCHAR where no type is given, ports and `*_ms` by their names, `t` and `t_…` instants. */
function columns(text: string): Columns {
  const typeOf = (name: string): string => (name.endsWith('_port') ? 'INTEGER' : name.endsWith('_ms') ? 'DOUBLE' : name === 't' || name.startsWith('t_') ? 'BIGINT' : 'VARCHAR')
  return Object.fromEntries(
    text
      .trim()
      .split(/\s+/)
      .map(c => {
        const [name = '', type] = c.split(':')
        return [name, type ?? typeOf(name)]
      }),
  )
}

const evidence = (place: 'line' | 'frame', own: string): Columns => ({
  ...columns(`row:BIGINT source:INTEGER ${place}:BIGINT byte_start:BIGINT byte_end:BIGINT t t_utc:TIMESTAMP_NS t_guess:VARCHAR`),
  ...columns(own),
})
const derived = (own: string): Columns => columns(`row:BIGINT ${own}`)

export const PUBLIC_VIEWS: Readonly<Record<string, Columns>> = {
  source: columns('id:INTEGER path format bytes:BIGINT sha256 records:BIGINT problems:BIGINT node namespace pod container proxy zone t_first t_last'),
  flow: evidence(
    'line',
    `node verdict direction is_reply:BOOLEAN src_ip src_port dst_ip dst_port protocol tcp_flags src_identity:BIGINT dst_identity:BIGINT src_labels dst_labels src_namespace src_pod
     dst_namespace dst_pod src_xlated_ip event_type:INTEGER event_subtype:INTEGER drop_reason:INTEGER drop_reason_desc trace_point policy_match proxy_port l7_type l7_protocol l7_status:INTEGER
     l7_method l7_url l7_latency_ms tunnel_src_ip tunnel_dst_ip uuid summary`,
  ),
  request: evidence(
    'line',
    `proxy kind phase t_start t_end duration_ms method path protocol status:INTEGER flags details termination_details transport_failure bytes_received:BIGINT bytes_sent:BIGINT upstream_host
     upstream_ip upstream_port upstream_local_ip upstream_local_port upstream_cluster downstream_remote_ip downstream_remote_port downstream_local_ip downstream_local_port sni route authority
     user_agent x_forwarded_for request_id connection_id:BIGINT upstream_connection_id:BIGINT attempts:INTEGER router_error instance_id probe:BOOLEAN ambiguous`,
  ),
  proxy_line: evidence('line', 'proxy thread level logger file file_line:INTEGER connection_id:BIGINT stream_id template args text'),
  packet: evidence('frame', 'src_ip src_port dst_ip dst_port protocol seq:BIGINT ack:BIGINT tcp_flags length:INTEGER kind session:BIGINT detail'),
  session: evidence(
    'frame',
    `capture:INTEGER client_ip client_port server_ip server_port t_syn t_established t_first t_last t_client_last t_server_last client_bytes:BIGINT server_bytes:BIGINT client_packets:INTEGER
     server_packets:INTEGER client_retransmissions:INTEGER server_retransmissions:INTEGER t_client_unacked t_server_unacked keepalive_probes:INTEGER zero_windows:INTEGER icmp_errors:INTEGER
     ended ended_by mid_stream:BOOLEAN history sni`,
  ),
  socket_seen: evidence('line', 'tool netns state local_ip local_port remote_ip remote_port send_queue:BIGINT receive_queue:BIGINT timer retransmits:INTEGER detail'),
  pod_fact: evidence('line', 'subject kind uid sandbox ip node what reason exact:BOOLEAN t_earliest t_latest'),
  setting: evidence('line', 'subject name value unit'),
  event: evidence('line', 'subject kind reason text'),
  owner: derived('ip kind name uid sandbox node t_from t_from_earliest t_from_latest t_to t_to_earliest t_to_latest certain:BOOLEAN'),
  connection: derived(
    `proxy process:INTEGER connection_id:BIGINT side local_ip local_port remote_ip remote_port cluster t_connecting t_connected t_first_use t_last_use t_closed closed errno:INTEGER failure
     streams:INTEGER session:BIGINT owner_at_open:BIGINT owner_at_close:BIGINT`,
  ),
  attempt: derived('request:BIGINT number:INTEGER connection:BIGINT t_start t_end outcome reason'),
  failure: derived('t request_id status:INTEGER flags details cause finding hops probe:BOOLEAN request:BIGINT'),
  chain: columns('failure:BIGINT hop view row:BIGINT joined_by certain:BOOLEAN missing'),
  clock: derived('a:INTEGER b:INTEGER offset_ms error_ms anchors:INTEGER'),
  coverage: derived('source:INTEGER node what t_from t_to lost:BIGINT why'),
  problem: derived('source:INTEGER kind says line:BIGINT byte_start:BIGINT byte_end:BIGINT'),
  evidence: columns('view row:BIGINT role source:INTEGER line:BIGINT frame:BIGINT byte_start:BIGINT byte_end:BIGINT'),
}
