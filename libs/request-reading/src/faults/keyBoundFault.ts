import type { KeyBound } from '@turnpike/telemetry/keyBoundMetrics';

/** The key would take more than its part of what belongs to all keys. Nothing was run, and nothing is charged. */
export interface KeyBoundFault {
  kind: 'key_bound_reached';
  bound: Exclude<KeyBound, 'look_ups'>;
  retryAfterSeconds: number;
  /** The bound, in its own unit, where the refusal says it. */
  limit?: number;
}
