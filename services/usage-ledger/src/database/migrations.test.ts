import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { aMediaUsageRecorded, anUnchargedUsageRecorded, aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { migrate } from '@turnpike/postgres/migrate';
import { openPostgres } from '@turnpike/test-support/startPostgres';
import { v7 as uuidv7 } from 'uuid';
import { aPartition, openTestLedger, PATIENCE, type TestLedger } from '../../test/openTestLedger.ts';
import { getBalances } from '../balances/getBalances.ts';
import { addCredit } from '../credits/addCredit.ts';
import { ensureUsagePartitions } from '../ledger/recordUsage.ts';
import { assertDurableCommits } from './assertDurableCommits.ts';
import { createDb } from './createDb.ts';

let ledger: TestLedger;
beforeAll(async () => {
  ledger = await openTestLedger();
});
afterAll(() => ledger.close());

it.each([
  ['deleting a row', 'DELETE FROM usage_request WHERE call_id = $1::uuid'],
  ['changing an amount', 'UPDATE usage_request SET charge_nano_usd = 1 WHERE call_id = $1::uuid'],
  [
    'changing a known outcome',
    "UPDATE usage_request SET status = 'failure', charge_nano_usd = 0 WHERE call_id = $1::uuid",
  ],
  [
    'forgetting an outcome',
    "UPDATE usage_request SET status = 'unknown', charge_nano_usd = 0 WHERE call_id = $1::uuid",
  ],
])('the table refuses %s even to its owner', async (_what, sql) => {
  const event = aUsageRecorded();
  await aPartition(ledger.db).deliver([event]);

  await expect(ledger.ownerDb.$executeRawUnsafe(sql, event.callId)).rejects.toThrow(/append-only/);

  const row = await ledger.db.usageRequest.findUniqueOrThrow({ where: { callId: event.callId } });
  expect(row).toMatchObject({ status: 'success', chargeNanoUsd: 125_000n });
});

it('the table refuses to be emptied', async () => {
  await expect(ledger.ownerDb.$executeRaw`TRUNCATE usage_request`).rejects.toThrow(/append-only/);
});

it('the table lets an unknown outcome become known, but not move to another key', async () => {
  const { callId } = anUnchargedUsageRecorded('unknown');
  await aPartition(ledger.db).deliver([anUnchargedUsageRecorded('unknown', { callId })]);

  await expect(
    ledger.ownerDb
      .$executeRaw`UPDATE usage_request SET status = 'success', key_id = 'other' WHERE call_id = ${callId}::UUID`,
  ).rejects.toThrow(/append-only/);
  await ledger.ownerDb.$executeRaw`UPDATE usage_request SET status = 'failure' WHERE call_id = ${callId}::UUID`;
});

it('keeps each call in the partition of its UTC month', async () => {
  const lastOfMay = Date.UTC(2026, 4, 31, 23, 59, 59, 999);
  const [may, june] = [lastOfMay, lastOfMay + 1].map((startedAtMs) =>
    aUsageRecorded({ callId: uuidv7({ msecs: startedAtMs }), startedAtMs }),
  );
  if (!may || !june) throw new Error('two events');
  await aPartition(ledger.db).deliver([may, june]);

  const rows = await ledger.db.$queryRaw`
    SELECT call_id::TEXT AS id, tableoid::REGCLASS::TEXT AS part FROM usage_request
    WHERE call_id IN (${may.callId}::UUID, ${june.callId}::UUID) ORDER BY call_id`;
  expect(rows).toEqual([
    { id: may.callId, part: 'usage_request_2026_05' },
    { id: june.callId, part: 'usage_request_2026_06' },
  ]);
});

it('makes a partition once, however many ask for it at once', async () => {
  const months = [new Date('2025-01-15'), new Date('2025-02-15')];
  await Promise.all(Array.from({ length: 6 }, () => ensureUsagePartitions(ledger.db, months)));

  const [count] = await ledger.db.$queryRaw<{ n: bigint }[]>`
    SELECT count(*) AS n FROM pg_inherits WHERE inhparent = 'usage_request'::REGCLASS
      AND inhrelid::REGCLASS::TEXT LIKE 'usage_request_2025_%'`;
  expect(count?.n).toBe(2n);
});

it.each(['2024-12-31', '2999-01-01', '9999-12-31'])('makes no partition for %s, where no call can lie', async (day) => {
  await expect(ensureUsagePartitions(ledger.db, [new Date(day)])).rejects.toThrow(/no partition for the month/);
});

it('goes on recording, reading and giving credit while two replicas of a new version bring the database up to date', async () => {
  const { db } = ledger;
  /** All that the service's role, or anybody, was granted. */
  const rightsOf = () =>
    db.$queryRaw`SELECT name::TEXT, (aclexplode(acl)).grantee::TEXT, (aclexplode(acl)).privilege_type FROM (
        SELECT relname AS name, relacl AS acl FROM pg_class WHERE relnamespace = 'public'::REGNAMESPACE
        UNION ALL SELECT proname, proacl FROM pg_proc WHERE pronamespace = 'public'::REGNAMESPACE
        UNION ALL SELECT attname, attacl FROM pg_attribute WHERE attacl IS NOT NULL
        UNION ALL SELECT nspname, nspacl FROM pg_namespace WHERE nspname = 'public'
      ) AS granted WHERE name NOT LIKE 'usage\\_request\\_2%' ORDER BY 1, 2, 3`;
  const [workspaceId, keyId] = ['ws_updated', 'key_updated'];
  const rights = await rightsOf();

  let isOver = false;
  let calls = 0;
  const recording = (async () => {
    const { deliver } = aPartition(db);
    for (; !isOver; calls += 2) {
      await deliver([aUsageRecorded({ workspaceId, keyId }), aUsageRecorded({ workspaceId, keyId })]);
      await addCredit(db, { creditId: `credit_${calls}`, workspaceId, amountNanoUsd: 250_000n, note: '' });
    }
  })();
  for (let round = 0; round < 5; round += 1)
    expect(await Promise.all([ledger.migrate(), ledger.migrate()])).toEqual([[], []]);
  isOver = true;
  await recording;

  expect(calls).toBeGreaterThan(0);
  expect(await rightsOf()).toEqual(rights);
  const balances = await getBalances(db, { workspaceId, month: new Date().toISOString().slice(0, 7) });
  expect(balances).toMatchObject({
    creditedNanoUsd: 125_000n * BigInt(calls),
    spentNanoUsd: 125_000n * BigInt(calls),
    requests: BigInt(calls),
  });
});

it('refuses to work with commits that a crash may undo', async () => {
  await assertDurableCommits(ledger.db, { copies: 'one' });

  await ledger.ownerDb.$executeRawUnsafe(
    `ALTER DATABASE "${new URL(ledger.databaseUrl).pathname.slice(1)}" SET synchronous_commit = off`,
  );
  const careless = createDb({ databaseUrl: ledger.databaseUrl, poolSize: 1, ...PATIENCE });
  await expect(assertDurableCommits(careless, { copies: 'one' })).rejects.toThrow(/synchronous_commit is "off"/);
  await careless.$disconnect();
});

it.each([
  ['', 'one', true],
  ['', 'several', false],
  ['ANY 1 (a, b)', 'several', true],
] as const)('with the synchronous standbys "%s" and copies set to %s starts: %s', async (standbys, copies, isFine) => {
  const db = Object.create(ledger.db, { query: { value: async () => [{ commit: 'on', standbys }] } });
  const asserted = assertDurableCommits(db, { copies });
  if (isFine) await asserted;
  else await expect(asserted).rejects.toThrow(/synchronous_standby_names is empty.*STORE_COPIES=one/);
});

it('without standbys refuses to work, unless one copy is enough', async () => {
  const own = createDb({ databaseUrl: ledger.databaseUrl, poolSize: 1, ...PATIENCE });
  await ledger.ownerDb.$executeRawUnsafe(
    `ALTER DATABASE "${new URL(ledger.databaseUrl).pathname.slice(1)}" SET synchronous_commit = on`,
  );
  await expect(assertDurableCommits(own, { copies: 'several' })).rejects.toThrow(/synchronous_standby_names is empty/);
  await assertDurableCommits(own, { copies: 'one' });
  await own.$disconnect();
});

/** The folder `sql` with some of its migrations. */
async function sqlWith(migrations: string[]): Promise<URL> {
  const folder = pathToFileURL(`${await mkdtemp(join(tmpdir(), 'turnpike-sql-'))}/`);
  const whole = new URL('../../sql/', import.meta.url);
  await cp(new URL('functions/', whole), new URL('functions/', folder), { recursive: true });
  for (const name of migrations)
    await cp(new URL(`migrations/${name}.sql`, whole), new URL(`migrations/${name}.sql`, folder));
  return folder;
}

it('numbers the sums that there are, and knows what was credited, when a database of before is migrated', async () => {
  const postgres = await openPostgres();
  const databaseUrl = await postgres.createDatabase();
  const before = await sqlWith(['0001_tables']);
  await migrate({ databaseUrl, folder: before });
  const db = createDb({ databaseUrl, poolSize: 1, ...PATIENCE });
  await db.$executeRaw`ALTER TABLE credit DISABLE TRIGGER post_credit`;
  await db.$executeRaw`INSERT INTO credit (credit_id, workspace_id, amount_nano_usd, note)
    VALUES ('c1', 'given', 100, ''), ('c2', 'given', -30, ''), ('c3', 'both', 5, '')`;
  await db.$executeRaw`ALTER TABLE credit ENABLE TRIGGER post_credit`;
  await db.$executeRaw`INSERT INTO workspace_total VALUES ('both', 7), ('spent', 8)`;
  await migrate({ databaseUrl, folder: new URL('../../sql/', import.meta.url) });
  const totals = await db.$queryRaw`
    SELECT workspace_id AS id, seq::INT, credited_nano_usd::INT AS credited, charge_nano_usd::INT AS spent
    FROM workspace_total ORDER BY 1`;
  await db.$disconnect();
  await postgres.stop();
  await rm(before, { recursive: true });
  expect(totals).toEqual([
    { id: 'both', seq: 1, credited: 5, spent: 7 },
    { id: 'given', seq: 1, credited: 70, spent: 0 },
    { id: 'spent', seq: 1, credited: 0, spent: 8 },
  ]);
});

it('keeps the rows, hashes and archived months of a database of before media, and records in all of them', async () => {
  const postgres = await openPostgres();
  const databaseUrl = await postgres.createDatabase();
  const names = [
    '0001_tables',
    '0002_balances_by_sequence',
    '0003_router_behind_since',
    '0004_postings_by_sequence',
    '0005_sealed_hours',
    '0006_gates_by_shard',
  ];
  const before = await sqlWith(names);
  await migrate({ databaseUrl, folder: before });
  const db = createDb({ databaseUrl, poolSize: 2, ...PATIENCE });
  const [march, april] = [Date.UTC(2026, 2, 5), Date.UTC(2026, 3, 5)];
  await ensureUsagePartitions(db, [new Date(march), new Date(april)]);
  const [kept, archived] = [april, march].map((startedAtMs) => uuidv7({ msecs: startedAtMs }));
  await db.$executeRaw`
    INSERT INTO usage_request (call_id, key_id, workspace_id, region, operation, model, canonical_model, price_version, status,
      prompt_tokens, cached_prompt_tokens, completion_tokens, images, charge_nano_usd, formula_nano_usd, hold_nano_usd, modality,
      billing_unit, is_stream, started_at, ended_at)
    SELECT id::UUID, 'k', 'w', 'us', 'chat', 'm', 'm', 1, 'success', 1, 0, 1, 0, 5, 5, 9, 'text', 'token', false, now(), now()
    FROM unnest(${[kept, archived]}::TEXT[]) AS id`;
  const hashed = () => db.$queryRaw<{ hash: bigint }[]>`
    SELECT hash_record_extended(ROW(call_id, key_id, workspace_id, region, operation, model, canonical_model, price_version, status,
      reason, prompt_tokens, cached_prompt_tokens, completion_tokens, images, charge_nano_usd, formula_nano_usd, hold_nano_usd,
      modality, billing_unit, is_stream, started_at, ended_at, recorded_at), 0) AS hash FROM usage_request ORDER BY call_id`;
  const [, hashBefore] = await hashed();
  // The archive_usage_month of that version did the same.
  await db.$executeRaw`ALTER TABLE usage_request DETACH PARTITION usage_request_2026_03`;
  await db.$executeRaw`ALTER TABLE usage_request_2026_03 RENAME TO usage_request_2026_03_archived`;
  await ensureUsagePartitions(db, [new Date(march)]);

  await migrate({ databaseUrl, folder: new URL('../../sql/', import.meta.url) });
  expect(await db.$queryRaw`SELECT hash_usage_row(call) AS hash FROM usage_request AS call`).toEqual([hashBefore]);
  await db.$executeRaw`SELECT return_usage_month('2026-03-01')`;
  const media = [march, april, Date.UTC(2026, 4, 5)].map((startedAtMs) => aMediaUsageRecorded({ startedAtMs }));
  await aPartition(db).deliver(media);
  const callIds = (await db.usageRequest.findMany({ orderBy: { callId: 'asc' } })).map(({ callId }) => callId);
  await db.$disconnect();
  await postgres.stop();
  await rm(before, { recursive: true });
  expect(callIds).toEqual([archived, kept, ...media.map(({ callId }) => callId)].sort());
});

it('sums up the days that there are, of a database of before', async () => {
  const postgres = await openPostgres();
  const databaseUrl = await postgres.createDatabase();
  const folder = new URL('../../sql/', import.meta.url);
  const files = await readdir(new URL('migrations/', folder));
  const older = files.filter((file) => file < '0012').map((file) => file.slice(0, -4));
  const before = await sqlWith(older.sort());
  await migrate({ databaseUrl, folder: before });
  const db = createDb({ databaseUrl, poolSize: 2, ...PATIENCE });
  await db.$executeRaw`INSERT INTO key_total VALUES ('k1', 'w', 3, 30), ('k2', 'w', 1, 40)`;
  await db.$executeRaw`
    INSERT INTO key_hour_total VALUES ('k1', '2026-10-05T23:00Z', 'm', 'text', 1, 1, 0, 0, 1, 1, 1, 10),
      ('k1', '2026-10-06T00:00Z', 'm', 'text', 2, 1, 1, 0, 1, 1, 1, 20), ('k2', '2026-10-05T00:00Z', 'n', 'text', 1, 1, 0, 0, 1, 1, 1, 40)`;
  await migrate({ databaseUrl, folder });
  const apart = () => db.$queryRaw`SELECT * FROM days_apart('-infinity', NULL)`;
  const days = await db.$queryRaw`
    SELECT grouped_by || ' ' || day || ' ' || canonical_model || key_id || ' ' || charge_nano_usd AS day FROM workspace_day_total ORDER BY 1`;
  const apartAtFirst = await apart();
  const startedAtMs = Date.UTC(2026, 9, 5);
  await aPartition(db).deliver([aUsageRecorded({ workspaceId: 'w', keyId: 'k2', canonicalModel: 'n', startedAtMs })]);
  const [row] = await db.$queryRaw<{ requests: bigint }[]>`
    SELECT requests FROM workspace_day_total WHERE grouped_by = 'none' AND day = '2026-10-05'`;
  const apartThen = await apart();
  await db.$disconnect();
  await postgres.stop();
  await rm(before, { recursive: true });
  expect(days).toEqual(
    [
      ...['key 2026-10-05 k1 10', 'key 2026-10-05 k2 40', 'key 2026-10-06 k1 20', 'model 2026-10-05 m 10'],
      ...['model 2026-10-05 n 40', 'model 2026-10-06 m 20', 'none 2026-10-05  50', 'none 2026-10-06  20'],
    ].map((day) => ({ day })),
  );
  expect([apartAtFirst, row?.requests, apartThen]).toEqual([[], 3n, []]);
});

it.each([
  ['media without units, as the functions of the version before would', { units: undefined }, 'media_have_units'],
  ['an operation that is none', { operation: 'x' }, 'operation_check'],
  ['media billed by tokens', { billing_unit: 'token' }, 'text_is_billed_by_token'],
  ['units of a call that failed', { status: 'failure', charge_nano_usd: 0 }, 'only_a_success_consumes'],
])('the table refuses %s', async (_what, fields, constraint) => {
  const { callId } = aMediaUsageRecorded();
  await aPartition(ledger.db).deliver([aMediaUsageRecorded({ callId })]);
  const [row] = await ledger.db.$queryRaw<{ row: object }[]>`
    SELECT to_json(call) AS row FROM usage_request AS call WHERE call_id = ${callId}::UUID`;
  const changed = JSON.stringify([{ ...row?.row, call_id: uuidv7(), ...fields }]);
  await expect(ledger.db.$queryRaw`SELECT record_usage('test', ${changed}::JSON)`).rejects.toThrow(constraint);
});

it('records what a ledger of the release before hands over, with no request and no trace', async () => {
  const event = aUsageRecorded();
  const { callId, keyId, workspaceId, chargeNanoUsd } = event;
  const recorded = await ledger.db.$queryRaw`
    SELECT record_calls('test', ARRAY[${callId}]::UUID[], ARRAY[${keyId}], ARRAY[${workspaceId}], ARRAY['us'], ARRAY['chat'], ARRAY['m@e'],
      ARRAY['m'], ARRAY[1], ARRAY['success'], ARRAY[NULL]::TEXT[], ARRAY[1], ARRAY[0], ARRAY[1], ARRAY[0],
      ARRAY[${chargeNanoUsd}]::BIGINT[], ARRAY[${chargeNanoUsd}]::BIGINT[], ARRAY[${chargeNanoUsd}]::BIGINT[], ARRAY['text'],
      ARRAY['token'], ARRAY[NULL]::INT[], ARRAY[false], ARRAY[now()], ARRAY[now()]) AS calls`;
  expect(recorded).toEqual([{ calls: 1n }]);
  const row = await ledger.db.usageRequest.findUniqueOrThrow({ where: { callId } });
  expect(row).toMatchObject({ keyId, chargeNanoUsd, requestId: null, traceId: null });
});

it('records what a ledger of the release before that hands over as JSON', async () => {
  const [ours, theirs] = [aMediaUsageRecorded(), aUsageRecorded({ reason: 'client_closed' })];
  await aPartition(ledger.db).deliver([ours, theirs]);
  const { keyId, workspaceId } = aUsageRecorded({ keyId: 'key_of_before', workspaceId: 'ws_of_before' });
  const rows = await ledger.db.$queryRaw<{ row: Record<string, unknown> }[]>`
    SELECT to_jsonb(call) - 'recorded_at' AS row FROM usage_request AS call
    WHERE call_id = ANY(${[ours.callId, theirs.callId]}::UUID[])`;
  const copies = rows.map(({ row }) => ({ ...row, call_id: uuidv7(), key_id: keyId, workspace_id: workspaceId }));

  const recorded = await ledger.db.$queryRaw`SELECT record_usage('test', ${JSON.stringify(copies)}::JSON) AS calls`;

  expect(recorded).toEqual([{ calls: 2n }]);
  const written = await ledger.db.$queryRaw<{ row: object }[]>`
    SELECT to_jsonb(call) - 'recorded_at' AS row FROM usage_request AS call WHERE key_id = ${keyId}`;
  expect(written.map(({ row }) => row)).toEqual(expect.arrayContaining(copies));
  const month = new Date(ours.startedAtMs).toISOString().slice(0, 7);
  expect(await getBalances(ledger.db, { workspaceId, month })).toMatchObject({
    spentNanoUsd: ours.chargeNanoUsd + theirs.chargeNanoUsd,
  });
});
