import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import { Prisma } from '../generated/client.ts';
import { binaryArray } from './binaryArray.ts';

const { bigint, boolean, int, text, timestamptz, uuid } = binaryArray;

/** A partition of the event log. */
interface Place {
  topic: string;
  partition: number;
}

/** From where a partition is read to where it is read then. */
interface Range {
  from: bigint;
  to: bigint;
}

/** A record that cannot be recorded, and why. */
export interface DeadLetter {
  offset: bigint;
  reason: string;
  payload: Buffer;
}

/** What a batch of the event log came to. */
interface BatchToRecord {
  /** The batch, as the postings name it. */
  source: string;
  /** At most one of each call. */
  events: UsageRecorded[];
  deadLetters: DeadLetter[];
}

/** What is asked of a workspace: UTC months as `YYYY-MM`, calls as UUIDs. */
export interface AskedWorkspace {
  workspaceId: string;
  month: string;
  keyIds: string[];
  callIds: string[];
}

/** What a router says of itself and a shard. */
export interface ReportedRouter {
  routerId: string;
  /** Replication id of the Redis it sees; null while it sees none. */
  redisId: string | null;
  /** The mark that it has put its pending calls back under. */
  putBackMark: string | null;
}

/** A Redis that serves a shard. */
export interface ServedShard {
  /** Of all that may serve these hash slots, one at a time is open. */
  shard: string;
  redisId: string;
}

/** A Redis, under the mark that what is loaded there carries. */
export interface MarkedRedis extends ServedShard {
  mark: string;
}

/** How reports are listened to. */
export const LISTENING = {
  /** A router that reports every second is taken for dead after so long. */
  longestSilenceMs: 3_000,
  /**
   * Without any report for so long nobody could be heard, so nobody's silence counts from before. Less than the longest silence by the
   * second between two reports, or all others would be taken for dead by whoever is heard first; and more than that second, or a router
   * that is alone would be such a gap itself.
   */
  longestGapMs: 2_000,
  notedEveryMs: 500,
  seenEveryMs: 60_000,
} as const;

/** One of the statements below, with what it was given. Its text is the same whatever that was. */
export type Statement = Prisma.Sql & { name: string; args: unknown[] };

/**
 * The SQL that money runs through, by name. To run one by itself: `db.run(statements.readTimeline())`; in a transaction:
 * `tx.$queryRaw(…)`, or `$executeRaw` for how many rows it changed. A statement knows its name and what it was given, and the simulation
 * runs a model of that name in its place (`test/simulation/ledger`): it compiles with a model of each and of nothing else.
 */
export const statements = named({
  /** The clock that all replicas go by. */
  readTime: () => Prisma.sql`SELECT clock_timestamp() AS "now"`,

  /** The same, once there is a partition for the month that it is in. */
  readTimeOfRecording: () => Prisma.sql`
    SELECT clock_timestamp() AS "now", ensure_usage_partition((clock_timestamp() AT TIME ZONE 'UTC')::DATE)::TEXT AS "partition"`,

  /** Makes the partitions of months, given by their first days, unless they exist. */
  ensureUsagePartitions: (firstDays: string[]) => Prisma.sql`
    SELECT ensure_usage_partition(month::DATE) FROM unnest(${firstDays}::TEXT[]) AS month ORDER BY month`,

  /**
   * Records a batch of the event log, all or nothing: its calls, what of it could not be read, and how far its partition is read by
   * then. No row where that does not stand at `from`: nothing is changed then. Else how many rows are new or became known. A rival waits
   * at the first step, instead of doing the work in vain. Payloads travel as base64: what cannot be read may hold what a text in Postgres
   * may not.
   */
  recordBatch: ({ topic, partition }: Place, { from, to }: Range, { source, events, deadLetters }: BatchToRecord) =>
    Prisma.sql`
    WITH moved AS (
      INSERT INTO event_offset AS known (topic, partition, next_offset)
      SELECT ${topic}, ${partition}::INT, ${to}::BIGINT
      WHERE ${from}::BIGINT = 0 OR EXISTS (SELECT FROM event_offset WHERE topic = ${topic} AND partition = ${partition}::INT)
      ON CONFLICT (topic, partition) DO UPDATE SET next_offset = excluded.next_offset WHERE known.next_offset = ${from}::BIGINT
      RETURNING next_offset
    ), letters AS (
      INSERT INTO dead_letter (topic, partition, "offset", reason, payload)
      SELECT ${topic}, ${partition}::INT, letter."offset", letter.reason, decode(letter.payload, 'base64')
      FROM moved, unnest(
        ${deadLetters.map(({ offset }) => String(offset))}::BIGINT[],
        ${deadLetters.map(({ reason }) => reason)}::TEXT[],
        ${deadLetters.map(({ payload }) => payload.toString('base64'))}::TEXT[]
      ) AS letter ("offset", reason, payload)
      ON CONFLICT DO NOTHING
    )
    SELECT record_calls(${source}, ${toColumns(events)}) AS recorded FROM moved`,

  /** Gives how many rows are new or became known. At most one event per call. */
  recordUsage: (source: string, events: UsageRecorded[]) =>
    Prisma.sql`SELECT record_calls(${source}, ${toColumns(events)}) AS recorded`,

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

  /** Changes no row when the id is known. */
  addCredit: (credit: { creditId: string; workspaceId: string; amountNanoUsd: bigint; note: string }) => Prisma.sql`
    INSERT INTO credit (credit_id, workspace_id, amount_nano_usd, note)
    VALUES (${credit.creditId}, ${credit.workspaceId}, ${credit.amountNanoUsd}, ${credit.note})
    ON CONFLICT (credit_id) DO NOTHING`,

  /** What operators see of a workspace. One statement sees one state: a charge is in every sum or in none. */
  readBalances: ({ workspaceId, month }: { workspaceId: string; month: string }) => Prisma.sql`
    SELECT
      coalesce((SELECT credited_nano_usd FROM workspace_total WHERE workspace_id = ${workspaceId}), 0)::TEXT AS "credited",
      coalesce((SELECT charge_nano_usd FROM workspace_total WHERE workspace_id = ${workspaceId}), 0)::TEXT AS "spent",
      coalesce((
        SELECT charge_nano_usd FROM workspace_month_total
        WHERE workspace_id = ${workspaceId} AND month = ${`${month}-01`}::DATE
      ), 0)::TEXT AS "monthSpent",
      coalesce((
        SELECT jsonb_object_agg(key_id, charge_nano_usd::TEXT) FROM key_total WHERE workspace_id = ${workspaceId}
      ), '{}') AS "keys",
      (SELECT coalesce(sum(requests), 0)::TEXT FROM key_total WHERE workspace_id = ${workspaceId}) AS "requests"`,

  /**
   * Sums of some workspaces, which of their calls are in them, and which lie as dead letters. One statement sees one state, and that is what makes it safe to
   * drop a call where these sums are taken over. A row for each workspace asked for; the timeline stands in each.
   */
  absorb: (asked: AskedWorkspace[]) => Prisma.sql`
    SELECT asked.workspace_id AS "workspaceId", current_timeline() AS "timeline",
      (SELECT timeline FROM recovery) AS "caughtUpWith", coalesce(sums.seq, 0)::TEXT AS "seq",
      (coalesce(sums.credited_nano_usd, 0) - coalesce(sums.charge_nano_usd, 0))::TEXT AS "left",
      (
        SELECT jsonb_object_agg(to_char(wanted.month, 'YYYY-MM'), coalesce(total.charge_nano_usd, 0)::TEXT)
        FROM (
          SELECT asked.month UNION SELECT unnest(recorded.months) UNION
          SELECT month FROM workspace_month_total WHERE workspace_id = asked.workspace_id AND month > asked.month
        ) AS wanted (month)
        LEFT JOIN workspace_month_total AS total ON total.workspace_id = asked.workspace_id AND total.month = wanted.month
      ) AS "months",
      coalesce((
        SELECT jsonb_object_agg(wanted.key_id, coalesce(total.charge_nano_usd, 0)::TEXT)
        FROM (SELECT unnest(asked.keys) UNION SELECT unnest(recorded.keys)) AS wanted (key_id)
        LEFT JOIN key_total AS total ON total.key_id = wanted.key_id AND total.workspace_id = asked.workspace_id
      ), '{}') AS "keys",
      recorded.final AS "final", recorded.unknown AS "unknown",
      coalesce((
        SELECT jsonb_agg(DISTINCT call_id) FROM dead_letter WHERE call_id = ANY(asked.calls) AND replayed_at IS NULL
      ), '[]') AS "deadLetters"
    FROM json_to_recordset(${JSON.stringify(asked.map(toAskedRow))}::JSON)
      AS asked (workspace_id TEXT, month DATE, keys TEXT[], calls UUID[])
    LEFT JOIN workspace_total AS sums ON sums.workspace_id = asked.workspace_id
    CROSS JOIN LATERAL (
      SELECT coalesce(jsonb_agg(call_id) FILTER (WHERE status <> 'unknown'), '[]') AS final,
        coalesce(jsonb_agg(call_id) FILTER (WHERE status = 'unknown'), '[]') AS unknown,
        array_agg(DISTINCT key_id) AS keys,
        array_agg(DISTINCT date_trunc('month', started_at AT TIME ZONE 'UTC')::DATE) AS months
      FROM (SELECT DISTINCT unnest(asked.calls) AS id) AS wanted
      -- By its id in its month, whatever the planner knows: with no statistics yet it reads every call of the workspace instead.
      CROSS JOIN LATERAL (SELECT * FROM usage_request WHERE call_id = wanted.id OFFSET 0) AS call
      WHERE call.workspace_id = asked.workspace_id
    ) AS recorded`,

  /** The timeline that the database writes, and the one that it had last read the event log again on. */
  readTimeline: () => Prisma.sql`SELECT current_timeline() AS "timeline", timeline AS "caughtUpWith" FROM recovery`,

  /**
   * Lets balances be given on this timeline, if it still is the database's and every partition is read up to these offsets; changes
   * no row otherwise. Routers are waited for from now on where a gate is closed: since when they were may be of a mark that nobody
   * had used by then, and that they have put back after since.
   */
  catchUp: (timeline: number, ends: (Place & { end: bigint })[]) => Prisma.sql`
    WITH caught_up AS (
      UPDATE recovery SET timeline = ${timeline}
      WHERE timeline IS DISTINCT FROM ${timeline} AND current_timeline() = ${timeline} AND NOT EXISTS (
        SELECT FROM json_to_recordset(${JSON.stringify(ends.map((each) => ({ ...each, end: String(each.end) })))}::JSON)
          AS log (topic TEXT, partition INT, "end" BIGINT)
        LEFT JOIN event_offset AS position USING (topic, partition)
        WHERE coalesce(position.next_offset, 0) < log."end"
      )
      RETURNING old.timeline AS was
    )
    , awaited AS (UPDATE redis_server SET raised_at = clock_timestamp() WHERE opened_at IS NULL AND EXISTS (SELECT FROM caught_up))
    SELECT was FROM caught_up`,

  /**
   * Takes a router's report of a shard, and gives what is known of the Redis that it sees there: no row where that is none, or a new
   * one. Locks no row for long that another router's report would wait for: what all share is changed now and then, by whoever finds
   * it unlocked.
   */
  hearRouter: ({ routerId, shard, redisId, putBackMark }: ReportedRouter & { shard: string }) => Prisma.sql`
    WITH heard AS (
      INSERT INTO router AS known (router_id, shard, redis_id, put_back_mark, behind_since)
      VALUES (${routerId}, ${shard}, ${redisId}::TEXT, ${putBackMark}::UUID,
        CASE WHEN ${putBackMark}::UUID IS NULL THEN clock_timestamp() END)
      ON CONFLICT (router_id, shard) DO UPDATE SET
        heard_at = clock_timestamp(), redis_id = excluded.redis_id, put_back_mark = excluded.put_back_mark,
        behind_since = CASE WHEN excluded.put_back_mark IS NULL THEN coalesce(known.behind_since, excluded.behind_since) END
    ), listening AS (
      UPDATE recovery SET heard_at = clock_timestamp(), listening_since = CASE
        WHEN clock_timestamp() - heard_at > make_interval(secs => ${LISTENING.longestGapMs / 1_000}) THEN clock_timestamp()
        ELSE listening_since END
      WHERE is_only IN (
        SELECT is_only FROM recovery
        WHERE clock_timestamp() - heard_at > make_interval(secs => ${LISTENING.notedEveryMs / 1_000}) FOR UPDATE SKIP LOCKED)
    ), seen AS (
      UPDATE redis_server SET seen_at = clock_timestamp()
      WHERE (shard, redis_id) IN (
        SELECT shard, redis_id FROM redis_server
        WHERE shard = ${shard} AND redis_id = ${redisId}::TEXT
          AND clock_timestamp() - seen_at > make_interval(secs => ${LISTENING.seenEveryMs / 1_000}) FOR UPDATE SKIP LOCKED)
    )
    SELECT mark, opened_at IS NOT NULL AS "isOpen" FROM redis_server
    WHERE shard = ${shard} AND redis_id = ${redisId}::TEXT`,

  /** One transaction at a time moves a gate. */
  lockRecovery: () => Prisma.sql`SELECT is_only FROM recovery FOR UPDATE`,

  /**
   * The routers that are heard, of whatever shard, silence being counted from when anybody could be; what each says of this shard;
   * every Redis that they have seen serve it; and whether balances are given on this timeline.
   */
  readRecovery: (shard: string) => Prisma.sql`
    SELECT
      coalesce((
        SELECT jsonb_agg(
          jsonb_build_object('routerId', router_id, 'redisId', redis_id, 'putBackMark', put_back_mark) ORDER BY router_id)
        FROM (
          SELECT router_id, max(redis_id) FILTER (WHERE shard = ${shard}) AS redis_id,
            max(put_back_mark::TEXT) FILTER (WHERE shard = ${shard}) AS put_back_mark
          FROM router, recovery
          WHERE clock_timestamp() - greatest(router.heard_at, listening_since)
            <= make_interval(secs => ${LISTENING.longestSilenceMs / 1_000})
          GROUP BY router_id
        ) AS heard
      ), '[]') AS "routers",
      coalesce((
        SELECT jsonb_agg(jsonb_build_object('shard', shard, 'redisId', redis_id, 'mark', mark, 'isOpen', opened_at IS NOT NULL,
          'raisedMsAgo', extract(epoch FROM clock_timestamp() - raised_at) * 1000) ORDER BY redis_id)
        FROM redis_server WHERE shard = ${shard}
      ), '[]') AS "servers",
      coalesce((SELECT timeline = current_timeline() FROM recovery), false) AS "hasBalances"`,

  /** A Redis that nobody has seen serve this shard before, under a mark of its own. */
  takeRedis: ({ shard, redisId }: ServedShard) => Prisma.sql`
    INSERT INTO redis_server (shard, redis_id) VALUES (${shard}, ${redisId}) ON CONFLICT DO NOTHING`,

  /**
   * Closes the gate on a Redis, which gets another mark. Changes no row where it has another already. Where nobody has put back under
   * the old one the time that routers have goes on: nothing was lost.
   */
  raiseMark: ({ shard, redisId, mark }: MarkedRedis) => Prisma.sql`
    UPDATE redis_server SET mark = gen_random_uuid(), opened_at = NULL,
      raised_at = CASE
        WHEN opened_at IS NULL AND NOT EXISTS (SELECT FROM router WHERE put_back_mark = ${mark}::UUID) THEN raised_at
        ELSE clock_timestamp()
      END
    WHERE shard = ${shard} AND redis_id = ${redisId} AND mark = ${mark}::UUID`,

  /** Counts the time that routers have for a Redis as if its mark had been raised so long ago. */
  raisedAgo: ({ shard, redisId }: ServedShard, ms: number) => Prisma.sql`
    UPDATE redis_server SET raised_at = clock_timestamp() - make_interval(secs => ${ms / 1_000})
    WHERE shard = ${shard} AND redis_id = ${redisId}`,

  /** Counts it so for every other Redis of the shard that is closed, where it is longer. */
  othersRaisedAgoAtMost: ({ shard, redisId }: ServedShard, ms: number) => Prisma.sql`
    UPDATE redis_server SET raised_at = greatest(raised_at, clock_timestamp() - make_interval(secs => ${ms / 1_000}))
    WHERE shard = ${shard} AND redis_id <> ${redisId} AND opened_at IS NULL`,

  /**
   * Opens the gate on a Redis and closes it, for whoever may see that again, on every other of the shard, and on this one as the shard
   * that it was before it got other slots. Changes no row where it has another mark, or is open.
   */
  openRedis: ({ shard, redisId, mark }: MarkedRedis) => Prisma.sql`
    WITH opened AS (
      UPDATE redis_server SET opened_at = clock_timestamp()
      WHERE shard = ${shard} AND redis_id = ${redisId} AND mark = ${mark}::UUID AND opened_at IS NULL
      RETURNING shard, redis_id
    )
    UPDATE redis_server SET mark = gen_random_uuid(), raised_at = clock_timestamp(), opened_at = NULL
    FROM opened
    WHERE (redis_server.shard = opened.shard) <> (redis_server.redis_id = opened.redis_id) AND opened_at IS NOT NULL`,

  /** In the order of commits. Values travel as bytes, in a row: they may hold what a text in Postgres may not. */
  appendToLog(topic: string, records: { key: string; value: string }[]) {
    const values = records.map(({ value }) => Buffer.from(value));
    return Prisma.sql`
      SELECT append_records(
        ${topic},
        ${records.map(({ key }) => key)}::TEXT[],
        ${Buffer.concat(values)}::BYTEA,
        ${values.map(({ length }) => length)}::INT[]
      )::TEXT`;
  },

  /** How far a partition of the event log is read; no row before anything was. */
  readPosition: ({ topic, partition }: Place) => Prisma.sql`
    SELECT next_offset AS "nextOffset" FROM event_offset WHERE topic = ${topic} AND partition = ${partition}`,

  /** The offset that the next record of a topic will get. */
  readLogEnd: (topic: string) => Prisma.sql`
    SELECT coalesce(max("offset") + 1, 0) AS "end" FROM event_log_record WHERE topic = ${topic}`,

  /**
   * The records from an offset on, or from the first one after it. By a range, as offsets have no gaps: a planner that knows too little
   * of the table meets a LIMIT by reading and sorting all that is still to be read. Values in Postgres' escape format, which leaves nearly
   * all of an event as it is: hexadecimal, and base64 with its line ends, are read slowly.
   */
  readLog: (topic: string, fromOffset: bigint, limit: number) => {
    const first = Prisma.sql`(SELECT min("offset") FROM event_log_record WHERE topic = ${topic} AND "offset" >= ${fromOffset})`;
    return Prisma.sql`
      SELECT "offset", key, encode(value, 'escape') AS "value" FROM event_log_record
      WHERE topic = ${topic} AND "offset" >= ${first} AND "offset" < ${first} + ${limit} ORDER BY "offset"`;
  },
});

const toAskedRow = ({ workspaceId, month, keyIds, callIds }: AskedWorkspace) => ({
  workspace_id: workspaceId,
  month: `${month}-01`,
  keys: keyIds,
  calls: callIds,
});

/** Calls as `record_calls` takes them: an array of each column of `usage_request`, in its order. */
const toColumns = (events: UsageRecorded[]): Prisma.Sql => Prisma.sql`
  ${uuid(events, ({ callId }) => callId)}::UUID[],
  ${text(events, ({ keyId }) => keyId)}::TEXT[],
  ${text(events, ({ workspaceId }) => workspaceId)}::TEXT[],
  ${text(events, ({ region }) => region)}::TEXT[],
  ${text(events, ({ operation }) => operation)}::TEXT[],
  ${text(events, ({ model }) => model)}::TEXT[],
  ${text(events, ({ canonicalModel }) => canonicalModel)}::TEXT[],
  ${int(events, ({ priceVersion }) => priceVersion)}::INT[],
  ${text(events, ({ status }) => status)}::TEXT[],
  ${text(events, ({ reason }) => reason)}::TEXT[],
  ${int(events, ({ promptTokens }) => promptTokens)}::INT[],
  ${int(events, ({ cachedPromptTokens }) => cachedPromptTokens)}::INT[],
  ${int(events, ({ completionTokens }) => completionTokens)}::INT[],
  ${int(events, ({ images }) => images)}::INT[],
  ${bigint(events, ({ chargeNanoUsd }) => chargeNanoUsd)}::BIGINT[],
  ${bigint(events, ({ formulaNanoUsd }) => formulaNanoUsd)}::BIGINT[],
  ${bigint(events, ({ holdNanoUsd }) => holdNanoUsd)}::BIGINT[],
  ${text(events, ({ modality }) => modality)}::TEXT[],
  ${text(events, ({ billingUnit }) => billingUnit)}::TEXT[],
  ${int(events, ({ units }) => units ?? null)}::INT[],
  ${boolean(events, ({ isStream }) => isStream)}::BOOLEAN[],
  ${timestamptz(events, ({ startedAtMs }) => startedAtMs)}::TIMESTAMPTZ[],
  ${timestamptz(events, ({ startedAtMs, endedAtMs }) => Math.max(endedAtMs, startedAtMs))}::TIMESTAMPTZ[]`;

type Named<All extends Record<string, (...args: never[]) => Prisma.Sql>> = {
  [Name in keyof All]: (...args: Parameters<All[Name]>) => Statement;
};

function named<All extends Record<string, (...args: never[]) => Prisma.Sql>>(all: All): Named<All> {
  const knowing = Object.entries(all).map(([name, toSql]) => [
    name,
    (...args: never[]) => Object.assign(toSql(...args), { name, args }),
  ]);
  return Object.fromEntries(knowing);
}
