import type { NanoUsd } from '@turnpike/money/nanoUsd';
import type { GuardFault } from '@turnpike/public-api/authFault';
import type { RateLimitState } from '@turnpike/public-api/headers';
import type { KeyBound } from '@turnpike/telemetry/keyBoundMetrics';
import type { BodyFault } from './bodyFault.ts';
import type { RequestFault } from './requestFault.ts';

/** Why a model of this name is not served. */
export type ModelFault =
  | { kind: 'unknown_model'; didYouMean: string[]; suggestedModel?: string }
  /** Known here, but no engine of the region is configured for it. */
  | { kind: 'model_without_capacity'; model: string }
  | { kind: 'model_disabled'; model: string };

/** Why gate 4 refuses a call. */
export type AdmissionFault =
  | { kind: 'account_on_hold' }
  | { kind: 'billing_not_provisioned' }
  | { kind: 'spend_cap_reached' }
  | {
      kind: 'insufficient_balance';
      maxUsageCostNanoUsd: NanoUsd;
      keyRemainingNanoUsd: NanoUsd | null;
      heldNanoUsd: NanoUsd;
      /** The limit that the hold did not fit into. */
      limitedBy: 'key_budget' | 'credit' | 'monthly_cap';
      affordableOutputTokens: number;
    }
  | { kind: 'rate_limited'; limiter: 'requests' | 'tokens'; retryAfterMs: number; rateLimit: RateLimitState }
  /** Redis gave no decision, or the spool is full: nothing is admitted that could not be recorded. */
  | { kind: 'admission_unavailable' }
  | { kind: 'catalog_unavailable' };

/** Why an engine gave no answer, or a bad one. */
export type EngineFault =
  | { kind: 'no_healthy_engine' }
  | { kind: 'engine_busy' }
  /** More calls want an engine than there is room for, and this one's turn would not come, or did not, in time. */
  | { kind: 'overloaded'; retryAfterSeconds: number }
  /** An engine took the call and failed it: a client must not repeat it blindly. */
  | { kind: 'engine_failed' }
  /** The prompt does not fit the window: the engine's sentence says by how much. */
  | { kind: 'context_too_long'; message: string }
  /** The engine refused the request as the client's mistake. */
  | { kind: 'engine_refused'; message: string; param: string | null }
  | { kind: 'forced_tool_not_called' }
  /** Whole answers under way take the memory there is for them, or for this key's. */
  | { kind: 'no_room_for_answer' }
  /** The bytes of an image passed our check and could not be decoded by the engine. */
  | ImageFault;

/** An image that cannot be fetched or decoded. It says no more: from outside, all reasons are the same. */
export interface ImageFault {
  kind: 'image_unusable';
}

/** The key would take more than its part of what belongs to all keys. Nothing was run, and nothing is charged. */
export interface KeyBoundFault {
  kind: 'key_bound_reached';
  bound: Exclude<KeyBound, 'look_ups'>;
  retryAfterSeconds: number;
}

/** Why inference is refused to a key that is let in, or fails. */
export type CallFault = BodyFault | RequestFault | ModelFault | AdmissionFault | KeyBoundFault | EngineFault;

export type InferenceFault = GuardFault | CallFault;
