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
const day = z.iso.date('must be a day as YYYY-MM-DD');
const amounts = z.record(z.string(), nanoUsdSchema);

/** Most that one question for balances asks about: workspaces in all, keys and calls of each. */
export const ABSORB_LIMITS = { workspaces: 100, keys: 1_000, calls: 2_000 } as const;
const absorbedSchema = z.object({
  workspace_id: z.string(),
  /** Counts the transactions that changed a sum of the workspace: of two answers of one timeline the higher is the newer. */
  seq: count.min(0),
  /** Credited less recorded; below zero after a credit that takes. */
  left_nano_usd: nanoUsdSchema,
  /** Spent by `YYYY-MM`: in the month asked for, in later ones, and in those of the calls that are recorded. */
  months: amounts,
  /** Spent by key id: of the keys asked for, and of those of the calls that are recorded. */
  keys: amounts,
  /** Spent by key id since the first day that was asked for. A ledger of the version before does not say. */
  since: z.record(z.string(), z.object({ day, spent_nano_usd: nanoUsdSchema })).default({}),
  /** Which of the calls are recorded, and so contained in these sums: as known for good, and as `unknown`. */
  final: z.array(z.string()),
  unknown: z.array(z.string()),
  /** Which of the calls have a dead letter that waits to be replayed. A ledger of the version before does not say. */
  dead_letters: z.array(z.string()).default([]),
});
/** The ledger's sums of a workspace, all of one instant. */
export type AbsorbedWorkspace = z.output<typeof absorbedSchema>;

const instant = z.iso.datetime();
/** The services that hold money for calls, and report to the ledger. */
const HOLDING_SERVICES = ['model-router', 'media-jobs'] as const;
/** How a region stands with its Redis and its Postgres. */
const recoverySchema = z
  .object({
    /** Time of the database's clock, which all instants here have. */
    now: instant,
    /** Since when no router has admitted a call of some shard; null where one does of each, or none is heard. */
    closed_since: instant.nullable(),
    /** On each Redis that a router sees, or that is open. */
    gates: z.array(
      z.object({
        /** Hash slots that it serves. */
        shard: z.string(),
        redis_id: z.string(),
        mark: z.uuid(),
        is_open: z.boolean(),
        since: instant,
        /** How many routers that are heard see it. */
        seen_by: count,
        /** Routers with a recent report that still block the opening of the gate, and are fenced once it is open. */
        waits_for: z.array(z.string()),
      }),
    ),
    /** Each for every shard. */
    routers: z.array(
      z.object({
        shard: z.string(),
        router_id: z.string(),
        /** Null of a router of the version before. */
        service: z.enum(HOLDING_SERVICES).nullable().default(null),
        host: z.string().nullable().default(null),
        /** Null while it sees none. */
        redis_id: z.string().nullable(),
        state: z.enum(['admits', 'waits', 'has_not_put_back', 'sees_no_redis', 'is_stranger', 'is_silent']),
        /** Null where it admits. */
        since: instant.nullable(),
        /** Longer than anything is waited for. */
        is_overdue: z.boolean(),
      }),
    ),
    timeline: z.object({
      current: count,
      /** Balances are given while it is the current one; null before the event log was first read to its end. */
      caught_up_with: count.nullable(),
      /** Records of the event log that are not in the ledger yet; null while it does not answer. */
      lag_records: count.nullable(),
    }),
  })
  .meta({ id: 'Recovery' });
export type RecoveryBody = z.output<typeof recoverySchema>;

/** The groupings of a usage report. */
export const USAGE_GROUPS = ['day', 'key', 'model'] as const;
export type UsageGrouping = (typeof USAGE_GROUPS)[number];

const usageEntry = z.object({
  /** Each of these three where usage is told apart by it. */
  key_id: z.string().optional(),
  /** Day, `YYYY-MM-DD`. */
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
    /** When the operator gave it up, and why. */
    dismissed_at: z.string().nullable().default(null),
    dismissal_note: z.string().nullable().default(null),
  })
  .meta({ id: 'DeadLetter' });
export type DeadLetter = z.output<typeof deadLetterSchema>;

/** A recorded call. Prompts and completions are nowhere kept. */
const callSchema = z.object({
  call_id: z.string(),
  workspace_id: z.string(),
  key_id: z.string(),
  /** Engine and its name of the model, as `engine-1/llama-3.3-70b-instruct`. */
  model: z.string(),
  /** The `x-request-id` of its answer. Null of a call of the version before. Absent of a ledger of the version before. */
  request_id: z.string().nullable().optional(),
  /** Null of a call that is not traced. */
  trace_id: z.string().nullable().optional(),
  canonical_model: z.string(),
  operation: z.string(),
  modality: z.string(),
  is_stream: z.boolean(),
  status: z.enum(['success', 'failure', 'unknown']),
  /** Short code: why the call is no success, or how a success ended early. */
  reason: z.string().nullable(),
  prompt_tokens: count,
  cached_prompt_tokens: count,
  completion_tokens: count,
  prompt_images: count,
  billing_unit: z.string(),
  /** Images, characters or whole seconds. Null for text. */
  units: count.nullable(),
  price_version: count,
  /** Sums exactly to the charge: `quantity` × `unit_price_usd` ÷ `per`. Null if the prices of the version cannot be read. */
  cost: z
    .array(
      z.object({
        item: z.string(),
        quantity: count.nullable(),
        unit_price_usd: z.string().nullable(),
        per: count.nullable(),
        amount_nano_usd: z.string(),
      }),
    )
    .nullable(),
  charge_nano_usd: nanoUsdSchema,
  hold_nano_usd: nanoUsdSchema,
  started_at: z.string(),
  ended_at: z.string(),
  recorded_at: z.string(),
});

const ofLetter = z.object({ dead_letter_id: sequenceNumber });
const NO_LETTER = { dead_letter_not_found: { status: 404, message: 'No dead letter of this id waits here.' } };

const usageGroups = z
  .string()
  .transform((text) => text.split(','))
  .pipe(z.array(z.enum(USAGE_GROUPS, 'must be day, key or model')));

/** The books: usage, credits, dead letters; and which Redis the gate counts in. */
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
  getCall: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/calls/:call_id',
    promise:
      'one recorded call of any workspace with the arithmetic of its charge, by its call id, `chatcmpl-…` or `x-request-id`',
    params: z.object({ call_id: text.max(128) }),
    answer: callSchema,
    faults: {
      call_not_recorded: {
        status: 404,
        message: 'No call of this id is recorded here: it was refused, is under way, or is of another region.',
      },
    },
  },
  getBalances: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/workspaces/:workspace_id/balances',
    promise: 'of what is recorded by now',
    params: ofWorkspace.extend({ month }),
    answer: z.object({
      credited_nano_usd: nanoUsdSchema,
      spent_nano_usd: nanoUsdSchema,
      month_spent_nano_usd: nanoUsdSchema,
      /** Keyed by key id. */
      keys: amounts,
      /** Calls recorded, however they ended. */
      requests: count.min(0),
    }),
    answerLimitBytes: LARGE_ANSWER_BYTES,
  },
  absorb: {
    callers: ['model-router', 'media-jobs'],
    method: 'POST',
    path: '/internal/balances/absorb',
    promise:
      'of some workspaces, all of one instant: what is left, what months and keys have spent, which of the pending calls these sums contain, and which lie as dead letters; changes nothing',
    body: z.object({
      workspaces: z
        .array(
          ofWorkspace.extend({
            month,
            keys: z.array(anyId).max(ABSORB_LIMITS.keys),
            /** First day of the period of a key's budget, by key id. */
            since: z
              .record(anyId, day)
              .refine((all) => Object.keys(all).length <= ABSORB_LIMITS.calls, 'must have no more keys than calls')
              .default({}),
            calls: z.array(z.uuid()).max(ABSORB_LIMITS.calls),
          }),
        )
        .min(1)
        .max(ABSORB_LIMITS.workspaces)
        .refine((all) => new Set(all.map(({ workspace_id: id }) => id)).size === all.length, 'must not repeat itself'),
    }),
    bodyLimitBytes: 16 * 1024 * 1024,
    answer: z.object({
      /**
       * Incarnation number of the database. A database that took over may have lost commits, and has a higher number.
       * Sums of a higher number are newer.
       */
      timeline: count.min(1),
      workspaces: z.array(absorbedSchema),
    }),
    answerLimitBytes: LARGE_ANSWER_BYTES,
    faults: {
      balances_catching_up: {
        status: 503,
        message: 'The database was started again. Balances are given once the event log has been read again.',
        retryAfterSeconds: 1,
      },
    },
  },
  reportRouter: {
    callers: ['model-router', 'media-jobs'],
    method: 'PUT',
    path: '/internal/routers/:router_id',
    promise:
      'a sign of life every second for each shard, answered with whether the gate is open on the Redis that the router sees there ([redis-lost.md](redis-lost.md))',
    params: ofRouter,
    body: z.object({
      /** The hash slots it is about, as ranges or as their digest; a Redis that is no cluster serves all. */
      shard: z
        .string()
        .regex(/^[0-9a-f,-]{1,128}$/, 'must be ranges of hash slots, or their digest')
        .default('0-16383'),
      /** Replication id of the Redis it sees; null while it sees none. */
      redis_id: plainId.nullable(),
      /** The mark it has put its pending calls back under, and not lost its session since. */
      put_back_mark: z.uuid().nullable(),
      /** A mark under which it had put back, and which that Redis does not have any more: it was emptied. */
      missing_mark: z.uuid().nullable(),
      /** The process that reports, for operators. A router of the version before does not say. */
      process: z.object({ service: z.enum(HOLDING_SERVICES), host: text.max(253) }).optional(),
    }),
    bodyLimitBytes: 4 * 1024,
    answer: z.object({
      /** The Redis of the request. Null if there is nothing to open. */
      redis_id: z.string().nullable(),
      /** The mark that everything loaded into that Redis has. */
      mark: z.uuid().nullable(),
      /** This report brought the mark about. Its router alone puts it into Redis, and tries once, so a mark that has gone stays gone. */
      is_to_be_set: z.boolean(),
      /** Whether every live router has put back under this mark, or had its time to. */
      is_open: z.boolean(),
      /** Others count in another Redis: this one is not the region's. */
      is_stranger: z.boolean(),
      /** The routers that have not put back yet. */
      waits_for: z.array(z.string()),
    }),
  },
  removeRouter: {
    callers: ['model-router', 'media-jobs'],
    method: 'DELETE',
    path: '/internal/routers/:router_id',
    promise: 'a router whose calls have all ended and are all recorded leaves',
    params: ofRouter,
    answer: z.object({}),
  },
  getRecovery: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/recovery',
    promise:
      'on which Redis the gate is open or closed and since when, who is waited for and what each router lacks, and whether balances are given; changes nothing',
    answer: recoverySchema,
  },
  appendEvents: {
    callers: ['model-router', 'media-jobs'],
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
      'the books of one workspace, or of all: the rows of open hours added up anew beside what is sealed, and held against Redis and the prices; with `seals` the rows of sealed hours as well, which may take minutes; who asks the same meanwhile shares the answer, and `doubts` says what there was no time for',
    params: z.object({ workspace_id: anyId.optional(), seals: z.enum(['verify']).optional() }),
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
  dismissDeadLetter: {
    callers: ['operator'],
    method: 'POST',
    path: '/internal/dead-letters/:dead_letter_id/dismiss',
    promise: 'gives it up: it counts as waiting no more, and can still be replayed',
    params: ofLetter,
    body: z.strictObject({ note: text.min(1).max(500) }),
    answer: z.object({ id: z.string() }),
    faults: NO_LETTER,
  },
});
