import { nanoUsdSchema } from '@turnpike/money/nanoUsd';
import { z } from 'zod';
import { anyId, LARGE_ANSWER_BYTES, month, movedNanoUsd, nextAfter, plainId, text } from './fields.ts';
import { defineApi } from './internalApi.ts';

/** Most entries of a usage report. */
export const MAX_USAGE_ENTRIES = 10_000;
/** The longest record that the event log takes: many times what a router writes. */
export const LARGEST_EVENT_BYTES = 64 * 1024;
/** Base64 takes four characters for three bytes. */
const LONGEST_BASE64 = Math.ceil(LARGEST_EVENT_BYTES / 3) * 4;

const count = z.number().int();
/** A sequence number: of dead letters, of credits. */
const sequenceNumber = z
  .string()
  .regex(/^\d{1,18}$/, 'must be a number')
  .transform(BigInt);
const ofWorkspace = z.object({ workspace_id: anyId });
const ofRouter = z.object({ router_id: plainId });
const sums = z.object({
  /** Number of the last credit counted in; 0 without any. */
  credit_seq: count.min(0),
  credited_nano_usd: nanoUsdSchema,
  spent_nano_usd: nanoUsdSchema,
  /** By key id. */
  keys: z.record(z.string(), nanoUsdSchema),
  /** Calls recorded, however they ended. */
  requests: count.min(0),
});

/** The groupings of a usage report. */
export const USAGE_GROUPS = ['day', 'key', 'model'] as const;
export type UsageGrouping = (typeof USAGE_GROUPS)[number];

const usageEntry = z.object({
  /** Each of these three where usage is told apart by it. */
  key_id: z.string().optional(),
  /** As `YYYY-MM-DD`. */
  day: z.string().optional(),
  /** The canonical id. */
  model: z.string().optional(),
  requests: count,
  success: count,
  failure: count,
  unknown: count,
  prompt_tokens: count,
  cached_prompt_tokens: count,
  completion_tokens: count,
  charge_nano_usd: nanoUsdSchema,
});

const bigintText = z
  .string()
  .regex(/^-?\d+$/)
  .transform(BigInt);

/** One equation of the books of a workspace, in words and sums. */
const checkSchema = z.object({
  check: z.string(),
  unit: z.enum(['nano_usd', 'count']),
  left: bigintText,
  right: bigintText,
  verdict: z.enum(['equal', 'different', 'undecided']),
});
export type CheckedSums = z.output<typeof checkSchema>;

/** A record that could not be read, without its bytes. */
const deadLetterSchema = z
  .object({
    id: z.string(),
    topic: z.string(),
    partition: z.number(),
    offset: z.string(),
    reason: z.string(),
    bytes: z.number(),
    recorded_at: z.string(),
    replayed_at: z.string().nullable(),
  })
  .meta({ id: 'DeadLetter' });
export type DeadLetter = z.output<typeof deadLetterSchema>;

const ofLetter = z.object({ dead_letter_id: sequenceNumber });
const NO_LETTER = { dead_letter_not_found: { status: 404, message: 'No dead letter of this id waits here.' } };

const usageGroups = z
  .string()
  .transform((text) => text.split(','))
  .pipe(z.array(z.enum(USAGE_GROUPS, 'must be day, key or model')));
const day = z.iso.date('must be a day as YYYY-MM-DD');
const epochNumber = count
  .min(0)
  .max(2 ** 31 - 2)
  .nullable();

/** The books: usage, credits, dead letters; and the epoch of Redis. */
export const usageLedgerApi = defineApi('usage-ledger', {
  addCredit: {
    callers: ['operator'],
    method: 'POST',
    path: '/internal/credits',
    promise:
      'gives a workspace something to spend, or below zero takes it, once for each credit id; what takes holds from the next call on',
    body: z.object({
      credit_id: plainId,
      workspace_id: plainId,
      amount_nano_usd: movedNanoUsd,
      note: text.max(500),
    }),
    answer: z.object({ applied: z.boolean() }),
    faults: {
      credit_conflict: { status: 409, message: 'This credit id is known with another workspace or amount.' },
      gate_not_told: {
        status: 503,
        message:
          'The credit is recorded, but the gate does not know of it yet. Repeat it under the same id: it counts once.',
        retryAfterSeconds: 1,
      },
    },
  },
  listCredits: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/workspaces/:workspace_id/credits',
    promise: 'what a workspace was given, and below zero what was taken from it, 500 a page in the order they came',
    params: ofWorkspace.extend({ after: sequenceNumber.default(0n) }),
    answer: z.object({
      credits: z.array(
        z.object({
          credit_id: z.string(),
          amount_nano_usd: nanoUsdSchema,
          note: z.string(),
          created_at: z.string(),
        }),
      ),
      next_after: nextAfter,
    }),
  },
  getUsage: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/usage',
    promise: `what one key or every key of a workspace used, from the hourly sums, by UTC day and key or what \`group_by\` lists of \`day\`, \`key\` and \`model\`; \`end\` is the first day left out; ${MAX_USAGE_ENTRIES} entries at most`,
    params: z
      .strictObject({
        key_id: anyId.optional(),
        workspace_id: anyId.optional(),
        start: day,
        end: day,
        group_by: usageGroups.default(['day', 'key']),
      })
      .refine(({ start, end }) => start < end, { path: ['end'], message: 'must be a later day than start' })
      .refine((owner) => (owner.key_id === undefined) !== (owner.workspace_id === undefined), {
        path: ['key_id'],
        message: 'or workspace_id must be given',
      }),
    answer: z.object({ usage: z.array(usageEntry) }),
    answerLimitBytes: LARGE_ANSWER_BYTES,
  },
  getBalances: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/workspaces/:workspace_id/balances',
    promise: 'of what is recorded by now',
    params: ofWorkspace.extend({ month }),
    answer: sums.extend({ month_spent_nano_usd: nanoUsdSchema }),
    answerLimitBytes: LARGE_ANSWER_BYTES,
  },
  loadBalances: {
    callers: ['model-router'],
    method: 'POST',
    path: '/internal/workspaces/:workspace_id/balances',
    promise:
      'what the gate goes on counting from in an epoch of Redis: `months` are the one asked for and later ones, `recorded` which of the calls are among `requests`; changes nothing',
    params: ofWorkspace,
    body: z.object({ month, epoch: count.min(0), calls: z.array(z.uuid()).max(10_000) }),
    bodyLimitBytes: 512 * 1024,
    answer: sums.extend({
      /** By `YYYY-MM`. */
      months: z.record(z.string(), nanoUsdSchema),
      recorded: z.array(z.string()),
    }),
    answerLimitBytes: LARGE_ANSWER_BYTES,
    faults: {
      /** Redis is not of this epoch any more, or what ended before it is not all recorded yet. */
      epoch_not_ready: {
        status: 409,
        message: 'The balances of this epoch cannot be given. Report, and ask again.',
      },
    },
  },
  reportRouter: {
    callers: ['model-router'],
    method: 'PUT',
    path: '/internal/routers/:router_id',
    promise: 'a sign of life every second, answered with the epoch of Redis ([redis-lost.md](redis-lost.md))',
    params: ofRouter,
    body: z.object({
      /** The next process with the same spool has forgotten the calls of this one. */
      process_id: plainId,
      /** Replication id of the Redis it sees; null while it sees none. */
      redis_id: plainId.nullable(),
      /** The epochs it was told last, has drained for, and has asserted its holds in. */
      known_epoch: epochNumber,
      drained_epoch: epochNumber,
      asserted_epoch: epochNumber,
      /** The router has no call, an empty spool, and has not worked in an earlier epoch. */
      is_blank: z.boolean(),
      /** The router holds a call that Redis does not know. */
      misses_calls: z.boolean(),
    }),
    bodyLimitBytes: 4 * 1024,
    answer: z.object({
      epoch: count.min(0),
      redis_id: z.string(),
      phase: z.enum(['draining', 'asserting', 'open']),
      /** Whether this router counts in that epoch. */
      is_member: z.boolean(),
    }),
  },
  removeRouter: {
    callers: ['model-router'],
    method: 'DELETE',
    path: '/internal/routers/:router_id',
    promise: 'a router that has ended all its calls and sent every event leaves',
    params: ofRouter,
    answer: z.object({}),
  },
  appendEvents: {
    callers: ['model-router'],
    method: 'POST',
    path: '/internal/event-log/:topic',
    promise: 'answered once they are committed; only where the event log is the embedded one',
    params: z.object({
      topic: z.string().regex(/^[a-z0-9.-]{1,128}\.v\d{1,3}$/, 'must be a topic, as in noun.past-verb.v1'),
    }),
    body: z.object({
      records: z
        .array(z.object({ key: text.max(256), value: z.string().max(LARGEST_EVENT_BYTES) }))
        .min(1)
        .max(1_000),
    }),
    bodyLimitBytes: 8 * 1024 * 1024,
    answer: z.object({}),
    faults: { unknown_topic: { status: 404, message: 'No such topic is kept here.' } },
  },
  reconcile: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/reconciliation',
    promise:
      'the books of one workspace, or of all, added up anew and held against Redis and the prices, which may take minutes; who asks the same meanwhile shares the answer, and `doubts` says what there was no time for',
    params: z.object({ workspace_id: anyId.optional() }),
    answer: z.object({
      workspaces: z.array(
        z.object({ workspace_id: z.string(), checks: z.array(checkSchema), doubts: z.array(z.string()) }),
      ),
    }),
    answerLimitBytes: LARGE_ANSWER_BYTES,
    faults: {
      reconciliation_running: {
        status: 429,
        message: 'Other books are being added up. Ask again in a minute.',
        retryAfterSeconds: 60,
      },
    },
  },
  listDeadLetters: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/dead-letters',
    promise: 'records that could not be read, 500 a page in the order they came',
    params: z.object({ after: sequenceNumber.default(0n), replayed: z.enum(['include']).optional() }),
    answer: z.object({ dead_letters: z.array(deadLetterSchema), next_after: nextAfter }),
  },
  getDeadLetter: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/dead-letters/:dead_letter_id',
    promise: 'with the first 64 KiB of its bytes',
    params: ofLetter,
    answer: deadLetterSchema.extend({ payload_base64: z.base64() }),
    faults: NO_LETTER,
  },
  replayDeadLetter: {
    callers: ['operator'],
    method: 'POST',
    path: '/internal/dead-letters/:dead_letter_id/replay',
    promise: 'reads it again, or what it was repaired to, and records the call; `reason` says why it still cannot be',
    params: ofLetter,
    body: z.object({ repaired_base64: z.base64().max(LONGEST_BASE64).optional() }),
    bodyLimitBytes: 2 * LONGEST_BASE64,
    answer: z.object({ id: z.string(), is_replayed: z.boolean(), reason: z.string().nullable() }),
    faults: NO_LETTER,
  },
});
