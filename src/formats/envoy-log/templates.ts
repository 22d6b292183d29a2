/**
 * What Envoy and Cilium's filters print, with `{}` for each value: the first line of a message, without the
 * `[Tags: …] ` or `[C…][S…] ` prefix. Read in envoyproxy/envoy from 1.12 to 1.37 and cilium/proxy to 2026-08, and measured on 1.40.
 * Wordings that changed stand here in every form; rules read them by this text.
 */
import { ciliumTemplates } from './templates/cilium.js'
import { clusterTemplates } from './templates/cluster.js'
import { connectionTemplates } from './templates/connection.js'
import { processTemplates } from './templates/process.js'
import { requestTemplates } from './templates/request.js'

export const templates: readonly string[] = [...new Set([...connectionTemplates, ...requestTemplates, ...clusterTemplates, ...processTemplates, ...ciliumTemplates])]
