/** Pools, streams and requests: the loggers `pool`, `client`, `router`, `http`, `http2`, and `filter` where an HTTP filter writes. */
import { lines } from './lines.js'

/** source/common/conn_pool, source/common/http/conn_pool_base.cc, source/common/tcp/conn_pool.cc */
const pool = lines(`
trying to create new connection
creating a new connection (connecting={})
creating a new connection
creating new preconnect connection
not creating a new connection: connection constrained
not creating a new connection, shouldCreateNewConnection returned false.
connection creation failed
queueing stream due to no available connections (ready={} busy={} connecting={})
queueing stream due to no available connections
queueing request due to no available connections
using existing fully connected connection
using existing early data ready connection
using existing connection
attaching to next stream
attaching to next request
assigning connection
moving to ready
connection released
connection destroyed
creating stream
creating stream for early data.
0-RTT connected with capacity {}
destroying stream: {} active remaining, readyForStream {}, currentUnusedCapacity {}
destroying stream: {} remaining
Decreasing stream capacity by {}
Increasing stream capacity by {}
saw upstream close connection
response complete
response before request complete
client disconnected, failure reason: {}
client disconnected
unexpected data from upstream, closing connection
purge pending, failure reason: {}
connect timeout
per client idle timeout
remote goaway
max connection duration reached, start draining
max connection duration reached, Draining
maximum streams per connection, start draining
maximum streams per connection, DRAINING
maximum streams per connection, Draining
maximum requests per connection, DRAINING
maximum requests per connection
max streams overflow
max requests overflow
max pending streams overflow
max pending requests overflow
cancelling pending stream
cancelling pending request
canceling pending connection
canceling pending request
closing idle client {} for cluster {}
draining ready client {} for cluster {}
draining early data client {} for cluster {}
draining busy client {} for cluster {}
draining active client {} for cluster {}
draining connections
in draining state
destroying primary client
destroying draining client
moving primary to draining
invoking {} idle callback(s) - is_draining_for_deletion_={}
invoking idle callbacks - is_draining_for_deletion_={}
invoking drained callbacks
Calling idle callbacks - drained={}
Creating Http/3 client
Allocating TCP conn pool
predictive shouldCreateNewConnection returns {} for pending {} active {} connecting_and_connected_capacity {} connecting_capacity {} ratio {}
per-upstream shouldCreateNewConnection returns {} for pending {} active {} connecting_and_connected_capacity {} connecting_capacity {} ratio {}
`)

/** source/common/http/codec_client.cc */
const client = lines(`
connecting
connected
disconnect. resetting {} pending requests
Request reset. Reason {}
request reset
encode complete
waiting for encode to complete
Error dispatching received data: {}
protocol error: {}
premature response
Response header validation failed: {}
Request header validation failed: {}
`)

/** source/common/router/router.cc, upstream_request.cc, source/extensions/upstreams */
const router = lines(`
cluster '{}' match for URL '{}'
no cluster match for URL '{}'
no route match for URL '{}'
unknown cluster '{}'
route was resolved but final route list did not match incoming request
route was resolved but final route did not match incoming request
router decoding headers:
router decoding trailers:
pool ready
canceled pool request
cancelling pool request
resetting pool request
upstream request aborted during connection pool newStream
Attached upstream connection [C{}] to downstream connection [C{}]
upstream headers complete: end_stream={}
upstream response headers:
end_stream: {}, upstream response headers:
upstream response trailers:
upstream 1xx ({}).
upstream 100 continue
upstream reset: reset reason: {}, transport failure reason: {}
upstream reset: reset reason: {}
upstream reset: reset reason {}
upstream timeout
upstream per try timeout
upstream per try idle timeout
ignored upstream per try timeout due to already started downstream response
performing retry
Executing cleanup(): resetting retry_state_ and disabling timers
retry or shadow overflow: retry_state_ reset, buffering set to false
retry or shadow overflow: No upstream requests, resetting and calling cleanup()
retry or shadow overflow: Upstream requests exist, deferring to normal upstream failure handling
The request payload has at least {} bytes data which exceeds buffer limit {}. Giving up on buffering.
The request payload has at least {} bytes data which exceeds buffer limit {}. Give up on the retry/shadow.
attempting internal redirect
Internal redirect succeeded
Internal redirect failed
Internal redirect failed: {}
Router filter: cluster DROP_OVERLOAD configuration: {}
The request is dropped by DROP_OVERLOAD
The configured DROP_OVERLOAD ratio is 100%, drop everything unconditionally.
proxying {} bytes
proxying trailers
buffering {} bytes
buffering trailers
Doing asynchronous host selection
Completing asynchronous host selection [{}]
Continuing stream now that host resolution is complete
Aborting stream after host resolution is complete
`)

/** source/common/http/conn_manager_impl.cc, filter_manager.cc, async_client_impl.cc */
const http = lines(`
new stream
request headers complete (end_stream={}):
request trailers complete:
request headers validation failed
request trailers validation failed:
request end stream timestamp recorded
request end stream
Sending local reply with details {}
Preparing local reply with details {}
Sending local reply with details {} directly to the encoder
Executing sending local reply.
Resetting stream due to {}. Prior headers have already been sent
Resetting stream due to {}. onLocalReply requested reset.
Resetting stream. Response data too large and headers have already been sent
encoding headers via codec (end_stream={}):
encoding trailers via codec:
encoding metadata via codec:
encoding 100 continue headers via codec:
encoding 1xx continue headers via codec:
encoding data via codec (size={} end_stream={})
stream reset: reset reason: {}, response details: {}
stream reset
Codec completed encoding stream.
Codec timed out flushing stream
Codec low level reset
doEndStream() resetting stream
drain closing connection
closing connection due to connection close header
idle timeout
max connection duration reached
max requests per connection reached
HTTP1-safe max connection duration is configured -- skipping drain sequence.
Stream max duration time reached
disabling keepalive due to envoy overload
dispatch error: {}
downstream HTTP flood from IP '{}': {}
Read-disabling downstream stream due to filter callbacks.
Read-enabling downstream stream due to filter callbacks.
Disabling upstream stream due to downstream stream watermark.
Enabling upstream stream due to downstream stream watermark.
Disabling upstream stream due to filter callbacks.
Enabling upstream stream due to filter callbacks.
request data too large watermark exceeded
response data too large watermark exceeded
setting buffer limit to {}
Setting new filter manager buffer limit: {}
converting to headers only
converting to headers and body (body not available yet)
async http request response headers (end_stream={}):
async http request response data (length={} end_stream={})
async http request response trailers:
continuing filter chain: filter={}
cannot continue filter chain: filter={}
decode headers called: filter={} status={}
decode data called: filter={} status={}
decode trailers called: filter={} status={}
encode headers called: filter={} status={}
encode data called: filter={} status={}
encode trailers called: filter={} status={}
encodeHeaders filter iteration aborted due to local reply: filter={}
`)

/** source/common/http/http1/codec_impl.cc, http2/codec_impl.cc */
const codec = lines(`
Closing connection due to keepalive timeout
sent goaway code={}
sent reset code={}
remote reset: {}
invalid frame: {} on stream {}
invalid http2: {}
stream {} closed: {}
stream closed: {}
recv frame type={}
recv frame type=DATA stream_id={}
recv frame type=GOAWAY
recv frame type=PING
recv frame type=RST_STREAM stream_id={}
about to recv frame type={}, flags={}, stream_id={}
about to recv frame type={}, flags={}
about to send frame type={}, flags={}
sent frame type={}, stream_id={}, length={}
sent frame type={}
track inbound frame type={} flags={} length={} padding_length={}
Sending keepalive PING {}
recv PING ACK {}
Skipping PING: already awaiting PING ACK
send buffer over limit
send buffer under limit
recv buffer over limit
recv buffer under limit
pending stream flush timeout
Recouping {} bytes of flow control window for stream {}.
Http2Visitor: remaining data payload: {}, stream_id: {}, end_stream: {}
Http2Visitor: remaining data payload: {}, end_stream: {}
Http2Visitor invoking stream close listener for {}
Http2Visitor::OnBeginDataForStream({}, {})
Http2Visitor::OnEndHeadersForStream({})
Http2Visitor::OnEndStream({})
Http2Visitor::OnFrameHeader({}, {}, {}, {})
Stream {} {}, unconsumed_bytes {} read_disable_count {}
Stream {} processing buffered data.
updating connection-level initial window size to {}
setting stream-level initial window size to {}
setting max concurrent streams to {}
setting HPACK table size to {}
adding custom settings parameter with id {} to {}
error sending data frame: Too many frames in the outbound queue
error sending frames: Too many frames in the outbound queue.
Resetting stream due to premature H/1 upstream close.
removing ignored upgrade headers.
completed header: key={} value={}
parsing {} bytes
parsed {} bytes
dispatching {} bytes
dispatched {} bytes
direct-dispatched {} bytes
message begin
message complete
onHeadersCompleteImpl
Server: onHeadersComplete size={}
Client: onHeadersComplete size={}
headers complete
body size={}
send data: bytes={}
status_code {}
Sending fully qualified URL: {}
deferred reset stream
`)

/** HTTP filters that answer or delay a request themselves. */
const filters = lines(`
fault: delaying request {}ms
rate limit descriptors size: {}
rate limit status, status={}
rate limit fail, status={} msg={}
populate descriptor: {}
ext_authz filter is buffering the request
ext_authz filter finished buffering the request
ext_authz filter finished buffering the request since {}
ext_authz is clearing route cache
ext_authz cluster '{}' does not exist
enforced allowed, matched policy {}
enforced denied, matched policy {}
enforced allowed
enforced denied
shadow allowed, matched policy {}
shadow denied, matched policy {}
no engine, allowed by default
allowed by default or by policy
checking request: requestedServerName: {}, sourceIP: {}, directRemoteIP: {}, remoteIP: {},localAddress: {}, ssl: {}, headers: {}
Called Mixer::Filter : {}
`)

export const requestTemplates: readonly string[] = [...pool, ...client, ...router, ...http, ...codec, ...filters]
