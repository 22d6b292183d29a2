/** Clusters, hosts, health and configuration: the loggers `upstream`, `eds`, `hc`, `config`, `dns`. */
import { lines } from './lines.js'

/** source/common/upstream: EDS lines carry counts, not addresses. */
const hosts = lines(`
EDS hosts or locality weights changed for cluster: {} current hosts {} priority {}
Missing ClusterLoadAssignment for {} in onConfigUpdate()
Did not receive EDS response on time, using cached ClusterLoadAssignment for cluster {}
membership update for TLS cluster {} added {} removed {}
batch membership update for TLS cluster {} across {} priorities
removing hosts for TLS cluster {} removed {}
re-creating local LB for TLS cluster {}
transport socket match, socket {} selected for host with address {}
host {} in cluster {} was ejected by the outlier detector
no healthy host
no healthy host for HTTP connection pool
no healthy host for TCP connection pool
drainConnections called for cluster {}
drainConnections called for all clusters
Erasing idle pool for host {}
Idle pool, erasing pool for host {}
Pool container empty for host {}, erasing host entry
honoring connection_pool_per_downstream_connection
Created host {} {}.
Created host {}.
addHost() adding {} {}.
addHost() adding {}
Using existing host {} {}.
Using existing host {}.
Using request override host {}.
Using metadata override host {}.
Failed to create host for {}.
original_dst_load_balancer: No downstream connection or no original_dst.
Cleaning up stale original dst hosts.
Stale original dst hosts cleanup triggered.
Keeping active address {}.
Keeping active host {}.
Removing stale address {}.
Removing stale host {}.
Local locality: {}
`)

/** source/common/upstream/cluster_manager_impl.cc, upstream_impl.cc, source/common/upstream/cds_api*.cc */
const clusters = lines(`
adding TLS cluster {}
adding TLS local cluster {}
adding TLS initial cluster {}
updating TLS cluster {}
removing TLS cluster {}
removing cluster {}
removing warming cluster {}
add/update cluster {} during init
add/update cluster {} starting warming
warming cluster {} complete
Deferring add or update for TLS cluster {}
initializing TLS cluster {} inline
initializing Primary cluster {} completed
initializing Secondary cluster {} completed
initializing secondary cluster {} completed
initializing secondary cluster {}
cm init: adding: cluster={} primary={} secondary={}
cm init: init complete: cluster={} primary={} secondary={}
cm init: all clusters initialized
cm init: initializing cds
cm init: initializing secondary clusters
maybe finish initialize state: {}
maybe finish initialize primary init clusters empty: {}
maybe finish initialize secondary init clusters empty: {}
maybe finish initialize cds api ready: {}
continue initializing secondary clusters
Cluster onInitDone pending initialize health check count {}
shutting down thread local cluster manager
Schedule destroy cluster info {}
Upstream using happy eyeballs config.
cds: add {} cluster(s), remove {} cluster(s)
cds: added/updated {} cluster(s), skipped {} unmodified cluster(s)
cds: added/updated {} cluster(s) (skipped {} unmodified cluster(s)); removed {} cluster(s)
cds: response indicates {} added/updated cluster(s), {} removed cluster(s); applying changes
cds: add/update cluster '{}'
cds: add/update cluster '{}' skipped
cds: remove cluster '{}'
subset lb: {}
`)

/** source/extensions/health_checkers, source/common/upstream/health_checker_impl.cc */
const health = lines(`
connection/stream error health_flags={}
connection/stream timeout health_flags={}
connection going away health_flags={}
connection going away goaway_code={}, health_flags={}
hc response_code={} health_flags={}
hc response={} health_flags={}
hc http response body healthcheck passed
hc grpc_status={} service_status={} health_flags={}
hc tcp connection timeout, health_flags={}, health_check_address={}
hc tcp connection unexpected closed, health_check_address={}
hc tcp healthcheck passed, health_check_address={}
hc tcp total pending buffer={}
`)

/** source/common/dns, source/extensions/network/dns_resolver, source/extensions/clusters/{strict,logical}_dns */
const names = lines(`
async DNS resolution complete for {}
starting async DNS resolution for {}
DNS refresh rate reset for {}, refresh rate {} ms
DNS hosts have changed for {}
dns resolution for {} started
dns resolution for {} completed with status {}
dns resolution for {} failed with c-ares status {}
DNS resolution for {} started
DNS resolution for {} completed with status {}
starting main thread resolve for host='{}' dns='{}' port='{}'
starting main thread resolve for host='{}' dns='{}' port='{}' timeout='{}'
main thread resolve complete for host '{}': {}
host '{}' address has changed from {} to {}
cache hit for host '{}'
cache miss for host '{}', posting to main thread
`)

/** source/extensions/config_subscription, source/common/config, source/common/listener_manager, source/common/init */
const config = lines(`
Establishing new gRPC bidi stream to {} for {}
Establishing new gRPC bidi stream for {}
Unable to establish new stream to configuration server {}
Unable to establish new stream
StreamAggregatedResources gRPC config stream to {} closed: {}, {}
StreamAggregatedResources gRPC config stream to {} closed since {}s ago: {}, {}
StreamAggregatedResources gRPC config stream closed: {}, {}
StreamAggregatedResources gRPC config stream closed since {}s ago: {}, {}
DeltaAggregatedResources gRPC config stream to {} closed: {}, {}
DeltaAggregatedResources gRPC config stream to {} closed since {}s ago: {}, {}
DeltaAggregatedResources gRPC config stream closed: {}, {}
DeltaAggregatedResources gRPC config stream closed since {}s ago: {}, {}
gRPC config stream closed: {}, {}
gRPC config for {} accepted with {} resources with version {}
gRPC config for {} rejected: {}
gRPC config: initial fetch timed out for {}
gRPC config update took {} ms! Resources names: {}
gRPC update for {} failed
gRPC mux addWatch for {}
Received gRPC message for {} at version {}
Received DeltaDiscoveryResponse for {} at version {}
Receiving gRPC updates for {} from {}
Sending DiscoveryRequest for {}: {}
Pausing discovery requests for {} (previous count {})
Pausing discovery requests for {}
Decreasing pause count on discovery requests for {} (previous count {})
Resuming discovery requests for {} (previous count {})
Resuming discovery requests for {}
No stream available to queueDiscoveryRequest for {}
No stream available to sendDiscoveryRequest for {}
Ignoring unwatched type URL {}
Delta config for {} accepted with {} resources added, {} removed
delta config for {} rejected: {}
Config update for {} (version {}) accepted with {} resources
Config for {} rejected: {}
Filesystem config refresh for {}
Filesystem config update accepted for {}: {}
Filesystem config update rejected: {}
Filesystem config update failure: in {}, {}
Updating filter config {} failed due to {}
rds: loading new configuration: config_name={} hash={}
lds: add/update listener '{}'
lds: add/update listener '{}' skipped
lds: remove listener '{}'
begin add/update listener: name={} hash={}
begin remove listener: name={}
begin stop listener: name={}
duplicate/locked listener '{}'. no add/update
unknown/locked listener '{}'. no remove
use full listener update path for listener name={} hash={}
use in place update filter chain update path for listener name={} hash={}
Create listen socket for listener {} on address {}
Set listener {} socket factory local address to {}
Initialize listener {} local-init-manager.
listener '{}' failed to bind or apply socket options: {}
all dependencies initialized. starting workers
starting worker {}
starting worker: {}
worker entering dispatch loop
worker exited dispatch loop
added {} to init manager {}
init manager {} contains no targets
init manager {} initializing
init manager {} initialized, notifying {}
init manager {} initialized, but can't notify {}
init manager {} destroyed
target {} initializing
target {} initialized, notifying {}
target {} destroyed
shared target {} initializing
shared target {} initialized, notifying {}
shared target {} destroyed
loading {} cluster(s)
loading {} listener(s)
loading {} static secret(s)
loading stats configuration
loading stats sink configuration
loading tracing configuration
static secret #{}: {}
listener #{}:
Failed to reload certificates: {}
`)

export const clusterTemplates: readonly string[] = [...hosts, ...clusters, ...health, ...names, ...config]
