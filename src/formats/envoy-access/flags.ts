/** Response flags: long names to short ones. Pairs as in Envoy's `source/common/stream_info/utility.h`; DR and UDO from its documentation. */
const SHORT: Readonly<Record<string, string>> = {
  FailedLocalHealthCheck: 'LH',
  NoHealthyUpstream: 'UH',
  UpstreamRequestTimeout: 'UT',
  LocalReset: 'LR',
  UpstreamRemoteReset: 'UR',
  UpstreamConnectionFailure: 'UF',
  UpstreamConnectionTermination: 'UC',
  UpstreamOverflow: 'UO',
  NoRouteFound: 'NR',
  DelayInjected: 'DI',
  FaultInjected: 'FI',
  RateLimited: 'RL',
  UnauthorizedExternalService: 'UAEX',
  RateLimitServiceError: 'RLSE',
  DownstreamConnectionTermination: 'DC',
  UpstreamRetryLimitExceeded: 'URX',
  StreamIdleTimeout: 'SI',
  InvalidEnvoyRequestHeaders: 'IH',
  DownstreamProtocolError: 'DPE',
  UpstreamMaxStreamDurationReached: 'UMSDR',
  ResponseFromCacheFilter: 'RFCF',
  NoFilterConfigFound: 'NFCF',
  DurationTimeout: 'DT',
  UpstreamProtocolError: 'UPE',
  NoClusterFound: 'NC',
  OverloadManagerTerminated: 'OM',
  OverloadManager: 'OM',
  DnsResolutionFailed: 'DF',
  DropOverload: 'DO',
  DownstreamRemoteReset: 'DR',
  UnconditionalDropOverload: 'UDO',
}

const shortOf = (flag: string): string => (Object.hasOwn(SHORT, flag) ? (SHORT[flag] as string) : flag)

/** Short names joined by `,`, in the order printed. Names that are not known (extensions add their own) stay. */
export const shortFlags = (flags: string): string => flags.split(',').map(shortOf).join(',')
