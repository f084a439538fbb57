import type { InternalService } from '@turnpike/config/services';
import type { ApiRoute, FaultWording } from '@turnpike/internal-api/internalApi';
import { ROTATION_FAULTS } from '@turnpike/internal-api/rotationFaults';
import { BILLING_UNITS, MODALITIES } from '@turnpike/public-api/modality';
import * as z from 'zod/mini';
import { capNanoUsd, limitNanoUsd, nanoUsd } from './amounts.ts';
import type { Right } from './roles.ts';

/** A route of a region's console host. The workspace and the role of its caller are those of the console token. */
export interface ConsoleRoute extends ApiRoute {
  /** The right that the role of the caller has to have. */
  right: Right;
  access?: never;
  /** Parameters in the path consist of letters, digits, `_` and `-`. */
  path: `/console/${string}`;
  /** The status of an answer that is not 200. */
  status?: 201;
}

/** A route of a region's console host that takes no token. Its answer is the same for everyone. */
export interface PublicConsoleRoute extends ApiRoute {
  access: 'public';
  right?: never;
  method: 'GET';
  path: `/console/${string}`;
  /** Time for which any cache may keep the answer. */
  maxAgeSeconds: number;
}

/** A route names the right of its callers, or that it is public. */
export type AnyConsoleRoute = ConsoleRoute | PublicConsoleRoute;

/** The console routes of one service. The edge passes them on to its internal listener. */
export interface ConsoleApi<
  Routes extends Record<string, AnyConsoleRoute> = Record<string, AnyConsoleRoute>,
  Service extends InternalService = InternalService,
> {
  service: Service;
  routes: Routes;
}

/** Refusals of the console host itself. */
export const HOST_REFUSALS = {
  malformed_request: { status: 400, message: 'The request is not well-formed HTTP.' },
  invalid_console_token: {
    status: 401,
    message: 'The console token is missing, has expired, or is of another region. Get a new one.',
  },
  foreign_origin: { status: 403, message: 'This host serves the pages of the account layer alone.' },
  not_found: { status: 404, message: 'There is nothing at this path.' },
  method_not_allowed: { status: 405, message: 'This path takes {allow}.' },
  too_many_requests: {
    status: 429,
    message: 'Too many requests of this address. Retry in {seconds} s.',
    retryAfterSeconds: 1,
  },
  service_unavailable: {
    status: 503,
    message: 'The service cannot take the request. Retry in {seconds} s.',
    retryAfterSeconds: 1,
  },
} as const satisfies Record<string, FaultWording>;

/** Refusals of a service behind the host, on routes that are not public. */
export const MEMBER_REFUSALS = {
  no_console_caller: { status: 401, message: 'This route serves members whom the edge names.' },
  right_missing: { status: 403, message: 'Your role, {role}, does not have the right to this. Ask an owner.' },
};

const defineRoutes = <const Routes extends Record<string, AnyConsoleRoute>, Service extends InternalService>(
  service: Service,
  routes: Routes,
): ConsoleApi<Routes, Service> => ({ service, routes });

const instant = z.string();
const keyName = z
  .string()
  .check(z.trim(), z.minLength(1), z.maxLength(200), z.regex(/^[^\p{Cc}]*$/u, 'must be one line'));
/** The end of a key. Null means none. */
const expiresAt = z.nullable(z.iso.datetime({ offset: true }));
/** The hash and the last four characters of a secret that the caller made. */
const newSecret = {
  key_sha256: z.string().check(z.regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in lower-case hex')),
  last_four: z.string().check(z.regex(/^[0-9A-Za-z]{4}$/, 'must be the last four characters of the key')),
};
const LONGEST_GRACE_SECONDS = 90 * 24 * 60 * 60;
/** A day, a week from Monday or a month, each in UTC. */
export const budgetPeriod = z.enum(['day', 'week', 'month'], 'must be day, week or month');
/** The most that a key may spend in each period. Null is no limit. */
const periodBudget = z.nullable(z.strictObject({ period: budgetPeriod, max_nano_usd: capNanoUsd }));
/** Models that a key may call, by id, whether the region has them or not. Null is no limit. */
const allowedModels = z.nullable(
  z
    .array(z.string().check(z.regex(/^[a-z0-9][a-z0-9._-]{0,95}$/, 'must be a model id')))
    .check(z.minLength(1), z.maxLength(100)),
);
/** Requests or tokens a minute. */
export const perMinute = z.int().check(z.minimum(1), z.maximum(1_000_000_000));
const afterId = z._default(z.string().check(z.regex(/^[\w-]{0,128}$/, 'must be an id')), '');

/** An API key, without anything that lets its reader use it. */
const keySchema = z.object({
  key_id: z.string(),
  last_four: z.string(),
  name: z.string(),
  status: z.enum(['active', 'blocked', 'revoked']),
  /** The side that blocked a blocked key. */
  blocked_by: z._default(z.nullable(z.enum(['operator', 'console'])), null),
  rpm: z.number(),
  tpm: z.number(),
  max_budget_nano_usd: z.nullable(nanoUsd),
  /** The most that it may spend in each period, beside the budget in all. Null is no limit. */
  period_budget: z._default(z.nullable(z.object({ period: budgetPeriod, max_nano_usd: nanoUsd })), null),
  /** Ids of the models that it may call. Null is no limit. */
  allowed_models: z._default(z.nullable(z.array(z.string())), null),
  expires_at: z.nullable(instant),
  created_at: instant,
  /** The secret before the last rotation. */
  old_secret: z._default(z.nullable(z.object({ last_four: z.string(), ends_at: instant })), null),
});

/** A change of a key by a member. Its fields are those of a key, never a secret or a hash. */
const keyChangeSchema = z.object({
  change_id: z.string(),
  at: instant,
  key_id: z.string(),
  user_id: z.string(),
  /** The role of the member at the time. */
  role: z.string(),
  /** `create`, `update`, `rotate`, `end_old_secret`, `block`, `unblock` or `revoke`. */
  action: z.string(),
  /** The values of the changed fields. Null before a key was created. */
  before: z.unknown(),
  after: z.unknown(),
});

/** States of keys. An expired key is none that is blocked or revoked. */
export const KEY_STATES = ['active', 'blocked', 'expired', 'revoked'] as const;
export type KeyState = (typeof KEY_STATES)[number];
/** The name of keys that the playground makes. */
export const PLAYGROUND_KEY_NAME = 'Playground';
/** Most keys of an answer that finds keys, and most ids of its question. */
export const MAX_FOUND_KEYS = 100;
const wholeNumber = (pattern: RegExp, problem: string) =>
  z.pipe(z.string().check(z.regex(pattern, problem)), z.transform(Number));
/** Texts with commas between them. */
const listOf = <Text extends string>(pattern: RegExp, problem: string) =>
  z.pipe(
    z.string().check(z.regex(pattern, problem)),
    z.transform((text: string) => text.split(',') as Text[]),
  );

const ofKey = z.object({ key_id: z.string() });
const keyStatus = z.object({ key_id: z.string(), status: keySchema.shape.status });
const UNKNOWN_KEY = { unknown_key: { status: 404, message: 'There is no such key in this workspace.' } };
const KEY_REVOKED = { key_revoked: { status: 409, message: 'This key is revoked, which is final.' } };
const KEY_KNOWN = { key_already_registered: { status: 409, message: 'This key is registered already.' } };
const NOT_TOLD = {
  gate_not_told: {
    status: 503,
    message: 'The change is made, but it may take 30 s until calls notice it. Repeat the change.',
    retryAfterSeconds: 1,
  },
};

const BALANCES_AWAY = {
  balances_unavailable: {
    status: 503,
    message: 'Live balances cannot be read right now. Retry in 1 s.',
    retryAfterSeconds: 1,
  },
};
const WORKSPACE_NEW = {
  workspace_not_found: {
    status: 404,
    message: 'This region does not know the workspace yet. Retry in some seconds.',
    retryAfterSeconds: 2,
  },
};

/** API keys, and what they and the workspace have left to spend. */
export const keysConsoleApi = defineRoutes('auth', {
  listKeys: {
    right: 'keys.read',
    method: 'GET',
    path: '/console/keys',
    promise: 'Lists the keys of the workspace by id, 500 a page, revoked and expired ones too.',
    params: z.object({ after: afterId }),
    answer: z.object({ keys: z.array(keySchema), next_after: z.nullable(z.string()) }),
  },
  findKeys: {
    right: 'keys.read',
    method: 'GET',
    path: '/console/keys/find',
    promise: `Finds keys of the workspace, the newest first: \`take\` of them, at most ${MAX_FOUND_KEYS}, behind the first \`skip\`. \`find\` is a part of their name in any case, or the last four characters. \`states\` and \`ids\` have commas between them. \`ended_playground=left_out\` leaves out expired and revoked keys that the playground made, and counts them apart.`,
    params: z.object({
      find: z._default(z.string().check(z.trim(), z.maxLength(200), z.regex(/^[^\p{Cc}]*$/u, 'must be one line')), ''),
      states: z.optional(
        listOf<KeyState>(
          /^(active|blocked|expired|revoked)(,(active|blocked|expired|revoked)){0,3}$/,
          `must be some of ${KEY_STATES.join(', ')}`,
        ),
      ),
      ids: z.optional(
        listOf<string>(/^[\w-]{1,128}(,[\w-]{1,128}){0,99}$/, `must be at most ${MAX_FOUND_KEYS} ids of keys`),
      ),
      ended_playground: z._default(z.enum(['shown', 'left_out'], 'must be shown or left_out'), 'shown'),
      skip: z.optional(wholeNumber(/^\d{1,7}$/, 'must be a whole number below 10,000,000')),
      take: z.optional(wholeNumber(/^([1-9]|[1-9]\d|100)$/, `must be a whole number from 1 to ${MAX_FOUND_KEYS}`)),
    }),
    answer: z.object({
      keys: z.array(keySchema),
      /** Keys that were found, on all pages. */
      found: z.number(),
      /** Keys of the playground that were left out. */
      left_out: z.number(),
    }),
  },
  createKey: {
    right: 'keys.write',
    method: 'POST',
    path: '/console/keys',
    promise:
      'Registers a key that the caller made, by its SHA-256 and last four characters. The key itself never travels.',
    body: z.strictObject({
      ...newSecret,
      name: keyName,
      rpm: z._default(perMinute, 600),
      tpm: z._default(perMinute, 1_000_000),
      max_budget_nano_usd: z._default(limitNanoUsd, null),
      period_budget: z._default(periodBudget, null),
      allowed_models: z._default(allowedModels, null),
      expires_at: z._default(expiresAt, null),
    }),
    status: 201,
    answer: z.object({ key_id: z.string() }),
    faults: {
      ...KEY_KNOWN,
      ...WORKSPACE_NEW,
    },
  },
  updateKey: {
    right: 'keys.write',
    method: 'PATCH',
    path: '/console/keys/:key_id',
    promise:
      'Changes the given fields of a key, from the next call on. Null removes a budget, the models or the expiry. The old secret ends with the key. An expired key with a later expiry is admitted within 5 s, and so is a call of an added model.',
    params: ofKey,
    body: z.strictObject({
      name: z.exactOptional(keyName),
      rpm: z.exactOptional(perMinute),
      tpm: z.exactOptional(perMinute),
      max_budget_nano_usd: z.exactOptional(limitNanoUsd),
      period_budget: z.exactOptional(periodBudget),
      allowed_models: z.exactOptional(allowedModels),
      expires_at: z.exactOptional(expiresAt),
    }),
    answer: keySchema,
    faults: { ...UNKNOWN_KEY, ...KEY_REVOKED, ...NOT_TOLD },
  },
  rotateKey: {
    right: 'keys.write',
    method: 'POST',
    path: '/console/keys/:key_id/rotate',
    promise:
      'Gives a key a new secret that the caller made. The old one ends after the grace; if `gate_told` is false, it may work for 30 s longer. Not to be repeated.',
    params: ofKey,
    body: z.strictObject({
      ...newSecret,
      /** Time for which the old secret works beside the new one. */
      grace_seconds: z.int().check(z.minimum(0), z.maximum(LONGEST_GRACE_SECONDS)),
    }),
    answer: z.object({ key: keySchema, gate_told: z.boolean() }),
    faults: {
      ...UNKNOWN_KEY,
      ...KEY_KNOWN,
      ...ROTATION_FAULTS,
    },
  },
  endOldSecret: {
    right: 'keys.write',
    method: 'POST',
    path: '/console/keys/:key_id/end-old-secret',
    promise: 'Ends the secret before the last rotation, from the next call on, and nothing else of the key.',
    params: ofKey,
    answer: keySchema,
    faults: {
      ...UNKNOWN_KEY,
      no_old_secret: { status: 409, message: 'This key was never rotated: it has one secret.' },
      ...NOT_TOLD,
    },
  },
  blockKey: {
    right: 'keys.write',
    method: 'POST',
    path: '/console/keys/:key_id/block',
    promise:
      'Refuses the calls of a key from the next one on. A key that the operator blocked stays blocked by the operator.',
    params: ofKey,
    answer: keyStatus,
    faults: { ...UNKNOWN_KEY, ...KEY_REVOKED, ...NOT_TOLD },
  },
  unblockKey: {
    right: 'keys.write',
    method: 'POST',
    path: '/console/keys/:key_id/unblock',
    promise: 'Admits the calls of a key again, within 5 s, unless the operator blocked it.',
    params: ofKey,
    answer: keyStatus,
    faults: {
      ...UNKNOWN_KEY,
      ...KEY_REVOKED,
      key_blocked_by_operator: {
        status: 403,
        message: 'The operator blocked this key, so only the operator can unblock it.',
      },
      ...NOT_TOLD,
    },
  },
  revokeKey: {
    right: 'keys.write',
    method: 'POST',
    path: '/console/keys/:key_id/revoke',
    promise: 'Refuses the calls of a key for good, from the next one on.',
    params: ofKey,
    answer: keyStatus,
    faults: { ...UNKNOWN_KEY, ...NOT_TOLD },
  },
  listKeyChanges: {
    right: 'audit.read',
    method: 'GET',
    path: '/console/key-changes',
    promise:
      'Lists what members changed of the workspace’s keys, or of one key, the newest first, 100 at a time. `before` is the last id of the page before.',
    params: z.object({
      before: z.optional(z.string().check(z.regex(/^\d{1,18}$/, 'must be an id of a change'))),
      key_id: z.optional(z.string().check(z.regex(/^[\w-]{1,128}$/, 'must be the id of a key'))),
    }),
    answer: z.object({ changes: z.array(keyChangeSchema), next: z.nullable(z.string()) }),
  },
  getKeyHeadroom: {
    right: 'keys.read',
    method: 'GET',
    path: '/console/keys/:key_id/headroom',
    promise:
      'Shows the live spend of a key, and the requests and tokens that count against its limits per minute now. These become fewer all the time. Calls in progress count with their estimated prompts.',
    params: ofKey,
    answer: z.object({
      key_id: z.string(),
      spend_nano_usd: nanoUsd,
      /** Held for calls under way, on top of the spend. */
      held_nano_usd: nanoUsd,
      max_budget_nano_usd: z.nullable(nanoUsd),
      /** Null for a key without one. The spend has calls of the period before until they are recorded, and is null for a moment after a change. */
      period_budget: z._default(
        z.nullable(
          z.object({
            period: budgetPeriod,
            max_nano_usd: nanoUsd,
            spend_nano_usd: z.nullable(nanoUsd),
            resets_at: instant,
          }),
        ),
        null,
      ),
      rpm: z.number(),
      tpm: z.number(),
      /** Null if the gate does not show it. Tokens may exceed their limit. */
      used_requests: z._default(z.nullable(z.number()), null),
      used_tokens: z._default(z.nullable(z.number()), null),
    }),
    faults: { ...UNKNOWN_KEY, ...BALANCES_AWAY },
  },
  getCredit: {
    right: 'usage.read',
    method: 'GET',
    path: '/console/credit',
    promise: 'Shows the live credit of the workspace, and its spend of this UTC month beside the cap.',
    answer: z.object({
      /** Holds are part of it. */
      credit_nano_usd: nanoUsd,
      /** Held for calls under way. */
      held_nano_usd: nanoUsd,
      month_spend_nano_usd: nanoUsd,
      /** The lower one of the operator's cap and the account layer's. Null for no cap. */
      monthly_cap_nano_usd: z.nullable(nanoUsd),
      month_ends_at: instant,
    }),
    faults: { ...WORKSPACE_NEW, ...BALANCES_AWAY },
  },
});

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
  [z.iso.date(), z.iso.datetime({ precision: -1 }).check(z.regex(/:00Z$/))],
  'must be a day as YYYY-MM-DD, or an hour as YYYY-MM-DDTHH:00Z',
);
const isHour = (time: string): boolean => time.includes('T');
const count = z.number();

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

export const JOB_STATUSES = ['queued', 'in_progress', 'completed', 'failed', 'cancelled'] as const;
export type ConsoleJobStatus = (typeof JOB_STATUSES)[number];
/** Jobs of a page. */
export const JOBS_PER_PAGE = 50;

const jobFields = {
  job_id: z.string(),
  call_id: z.string(),
  key_id: z.string(),
  operation: z.string(),
  modality: z.enum(MODALITIES),
  /** Canonical id. */
  model: z.string(),
  status: z.enum(JOB_STATUSES),
  /** Per cent. */
  progress: count,
  /** Short code: why the job failed. */
  error_code: z.nullable(z.string()),
  created_at: instant,
  begun_at: z.nullable(instant),
  ended_at: z.nullable(instant),
  /** From then on clients get 404 for the job. */
  expires_at: z.nullable(instant),
  billing_unit: z.enum(BILLING_UNITS),
  /** Measured images, characters or whole seconds. Null until the job has ended. */
  units: z.nullable(count),
  /** Null until the job has ended. */
  charge_nano_usd: z.nullable(nanoUsd),
};
const jobId = z.string().check(z.regex(/^\w{1,64}$/, 'must be the id of a job'));

/** Media jobs, without prompts, uploads and outputs. Calls that wait for their answer are no jobs. */
export const jobsConsoleApi = defineRoutes('media-jobs', {
  listJobs: {
    right: 'usage.read',
    method: 'GET',
    path: '/console/jobs',
    promise: `Lists the jobs of the workspace, the newest first, at most ${JOBS_PER_PAGE} a page. With a filter a page may have fewer jobs although \`next_after\` names a next page.`,
    params: z.object({
      after: z.optional(jobId),
      status: z.optional(z.enum(JOB_STATUSES, `must be one of ${JOB_STATUSES.join(', ')}`)),
      key_id: z.optional(z.string().check(z.regex(/^[\w-]{1,128}$/, 'must be the id of a key'))),
    }),
    answer: z.object({ jobs: z.array(z.object(jobFields)), next_after: z.nullable(z.string()) }),
  },
  getJob: {
    right: 'usage.read',
    method: 'GET',
    path: '/console/jobs/:job_id',
    promise: 'Shows one job. Its call in the usage has the arithmetic of its cost.',
    params: z.object({ job_id: jobId }),
    answer: z.object({
      ...jobFields,
      /** Times that an engine has begun the job. */
      attempts: count,
      /** USD for one billing unit, as a decimal text. */
      unit_price_usd: z.string(),
      price_version: count,
      hold_nano_usd: nanoUsd,
      outputs: z.array(
        z.object({
          /** Media type. */
          type: z.string(),
          bytes: count,
          width: z.nullable(count),
          height: z.nullable(count),
          seconds: z.nullable(count),
        }),
      ),
      /** Instant at which prompt and outputs were removed. */
      removed_at: z.nullable(instant),
    }),
    faults: {
      unknown_job: {
        status: 404,
        message: 'There is no such job in this workspace. Take its id from the list of jobs.',
      },
    },
  },
});

const texts = z.array(z.string());
/** USD as a decimal text. */
const price = z.string();

/** A model, as `GET /v1/models` lists it. */
const modelSchema = z.object({
  id: z.string(),
  object: z.literal('model'),
  created: count,
  owned_by: z.string(),
  hugging_face_id: z.string(),
  aliases: texts,
  name: z.string(),
  category: z.string(),
  input_modalities: texts,
  output_modalities: texts,
  quantization: z.string(),
  context_length: count,
  max_output_length: count,
  pricing: z.object({
    prompt: price,
    completion: price,
    input_cache_read: price,
    request: price,
    image: price,
    web_search: price,
    internal_reasoning: price,
  }),
  billing_unit: z.optional(z.string()),
  unit_price: z.optional(z.nullable(price)),
  capabilities: z.optional(
    z.object({
      sizes: z.optional(texts),
      seconds: z.optional(z.array(count)),
      fps: z.optional(count),
      steps: z.optional(count),
      voices: z.optional(texts),
      voice_aliases: z.optional(z.record(z.string(), z.string())),
      output_formats: z.optional(texts),
      max_images: z.optional(count),
      languages: z.optional(texts),
      max_minutes: z.optional(count),
      timestamps: z.optional(texts),
    }),
  ),
  is_free: z.boolean(),
  is_ready: z.boolean(),
  supported_features: texts,
  supported_parameters: texts,
  supported_sampling_parameters: texts,
  supported_endpoints: z.optional(texts),
});

/** The models of the region. */
export const modelsConsoleApi = defineRoutes('catalog', {
  listModels: {
    access: 'public',
    method: 'GET',
    path: '/console/models',
    maxAgeSeconds: 10,
    promise: 'Lists the models of the region with prices, windows and capabilities.',
    answer: z.object({ models: z.array(modelSchema) }),
    faults: {
      router_unreachable: {
        status: 503,
        message: 'The region does not know yet which models it serves. Retry in 1 s.',
        retryAfterSeconds: 1,
      },
    },
  },
});

/** All routes of a console host. */
export const CONSOLE_APIS = [keysConsoleApi, usageConsoleApi, jobsConsoleApi, modelsConsoleApi] as const;
/** The services behind a console host. */
export type ConsoleService = (typeof CONSOLE_APIS)[number]['service'];
