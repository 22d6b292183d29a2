/** Secrets in excerpts: shown as `***`. The span and its hash still prove them. */

const RULES: readonly (readonly [RegExp, string])[] = [
  // Header dumps and JSON: 'authorization', 'Bearer …' · "cookie":"…" · authorization: Basic …
  [/((?:proxy-)?authorization|(?:set-)?cookie|x-api-key|x-auth-token|x-amz-security-token)(['"]?\s{0,4}[:=,]\s{0,4}['"]?)[^'",\n]{1,4096}/gi, '$1$2***'],
  [/\b(Bearer|Basic) [A-Za-z0-9._~+/=-]{8,4096}/g, '$1 ***'],
  [/\b(password|passwd|secret|api_?key|access_token|id_token|refresh_token|token)(=|"\s{0,4}:\s{0,4}")[^&\s"',}]{1,4096}/gi, '$1$2***'],
  [/\beyJ[A-Za-z0-9_-]{10,4096}\.[A-Za-z0-9_-]{10,4096}\.[A-Za-z0-9_-]{0,4096}/g, '***'],
  // The query string of a request path or URL.
  [/(\/[^\s"'?]{0,2048}\?)[^\s"']{1,8192}/g, '$1***'],
]

/** Masks credentials, cookies, tokens and query strings. */
export function mask(text: string): { text: string; masked: boolean } {
  let out = text
  for (const [pattern, by] of RULES) out = out.replace(pattern, by)
  return { text: out, masked: out !== text }
}
