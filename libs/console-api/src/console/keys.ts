import { LISTED_YEARS, ROTATION_FAULTS } from '@turnpike/internal-api/keyTerms';
import * as z from 'zod/mini';
import { displayName } from '../account/accountRoute.ts';
import { capNanoUsd, limitNanoUsd, nanoUsd } from '../amounts.ts';
import { afterId, defineRoutes, instant, wholeNumber } from './consoleRoute.ts';

/** The end of a key. Null means none. */
const expiresAt = z.nullable(z.iso.datetime({ offset: true }).check(z.refine(...LISTED_YEARS)));
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
      'Registers a key that the caller made, by its SHA-256 and last four characters. The key itself never travels. A workspace gets 1,000 keys in 24 hours at most.',
    body: z.strictObject({
      ...newSecret,
      name: displayName,
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
      too_many_keys: {
        status: 429,
        message: 'A workspace gets 1,000 keys in 24 hours at most. Use a key that it has.',
      },
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
      name: z.exactOptional(displayName),
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
