import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { aPartition, openTestLedger, type TestLedger } from '../../test/openTestLedger.ts';
import { addCredit } from '../credits/addCredit.ts';
import { ensureUsagePartitions } from '../ledger/recordUsage.ts';

// Rights of the service's role in the database.

const settled = aUsageRecorded({ startedAtMs: Date.UTC(2026, 9, 10) });
const BOOKS = [
  'usage_request',
  'usage_request_2026_10',
  'key_total',
  'workspace_total',
  'workspace_month_total',
  'key_hour_total',
  'credit',
  'posting',
];

let ledger: TestLedger;
beforeAll(async () => {
  ledger = await openTestLedger();
  await aPartition(ledger.db).deliver([settled]);
  const { workspaceId } = settled;
  await addCredit(ledger.db, { creditId: 'credit_1', workspaceId, amountNanoUsd: 5n, note: '' });
});
afterAll(() => ledger.close());

const contentsOf = async (): Promise<unknown> =>
  Promise.all(
    BOOKS.map((table) =>
      ledger.ownerDb.$queryRawUnsafe(`SELECT to_jsonb(t) AS row FROM ${table} AS t ORDER BY t::TEXT`),
    ),
  );

const refusal = /Code: `42501`/;

it.each(
  BOOKS.flatMap((table) => [
    `UPDATE ${table} SET workspace_id = 'ws_other'`,
    `UPDATE ${table} SET charge_nano_usd = 0`,
    `DELETE FROM ${table}`,
    `TRUNCATE ${table}`,
    `DROP TABLE ${table}`,
    `ALTER TABLE ${table} DISABLE TRIGGER ALL`,
    `ALTER TABLE ${table} ADD COLUMN spare INT`,
    `ALTER TABLE ${table} OWNER TO CURRENT_USER`,
    `CREATE TRIGGER undo BEFORE INSERT ON ${table} EXECUTE FUNCTION refuse_change()`,
  ]).filter((sql) => !/(key_hour_total|posting|credit) SET (workspace_id|charge)/.test(sql)),
)('the role may not: %s', async (sql) => {
  const before = await contentsOf();
  await expect(ledger.db.$executeRawUnsafe(sql)).rejects.toThrow(refusal);
  expect(await contentsOf()).toEqual(before);
});

it.each([
  'UPDATE key_hour_total SET requests = 0',
  'UPDATE posting SET wallet_nano_usd = 1, counter_nano_usd = -1',
  'UPDATE credit SET amount_nano_usd = 1',
  'INSERT INTO usage_request (call_id) VALUES (gen_random_uuid())',
  "INSERT INTO key_total VALUES ('key_new', 'ws_new', 1)",
  "INSERT INTO posting (kind, workspace_id, source, wallet_nano_usd, counter_nano_usd) VALUES ('credit', 'ws', 'gift', 1, -1)",
  "UPDATE dead_letter SET payload = ''",
  'DELETE FROM dead_letter',
  'TRUNCATE event_offset',
  'UPDATE event_log_record SET value = NULL',
  'CREATE TABLE spare (n INT)',
  'CREATE TEMPORARY TABLE usage_request (n INT)',
  'CREATE SCHEMA spare',
  'CREATE ROLE spare',
  'CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$',
  'ALTER FUNCTION refuse_change() OWNER TO CURRENT_USER',
  'DROP FUNCTION keep_usage_request() CASCADE',
  'SET session_replication_role = replica',
  "COPY usage_request TO PROGRAM 'cat'",
  'SELECT post_credit()',
  'DELETE FROM schema_migration',
])('the role may not: %s', async (sql) => {
  await expect(ledger.db.$executeRawUnsafe(sql)).rejects.toThrow(
    /Code: `(42501|0A000)`|permission denied|must be owner/,
  );
});

it('the role may make nothing, not even a temporary table, in any database', async () => {
  const [row] = await ledger.db.$queryRaw<{ databases: string[] }[]>`
    SELECT array_agg(datname::TEXT) AS databases FROM pg_database
    WHERE has_database_privilege(datname, 'CREATE') OR (datname = current_database() AND has_database_privilege(datname, 'TEMP'))`;
  expect(row?.databases).toBeNull();
});

it('the role records a call, and a month without a partition gets one, though it may make no table', async () => {
  const event = aUsageRecorded({ startedAtMs: Date.UTC(2025, 2, 3) });
  await aPartition(ledger.db).deliver([event]);
  expect(await ledger.db.usageRequest.count({ where: { callId: event.callId } })).toBe(1);

  await ensureUsagePartitions(ledger.db, [new Date('2025-04-01')]);
  const [owned] = await ledger.db.$queryRaw<{ mine: boolean }[]>`
    SELECT tableowner = current_user AS mine FROM pg_tables WHERE tablename = 'usage_request_2025_04'`;
  expect(owned?.mine).toBe(false);
});

it('the role’s one way to a row is the owner’s function, which leaves a settled row as it is', async () => {
  const before = await contentsOf();
  await aPartition(ledger.db).deliver([{ ...settled, chargeNanoUsd: 1n }]);
  expect(await contentsOf()).toEqual(before);
});
