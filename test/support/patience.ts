import type { ServiceSettings } from '@turnpike/local-stack/toServiceEnvironments';

/**
 * Longer deadlines and higher limits than in production, for tests. Deadlines of a second or less would refuse calls, because a machine
 * with several stacks pauses for longer. Limits for one address are higher because all clients of a test have the same address.
 * Limits for one key are higher because a test sends in a moment what clients send in hours. It may also wait for many rows of a key
 * at a time. Tests of such a limit set it themselves.
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
