/** The APIs that only coding agents speak. */
export const AGENT_APIS = ['responses', 'messages'] as const;
/** All APIs in which a chat can be said. */
export const APIS = ['chat', ...AGENT_APIS] as const;
export type Api = (typeof APIS)[number];

/** A call's tokens as its client sees them. */
export interface SeenUsage {
  promptTokens: number;
  completionTokens: number;
}

/**
 * How a call ended for its client:
 * - `ok`: a whole answer, or a stream up to `[DONE]`, or to the last event of its API
 * - `error_event`: a stream that ended in an error event and without `[DONE]`
 * - `left`: the client cut it on purpose
 * - `broken`: the connection broke, before or after the status
 * - `hung`: nothing ended it within the client's patience
 * - `malformed`: an answer that the API does not describe, for instance a stream that just stops
 * - a status other than 200
 */
export type Outcome = 'ok' | 'error_event' | 'left' | 'broken' | 'hung' | 'malformed' | `${number}`;

/** All that a client knows of one call. */
export interface CallRecord {
  /** The `x-router-call-id`; undefined where no answer came. */
  callId: string | undefined;
  keyId: string;
  model: string;
  isStream: boolean;
  outcome: Outcome;
  /** Whether the answer has the headers of an admitted call. */
  isAdmitted: boolean;
  /** `message` or `code` of an error. */
  error: string | undefined;
  usage: SeenUsage | undefined;
  /** Content deltas that arrived: as many tokens at least. */
  deltas: number;
  /** Longest time between two pieces of the body that arrived, or the last one and the end. */
  longestSilenceMs: number;
  /** Unix milliseconds. */
  startedAt: number;
  endedAt: number;
}

/** How many calls ended in which way. */
export function countOutcomes<End extends string>(calls: readonly { outcome: End }[]): Map<End, number> {
  const counts = new Map<End, number>();
  for (const { outcome } of calls) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  return counts;
}
