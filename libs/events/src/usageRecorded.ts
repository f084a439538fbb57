import { nonNegativeNanoUsdSchema } from '@turnpike/money/nanoUsd';
import { OPERATION_NAMES } from '@turnpike/public-api/operations';
import { TRACEPARENT_PATTERN } from '@turnpike/telemetry/traceparent';
import { z } from 'zod';

const tokenCount = z
  .number()
  .int()
  .min(0)
  .max(2 ** 31 - 1);
const instantMs = z.number().int().min(0).max(8.64e15);
const id = z.string().min(1).max(128);

/**
 * How one admitted call ended: written by model-router when it ends, read by usage-ledger, which turns it into exactly
 * one row. Carries ids, counts and prices, never text. Partitioned by `keyId`.
 */
export const usageRecorded = {
  topic: 'usage.recorded.v1',
  schema: z.object({
    version: z.literal(1),
    /** The `x-router-call-id` the client saw, a UUIDv7; the idempotency key of the event. */
    callId: z.uuid({ version: 'v7' }),
    keyId: id,
    workspaceId: id,
    region: z.enum(['us', 'eu']),
    operation: z.enum(OPERATION_NAMES),
    /** Routing target that served the call: not stable across packaging changes. */
    model: id,
    canonicalModel: id,
    /** Catalog version whose prices the call was admitted under. */
    priceVersion: z
      .number()
      .int()
      .min(1)
      .max(2 ** 31 - 1),
    status: z.enum(['success', 'failure', 'unknown']),
    /** Why it is not a success, or how a success ended early: a short code for operators, never text from a client or engine. */
    reason: z.string().max(64).nullable(),
    promptTokens: tokenCount,
    /** Part of `promptTokens` that the engine read from its prefix cache. */
    cachedPromptTokens: tokenCount,
    completionTokens: tokenCount,
    images: tokenCount,
    /** The charge: the smaller of the formula and the hold. */
    chargeNanoUsd: nonNegativeNanoUsdSchema,
    formulaNanoUsd: nonNegativeNanoUsdSchema,
    holdNanoUsd: nonNegativeNanoUsdSchema,
    modality: z.literal('text'),
    billingUnit: z.literal('token'),
    isStream: z.boolean(),
    /** Admission, by Redis' clock; the call belongs to this instant's hour and month. */
    startedAtMs: instantMs,
    endedAtMs: instantMs,
    /** The router's span of the call, if it was traced. A value of another form is dropped: a call counts without its trace. */
    traceparent: z.string().regex(TRACEPARENT_PATTERN).optional().catch(undefined),
  }),
};

export type UsageRecorded = z.output<typeof usageRecorded.schema>;

/** The event as JSON: amounts become decimal strings, the form `parseUsageRecorded` reads. */
export function toUsageRecordedJson(event: UsageRecorded): string {
  return JSON.stringify(event, (_name, value: unknown) => (typeof value === 'bigint' ? value.toString() : value));
}

/** Reads an event. Throws an Error that says what is wrong if the text is not one of the versions known here. */
export function parseUsageRecorded(text: string): UsageRecorded {
  const result = usageRecorded.schema.safeParse(JSON.parse(text));
  if (result.success) return result.data;
  throw new Error(
    result.error.issues.map((issue) => `${issue.path.join('.') || 'event'}: ${issue.message}`).join('; '),
  );
}
