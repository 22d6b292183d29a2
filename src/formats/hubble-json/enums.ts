/**
 * The enumerations of Hubble's flow messages (Cilium 1.18 to 1.20): numbers, names, and what the command line prints for
 * them. A JSON flow carries the name, or the bare number where its writer knew none.
 */
import type { JsonValue } from '../text/json.js'

interface Enumeration {
  /** Names by number; 0 stands for unknown and has none. */
  readonly names: ReadonlyMap<number, string>
  /** The name of 0. */
  readonly zero: string
}

const enumeration = (zero: string, names: readonly string[], more: readonly (readonly [number, string])[] = []): Enumeration => ({
  zero,
  names: new Map([...names.map((name, i) => [i + 1, name] as const), ...more]),
})

export const VERDICT = enumeration('VERDICT_UNKNOWN', ['FORWARDED', 'DROPPED', 'ERROR', 'AUDIT', 'REDIRECTED', 'TRACED', 'TRANSLATED'])
export const DIRECTION = enumeration('TRAFFIC_DIRECTION_UNKNOWN', ['INGRESS', 'EGRESS'])
export const L7_TYPE = enumeration('UNKNOWN_L7_TYPE', ['REQUEST', 'RESPONSE', 'SAMPLE'])
export const LOST_SOURCE = enumeration('UNKNOWN_LOST_EVENT_SOURCE', ['PERF_EVENT_RING_BUFFER', 'OBSERVER_EVENTS_QUEUE', 'HUBBLE_RING_BUFFER'])

/** Observation points by the number that the datapath uses, which is the sub type of a trace event. */
const TRACE = [
  'TO_ENDPOINT',
  'TO_PROXY',
  'TO_HOST',
  'TO_STACK',
  'TO_OVERLAY',
  'FROM_ENDPOINT',
  'FROM_PROXY',
  'FROM_HOST',
  'FROM_STACK',
  'FROM_OVERLAY',
  'FROM_NETWORK',
  'TO_NETWORK',
  'FROM_CRYPTO',
  'TO_CRYPTO',
] as const
/** The message gives TO_ENDPOINT another number: its 0 was taken. */
export const TRACE_POINT = enumeration('UNKNOWN_POINT', TRACE.slice(1), [[101, 'TO_ENDPOINT']])
/** Sub type of a trace event by the name of its point. */
export const TRACE_SUBTYPE: ReadonlyMap<string, number> = new Map(TRACE.map((name, i) => [name, i]))

/** What `policy_match_type` is called. */
export const POLICY_MATCH = ['none', 'L3-Only', 'L3-L4', 'L4-Only', 'all', 'L3-Proto', 'Proto-Only'] as const

/** TCP flags in the order in which Hubble prints them. */
export const TCP_FLAGS = ['SYN', 'ACK', 'RST', 'FIN', 'PSH', 'URG', 'ECE', 'CWR', 'NS'] as const

/** `event_type.type`. */
export const EVENT = { drop: 1, capture: 3, trace: 4, policyVerdict: 5, socket: 7, l7: 129 } as const

/** Number, name (206 has none) and printed text of each drop reason. */
const REASONS: readonly (readonly [number, string | null, string])[] = [
  [130, 'INVALID_SOURCE_MAC', 'Invalid source mac'],
  [131, 'INVALID_DESTINATION_MAC', 'Invalid destination mac'],
  [132, 'INVALID_SOURCE_IP', 'Invalid source ip'],
  [133, 'POLICY_DENIED', 'Policy denied'],
  [134, 'INVALID_PACKET_DROPPED', 'Invalid packet'],
  [135, 'CT_TRUNCATED_OR_INVALID_HEADER', 'CT: Truncated or invalid header'],
  [136, 'CT_MISSING_TCP_ACK_FLAG', 'Fragmentation needed'],
  [137, 'CT_UNKNOWN_L4_PROTOCOL', 'CT: Unknown L4 protocol'],
  [138, 'CT_CANNOT_CREATE_ENTRY_FROM_PACKET', "CT: Can't create entry from packet"],
  [139, 'UNSUPPORTED_L3_PROTOCOL', 'Unsupported L3 protocol'],
  [140, 'MISSED_TAIL_CALL', 'Missed tail call'],
  [141, 'ERROR_WRITING_TO_PACKET', 'Error writing to packet'],
  [142, 'UNKNOWN_L4_PROTOCOL', 'Unknown L4 protocol'],
  [143, 'UNKNOWN_ICMPV4_CODE', 'Unknown ICMPv4 code'],
  [144, 'UNKNOWN_ICMPV4_TYPE', 'Unknown ICMPv4 type'],
  [145, 'UNKNOWN_ICMPV6_CODE', 'Unknown ICMPv6 code'],
  [146, 'UNKNOWN_ICMPV6_TYPE', 'Unknown ICMPv6 type'],
  [147, 'ERROR_RETRIEVING_TUNNEL_KEY', 'Error retrieving tunnel key'],
  [148, 'ERROR_RETRIEVING_TUNNEL_OPTIONS', 'Error retrieving tunnel options'],
  [149, 'INVALID_GENEVE_OPTION', 'Invalid Geneve option'],
  [150, 'UNKNOWN_L3_TARGET_ADDRESS', 'Unknown L3 target address'],
  [151, 'STALE_OR_UNROUTABLE_IP', 'Stale or unroutable IP'],
  [152, 'NO_MATCHING_LOCAL_CONTAINER_FOUND', 'No matching local container found'],
  [153, 'ERROR_WHILE_CORRECTING_L3_CHECKSUM', 'Error while correcting L3 checksum'],
  [154, 'ERROR_WHILE_CORRECTING_L4_CHECKSUM', 'Error while correcting L4 checksum'],
  [155, 'CT_MAP_INSERTION_FAILED', 'CT: Map insertion failed'],
  [156, 'INVALID_IPV6_EXTENSION_HEADER', 'Invalid IPv6 extension header'],
  [157, 'IP_FRAGMENTATION_NOT_SUPPORTED', 'IP fragmentation not supported'],
  [158, 'SERVICE_BACKEND_NOT_FOUND', 'Service backend not found'],
  [160, 'NO_TUNNEL_OR_ENCAPSULATION_ENDPOINT', 'No tunnel/encapsulation endpoint (datapath BUG!)'],
  [161, 'FAILED_TO_INSERT_INTO_PROXYMAP', 'NAT 46/64 not enabled'],
  [162, 'REACHED_EDT_RATE_LIMITING_DROP_HORIZON', 'Reached EDT rate-limiting drop horizon'],
  [163, 'UNKNOWN_CONNECTION_TRACKING_STATE', 'Unknown connection tracking state'],
  [164, 'LOCAL_HOST_IS_UNREACHABLE', 'Local host is unreachable'],
  [165, 'NO_CONFIGURATION_AVAILABLE_TO_PERFORM_POLICY_DECISION', 'No configuration available to perform policy decision'],
  [166, 'UNSUPPORTED_L2_PROTOCOL', 'Unsupported L2 protocol'],
  [167, 'NO_MAPPING_FOR_NAT_MASQUERADE', 'No mapping for NAT masquerade'],
  [168, 'UNSUPPORTED_PROTOCOL_FOR_NAT_MASQUERADE', 'Unsupported protocol for NAT masquerade'],
  [169, 'FIB_LOOKUP_FAILED', 'FIB lookup failed'],
  [170, 'ENCAPSULATION_TRAFFIC_IS_PROHIBITED', 'Encapsulation traffic is prohibited'],
  [171, 'INVALID_IDENTITY', 'Invalid identity'],
  [172, 'UNKNOWN_SENDER', 'Unknown sender'],
  [173, 'NAT_NOT_NEEDED', 'NAT not needed'],
  [174, 'IS_A_CLUSTERIP', 'Is a ClusterIP'],
  [175, 'FIRST_LOGICAL_DATAGRAM_FRAGMENT_NOT_FOUND', 'First logical datagram fragment not found'],
  [176, 'FORBIDDEN_ICMPV6_MESSAGE', 'Forbidden ICMPv6 message'],
  [177, 'DENIED_BY_LB_SRC_RANGE_CHECK', 'Denied by LB src range check'],
  [178, 'SOCKET_LOOKUP_FAILED', 'Socket lookup failed'],
  [179, 'SOCKET_ASSIGN_FAILED', 'Socket assign failed'],
  [180, 'PROXY_REDIRECTION_NOT_SUPPORTED_FOR_PROTOCOL', 'Proxy redirection not supported for protocol'],
  [181, 'POLICY_DENY', 'Policy denied by denylist'],
  [182, 'VLAN_FILTERED', 'VLAN traffic disallowed by VLAN filter'],
  [183, 'INVALID_VNI', 'Incorrect VNI from VTEP'],
  [184, 'INVALID_TC_BUFFER', 'Failed to update or lookup TC buffer'],
  [185, 'NO_SID', 'No SID was found for the IP address'],
  [186, 'MISSING_SRV6_STATE', 'SRv6 state was removed during tail call'],
  [187, 'NAT46', 'L3 translation from IPv4 to IPv6 failed (NAT46)'],
  [188, 'NAT64', 'L3 translation from IPv6 to IPv4 failed (NAT64)'],
  [189, 'AUTH_REQUIRED', 'Authentication required'],
  [190, 'CT_NO_MAP_FOUND', 'No conntrack map found'],
  [191, 'SNAT_NO_MAP_FOUND', 'No nat map found'],
  [192, 'INVALID_CLUSTER_ID', 'Invalid ClusterID'],
  [193, 'UNSUPPORTED_PROTOCOL_FOR_DSR_ENCAP', 'Unsupported packet protocol for DSR encapsulation'],
  [194, 'NO_EGRESS_GATEWAY', 'No egress gateway found'],
  [195, 'UNENCRYPTED_TRAFFIC', 'Traffic is unencrypted'],
  [196, 'TTL_EXCEEDED', 'TTL exceeded'],
  [197, 'NO_NODE_ID', 'No node ID found'],
  [198, 'DROP_RATE_LIMITED', 'Rate limited'],
  [199, 'IGMP_HANDLED', 'IGMP handled'],
  [200, 'IGMP_SUBSCRIBED', 'IGMP subscribed'],
  [201, 'MULTICAST_HANDLED', 'Multicast handled'],
  [202, 'DROP_HOST_NOT_READY', 'Host datapath not ready'],
  [203, 'DROP_EP_NOT_READY', 'Endpoint policy program not available'],
  [204, 'DROP_NO_EGRESS_IP', 'No Egress IP configured'],
  [205, 'DROP_PUNT_PROXY', 'Punt to proxy'],
  [206, null, 'No device'],
  [207, 'DROP_FRAG_NOT_FOUND_WORLD', 'First logical datagram fragment not found from world'],
]
/** 207 has a name only from Cilium 1.20 on; earlier ones write and print the number, which may then mean something else. */
export const DROP_REASON = enumeration(
  'DROP_REASON_UNKNOWN',
  [],
  REASONS.flatMap(([n, name]) => (name === null || n > 206 ? [] : [[n, name] as const])),
)

interface DropReason {
  readonly number: number | null
  readonly name: string
}

/** Texts of Cilium before 1.10, and one that two numbers share. Their number is null where a later version gave it another meaning. */
const OLDER_TEXTS: readonly (readonly [string, DropReason])[] = [
  ['Invalid packet', { number: null, name: 'INVALID_PACKET_DROPPED' }],
  ['Policy denied (L3)', { number: 133, name: 'POLICY_DENIED' }],
  ['Policy denied (L4)', { number: null, name: 'POLICY_DENIED' }],
  ['Policy denied (CIDR)', { number: null, name: 'POLICY_DENIED' }],
  ['CT: Missing TCP ACK flag', { number: 136, name: 'CT_MISSING_TCP_ACK_FLAG' }],
  ['Not a local target address', { number: 151, name: 'STALE_OR_UNROUTABLE_IP' }],
  ['Failed to insert into proxymap', { number: 161, name: 'FAILED_TO_INSERT_INTO_PROXYMAP' }],
]
const BY_TEXT: ReadonlyMap<string, DropReason> = new Map([...REASONS.map(([number, name, text]) => [text, { number, name: name ?? String(number) }] as const), ...OLDER_TEXTS])

/** `Policy denied`, `Policy denied, 3` (an extended error) or `206, 0` (a reason without text). null where the text names no reason. */
export function dropReasonOf(text: string): DropReason | null {
  const plain = /^(\d{1,3})(?:, -?\d{1,3})?$/.exec(text)
  if (plain) return { number: Number(plain[1]), name: DROP_REASON.names.get(Number(plain[1])) ?? String(Number(plain[1])) }
  return BY_TEXT.get(text) ?? BY_TEXT.get(text.replace(/, -?\d{1,3}$/, '')) ?? null
}

/** Reserved identities by name. */
export const RESERVED_IDENTITY: ReadonlyMap<string, bigint> = new Map([
  ['host', 1n],
  ['world', 2n],
  ['unmanaged', 3n],
  ['health', 4n],
  ['init', 5n],
  ['remote-node', 6n],
  ['kube-apiserver', 7n],
  ['ingress', 8n],
  ['world-ipv4', 9n],
  ['world-ipv6', 10n],
  ['overlay-to-encrypt', 11n],
  ['aggregate-cluster', 11n],
])

/** The name of an enum value as JSON gives it: a name stays as it is, a known number gets its name, an unknown one is printed; unknown (0) is null. */
export function enumName(value: JsonValue | undefined, e: Enumeration): string | null {
  if (typeof value === 'string' && !/^\d{1,10}$/.test(value)) return value === '' || value === e.zero ? null : value
  const n = typeof value === 'string' ? Number(value) : value
  if (typeof n !== 'number' || n === 0) return null
  return e.names.get(n) ?? String(n)
}
