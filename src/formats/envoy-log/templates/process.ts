/** The process itself: the loggers `main`, `admin`, `runtime`, `misc`, `grpc`, `lua`, `wasm`. Start-ups tell that connection ids begin anew. */
import { lines } from './lines.js'

/** source/server/server.cc, backtrace.h, drain_manager_impl.cc, hot_restarting_parent.cc */
const server = lines(`
initializing epoch {} (base id={}, hot restart version={})
initializing epoch {} (hot restart version={})
starting main dispatch loop
main dispatch loop exited
caught ENVOY_SIGTERM
caught SIGTERM
caught SIGINT
caught SIGUSR1
caught SIGUSR1. Reopening access logs.
caught and eating SIGHUP. See documentation for how to hot restart.
closing and draining listeners
starting server in drain mode
shutting down parent after drain
shutting down due to child request
shutting down admin due to child startup
shutting down server instance
terminating parent process
exiting
Notifying {} callback(s) with completion.
statically linked extensions:
  {}: {}
  {}: {} bytes: {}
HTTP header map info:
runtime: {}
server flags path: {}
buffer implementation: {}
all clusters initialized. initializing init manager
Starting admin HTTP server at {}
No admin address given, so no admin HTTP server started.
There is no configured limit to the number of allowed active downstream connections. Configure a limit in \`{}\` resource monitor.
there is no configured limit to the number of allowed active connections. Set a limit via the runtime key {}
Usage of the deprecated runtime key {}, consider switching to \`{}\` instead.This runtime key will be removed in future.
Raised file descriptor limits from {} to {}.
error initializing configuration '{}': {}
error initializing config '{} {} {}': {}
error \`{}\` initializing config '{} {} {}'
error initializing due to unexpected exception: {}
error initializing due to unknown exception
flushing stats
Envoy is not fully initialized, skipping histogram merge and flushing stats
skipping stats flush as flush is already in progress
destroying listener manager
destroyed listener manager
destroying access logger {}
destroyed access loggers
shut down dispatcher
Caught {}, suspect faulting address {}
Backtrace (use tools/stack_decode.py to get line numbers):
Envoy version: {}
#{}: {} [{}]
#{}: [{}]
assert failure: {}
Unable to find envoy.connection_handler.default factory
`)

/** source/server/admin, source/common/runtime, source/server/overload_manager_impl.cc, source/server/guarddog_impl.cc */
const admin = lines(`
admin address: {}
request complete: path: {}
change all log levels: level='{}'
change log level: name='{}' level='{}'
adding fine-grain log update, glob='{}' level='{}'
nextChunk: response.length={} more_data={} end_stream={}
RTDS has finished initialization
Clear RTDS snapshot for onConfigUpdate
Reloading RTDS snapshot for onConfigUpdate
Overload action {} became {}
Adding overload action {}
Adding resource monitor for {}
No overload action is configured for {}.
Failed to update resource {}: {}
LoadShedPoint {} is not found. Is it configured?
Watchdog MULTIKILL as {} threads are stuck.
TCMalloc stats:
Started {}
`)

/** source/common/grpc, source/common/filesystem, source/extensions/filters/http/lua, source/extensions/common/wasm */
const helpers = lines(`
Joining completionThread
Joined completionThread
completionThread running
completionThread exiting
completionThread CQ event {} {}
Client teardown, resetting streams
Finish with grpc-status code {}
notifyRemoteClose {} {}
Deferred delete
Stream cleanup with {} in-flight tags
GoogleAsyncStreamImpl destruct
Queued message to write ({} bytes)
added watch for directory: '{}' file: '{}' fd: {}
added watch for file: '{}' fd: {}
notification: fd: {} mask: {} file: {}
matched callback: directory: {}
matched callback: file: {}
script log: {}
coroutine finished
coroutine yielded
async HTTP failure
async HTTP response complete
wasm log: {}
wasm log {}: {}
Base Wasm created {} now active
Thread-Local Wasm created {} now active
~Wasm {} remaining active
`)

export const processTemplates: readonly string[] = [...server, ...admin, ...helpers]
