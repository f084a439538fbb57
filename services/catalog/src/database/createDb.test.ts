import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { isCanceled, isConflict, isRefused, isUnreachable, sqlStateOf } from '@turnpike/postgres/databaseFailure';
import { findFreePort } from '@turnpike/test-support/findFreePort';
import { startPostgres, type TestPostgres } from '@turnpike/test-support/startPostgres';
import { openTestCatalog, type TestCatalog, WAIT_TIMEOUT_MS } from '../../test/openTestCatalog.ts';
import { createDb, type Db } from './createDb.ts';

let postgres: TestPostgres;
let catalog: TestCatalog;
beforeAll(async () => {
  postgres = await startPostgres();
  catalog = await openTestCatalog(postgres);
});
afterAll(async () => {
  await catalog.close();
  await postgres.stop();
});

const failureOf = (running: Promise<unknown>): Promise<unknown> =>
  running.then(
    () => {
      throw new Error('did not fail');
    },
    (error: unknown) => error,
  );

it('is seen in the database by its name, and with at most four connections', async () => {
  const naps = Array.from({ length: 8 }, () => catalog.db.$queryRaw`SELECT pg_sleep(0.2)::TEXT`);
  await Promise.all(naps);
  const [seen] = await catalog.db.$queryRaw<{ connections: bigint }[]>`
    SELECT count(*) AS connections FROM pg_stat_activity
    WHERE application_name = 'catalog' AND datname = current_database()`;
  expect(seen?.connections).toBe(4n);
});

it('lets no statement run longer than 5 s', async () => {
  const error = await failureOf(catalog.db.$queryRaw`SELECT pg_sleep(20)::TEXT`);
  expect(isCanceled(error)).toBe(true);
  expect(isUnreachable(error)).toBe(false);
});

it('tells values that Postgres refuses from a database that is away', async () => {
  const error = await failureOf(catalog.db.$executeRaw`INSERT INTO catalog_version VALUES (0, '', '[]')`);
  expect(sqlStateOf(error)).toBe('23514');
  expect([isRefused(error), isConflict(error), isUnreachable(error), isCanceled(error)]).toEqual([
    true,
    false,
    false,
    false,
  ]);
});

it('tells a transaction that lost against another', async () => {
  const level = { isolationLevel: 'Serializable' as const };
  const countAndAdd = (version: number) =>
    catalog.db.$transaction(async (tx) => {
      await tx.catalogVersion.count();
      await meet();
      await tx.$executeRaw`INSERT INTO catalog_version VALUES (${version}, '', '[]')`;
    }, level);
  const both = Promise.withResolvers<void>();
  let met = 0;
  const meet = (): Promise<void> => {
    met += 1;
    if (met === 2) both.resolve();
    return both.promise;
  };
  const outcomes = await Promise.allSettled([countAndAdd(1), countAndAdd(2)]);
  const lost = outcomes.find((outcome) => outcome.status === 'rejected');
  expect(isConflict(lost?.reason)).toBe(true);
});

async function failuresOf(databaseUrl: string): Promise<unknown[]> {
  const db: Db = createDb(databaseUrl);
  const query = failureOf(db.$queryRaw`SELECT 1`);
  const transaction = failureOf(db.$transaction((tx) => tx.$queryRaw`SELECT 1`));
  const failures = await Promise.all([query, transaction]);
  await db.$disconnect();
  return failures;
}

it('tells that nobody listens where the database should be', async () => {
  const failures = await failuresOf(`postgresql://postgres@127.0.0.1:${await findFreePort()}/catalog`);
  expect(failures.map(isUnreachable)).toEqual([true, true]);
});

it('gives up a database that takes the connection and says nothing, within its deadline', async () => {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => void sockets.push(socket.on('error', () => {})));
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const startedAt = performance.now();
  const { port } = silent.address() as AddressInfo;
  const failures = await failuresOf(`postgresql://postgres@127.0.0.1:${port}/catalog`);
  const tookMs = performance.now() - startedAt;
  for (const socket of sockets) socket.destroy();
  silent.close();

  expect(failures.map(isUnreachable)).toEqual([true, true]);
  expect(tookMs).toBeLessThan(20_000);
});

it('tells that the database went away during a statement', async () => {
  const own = await startPostgres();
  const db = createDb(await own.createDatabase(), WAIT_TIMEOUT_MS);
  await db.$connect();
  await db.$queryRaw`SELECT 1`;
  const nap = failureOf(db.$queryRaw`SELECT pg_sleep(20)::TEXT`);
  await own.crash();
  expect(isUnreachable(await nap)).toBe(true);
  await db.$disconnect();
  await own.stop();
});
