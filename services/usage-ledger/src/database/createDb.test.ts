import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { isCanceled, isConflict, isRefused, isUnreachable, sqlStateOf } from '@turnpike/postgres/databaseFailure';
import { findFreePort } from '@turnpike/test-support/findFreePort';
import { startPostgres, type TestPostgres } from '@turnpike/test-support/startPostgres';
import { openTestLedger, type TestLedger } from '../../test/openTestLedger.ts';
import { Prisma } from '../generated/client.ts';
import { createDb, type Db } from './createDb.ts';
import { type Statement, statements } from './statements.ts';

let postgres: TestPostgres;
let ledger: TestLedger;
beforeAll(async () => {
  postgres = await startPostgres();
  ledger = await openTestLedger(postgres);
});
afterAll(() => ledger.close());

const aStatement = (name: string, sql: Prisma.Sql): Statement => Object.assign(sql, { name, args: [] });
const nap = (seconds: number): Statement => aStatement('nap', Prisma.sql`SELECT pg_sleep(${seconds})::TEXT`);
const failureOf = (running: Promise<unknown>): Promise<unknown> =>
  running.then(
    () => {
      throw new Error('did not fail');
    },
    (error: unknown) => error,
  );
const kindsOf = (error: unknown) => ({
  isRefused: isRefused(error),
  isConflict: isConflict(error),
  isCanceled: isCanceled(error),
  isUnreachable: isUnreachable(error),
});
const NONE = { isRefused: false, isConflict: false, isCanceled: false, isUnreachable: false };

it('gives values as Prisma does', async () => {
  const sql = Prisma.sql`
    SELECT 9007199254740993 AS "bigint", 7 AS "int", now() AS "instant", '[1]'::JSONB AS "json", NULL::BIGINT AS "nothing"`;
  const rows = await ledger.db.run(aStatement('values', sql));
  expect(rows).toEqual([{ bigint: 9007199254740993n, int: 7, instant: expect.any(Date), json: [1], nothing: null }]);
});

it('is prepared once by a connection, and again by the one that comes in its place', async () => {
  const db = createDb({ databaseUrl: ledger.databaseUrl, poolSize: 1, statementTimeoutMs: 30_000 });
  const prepared = Prisma.sql`
    SELECT pg_backend_pid() AS "pid",
      (SELECT generic_plans + custom_plans FROM pg_prepared_statements WHERE name = 'readTimeline') AS "runs"`;
  const seen: { pid: number; runs: bigint }[] = [];
  for (let round = 0; round < 2; round += 1) {
    for (let nth = 0; nth < 3; nth += 1) await db.run(statements.readTimeline());
    const [row] = await db.run<{ pid: number; runs: bigint }>(aStatement('prepared', prepared));
    if (!row) throw new Error('no row');
    seen.push(row);
    await ledger.db.$queryRaw`SELECT pg_terminate_backend(${row.pid}::INT, 10000)`;
    // The pool may not have heard of it yet.
    await db.run(statements.readTimeline()).catch(() => {});
  }
  expect(seen.map(({ runs }) => runs > 0n)).toEqual([true, true]);
  expect(new Set(seen.map(({ pid }) => pid)).size).toBe(2);
  await db.$disconnect();
});

it('gives up a statement that runs past its allowance', async () => {
  const db = createDb({ databaseUrl: ledger.databaseUrl, poolSize: 1, statementTimeoutMs: 200 });
  expect(kindsOf(await failureOf(db.run(nap(20))))).toEqual({ ...NONE, isCanceled: true });
  await db.$disconnect();
});

it('gives up waiting for a connection', async () => {
  const options = { poolSize: 1, statementTimeoutMs: 30_000, waitTimeoutMs: 1_000 };
  const db = createDb({ databaseUrl: ledger.databaseUrl, ...options });
  await db.run(statements.readTime());
  const napping = db.run(nap(3));
  expect(kindsOf(await failureOf(db.run(statements.readTime())))).toEqual({ ...NONE, isUnreachable: true });
  await napping;
  await db.$disconnect();
});

it.each([
  ['a value that breaks a check', '23514', { ...NONE, isRefused: true }],
  ['a value that does not fit', '22003', { ...NONE, isRefused: true }],
  ['a row that is to be changed twice', '21000', { ...NONE, isRefused: true }],
  ['a lock that is not to be had', '55P03', NONE],
  ['a server that only follows', '25006', NONE],
  ['a full disk', '53100', { ...NONE, isUnreachable: true }],
  ['a deadlock', '40P01', { ...NONE, isConflict: true }],
  ['a lost race', '40001', { ...NONE, isConflict: true }],
  ['a server that stops', '57P01', { ...NONE, isUnreachable: true }],
  ['a table that is not there', '42P01', NONE],
])('tells %s', async (_what, state, kinds) => {
  await ledger.ownerDb.$executeRawUnsafe(`
    CREATE OR REPLACE FUNCTION fail_with(state TEXT) RETURNS VOID LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'on purpose' USING ERRCODE = state; END $$`);
  await ledger.ownerDb.$executeRawUnsafe('GRANT EXECUTE ON FUNCTION fail_with TO PUBLIC');
  const error = await failureOf(ledger.db.run(aStatement('failWith', Prisma.sql`SELECT fail_with(${state})::TEXT`)));
  expect(sqlStateOf(error)).toBe(state);
  expect(kindsOf(error)).toEqual(kinds);
});

async function failureAt(port: number): Promise<unknown> {
  const databaseUrl = `postgresql://postgres@127.0.0.1:${port}/usage`;
  const db: Db = createDb({ databaseUrl, poolSize: 1, statementTimeoutMs: 500, waitTimeoutMs: 500 });
  return failureOf(db.run(statements.readTime())).finally(() => db.$disconnect());
}

it('tells that nobody listens where the database should be', async () => {
  expect(kindsOf(await failureAt(await findFreePort()))).toEqual({ ...NONE, isUnreachable: true });
});

it('gives up a database that takes the connection and says nothing', async () => {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => void sockets.push(socket.on('error', () => {})));
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const { port } = silent.address() as AddressInfo;
  expect(kindsOf(await failureAt(port))).toEqual({ ...NONE, isUnreachable: true });
  for (const socket of sockets) socket.destroy();
  silent.close();
});

// Last: the server is another one then.
it('tells that the database went away during a statement, and works again when it is back', async () => {
  const napping = failureOf(ledger.db.run(nap(20)));
  await ledger.db.run(statements.readTimeline());
  await postgres.crash();
  expect(kindsOf(await napping)).toEqual({ ...NONE, isUnreachable: true });
  await postgres.restart();
  // A connection that broke while nobody used it may not be out of the pool yet.
  await ledger.db.run(statements.readTimeline()).catch(() => {});
  expect(await ledger.db.run(statements.readTimeline())).toHaveLength(1);
});
