/** The registry of formats: one line each. Specific formats stand before general ones: the first to take a unit has it. */
import type { Format, FormatId } from './format.js'
import { appLog } from './app-log/parser.js'
import { cfAppLog } from './cf-app-log/parser.js'
import { diegoLog } from './diego-log/parser.js'
import { envoyAccess } from './envoy-access/parser.js'
import { envoyConfig } from './envoy-config/parser.js'
import { envoyLog } from './envoy-log/parser.js'
import { gorouterAccess } from './gorouter-access/parser.js'
import { gorouterLog } from './gorouter-log/parser.js'
import { hubbleJson } from './hubble-json/parser.js'
import { hubbleText } from './hubble-text/parser.js'
import { k8sEvents } from './k8s-events/parser.js'
import { k8sObjects } from './k8s-objects/parser.js'
import { k8sTable } from './k8s-table/parser.js'
import { k8sWatch } from './k8s-watch/parser.js'
import { pcap } from './pcap/parser.js'
import { pcapng } from './pcapng/parser.js'
import { podIpTimeline } from './pod-ip-timeline/parser.js'
import { ss } from './ss/parser.js'
import { tcpdumpText } from './tcpdump-text/parser.js'
import { textFormats } from './text/reader.js'

export const formats: readonly Format[] = [
  pcap,
  pcapng,
  ...textFormats([
    hubbleJson,
    hubbleText,
    tcpdumpText,
    podIpTimeline,
    k8sTable,
    k8sObjects,
    k8sEvents,
    k8sWatch,
    envoyConfig,
    envoyAccess,
    envoyLog,
    gorouterAccess,
    gorouterLog,
    diegoLog,
    cfAppLog,
    ss,
    appLog,
  ]),
]

export const formatById = (id: FormatId): Format | undefined => formats.find(f => f.id === id)
