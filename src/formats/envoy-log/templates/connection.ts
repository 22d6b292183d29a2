/**
 * Connections, sockets, TLS, listeners and TCP sessions: the loggers `connection`, `conn_handler`, `misc`, and `filter`
 * where tcp_proxy or a listener filter writes. What a rule reads stands first in each group; older wordings stand beside the newer.
 */
import { lines } from './lines.js'

/** source/common/network/connection_impl.cc, connection_impl_base.cc, multi_connection_base_impl.cc, raw_buffer_socket.cc */
const sockets = lines(`
connecting to {}
connection in progress
connected
connected on local interface '{}'
close during connected callback
immediate connect error: {}
immediate connection error: {}
delayed connect error: {}
delayed connection error: {}
raising immediate error
raising bind error
failed to bind to {}: {}
Bind failure. Failed to bind to {}: {}
remote close
remote early close
read: rst close from peer
write: rst close from peer.
closing data_to_write={} type={}
closing socket: {}
Not closing conn, socket is not open
closeSocket: socket is not open, returning
connection is closing through the filter manager
connection is closing not through the filter manager
connection closing type=AbortReset, setting LocalReset to the detected close type.
both sides are half closed or it is final close after flush state
disconnect
current connecting state: {}
write flush complete
setting delayed close timer with timeout {} ms
enabling delayed close timer with timeout {} ms
early triggered delayed close
triggered delayed close
onAboveWriteBufferHighWatermark
onBelowWriteBufferLowWatermark
onAboveReadBufferHighWatermark
onBelowReadBufferLowWatermark
raising connection event {}
socket event: {}
read ready
read ready. dispatch_buffered_data={}
write ready
writing {} bytes, end_stream {}
readDisable: disable={} disable_count={} state={} buffer_length={}
readDisable: enabled={} disable={} state={}
read returns: {}
read error: {}, code: {}
read error: {}
write returns: {}
write error: {}, code: {}
write error: {}
rst setting so_linger=0 failed on connection {}
connections={}
connection={}
addresses={}
address={}
C[{}] address={}
Scheduling next attempt.
Trying another connection.
Disabling next attempt timer.
Disabling next attempt timer due to final connection.
sort address with happy_eyeballs config.
close_action: remote close:{}, local close:{}, close socket:{}
delaying close: pending filters: {}
maybeClose(): remote_close_pending_={}, local_close_pending_={}, filter_pending_close_count_={}
Internal client connection buffer size {}.
server has not initialized internal listener registry, close the connection
`)

/** The socket's errno without any id: it belongs to the next line of the same thread. */
const errors = lines(`
Unknown error code {} details {}
EINVAL error. Socket is open: {}, IPv{}.
Setting {} option on socket failed: {}
Failed to set unsupported option on socket
Skipping inapplicable socket option {}
getifaddrs error: {}
Dropping truncated UDP packet with size: {}.
`)

/** source/common/tls/ssl_socket.cc (to 1.30 source/extensions/transport_sockets/tls), context_impl.cc, default_validator.cc */
const tls = lines(`
remote address:{},{}
TLS error: {}
SSL error: {}:{}:{}:{}
SSL shutdown: rc={}
handshake expecting {}
handshake error: {}
handshake complete
handshake continued asynchronously
async handshake completion error
Async cert validation completed
Async cert selection completed
errno:{}:{}
ssl error occurred while read: {}
ssl error occurred while write: {}
ssl read returns: {}
ssl read {} bytes
ssl read {} bytes into {} slices
ssl write returns: {}
verify cert failed: SAN matcher, certificate SANs are [{}]
verify cert failed: SAN matcher
verify cert failed: verify SAN list
verify cert failed: cert hash and spki
verify cert failed: empty cert chain
verify cert failed: no cert chain
verify cert failed: {}
Create NotReadySslSocket
Secret is updated.
`)

/** source/common/listener_manager/active_*.cc (to 1.19 source/server/connection_handler_impl.cc), tcp_listener_impl.cc */
const listeners = lines(`
new connection from {}
new connection
adding to cleanup list
closing connection from {}: no matching filter chain found
closing connection from {}: no filters
closing connection from {}: listener connection limit reached for {}
closing connection: no matching filter chain found
closing connection: no filters
closing connection: listener connection limit reached for {}
New connection accepted while missing configuration. Close socket and stop the iteration onAccept.
fallback to default listener filter
listener filter times out after {} ms
replacing listener {}
connection on event {}
tcp connection on event {}
TcpListener accepted {} new connections.
The listener cannot be enabled since it's not bind to port.
The listener cannot be disable since it's not bind to port.
recv failed: remote closed
recv failed: {}: {}
tls inspector: new connection accepted
tls inspector: recv: {}
tls inspector: done: {}
tls inspector: parseClientHello failed: {}, {}: {}
tls:onServerName(), requestedServerName: {}
tls:onALPN(), ALPN: {}
http inspector: new connection accepted
http inspector: set application protocol to {}
http inspector: recv: {}
proxy_protocol: New connection accepted
Proxy protocol failure: {}
failed to read proxy protocol
original_dst: new connection accepted
original_dst: New connection accepted
original_dst: set destination to {}
original_dst: set destination from metadata to {}
original_dst: set destination from filter state to {}
original_dst: set source from filter state to {}
`)

/** source/common/tcp_proxy/tcp_proxy.cc, network-level rbac and rate limits */
const sessions = lines(`
new tcp proxy session
Creating connection to cluster {}
TCP:onUpstreamEvent(), requestedServerName: {}
TCP:onUpstreamEvent(): propagating upstream RST to downstream
TCP:onUpstreamEvent() Flushing early data buffer to upstream
connect timeout
Session timed out
max connection duration reached
Cluster not found {} and no on demand cluster set.
Cluster not found {}
On demand cluster {} is found. Establishing connection.
On demand cluster {} is missing
On demand cluster {} was not found before timeout.
establishUpstreamConnection called: cluster_name={}, route_={}
establishUpstreamConnection: thread_local_cluster={}
onData: received {} bytes, end_stream={}, has upstream {}, receive_before_connect_={}, connect_mode_={}
downstream connection received {} bytes, end_stream={}, has upstream {}
downstream connection received {} bytes, end_stream={}
upstream connection received {} bytes, end_stream={}
on downstream event {}, has upstream = {}
draining the upstream connection
receive_before_connect is enabled
receive_before_connect is enabled (legacy)
receive_before_connect enabled with max buffer size: {}
Early data received. Length: {}
Early data buffer exceeded max size {}, read-disabling downstream
Initial data received, establishing upstream connection. early_data_buffer_.length()={}
Delaying upstream connection establishment until TLS handshake completes
Delaying upstream connection establishment until initial data received
waiting for downstream TLS handshake before connecting
downstream TLS handshake complete
downstream TLS handshake completed via Connected event
downstream connection is not TLS, treating TLS handshake mode as IMMEDIATE
local_rate_limit: rate limiting connection
local_rate_limit: rate limiting socket. remote address: {}
connection will be delay denied in {}ms
checking connection: requestedServerName: {}, sourceIP: {}, directRemoteIP: {},remoteIP: {}, localAddress: {}, ssl: {}, dynamicMetadata: {}
`)

export const connectionTemplates: readonly string[] = [...sockets, ...errors, ...tls, ...listeners, ...sessions]
