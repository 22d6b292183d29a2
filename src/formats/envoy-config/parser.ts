/** Envoy's configuration: bootstrap and discovery files, dumps of the admin interface and of istioctl. Objects of Kubernetes that configure Envoy are read with the others (k8s-objects). */
import type { Sink } from '../../model/sink.js'
import type { MemberContext } from '../format.js'
import { peekObjects } from '../k8s-objects/peek.js'
import { get, getObject, getString, isJsonObject, type JsonObject } from '../text/json.js'
import type { Recogniser, TextFormat, Unit } from '../text/reader.js'
import { isConfiguration } from './kinds.js'
import { settingsOf } from './settings.js'
import { jsonTree, type Node, yamlTree } from './tree.js'
import { writeSettings } from './write.js'

interface Document {
  /** The last line was not blank. */
  dense: boolean
}

/** Keys that begin a bootstrap, and those with which other documents may begin, too. */
const FIRST = /^(?:static_resources|dynamic_resources|bootstrap_extensions|overload_manager|application_log_config): {0,8}(?:\{\})?\s{0,8}$/
const PERHAPS_FIRST = /^(?:admin|node|resources|version_info|layered_runtime|cluster_manager|stats_config|tracing): {0,8}(?:\{\}|"[^"]{0,200}"|'[^']{0,200}')?\s{0,8}$/
/** They count at the top of a member. */
const TOP = 4096
const KEY = /^[a-z][a-z_0-9]{2,60}:(?:\s|$)/
/** What a document of Envoy has and others have not. */
const OURS =
  /^(?:static_resources|dynamic_resources|bootstrap_extensions):|"(?:static_resources|staticResources|dynamic_resources|dynamicResources|filter_?[cC]hains|virtual_?[hH]osts|connect_?[tT]imeout)"|type\.googleapis\.com\/envoy\./m
const TYPE = 'type.googleapis.com/envoy.'

function recogniser(context: MemberContext): Recogniser<Document> {
  const file = fileOf(context.path)
  const put = (documents: readonly Node[] | null, unit: Unit, sink: Sink) => writeSettings(settingsOf(documents ?? []), unit, file, sink)
  return {
    match: ({ text, span }) => (FIRST.test(text) || (span.byteStart < TOP && PERHAPS_FIRST.test(text)) ? { dense: true } : null),
    holds: (document, line) => {
      const before = document.dense
      document.dense = line.trim() !== ''
      return !document.dense || line.startsWith(' ') || line.startsWith('#') || line.startsWith('- ') || KEY.test(line) || (before && /^['"\]}]/.test(line))
    },
    write: (_, unit, sink) => {
      const documents = yamlTree(unit.text)
      if (!OURS.test(unit.text)) sink.problem('not-recognised', 'YAML that is no configuration of Envoy', unit.span)
      else if (!documents) sink.problem('bad-record', 'YAML that is malformed', unit.span)
      else put(documents, unit, sink)
    },
    list: head => head.includes('"configs"'),
    json: (o, unit, sink) => {
      if (!isEnvoys(o)) return false
      put(jsonTree(unit.text), unit, sink)
      return true
    },
    skips: line => line.startsWith('# ') || line === '#',
  }
}

const fileOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1).replace(/\.gz$/, '')

/** A bootstrap, a part of a dump, a discovery response, or a resource as istioctl prints them. */
function isEnvoys(o: JsonObject): boolean {
  if (getString(o, '@type')?.startsWith(TYPE)) return true
  if (has(o, 'static_resources', 'staticResources', 'dynamic_resources', 'dynamicResources')) return true
  return [...listIn(o, 'configs'), ...listIn(o, 'resources')].some(c => getString(c, '@type')?.startsWith(TYPE)) || isResource(o)
}

function isResource(o: JsonObject): boolean {
  if (getString(o, 'name') === null) return false
  if (has(o, 'filter_chains', 'filterChains') && getObject(o, 'address')) return true
  if (has(o, 'virtual_hosts', 'virtualHosts')) return true
  return has(o, 'connect_timeout', 'connectTimeout') && has(o, 'type', 'cluster_type', 'clusterType', 'load_assignment', 'loadAssignment')
}

const has = (o: JsonObject, ...keys: readonly string[]): boolean => keys.some(k => get(o, k) !== undefined)
const listIn = (o: JsonObject, key: string): readonly JsonObject[] => {
  const v = get(o, key)
  return Array.isArray(v) ? v.filter(isJsonObject) : []
}

function isOfObjects(head: Buffer): boolean {
  const { objects } = peekObjects(head)
  return objects.length > 0 && objects.every(o => isConfiguration(o.kind, o.object))
}

export const envoyConfig: TextFormat = {
  id: 'envoy-config',
  title: 'Envoy configuration: bootstrap, config dump, EnvoyProxy, Telemetry and policies',
  names: [/(?:envoy|bootstrap|config_dump|config-dump|envoyproxy|telemetry)[^/]{0,100}\.(?:ya?ml|json)(\.gz)?$/i],
  collect: 'kubectl exec -n <namespace> <pod> -c <istio-proxy or envoy> -- curl -s localhost:<15000 or 19000>/config_dump > config_dump.json',
  split: 'none',
  confirms: head => OURS.test(head.toString('latin1')) || isOfObjects(head),
  refines: { id: 'k8s-objects', when: isOfObjects },
  recogniser: context => recogniser(context) as Recogniser,
}
