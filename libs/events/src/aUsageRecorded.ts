import { randomUUID } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import type { UsageRecorded } from './usageRecorded.ts';

/** A call that ended well, of a key and workspace of its own; what a test is about it passes. */
export function aUsageRecorded(fields: Partial<UsageRecorded> = {}): UsageRecorded {
  const { startedAtMs = Date.now() - 1_500 } = fields;
  return {
    version: 1,
    callId: uuidv7({ msecs: startedAtMs }),
    keyId: `key_${randomUUID()}`,
    workspaceId: `ws_${randomUUID()}`,
    region: 'us',
    operation: 'chat',
    model: 'small-chat@engine-1',
    canonicalModel: 'small-chat',
    priceVersion: 1,
    status: 'success',
    reason: null,
    promptTokens: 120,
    cachedPromptTokens: 20,
    completionTokens: 80,
    images: 0,
    chargeNanoUsd: 125_000n,
    formulaNanoUsd: 125_000n,
    holdNanoUsd: 900_000n,
    modality: 'text',
    billingUnit: 'token',
    isStream: true,
    startedAtMs,
    endedAtMs: startedAtMs + 1_200,
    ...fields,
  };
}

/** Makes what `aUsageRecorded` makes, for a call that is not charged. */
export function anUnchargedUsageRecorded(
  status: 'failure' | 'unknown',
  fields: Partial<UsageRecorded> = {},
): UsageRecorded {
  const nothing = {
    promptTokens: 0,
    cachedPromptTokens: 0,
    completionTokens: 0,
    chargeNanoUsd: 0n,
    formulaNanoUsd: 0n,
  };
  return aUsageRecorded({ status, reason: 'router_lost', ...nothing, ...fields });
}

/** Two images that were made and charged. */
export function aMediaUsageRecorded(fields: Partial<UsageRecorded> = {}): UsageRecorded {
  return aUsageRecorded({
    version: 2,
    operation: 'images.generations',
    model: 'small-image@backend-1',
    canonicalModel: 'small-image',
    modality: 'image',
    billingUnit: 'image',
    units: 2,
    promptTokens: 0,
    cachedPromptTokens: 0,
    completionTokens: 0,
    isStream: false,
    ...fields,
  });
}
