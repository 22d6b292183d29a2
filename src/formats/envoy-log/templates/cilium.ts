/** Cilium's own filters (cilium/proxy, logger `filter`): most lines carry no connection id; they join by thread and neighbourhood. */
import { lines } from './lines.js'

/** cilium/socket_option_*.cc, cilium/bpf_metadata.{cc,h}: which source address an upstream socket gets, and why. */
const sockets = lines(`
Skipping restore of local address on socket: {} - destination is local {}
Skipping restore of local address on socket: {} - source address is same as destination address {}
Skipping restore of local address on socket: {} - no source address
Restoring local address (original source) on socket: {} ({} -> {})
Restoring local address (original destination) on socket {} ({} -> {})
Skipping setting socket ({}) source address, state != STATE_PREBIND
Socket address family is not available, can not choose source address
Cilium SourceAddressSocketOption(): source_identity: {}, linger_time: {}, source_addresses: {}/{}/{}
Cilium SourceAddressSocketOption(): source_identity: {}, source_addresses: {}/{}/{}
Setting SO_LINGER option on socket {} to {} seconds
Setting SO_LINGER option on socket {} failed: {}
hashKey port: {}
hashKey after with original source address: {}, original_source_address: {}
hashKey with source identity: {}, source_identity: {}
Cilium CiliumMarkSocketOption(): mark: {} (magic mark: {}, cluster: {}, ID: {})
Set socket ({}) option SO_MARK to {} (magic mark: {}, id: {}, cluster: {})
Skipping setting socket ({}) option SO_MARK, state != STATE_PREBIND
Failed to set socket option SO_MARK to {}, capability CAP_NET_ADMIN needed: {}
Cilium IpTransparentSocketOption()
Successfully set socket option {} on socket: {}
Skipping setting socket ({}) option IP_TRANSPARENT, state != STATE_PREBIND
Failed to set socket option {}, capability CAP_NET_ADMIN needed: {}
Socket option failure. Failed to set {}: {}
Cilium CiliumPolicyFilterState(): source_identity: {}, ingress: {}, port: {}, pod_ip: {}, ingress_policy_name: {}, proxy_id: {}, sni: "{}"
INGRESS POD IP: {}, source IP: {}, sni: "{}"
EGRESS POD IP: {}, destination IP: {} sni: "{}"
Non-IP addresses: src: {} dst: {}
onAccept (socket={})
cilium.bpf_metadata: mark {}, ingress_source_identity {}, source_identity {}, is_ingress {}, is_l7lb_ {}, ingress_policy_name {}, port {}, pod_ip {}
cilium.bpf_metadata (north/south L7 LB): No local Ingress IP source address configured for the family of {}
cilium.bpf_metadata (north/south L7 LB): Unknown local Ingress IP source address configured: {}
cilium.bpf_metadata (east/west L7 LB): Non-local pod can not use original source address: {}
cilium.bpf_metadata: detected proxylib l7 proto: {}
bpf_metadata: Identity for IP defaults to WORLD
`)

/** cilium/network_filter.cc, l7policy.cc, filter_state_cilium_policy.cc, ipcache.cc */
const policy = lines(`
cilium.network: destination address: {}
cilium.network: in upstream callback
cilium.network: enforceNetworkPolicy
cilium.network: onNewConnection
cilium.network: onData {} bytes, end_stream: {}
cilium.network: policy ALLOW on id: {} port: {} sni: "{}"
cilium.network: policy DENY on id: {} port: {} sni: "{}"
cilium.network: Passing SNI {} to upstream connection
cilium.network: SNI: {}
cilium.network: no policy configured
cilium.network: Cilium policy filter state not found
cilium.network: Cilium policy filter state not found for pod {}, defaulting to DENY
cilium.network: Cilium destination filter state not found
cilium.network: Non-IP destination address: {}
cilium.network (egress): No destination address
cilium.l7policy: {} decodeHeaders()
cilium.l7policy: {} encodeHeaders()
cilium.l7policy: {} from {} policy lookup for endpoint {} for port {}: {}
cilium.l7policy: upstream decodeHeaders() - skipping - no downstream connection
cilium.l7policy: upstream decodeHeaders() - skipping - shadow connection
cilium.l7policy: upstream encodeHeaders() - skipping - no downstream connection
cilium.l7policy: upstream encodeHeaders() - skipping - shadow connection
cilium.l7policy: PAUSING until upstream connection has been established
cilium.l7policy: RESUMING after upstream connection has been established
cilium.l7policy: Upstream connection with same 5-tuple closed, passing connection close to downstream response
cilium.l7policy: Pod {} HTTP {} policy ALLOW on proxy_id: {} id: {} port: {}
cilium.l7policy: Pod {} HTTP {} policy DENY on proxy_id: {} id: {} port: {}
cilium.l7policy: Pod {} HTTP {} policy enforcement skipped (no HTTP rules) on proxy_id: {} id: {} port: {}
cilium.l7policy: Ingress {} HTTP policy ALLOW on proxy_id: {} id: {}  port: {}
cilium.l7policy: Ingress {} HTTP egress policy DROP on proxy_id: {} id: {}  port: {}
cilium.l7policy: Ingress {} HTTP ingress policy DROP on proxy_id: {} id: {} port: {}
Ingress network policy {} DROP for source identity and destination reserved ingress identity: {} proxy_id: {} port: {} sni: "{}"
Egress network policy {} DROP for reserved ingress identity and destination identity: {} proxy_id: {} port: {} sni: "{}"
Pod policy DENY on proxy_id: {} id: {} port: {} sni: "{}"
cilium.ipcache: {} has ID {}
cilium.ipcache: {} has cached ID {}
cilium.ipcache: Looking up key: {}
cilium.ipcache: bpf map lookup failed: {}
cilium.ipcache: Opened ipcache at {}
`)

/** cilium/network_policy.cc, host_map.cc, grpc_subscription.cc */
const updates = lines(`
NetworkPolicyMapImpl::onConfigUpdate({}), {} resources, version: {}, stream {}
NetworkPolicyMapImpl::onConfigUpdate({}), {} added resources, {} removed resources, version: {}, stream {}
Received NetworkPolicy for endpoint {}, endpoint_ip {} in onConfigUpdate() version {}
Received NetworkPolicy {} for endpoint {}, endpoint_ip {} in onConfigUpdate() version {}
NetworkPolicy update for version {} failed: {}
New NetworkPolicy stream {}
PolicyHostMap::onConfigUpdate({}), {} resources, version: {}
Cilium updating network policy for endpoint {}
Cilium updating or keeping network policy for endpoint {}
Cilium xDS update for {} on stream {} failed with reason {}, keeping existing config: {}
`)

export const ciliumTemplates: readonly string[] = [...sockets, ...policy, ...updates]
