import { nanoUsdSchema } from '@turnpike/money/nanoUsd';
import { z } from 'zod';
import { budgetPeriodSchema } from './budgetPeriod.ts';
import { anyId, LARGE_ANSWER_BYTES, text } from './fields.ts';
import { defineApi } from './internalApi.ts';

/** An engine as one router sees it; what is not known is null, never 0. */
export const engineSchema = z
  .object({
    id: z.string(),
    target: z.string(),
    url: z.string(),
    model: z.string().nullable(),
    is_healthy: z.boolean(),
    state: z.enum(['starting', 'ready', 'out', 'draining']),
    reason: z.string().nullable(),
    since: z.string(),
    breaker: z.string(),
    weight: z.number(),
    hardware: z.string().nullable(),
    quantization: z.string().nullable(),
    version: z.string().nullable(),
    window_tokens: z.number().nullable(),
    cache_tokens: z.number().nullable(),
    open_calls: z.number(),
    running: z.number().nullable(),
    waiting: z.number().nullable(),
    cache_usage: z.number().nullable(),
    cache_hit_rate: z.number().nullable(),
    tokens_in_flight: z.number(),
    is_slow: z.boolean(),
  })
  .meta({ id: 'Engine' });
export type EngineBody = z.input<typeof engineSchema>;

export const liveModelsSchema = z.record(z.string(), z.object({ engines: z.number(), healthy: z.number() }));
/** For each model, how many engines the region has for it and how many answer. */
export type LiveModels = z.output<typeof liveModelsSchema>;

const pendingSums = { held_nano_usd: nanoUsdSchema, ended_nano_usd: nanoUsdSchema };
/** Each sum of the ledger has the place of its own that it was read at; null where it has not been loaded. */
const placeSchema = { timeline: z.number().int().nullable(), seq: z.number().int().nullable() };
const countedSchema = z.object({ ...placeSchema, spent_nano_usd: nanoUsdSchema.nullable(), ...pendingSums });
/** Recorded sum since the first day of a key's period. */
const periodSchema = z.object({ since: z.string(), spent_nano_usd: nanoUsdSchema, ...placeSchema });
const countersSchema = z
  .object({
    now_ms: z.number().int(),
    /** Under which the workspace is loaded; null where it is not, and with it all that comes from the ledger. */
    mark: z.string().nullable(),
    ...placeSchema,
    left_nano_usd: nanoUsdSchema.nullable(),
    /** Sums of pending calls: held while they run, charged once they have ended. */
    ...pendingSums,
    keys: z.record(z.string(), countedSchema.extend({ period: periodSchema.optional() })),
    /** Keyed by `YYYY-MM`. */
    months: z.record(z.string(), countedSchema),
    calls: z.array(
      z.object({
        call_id: z.string(),
        key_id: z.string(),
        kind: z.enum(['held', 'ended']),
        /** The hold, then the charge. */
        amount_nano_usd: nanoUsdSchema,
        /** Month, `YYYY-MM`. */
        month: z.string(),
        session: z.string(),
        has_live_session: z.boolean(),
        owner: z.string(),
        admitted_at_ms: z.number().int(),
      }),
    ),
    /** Cursor of the next page of calls. Pages are of different instants. */
    next_after: z.string().nullable(),
  })
  .meta({ id: 'Counters' });
/** The counters of a workspace in Redis. Calls, wallet, months and keys with pending calls are of one instant. */
export type RedisCounters = z.output<typeof countersSchema>;

const drained = {
  callers: ['operator'],
  method: 'POST',
  params: z.object({ engine_id: text.min(1).max(256) }),
  answer: z.object({ id: z.string(), open_calls: z.number() }),
  faults: { engine_not_found: { status: 404, message: 'There is no such engine.' } },
} as const;
const ofKey = z.object({ workspace_id: anyId, key_id: anyId });
const perMinute = z.coerce.number<number>().int().positive();

/** The gate's counters and the fleet of engines. */
export const modelRouterApi = defineApi('model-router', {
  listEngines: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/engines',
    promise: 'as this router sees them; what is not known is null',
    answer: z.object({
      engines: z.array(engineSchema),
      retries_left: z.number(),
      /** Routing targets whose engines cannot be listed. A router of the version before does not say. */
      targets_not_listed: z.array(z.object({ id: z.string(), reason: z.string(), since: z.string() })).default([]),
    }),
  },
  drainEngine: {
    ...drained,
    path: '/internal/engines/:engine_id/drain',
    promise: 'cordons an engine, on all routers within 2 s; what it has under way goes on',
  },
  undrainEngine: {
    ...drained,
    path: '/internal/engines/:engine_id/undrain',
    promise: 'lets it take calls again; one that left meanwhile can still be released',
  },
  getLiveModels: {
    callers: ['catalog', 'operator'],
    method: 'GET',
    path: '/internal/models/live',
    promise:
      'for each model of the catalog that is billed by tokens, how many engines the region has and how many answer',
    answer: z.object({ models: liveModelsSchema }),
  },
  getKeySpend: {
    callers: ['auth'],
    method: 'GET',
    path: '/internal/workspaces/:workspace_id/keys/:key_id/spend',
    promise: 'live, for `/v1/svc/key`; also the use of limits per minute and the spend of a period, if asked with them',
    params: ofKey.extend({
      rpm: perMinute.optional(),
      tpm: perMinute.optional(),
      period: budgetPeriodSchema.optional(),
    }),
    answer: z.object({
      spend_nano_usd: nanoUsdSchema,
      held_nano_usd: nanoUsdSchema,
      used_requests: z.number().optional(),
      used_tokens: z.number().optional(),
      /** Spend of the period. Calls of the period before are in it until they are recorded. */
      period_spend_nano_usd: nanoUsdSchema.nullable().default(null),
    }),
    answerLimitBytes: 16 * 1024,
  },
  getCredit: {
    callers: ['auth', 'usage-ledger'],
    method: 'GET',
    path: '/internal/workspaces/:workspace_id/credit',
    promise: 'live: credit before holds, holds, and the spend of this month',
    params: z.object({ workspace_id: anyId }),
    answer: z.object({
      credit_nano_usd: nanoUsdSchema,
      held_nano_usd: nanoUsdSchema,
      month_spend_nano_usd: nanoUsdSchema,
    }),
    answerLimitBytes: 16 * 1024,
  },
  raiseKeyGeneration: {
    callers: ['auth'],
    method: 'PUT',
    path: '/internal/workspaces/:workspace_id/keys/:key_id/generation',
    promise:
      'a key has changed: from the next call on, none of its records older than the answer’s is admitted; of one that was revoked none at all',
    params: ofKey.extend({
      generation: z.coerce.number<number>().int().min(0),
      /** Present if the change is one of the key’s status. */
      status: z.enum(['active', 'blocked', 'revoked']).optional(),
    }),
    answer: z.object({ generation: z.number() }),
    answerLimitBytes: 16 * 1024,
  },
  reloadBalances: {
    callers: ['usage-ledger', 'operator'],
    method: 'POST',
    path: '/internal/workspaces/:workspace_id/balances/reload',
    promise: 'answered once Redis has the workspace’s credits of now',
    params: z.object({ workspace_id: anyId }),
    answer: z.object({}),
    faults: {
      balances_unavailable: {
        status: 503,
        message: 'Redis or the ledger does not answer, or balances are built anew.',
        retryAfterSeconds: 1,
      },
    },
  },
  getCounters: {
    callers: ['usage-ledger'],
    method: 'GET',
    path: '/internal/workspaces/:workspace_id/counters',
    promise:
      'all that the gate counts of a workspace, at one instant except for keys without pending calls; pending calls by pages, each with its session: a hold whose session has lapsed has no owner',
    params: z.object({
      workspace_id: anyId,
      after: z
        .string()
        .regex(/^\d{1,20}$/, 'must be a cursor')
        .default('0'),
    }),
    answer: countersSchema,
    answerLimitBytes: LARGE_ANSWER_BYTES,
  },
});
