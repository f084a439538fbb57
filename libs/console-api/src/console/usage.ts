import { LISTED_YEARS } from '@turnpike/internal-api/keyTerms';
import { BILLING_UNITS, MODALITIES } from '@turnpike/public-api/modality';
import * as z from 'zod/mini';
import { nanoUsd } from '../amounts.ts';
import { count, defineRoutes, instant, wholeNumber } from './consoleRoute.ts';

const DAY_MS = 24 * 60 * 60 * 1_000;
/** Longest ranges of usage, in days. */
const LONGEST_RANGES = { day: 366, hour: 31, range: 366 } as const;
/** Most rows of an answer about usage. */
export const MAX_USAGE_ROWS = 20_000;
/** Sums by which groups of usage are compared. */
export const USAGE_MEASURES = ['cost', 'tokens', 'requests', 'errors'] as const;
export type UsageMeasure = (typeof USAGE_MEASURES)[number];
/** A UTC day, or the begin of a UTC hour. */
const dayOrHour = z.union(
  [
    z.iso.date().check(z.refine(...LISTED_YEARS)),
    z.iso.datetime({ precision: -1 }).check(z.refine(...LISTED_YEARS), z.regex(/:00Z$/)),
  ],
  'must be a day as YYYY-MM-DD, or an hour as YYYY-MM-DDTHH:00Z',
);
const isHour = (time: string): boolean => time.includes('T');
const usageSchema = z.object({
  /** Begin of the UTC hour or day, or of the range. */
  start: instant,
  /** How many groups the row sums up, beside those of `top`. Null for one group. */
  others: z.nullable(count),
  /** Null if keys are summed up. */
  key_id: z.nullable(z.string()),
  /** Canonical id. Null if models are summed up. */
  model: z.nullable(z.string()),
  /** Output of the model. Null if models are summed up. */
  modality: z.nullable(z.enum(MODALITIES)),
  requests: count,
  success: count,
  failure: count,
  unknown: count,
  prompt_tokens: count,
  cached_prompt_tokens: count,
  completion_tokens: count,
  charge_nano_usd: nanoUsd,
});
/** A line of a call's cost. Lines with a quantity are `quantity` × `unit_price_usd` ÷ `per`. */
const costLineSchema = z.object({
  item: z.enum([
    'uncached_prompt_tokens',
    'cached_prompt_tokens',
    'completion_tokens',
    'prompt_images',
    'request',
    'images',
    'seconds',
    'characters',
    /** To whole nano-dollars, half-up, once. */
    'rounding',
    /** A charge is never more than the hold. */
    'hold_limit',
  ]),
  quantity: z.nullable(count),
  /** USD as a decimal text. */
  unit_price_usd: z.nullable(z.string()),
  /** 60 for a price per minute, whose quantity is seconds. */
  per: z.nullable(count),
  /** Nano-dollars as a decimal text of at most 9 decimals. Below zero for a correction that lowers the charge. */
  amount_nano_usd: z.string(),
});
const callSchema = z.object({
  call_id: z.string(),
  key_id: z.string(),
  canonical_model: z.string(),
  operation: z.string(),
  modality: z.enum(MODALITIES),
  is_stream: z.boolean(),
  status: z.enum(['success', 'failure', 'unknown']),
  /** Short code: why the call is no success, or how a success ended early. */
  reason: z.nullable(z.string()),
  prompt_tokens: count,
  /** Part of `prompt_tokens`. */
  cached_prompt_tokens: count,
  completion_tokens: count,
  prompt_images: count,
  billing_unit: z.enum(BILLING_UNITS),
  /** Images, characters or whole seconds, also for a price per minute. Null for text. */
  units: z.nullable(count),
  /** Version of the catalog whose prices the call has. */
  price_version: count,
  /** Sums exactly to the charge. Empty for a call that costs nothing. Null if the prices of the version cannot be read. */
  cost: z.nullable(z.array(costLineSchema)),
  charge_nano_usd: nanoUsd,
  hold_nano_usd: nanoUsd,
  started_at: instant,
  ended_at: instant,
  recorded_at: instant,
});
const LATE = {
  usage_timeout: {
    status: 504,
    message: 'Usage could not be read in time. Retry in 1 s, over a shorter range if there is one.',
    retryAfterSeconds: 1,
  },
};

/** Usage and its cost. */
export const usageConsoleApi = defineRoutes('usage-ledger', {
  listUsage: {
    right: 'usage.read',
    method: 'GET',
    path: '/console/usage',
    promise: `Sums the usage of the workspace by UTC day, by hour or over the range, by key and model, in the order of times, models and keys. \`end\` is the first day or hour left out. Only a question by hour begins or ends within a day. Days are ${LONGEST_RANGES.day} at most, hours those of ${LONGEST_RANGES.hour} days. With \`top\`, only so many groups have rows of their own, those of the largest sum of \`top_by\` in the range. The others are one row of each time, unless there is only one of them. A table of more than ${MAX_USAGE_ROWS} rows is refused.`,
    params: z
      .object({
        start: dayOrHour,
        end: dayOrHour,
        by: z._default(z.enum(['day', 'hour', 'range'], 'must be day or hour or range'), 'day'),
        group: z._default(
          z.enum(['key,model', 'key', 'model', 'none'], 'must be key,model or key or model or none'),
          'key,model',
        ),
        top: z.optional(wholeNumber(/^([1-9]|1\d|20)$/, 'must be a whole number from 1 to 20')),
        top_by: z._default(z.enum(USAGE_MEASURES, 'must be cost or tokens or requests or errors'), 'cost'),
      })
      .check(
        z.refine(({ start, by }) => by === 'hour' || !isHour(start), {
          path: ['start'],
          error: 'must be a day, unless by is hour',
        }),
        z.refine(({ end, by }) => by === 'hour' || !isHour(end), {
          path: ['end'],
          error: 'must be a day, unless by is hour',
        }),
        z.refine(({ start, end }) => Date.parse(start) < Date.parse(end), {
          path: ['end'],
          error: 'must be later than start',
        }),
        z.refine(({ start, end, by }) => Date.parse(end) - Date.parse(start) <= LONGEST_RANGES[by] * DAY_MS, {
          path: ['end'],
          error: ({ input }) =>
            `must be at most ${LONGEST_RANGES[(input as { by: keyof typeof LONGEST_RANGES }).by]} days after start`,
        }),
      ),
    answer: z.object({ usage: z.array(usageSchema) }),
    faults: LATE,
  },
  getSpendRate: {
    right: 'usage.read',
    method: 'GET',
    path: '/console/usage/rate',
    promise:
      'Shows how long the credit of the workspace lasts at the mean spend of the last 7 × 24 hours. The mean of a younger workspace is over its age, at least a day.',
    answer: z.object({
      /** Credit after the recorded calls, some seconds behind the live credit. */
      credit_nano_usd: nanoUsd,
      per_day_nano_usd: nanoUsd,
      /** Days that the mean is over, to a tenth. */
      mean_days: z.number(),
      /** Rounded down to a tenth. 0 without credit. Null if nothing was spent of a credit. */
      days_left: z.nullable(z.number()),
    }),
    faults: LATE,
  },
  getCall: {
    right: 'usage.read',
    method: 'GET',
    path: '/console/usage/calls/:call_id',
    promise:
      'Shows one call of text or media, by its `x-router-call-id` or by an id of its answer that contains it (`chatcmpl-…`). Content is nowhere kept.',
    params: z.object({ call_id: z.string() }),
    answer: callSchema,
    faults: {
      ...LATE,
      unknown_call: {
        status: 404,
        message:
          'There is no such call in this workspace. Take the id from `x-router-call-id`; a call appears within seconds of its end.',
      },
    },
  },
});
