import { ApiError } from '@turnpike/public-api/apiError';
import type { KeyBound } from '@turnpike/telemetry/keyBoundMetrics';

/** A request field that cannot be served. `param` names it as the client wrote it. */
export interface RequestFault {
  kind: 'invalid_request';
  message: string;
  param: string | null;
}

export const invalidRequest = (param: string | null, message: string): ApiError<RequestFault> =>
  new ApiError({ kind: 'invalid_request', message, param });

/** The key would take more than its part of what belongs to all keys. Nothing was run, and nothing is charged. */
export interface KeyBoundFault {
  kind: 'key_bound_reached';
  bound: Exclude<KeyBound, 'look_ups'>;
  retryAfterSeconds: number;
  /** The bound, in its own unit, where the refusal says it. */
  limit?: number;
}
