import type { ServiceSettings } from '@turnpike/local-stack/toServiceEnvironments';

/**
 * Deadlines of a second or less, by which calls are refused that would be served a moment later: a machine that runs several
 * stacks at once stands still for longer. And limits for one address, as all clients of a test have the same, and for one
 * key, whose rows a test may wait for many at a time, and which sends in a moment what clients send in hours. Tests of such
 * a limit set it themselves.
 */
export const PATIENT = {
  edge: { AUTH_TIMEOUT_MS: '5000' },
  auth: { AUTH_TIMEOUT_MS: '5000', LIMITS: { ROUTER_TIMEOUT_MS: 5_000, LOOK_UPS_PER_SECOND: 1_000 } },
  catalog: { AUTH_TIMEOUT_MS: '5000', LIMITS: { MODEL_LIST_PER_IP_PER_MINUTE: 6_000, LOOK_UPS_PER_SECOND: 1_000 } },
  'model-router': {
    AUTH_TIMEOUT_MS: '5000',
    LEDGER_TIMEOUT_MS: '5000',
    REDIS_TIMEOUT_MS: '5000',
    LIMITS: { REFUSED_BODIES_BYTES_PER_SECOND: 1_000_000_000 },
  },
  'usage-ledger': { AUTH_TIMEOUT_MS: '5000', LEDGER_TIMEOUT_MS: '5000', LIMITS: { LOOK_UPS_PER_SECOND: 1_000 } },
  'media-jobs': {
    AUTH_TIMEOUT_MS: '5000',
    LEDGER_TIMEOUT_MS: '5000',
    REDIS_TIMEOUT_MS: '5000',
    LIMITS: { LOOK_UPS_PER_SECOND: 1_000 },
  },
} satisfies ServiceSettings;
