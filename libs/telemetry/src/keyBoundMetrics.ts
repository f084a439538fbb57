import type { Meter } from '@opentelemetry/api';

/** Pairs of bound and key that one process names: a label costs memory for as long as the process lives. */
const MAX_NAMED = 500;
/** Stands for every key after those. */
const OTHER_KEYS = 'other';

/** Bounds that keep one key from using up a shared resource, apart from the key's own limits and balance. */
export type KeyBound =
  | 'body_memory'
  | 'refused_bodies'
  | 'refused_recordings'
  | 'prompt_counts'
  | 'token_counts'
  | 'look_ups'
  | 'job_look_ups'
  | 'contents'
  | 'queued_jobs'
  | 'cancelled_runs'
  | 'image_fetches'
  | 'streams';

export interface KeyBoundMetrics {
  /** A request of this key was refused, or cut, by a bound on what one key may take of what belongs to all. */
  keyBoundHit(bound: KeyBound, keyId: string): void;
}

/** The counter of bounds that keys ran into, by key id: whom to ask what is going on. Made once, at start. */
export function createKeyBoundMetrics(meter: Meter): KeyBoundMetrics {
  const hits = meter.createCounter('turnpike_key_bounds_total', {
    description: 'Requests refused or cut because one key would take too much of what belongs to all.',
  });
  const named = new Set<string>();
  return {
    keyBoundHit(bound, keyId) {
      const name = `${bound} ${keyId}`;
      if (named.size < MAX_NAMED) named.add(name);
      hits.add(1, { bound, key: named.has(name) ? keyId : OTHER_KEYS });
    },
  };
}
