import { regionSchema } from '@turnpike/config/region';
import { nonNegativeNanoUsdSchema } from '@turnpike/money/nanoUsd';
import { BILLING_UNITS, MODALITIES, type Modality, UNITS_OF } from '@turnpike/public-api/modality';
import { MEDIA_OPERATIONS, OPERATION_NAMES } from '@turnpike/public-api/operations';
import { TRACEPARENT_PATTERN } from '@turnpike/telemetry/traceparent';
import { z } from 'zod';

const count = z
  .number()
  .int()
  .min(0)
  .max(2 ** 31 - 1);
const instantMs = z.number().int().min(0).max(8.64e15);
const id = z.string().min(1).max(128);

const MEDIA_OPERATION_NAMES = Object.keys(MEDIA_OPERATIONS) as (keyof typeof MEDIA_OPERATIONS)[];

const callSchema = z.object({
  /** 1 is text alone, and is what text is written in: a ledger of the version before reads no other. 2 has `units`. */
  version: z.literal([1, 2]),
  /** The `x-router-call-id` the client saw, a UUIDv7 in lower case; the idempotency key of the event. */
  callId: z.uuid({ version: 'v7' }).toLowerCase(),
  keyId: id,
  workspaceId: id,
  region: regionSchema,
  operation: z.enum([...OPERATION_NAMES, ...MEDIA_OPERATION_NAMES]),
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
  promptTokens: count,
  /** Part of `promptTokens` that the engine read from its prefix cache. */
  cachedPromptTokens: count,
  completionTokens: count,
  images: count,
  /** The charge: the smaller of the formula and the hold. */
  chargeNanoUsd: nonNegativeNanoUsdSchema,
  formulaNanoUsd: nonNegativeNanoUsdSchema,
  holdNanoUsd: nonNegativeNanoUsdSchema,
  modality: z.enum(MODALITIES),
  billingUnit: z.enum(BILLING_UNITS),
  /**
   * Measured amount of media: images, characters or whole seconds, also if the price is per minute. Absent for text.
   */
  units: count.optional(),
  isStream: z.boolean(),
  /** Admission, by Redis' clock; the call belongs to this instant's hour and month. */
  startedAtMs: instantMs,
  endedAtMs: instantMs,
  /** The router's span of the call, if it was traced. A value of another form is dropped: a call counts without its trace. */
  traceparent: z.string().regex(TRACEPARENT_PATTERN).optional().catch(undefined),
  /** The `x-request-id` of the answer, if the edge made it. A value of another form is dropped. */
  requestId: z.uuid({ version: 'v7' }).toLowerCase().optional().catch(undefined),
});

/**
 * How one admitted call ended: written when it ends by whoever admitted it, read by usage-ledger, which turns it into exactly
 * one row. Carries ids, counts and prices, never text. Partitioned by `keyId`.
 */
export const usageRecorded = {
  topic: 'usage.recorded.v1',
  schema: callSchema.superRefine((call, context) => {
    const problem = findMisfit(call);
    if (problem) context.addIssue({ code: 'custom', path: [problem[0]], message: problem[1] });
  }),
};

/** The first field that does not fit the others, and why. */
function findMisfit(call: z.output<typeof callSchema>): [keyof UsageRecorded, string] | undefined {
  const { version, operation, modality, billingUnit, units, promptTokens, completionTokens, images } = call;
  const madeBy: Modality =
    operation in MEDIA_OPERATIONS ? MEDIA_OPERATIONS[operation as keyof typeof MEDIA_OPERATIONS] : 'text';
  if (version === 1 && modality !== 'text') return ['version', 'must be 2 for media'];
  if (modality !== madeBy) return ['modality', `must be ${madeBy} for ${operation}`];
  if (!UNITS_OF[modality].includes(billingUnit))
    return ['billingUnit', `must be one of ${UNITS_OF[modality].join(', ')} for ${modality}`];
  if ((units === undefined) !== (modality === 'text'))
    return ['units', 'must be there for media, and for nothing else'];
  if (modality !== 'text' && promptTokens + completionTokens + images > 0)
    return ['modality', 'must be text where tokens or images in a prompt are counted'];
  return undefined;
}

export type UsageRecorded = z.output<typeof usageRecorded.schema>;

/** The event as JSON: amounts become decimal strings, the form `parseUsageRecorded` reads. */
export function toUsageRecordedJson(event: UsageRecorded): string {
  // Named fields, because a replacer function is called for every field and takes several times as long.
  const { chargeNanoUsd, formulaNanoUsd, holdNanoUsd } = event;
  return JSON.stringify({
    ...event,
    chargeNanoUsd: String(chargeNanoUsd),
    formulaNanoUsd: String(formulaNanoUsd),
    holdNanoUsd: String(holdNanoUsd),
  });
}

/** Reads an event. Throws an Error that says what is wrong if the text is not one of the versions known here. */
export function parseUsageRecorded(text: string): UsageRecorded {
  const value: unknown = JSON.parse(text);
  const plain = readPlain(value as Record<string, unknown> | null);
  if (plain) return plain;
  const result = usageRecorded.schema.safeParse(value);
  if (result.success) return result.data;
  throw new Error(
    result.error.issues.map((issue) => `${issue.path.join('.') || 'event'}: ${issue.message}`).join('; '),
  );
}

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const AMOUNT = /^\d{1,18}$/;
const REGIONS: ReadonlySet<unknown> = new Set(callSchema.shape.region.options);
const STATUSES: ReadonlySet<unknown> = new Set(callSchema.shape.status.options);
const TEXT_OPERATIONS: ReadonlySet<unknown> = new Set(OPERATION_NAMES);

const isWhole = (value: unknown, least: number, most: number): value is number =>
  Number.isInteger(value) && (value as number) >= least && (value as number) <= most;
const isCount = (value: unknown): value is number => isWhole(value, 0, 2 ** 31 - 1);
const isInstant = (value: unknown): value is number => isWhole(value, 0, 8.64e15);
const isId = (value: unknown): value is string => typeof value === 'string' && value.length > 0 && value.length <= 128;
const isAmount = (value: unknown): value is string => typeof value === 'string' && AMOUNT.test(value);

/**
 * The event of text as nearly all are, in a quarter of the time that the schema takes for it. Undefined where this is in any doubt: the
 * schema alone says what is wrong, and it takes whatever this takes, as the same.
 */
function readPlain(value: Record<string, unknown> | null): UsageRecorded | undefined {
  if (typeof value !== 'object' || value === null || value.version !== 1 || value.units !== undefined) return undefined;
  const { callId, keyId, workspaceId, region, operation, model, canonicalModel, priceVersion, status, reason } = value;
  const { promptTokens, cachedPromptTokens, completionTokens, images, isStream, traceparent, requestId } = value;
  const { chargeNanoUsd, formulaNanoUsd, holdNanoUsd, modality, billingUnit, startedAtMs, endedAtMs } = value;
  const isPlain =
    typeof callId === 'string' &&
    UUID_V7.test(callId) &&
    isId(keyId) &&
    isId(workspaceId) &&
    isId(model) &&
    isId(canonicalModel) &&
    REGIONS.has(region) &&
    TEXT_OPERATIONS.has(operation) &&
    STATUSES.has(status) &&
    isWhole(priceVersion, 1, 2 ** 31 - 1) &&
    (reason === null || (typeof reason === 'string' && reason.length <= 64)) &&
    isCount(promptTokens) &&
    isCount(cachedPromptTokens) &&
    isCount(completionTokens) &&
    isCount(images) &&
    isAmount(chargeNanoUsd) &&
    isAmount(formulaNanoUsd) &&
    isAmount(holdNanoUsd) &&
    modality === 'text' &&
    billingUnit === 'token' &&
    typeof isStream === 'boolean' &&
    isInstant(startedAtMs) &&
    isInstant(endedAtMs) &&
    (traceparent === undefined || (typeof traceparent === 'string' && TRACEPARENT_PATTERN.test(traceparent))) &&
    (requestId === undefined || (typeof requestId === 'string' && UUID_V7.test(requestId)));
  if (!isPlain) return undefined;
  return {
    version: 1,
    callId,
    keyId,
    workspaceId,
    region: region as UsageRecorded['region'],
    operation: operation as UsageRecorded['operation'],
    model,
    canonicalModel,
    priceVersion,
    status: status as UsageRecorded['status'],
    reason,
    promptTokens,
    cachedPromptTokens,
    completionTokens,
    images,
    chargeNanoUsd: BigInt(chargeNanoUsd),
    formulaNanoUsd: BigInt(formulaNanoUsd),
    holdNanoUsd: BigInt(holdNanoUsd),
    modality,
    billingUnit,
    isStream,
    startedAtMs,
    endedAtMs,
    ...(traceparent !== undefined && { traceparent }),
    ...(requestId !== undefined && { requestId }),
  };
}
