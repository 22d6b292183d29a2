/** The Kubernetes service that a cluster's name tells of, where it tells of one alone. */

/** `outbound|8080||cart.shop.svc.cluster.local`, `inbound-vip|8080|http|cart.shop.svc…`: Istio. */
const HOST = /(?:^|\|)([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)\.([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)\.svc(?:\.|$)/
/** `shop/cart/8080/6a5b…`: Contour. `shop/cart:8080`: Cilium. */
const PATH = /^([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)\/([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)(?::[\w-]{1,63}|\/[\w-]{1,63}(?:\/[\w-]{1,63})?)$/
/** Clusters of Envoy Gateway name a route, whose backends may be several services. */
const ROUTES: ReadonlySet<string> = new Set(['httproute', 'grpcroute', 'tcproute', 'tlsroute', 'udproute'])

/** `ns/service`, or null. */
export function serviceOf(cluster: string): string | null {
  const host = HOST.exec(cluster)
  if (host) return `${host[2]}/${host[1]}`
  const path = PATH.exec(cluster)
  return path && !ROUTES.has(path[1] as string) ? `${path[1]}/${path[2]}` : null
}

/** The namespace of `ns/name`, or null. */
export function namespaceOf(name: string): string | null {
  const at = name.indexOf('/')
  return at > 0 ? name.slice(0, at) : null
}
