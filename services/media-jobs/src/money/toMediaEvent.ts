import type { Region } from '@turnpike/config/region';
import { toUsageRecordedJson, type UsageRecorded } from '@turnpike/events/usageRecorded';
import { MEDIA_OPERATIONS } from '@turnpike/public-api/operations';
import { chargeOf, type MediaCall } from './mediaCall.ts';

/** The end of a call. A `success` has the measured units; other ends cost nothing. */
export type MediaEnding =
  | { status: 'success'; reason?: 'completed' | 'client_left'; units: number }
  | { status: 'failure'; reason: string };

/** Fields of an event beside the call. */
export interface MediaEventFields {
  region: Region;
  isStream: boolean;
  /** The call's span, if it is traced. */
  traceparent?: string | undefined;
  /** The `x-request-id` of the answer that the call was admitted for. */
  requestId?: string | undefined;
  /** Instant of Redis' clock. */
  admittedAtMs: number;
  endedAtMs: number;
}

/** The completion event of a call. Units that would cost more than was held are charged as the hold. */
export function toMediaEvent(call: MediaCall, ending: MediaEnding, fields: MediaEventFields): UsageRecorded {
  return toEvent(call, {
    ...fields,
    status: ending.status,
    reason: ending.reason ?? 'completed',
    units: ending.status === 'success' ? ending.units : 0,
  });
}

/** The event that a sweeper emits for a call whose owner is gone; it puts in the instants. */
export function toUnknownEventJson(
  call: MediaCall,
  fields: Omit<MediaEventFields, 'admittedAtMs' | 'endedAtMs'>,
): string {
  const never = { admittedAtMs: 0, endedAtMs: 0 };
  return toUsageRecordedJson(toEvent(call, { ...fields, ...never, status: 'unknown', reason: 'owner_gone', units: 0 }));
}

function toEvent(
  call: MediaCall,
  {
    region,
    isStream,
    traceparent,
    requestId,
    admittedAtMs,
    endedAtMs,
    ...ended
  }: MediaEventFields & Pick<UsageRecorded, 'status' | 'reason'> & { units: number },
): UsageRecorded {
  const formulaNanoUsd = chargeOf(ended.units, call);
  return {
    version: 2,
    callId: call.callId,
    keyId: call.keyId,
    workspaceId: call.workspaceId,
    region,
    operation: call.operation,
    // A backend has one model, by its canonical id: there is no target of another name.
    model: call.model,
    canonicalModel: call.model,
    priceVersion: call.priceVersion,
    ...ended,
    promptTokens: 0,
    cachedPromptTokens: 0,
    completionTokens: 0,
    images: 0,
    chargeNanoUsd: formulaNanoUsd < call.holdNanoUsd ? formulaNanoUsd : call.holdNanoUsd,
    formulaNanoUsd,
    holdNanoUsd: call.holdNanoUsd,
    modality: MEDIA_OPERATIONS[call.operation],
    billingUnit: call.billingUnit,
    isStream,
    startedAtMs: admittedAtMs,
    endedAtMs: Math.max(endedAtMs, admittedAtMs),
    traceparent,
    requestId,
  };
}
