import { type CallTimeouts, LONGEST_MEDIA_SILENCE_MS, toLongestSilenceMs } from '@turnpike/config/longestAnswers';

/** The settings that bound how long services may be silent. */
export interface UpstreamTimeouts extends CallTimeouts {
  AUTH_TIMEOUT_MS: number;
}

/** A service that the edge passes requests on to. */
interface UpstreamEntry {
  /** The setting with its address. */
  setting: `${Uppercase<string>}_URL`;
  /** Its longest silence, ms: a little more than the service allows itself. Beyond it the service hangs. */
  silenceMs: (timeouts: UpstreamTimeouts) => number;
  /** The family of its errors, also for the edge's error when it cannot be reached. */
  errors: 'bare' | 'flat' | 'envelope';
}

export const UPSTREAMS = {
  auth: { setting: 'AUTH_URL', silenceMs: ({ AUTH_TIMEOUT_MS }) => AUTH_TIMEOUT_MS + 2_500, errors: 'bare' },
  catalog: { setting: 'CATALOG_URL', silenceMs: ({ AUTH_TIMEOUT_MS }) => AUTH_TIMEOUT_MS + 2_500, errors: 'bare' },
  // The router works on a response for as long as its settings let it.
  'model-router': { setting: 'ROUTER_URL', silenceMs: toLongestSilenceMs, errors: 'envelope' },
  'media-jobs': { setting: 'MEDIA_URL', silenceMs: () => LONGEST_MEDIA_SILENCE_MS, errors: 'flat' },
  'usage-ledger': {
    setting: 'LEDGER_URL',
    silenceMs: ({ AUTH_TIMEOUT_MS }) => AUTH_TIMEOUT_MS + 6_500,
    errors: 'flat',
  },
} as const satisfies Record<string, UpstreamEntry>;

export type Upstream = keyof typeof UPSTREAMS;
export const UPSTREAM_NAMES = Object.keys(UPSTREAMS) as Upstream[];
/** The settings with the addresses of the upstreams. */
export type UpstreamUrls = Record<(typeof UPSTREAMS)[Upstream]['setting'], string>;
