import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import { type Sql, sql } from '@turnpike/postgres/sql';
import { fromTraceparent } from '@turnpike/telemetry/traceparent';
import { binaryArray } from './binaryArray.ts';

const { bigint, boolean, int, text, timestamptz, uuid } = binaryArray;

/** A partition of the event log. */
export interface Partition {
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

/** The records of a batch of the event log. */
interface BatchToRecord {
  /** The batch, as the postings name it. */
  source: string;
  /** At most one of each call. */
  events: UsageRecorded[];
  deadLetters: DeadLetter[];
}

/** A question about a workspace. Months are UTC months as `YYYY-MM`, and calls are UUIDs. */
export interface AskedWorkspace {
  workspaceId: string;
  month: string;
  keyIds: string[];
  /** First day, `YYYY-MM-DD`, from which a key's spend is wanted, by key id. */
  since?: Record<string, string>;
  callIds: string[];
}

/** A router's report of itself and a shard. */
export interface ReportedRouter {
  routerId: string;
  /** Replication id of the Redis it sees; null while it sees none. */
  redisId: string | null;
  /** The mark that it has put its pending calls back under. */
  putBackMark: string | null;
  /** Absent of a router of the version before. */
  process?: { service: string; host: string } | undefined;
}

/** A Redis that serves a shard. */
export interface ServedShard {
  /** Hash slots. One Redis of a shard is open at a time. */
  shard: string;
  redisId: string;
}

/** A Redis and the mark that all keys loaded there carry. */
export interface MarkedRedis extends ServedShard {
  mark: string;
}

/** Times by which a router counts as silent. */
export const LISTENING = {
  /** A router reports every second. The ledger counts it as dead after this silence. */
  longestSilenceMs: 3_000,
  /**
   * Longest time without any report. After a longer gap the silence of every router counts from its end. The gap is one report interval
   * shorter than `longestSilenceMs`, so that the first report does not declare all other routers dead. It is longer than that interval,
   * so that the reports of a single router have no gap.
   */
  longestGapMs: 2_000,
  notedEveryMs: 500,
  seenEveryMs: 60_000,
} as const;

/** Sums of a workspace for operators. */
interface BalancesRow {
  credited: string;
  spent: string;
  monthSpent: string;
  keys: Record<string, string>;
  requests: string;
}

/** Sums of a workspace for Redis, and what they contain. */
export interface AbsorbedRow {
  workspaceId: string;
  timeline: number;
  caughtUpWith: number | null;
  seq: string;
  left: string;
  months: Record<string, string>;
  keys: Record<string, string>;
  /** Spend of calls admitted since the requested day, by key id. */
  since: Record<string, { day: string; spent: string }>;
  final: string[];
  unknown: string[];
  deadLetters: string[];
}

/** All reports of a shard, and its Redis. */
interface RecoveryRow {
  routers: ReportedRouter[];
  servers: (MarkedRedis & { isOpen: boolean; raisedMsAgo: number })[];
  hasBalances: boolean;
}

/** One of the statements below, with its arguments. Its text does not depend on them. */
export type Statement<Row = unknown> = Sql<Row> & { args: unknown[] };

/**
 * The SQL that changes and reads money, by name. `db.query(statements.readTimeline())` returns rows, `execute` returns how many rows
 * changed; a transaction has both too. A statement keeps its name and arguments, because the simulation runs a model of that name in its
 * place (`test/simulation/ledger`). The simulation compiles with a model for each statement and for nothing else.
 */
export const statements = named({
  /** Reads the database's clock, which all replicas use. */
  readTime: () => sql<{ now: Date }>`SELECT clock_timestamp() AS "now"`,

  /** Reads the clock, and makes the partition of its month. */
  readTimeOfRecording: () => sql<{ now: Date }>`
    SELECT clock_timestamp() AS "now", ensure_usage_partition((clock_timestamp() AT TIME ZONE 'UTC')::DATE)::TEXT AS "partition"`,

  /** Makes the partitions of months that have none. Months are given by their first days. */
  ensureUsagePartitions: (firstDays: string[]) => sql`
    SELECT ensure_usage_partition(month::DATE) FROM unnest(${firstDays}::TEXT[]) AS month ORDER BY month`,

  /**
   * Records a batch of the event log, all or nothing: its calls, its dead letters and the next offset of its partition. Returns how many
   * rows are new or became known. Returns no row and changes nothing if the stored offset is not `from`. A concurrent writer blocks on the
   * offset row, so it does no wasted work. Payloads travel as base64, because an unreadable record may hold a NUL byte.
   */
  recordBatch: ({ topic, partition }: Partition, { from, to }: Range, { source, events, deadLetters }: BatchToRecord) =>
    sql<{ recorded: bigint }>`
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
    SELECT record_ended_calls(${source}, ${toColumns(events)}) AS recorded FROM moved`,

  /** Records calls and returns how many rows are new or became known. Takes at most one event per call. */
  recordUsage: (source: string, events: UsageRecorded[]) =>
    sql<{ recorded: bigint }>`SELECT record_ended_calls(${source}, ${toColumns(events)}) AS recorded`,

  /** Reads the first bytes of a dead letter that waits to be replayed. */
  readDeadLetter: (id: bigint, mostBytes: number) => sql<{ payload: Buffer }>`
    SELECT substring(payload FROM 1 FOR ${mostBytes}::INT) AS payload
    FROM dead_letter WHERE dead_letter_id = ${id} AND replayed_at IS NULL`,

  /** Marks a dead letter as replayed. Changes no row if the letter does not wait any more. */
  markReplayed: (id: bigint, repaired: Buffer | undefined) => sql`
    UPDATE dead_letter SET replayed_at = now(), repaired_payload = decode(${repaired?.toString('base64') ?? null}, 'base64')
    WHERE dead_letter_id = ${id} AND replayed_at IS NULL`,

  /** Stores why a dead letter cannot be read. Changes no row if the letter does not wait any more. */
  keepReason: (id: bigint, reason: string) => sql`
    UPDATE dead_letter SET reason = ${reason} WHERE dead_letter_id = ${id} AND replayed_at IS NULL`,

  /** Adds a credit. Changes no row if the id is known. */
  addCredit: (credit: { creditId: string; workspaceId: string; amountNanoUsd: bigint; note: string }) => sql`
    INSERT INTO credit (credit_id, workspace_id, amount_nano_usd, note)
    VALUES (${credit.creditId}, ${credit.workspaceId}, ${credit.amountNanoUsd}, ${credit.note})
    ON CONFLICT (credit_id) DO NOTHING`,

  /** Reads the sums of a workspace for operators. One statement reads one snapshot, so a charge is in every sum or in none. */
  readBalances: ({ workspaceId, month }: { workspaceId: string; month: string }) => sql<BalancesRow>`
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
   * Reads the sums of some workspaces, which of their calls the sums contain, and which calls are dead letters. One statement reads one
   * snapshot, so Redis can drop a call when it takes over these sums. Returns a row for each workspace, and the timeline in each row.
   */
  absorb: (asked: AskedWorkspace[]) => sql<AbsorbedRow>`
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
      coalesce((
        SELECT jsonb_object_agg(wanted.key_id, (
          SELECT jsonb_build_object('day', wanted.since, 'spent', coalesce(sum(hourly.charge_nano_usd), 0)::TEXT)
          FROM key_total AS total
          JOIN key_hour_total AS hourly ON hourly.key_id = total.key_id
            AND hourly.hour >= wanted.since::TIMESTAMP AT TIME ZONE 'UTC'
          WHERE total.key_id = wanted.key_id AND total.workspace_id = asked.workspace_id
        ))
        FROM json_each_text(asked.since) AS wanted (key_id, since)
      ), '{}') AS "since",
      recorded.final AS "final", recorded.unknown AS "unknown",
      coalesce((
        SELECT jsonb_agg(DISTINCT call_id) FROM dead_letter WHERE call_id = ANY(asked.calls) AND replayed_at IS NULL
      ), '[]') AS "deadLetters"
    FROM json_to_recordset(${JSON.stringify(asked.map(toAskedRow))}::JSON)
      AS asked (workspace_id TEXT, month DATE, keys TEXT[], since JSON, calls UUID[])
    LEFT JOIN workspace_total AS sums ON sums.workspace_id = asked.workspace_id
    CROSS JOIN LATERAL (
      SELECT coalesce(jsonb_agg(call_id) FILTER (WHERE status <> 'unknown'), '[]') AS final,
        coalesce(jsonb_agg(call_id) FILTER (WHERE status = 'unknown'), '[]') AS unknown,
        array_agg(DISTINCT key_id) AS keys,
        array_agg(DISTINCT date_trunc('month', started_at AT TIME ZONE 'UTC')::DATE) AS months
      FROM (SELECT DISTINCT unnest(asked.calls) AS id) AS wanted
      -- OFFSET 0 forces a look-up by id. Without statistics the planner reads every call of the workspace instead.
      CROSS JOIN LATERAL (SELECT * FROM usage_request WHERE call_id = wanted.id OFFSET 0) AS call
      WHERE call.workspace_id = asked.workspace_id
    ) AS recorded`,

  /** Reads the database's timeline, and the timeline on which the ledger last read the event log again. */
  readTimeline: () =>
    sql<{
      timeline: number;
      caughtUpWith: number | null;
    }>`SELECT current_timeline() AS "timeline", timeline AS "caughtUpWith" FROM recovery`,

  /**
   * Allows balances on this timeline. Changes no row unless the database is still on it and every partition is read up to these offsets.
   * Restarts the wait of each closed gate for its routers, because the old start may belong to a mark that no router had used.
   */
  catchUp: (timeline: number, ends: (Partition & { end: bigint })[]) => sql<{ was: number | null }>`
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
   * Stores a router's report of a shard, and returns the Redis that the router sees there. Returns no row if the router sees none or a new
   * one. A report waits for no other report: it updates the shared rows rarely, and skips them while another report locks them.
   */
  hearRouter: ({ routerId, shard, redisId, putBackMark, process }: ReportedRouter & { shard: string }) => sql<{
    mark: string;
    isOpen: boolean;
  }>`
    WITH heard AS (
      INSERT INTO router AS known (router_id, shard, redis_id, put_back_mark, behind_since, service, host)
      VALUES (${routerId}, ${shard}, ${redisId}::TEXT, ${putBackMark}::UUID,
        CASE WHEN ${putBackMark}::UUID IS NULL THEN clock_timestamp() END,
        ${process?.service ?? null}::TEXT, ${process?.host ?? null}::TEXT)
      ON CONFLICT (router_id, shard) DO UPDATE SET
        heard_at = clock_timestamp(), redis_id = excluded.redis_id, put_back_mark = excluded.put_back_mark,
        service = excluded.service, host = excluded.host,
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

  /** Locks the gates, so that one transaction at a time moves a gate. */
  lockRecovery: () => sql`SELECT is_only FROM recovery FOR UPDATE`,

  /**
   * Reads the routers that report, of all shards, with their reports of this shard. Reads also every Redis that served the shard, and
   * whether the ledger gives balances on this timeline. Silence counts from `listening_since` at the earliest.
   */
  readRecovery: (shard: string) => sql<RecoveryRow>`
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

  /** Adds a Redis that is new in this shard, under a mark of its own. */
  takeRedis: ({ shard, redisId }: ServedShard) => sql`
    INSERT INTO redis_server (shard, redis_id) VALUES (${shard}, ${redisId}) ON CONFLICT DO NOTHING`,

  /**
   * Closes the gate on a Redis and gives the Redis a new mark. Changes no row if the mark has changed already. The
   * routers' time is not restarted if no router had re-registered under the old mark, because nothing was lost.
   */
  raiseMark: ({ shard, redisId, mark }: MarkedRedis) => sql`
    UPDATE redis_server SET mark = gen_random_uuid(), opened_at = NULL,
      raised_at = CASE
        WHEN opened_at IS NULL AND NOT EXISTS (SELECT FROM router WHERE put_back_mark = ${mark}::UUID) THEN raised_at
        ELSE clock_timestamp()
      END
    WHERE shard = ${shard} AND redis_id = ${redisId} AND mark = ${mark}::UUID`,

  /** Sets how long ago the mark of a Redis was raised, which is the start of the routers' time. */
  raisedAgo: ({ shard, redisId }: ServedShard, ms: number) => sql`
    UPDATE redis_server SET raised_at = clock_timestamp() - make_interval(secs => ${ms / 1_000})
    WHERE shard = ${shard} AND redis_id = ${redisId}`,

  /** Shortens the time since the marks of all other closed Redis of the shard were raised to `ms` at most. */
  othersRaisedAgoAtMost: ({ shard, redisId }: ServedShard, ms: number) => sql`
    UPDATE redis_server SET raised_at = greatest(raised_at, clock_timestamp() - make_interval(secs => ${ms / 1_000}))
    WHERE shard = ${shard} AND redis_id <> ${redisId} AND opened_at IS NULL`,

  /**
   * Opens the gate on a Redis. Closes the gate on every other Redis of the shard, and on this Redis under an earlier set of slots. Changes
   * no row if the mark has changed or the gate is open.
   */
  openRedis: ({ shard, redisId, mark }: MarkedRedis) => sql`
    WITH opened AS (
      UPDATE redis_server SET opened_at = clock_timestamp()
      WHERE shard = ${shard} AND redis_id = ${redisId} AND mark = ${mark}::UUID AND opened_at IS NULL
      RETURNING shard, redis_id
    )
    UPDATE redis_server SET mark = gen_random_uuid(), raised_at = clock_timestamp(), opened_at = NULL
    FROM opened
    WHERE (redis_server.shard = opened.shard) <> (redis_server.redis_id = opened.redis_id) AND opened_at IS NOT NULL`,

  /** Appends records in the order of commits. Values travel as one run of bytes, because a text in Postgres cannot hold a NUL. */
  appendToLog(topic: string, records: { key: string; value: string }[]) {
    const values = records.map(({ value }) => Buffer.from(value));
    return sql`
      SELECT append_records(
        ${topic},
        ${records.map(({ key }) => key)}::TEXT[],
        ${Buffer.concat(values)}::BYTEA,
        ${values.map(({ length }) => length)}::INT[]
      )::TEXT`;
  },

  /** Reads the next offset of a partition. Returns no row before the first batch. */
  readPosition: ({ topic, partition }: Partition) => sql<{ nextOffset: bigint }>`
    SELECT next_offset AS "nextOffset" FROM event_offset WHERE topic = ${topic} AND partition = ${partition}`,

  /** Reads the offset that the next record of a topic will get. */
  readLogEnd: (topic: string) => sql<{ end: bigint }>`
    SELECT coalesce(max("offset") + 1, 0) AS "end" FROM event_log_record WHERE topic = ${topic}`,

  /**
   * Reads the records from an offset on, or from the first one after it. Selects a range in place of a LIMIT, because offsets have no gaps
   * and a planner without statistics sorts the whole rest for a LIMIT. Values are in Postgres' escape format, which the driver reads faster
   * than hexadecimal or base64.
   */
  readLog: (topic: string, fromOffset: bigint, limit: number) => {
    const first = sql`(SELECT min("offset") FROM event_log_record WHERE topic = ${topic} AND "offset" >= ${fromOffset})`;
    return sql<{ offset: bigint; key: string; value: string }>`
      SELECT "offset", key, encode(value, 'escape') AS "value" FROM event_log_record
      WHERE topic = ${topic} AND "offset" >= ${first} AND "offset" < ${first} + ${limit} ORDER BY "offset"`;
  },
});

const toAskedRow = ({ workspaceId, month, keyIds, since = {}, callIds }: AskedWorkspace) => ({
  workspace_id: workspaceId,
  month: `${month}-01`,
  keys: keyIds,
  since,
  calls: callIds,
});

/** Arguments of `record_ended_calls`: an array for each column of `usage_request`, in its order. */
const toColumns = (events: UsageRecorded[]): Sql => sql`
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
  ${timestamptz(events, ({ startedAtMs, endedAtMs }) => Math.max(endedAtMs, startedAtMs))}::TIMESTAMPTZ[],
  ${uuid(events, ({ requestId }) => requestId ?? null)}::UUID[],
  ${uuid(events, ({ traceparent }) => fromTraceparent(traceparent)?.traceId ?? null)}::UUID[]`;

type Named<All extends Record<string, (...args: never[]) => Sql>> = {
  [Name in keyof All]: (...args: Parameters<All[Name]>) => ReturnType<All[Name]> & { args: unknown[] };
};

/** Gives each statement its name here as the name that connections prepare it under, in place of a hash. */
function named<All extends Record<string, (...args: never[]) => Sql>>(all: All): Named<All> {
  const knowing = Object.entries(all).map(([name, toSql]) => [
    name,
    (...args: never[]) => Object.assign(toSql(...args), { name, args }),
  ]);
  return Object.fromEntries(knowing);
}
