import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import { Prisma } from '../generated/client.ts';

/** A partition of the event log. */
interface Place {
  topic: string;
  partition: number;
}

/**
 * The SQL that money runs through, by name. To run one: `tx.$queryRaw(statements.lockEpoch())`, or `$executeRaw` for how many rows
 * it changed. A statement knows its name and what it was given, and the simulation runs a model of that name in its place
 * (`test/simulation/ledger`): it compiles with a model of each and of nothing else.
 */
export const statements = named({
  /** Makes the partitions of months, given by their first days, unless they exist. */
  ensureUsagePartitions: (firstDays: string[]) => Prisma.sql`
    SELECT ensure_usage_partition(month::DATE) FROM unnest(${firstDays}::TEXT[]) AS month ORDER BY month`,

  /** The first offset of a partition, 0, unless it has one. */
  beginOffset: ({ topic, partition }: Place) => Prisma.sql`
    INSERT INTO event_offset (topic, partition, next_offset) VALUES (${topic}, ${partition}, 0) ON CONFLICT DO NOTHING`,

  /** Changes no row when the offset does not stand at `from`. */
  moveOffset: ({ topic, partition }: Place, { from, to }: { from: bigint; to: bigint }) => Prisma.sql`
    UPDATE event_offset SET next_offset = ${to}
    WHERE topic = ${topic} AND partition = ${partition} AND next_offset = ${from}`,

  /** Gives how many rows are new or became known. At most one event per call. */
  recordUsage: (source: string, events: UsageRecorded[]) =>
    Prisma.sql`SELECT record_usage(${source}, ${JSON.stringify(events.map(toRow))}::JSON) AS recorded`,

  /** Payloads travel as base64: what cannot be read may hold what a text in Postgres may not. */
  recordDeadLetters: ({ topic, partition }: Place, letters: { offset: bigint; reason: string; payload: Buffer }[]) =>
    Prisma.sql`
    INSERT INTO dead_letter (topic, partition, "offset", reason, payload)
    SELECT ${topic}, ${partition}::INT, letter."offset", letter.reason, decode(letter.payload, 'base64')
    FROM unnest(
      ${letters.map(({ offset }) => String(offset))}::BIGINT[],
      ${letters.map(({ reason }) => reason)}::TEXT[],
      ${letters.map(({ payload }) => payload.toString('base64'))}::TEXT[]
    ) AS letter ("offset", reason, payload)
    ON CONFLICT DO NOTHING`,

  /** The first bytes of a letter that waits to be replayed. */
  readDeadLetter: (id: bigint, mostBytes: number) => Prisma.sql`
    SELECT substring(payload FROM 1 FOR ${mostBytes}::INT) AS payload
    FROM dead_letter WHERE dead_letter_id = ${id} AND replayed_at IS NULL`,

  /** Changes no row when the letter does not wait any more. */
  markReplayed: (id: bigint, repaired: Buffer | undefined) => Prisma.sql`
    UPDATE dead_letter SET replayed_at = now(), repaired_payload = decode(${repaired?.toString('base64') ?? null}, 'base64')
    WHERE dead_letter_id = ${id} AND replayed_at IS NULL`,

  /** Why a letter still cannot be read. Changes no row when it does not wait any more. */
  keepReason: (id: bigint, reason: string) => Prisma.sql`
    UPDATE dead_letter SET reason = ${reason} WHERE dead_letter_id = ${id} AND replayed_at IS NULL`,

  /** Until the transaction ends, nobody else's credit for the workspace is given a `seq`. */
  lockCredits: (workspaceId: string) => Prisma.sql`
    SELECT pg_advisory_xact_lock(hashtext('credit'), hashtext(${workspaceId}))`,

  /** Changes no row when the id is known. */
  addCredit: (credit: { creditId: string; workspaceId: string; amountNanoUsd: bigint; note: string }) => Prisma.sql`
    INSERT INTO credit (credit_id, workspace_id, amount_nano_usd, note)
    VALUES (${credit.creditId}, ${credit.workspaceId}, ${credit.amountNanoUsd}, ${credit.note})
    ON CONFLICT (credit_id) DO NOTHING`,

  /** One statement sees one state: a charge is in every sum or in none, and with it its call among those recorded. */
  readBalances: ({ workspaceId, month, callIds }: { workspaceId: string; month: string; callIds: string[] }) =>
    Prisma.sql`
    SELECT
      (SELECT coalesce(max(seq), 0)::TEXT FROM credit WHERE workspace_id = ${workspaceId}) AS "creditSeq",
      (SELECT coalesce(sum(amount_nano_usd), 0)::TEXT FROM credit WHERE workspace_id = ${workspaceId}) AS "credited",
      coalesce((SELECT charge_nano_usd::TEXT FROM workspace_total WHERE workspace_id = ${workspaceId}), '0') AS "spent",
      coalesce((
        SELECT jsonb_object_agg(to_char(month, 'YYYY-MM'), charge_nano_usd::TEXT) FROM workspace_month_total
        WHERE workspace_id = ${workspaceId} AND month >= ${`${month}-01`}::DATE
      ), '{}') AS "months",
      coalesce((
        SELECT jsonb_object_agg(key_id, charge_nano_usd::TEXT) FROM key_total WHERE workspace_id = ${workspaceId}
      ), '{}') AS "keys",
      (SELECT coalesce(sum(requests), 0)::TEXT FROM key_total WHERE workspace_id = ${workspaceId}) AS "requests",
      coalesce((
        SELECT jsonb_agg(call_id) FROM usage_request
        WHERE workspace_id = ${workspaceId} AND call_id = ANY(${callIds}::UUID[])
      ), '[]') AS "recorded"`,

  /** Notes that a router was heard, and locks the epoch until the transaction ends. */
  hearRouter: (longestGapSeconds: number) => Prisma.sql`
    UPDATE redis_epoch SET heard_at = clock_timestamp(), listening_since = CASE
      WHEN clock_timestamp() - heard_at > make_interval(secs => ${longestGapSeconds}) THEN clock_timestamp()
      ELSE listening_since END
    RETURNING number, redis_id AS "redisId", phase, listening_since AS "listeningSince",
      rebuild_wanted_since AS "rebuildWantedSince", rebuild_wanted_at AS "rebuildWantedAt", heard_at AS now`,

  lockEpoch: () => Prisma.sql`SELECT phase FROM redis_epoch FOR UPDATE`,

  /** Unless balances have the letter. Its instant is rounded to milliseconds; balances are rather built once too often. */
  wantRebuild: (deadLetterId: bigint) => Prisma.sql`
    UPDATE redis_epoch
    SET rebuild_wanted_since = coalesce(rebuild_wanted_since, clock_timestamp()), rebuild_wanted_at = clock_timestamp()
    WHERE phase = 'asserting'
      OR phase = 'open' AND balances_since + interval '1 ms' > (
        SELECT recorded_at FROM dead_letter WHERE dead_letter_id = ${deadLetterId})`,

  /** One append to a topic at a time, so that a reader never sees an offset before a lower one. */
  lockLog: (topic: string) => Prisma.sql`
    SELECT pg_advisory_xact_lock(hashtext('event_log_record'), hashtext(${topic}))`,

  /** Values travel as base64: they may hold what a text in Postgres may not. */
  appendToLog: (topic: string, records: { key: string; value: string }[]) => Prisma.sql`
    INSERT INTO event_log_record (topic, "offset", key, value)
    SELECT ${topic}, log.end_offset + record.nth - 1, record.key, decode(record.value, 'base64')
    FROM unnest(
      ${records.map(({ key }) => key)}::TEXT[],
      ${records.map(({ value }) => Buffer.from(value).toString('base64'))}::TEXT[]
    ) WITH ORDINALITY AS record (key, value, nth),
      (SELECT coalesce(max("offset") + 1, 0) AS end_offset FROM event_log_record WHERE topic = ${topic}) AS log`,
});

/** A call by the columns of `usage_request`. Amounts as text: a number of JSON is no bigint here. */
function toRow(event: UsageRecorded): Record<string, unknown> {
  return {
    call_id: event.callId,
    key_id: event.keyId,
    workspace_id: event.workspaceId,
    region: event.region,
    operation: event.operation,
    model: event.model,
    canonical_model: event.canonicalModel,
    price_version: event.priceVersion,
    status: event.status,
    reason: event.reason,
    prompt_tokens: event.promptTokens,
    cached_prompt_tokens: event.cachedPromptTokens,
    completion_tokens: event.completionTokens,
    images: event.images,
    charge_nano_usd: String(event.chargeNanoUsd),
    formula_nano_usd: String(event.formulaNanoUsd),
    hold_nano_usd: String(event.holdNanoUsd),
    modality: event.modality,
    billing_unit: event.billingUnit,
    is_stream: event.isStream,
    started_at: new Date(event.startedAtMs),
    ended_at: new Date(Math.max(event.endedAtMs, event.startedAtMs)),
  };
}

function named<All extends Record<string, (...args: never[]) => Prisma.Sql>>(all: All): All {
  const knowing = Object.entries(all).map(([name, toSql]) => [
    name,
    (...args: never[]) => Object.assign(toSql(...args), { name, args }),
  ]);
  return Object.fromEntries(knowing);
}
