import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findFreePort } from '@turnpike/test-support/findFreePort';
import { startPostgres, type TestPostgres } from '@turnpike/test-support/startPostgres';
import { until } from '@turnpike/test-support/until';
import type { PoolOptions } from './createPool.ts';
import { Database, retryConflicts } from './database.ts';
import { isCanceled, isConflict, isRefused, isUnreachable, sqlStateOf } from './databaseFailure.ts';
import { type Sql, sql } from './sql.ts';

let postgres: TestPostgres;
let databaseUrl: string;
let db: Database;
beforeAll(async () => {
  postgres = await startPostgres();
  databaseUrl = await postgres.createDatabase();
  db = openDatabase();
  await db.execute(sql`CREATE TABLE thing (id INT PRIMARY KEY, size INT CHECK (size > 0))`);
  await db.execute(sql`
    CREATE FUNCTION fail_with(state TEXT) RETURNS VOID LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'on purpose' USING ERRCODE = state; END $$`);
});
afterAll(async () => {
  await db.close();
  await postgres.stop();
});

/** A busy machine may take its time to connect. */
const WAIT_TIMEOUT_MS = 30_000;
const openDatabase = (options: Partial<PoolOptions> = {}): Database =>
  new Database({
    service: 'test',
    databaseUrl,
    poolSize: 2,
    statementTimeoutMs: 30_000,
    waitTimeoutMs: WAIT_TIMEOUT_MS,
    ...options,
  });
const one = sql<{ one: number }>`SELECT 1 AS one`;
const nap = (seconds: number) => sql`SELECT pg_sleep(${seconds})::TEXT`;
const addThing = (id: number) => sql`INSERT INTO thing VALUES (${id}, 1)`;
const countThings = sql<{ things: bigint }>`SELECT count(*) AS things FROM thing`;

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

it('returns the values of Postgres', async () => {
  const [row] = await db.query(sql`
    SELECT 9007199254740993 AS "bigint", 7 AS "int", 1.50 AS "numeric", '2026-11-27T10:00:00+01:00'::TIMESTAMPTZ AS "instant",
      '[1]'::JSONB AS "json", '\\x00ff'::BYTEA AS "bytes", ARRAY['a', NULL] AS "texts", NULL::BIGINT AS "nothing"`);
  expect(row).toEqual({
    bigint: 9007199254740993n,
    int: 7,
    numeric: '1.50',
    instant: new Date('2026-11-27T09:00:00Z'),
    json: [1],
    bytes: Buffer.from([0, 255]),
    texts: ['a', null],
    nothing: null,
  });
});

it('sends values that Postgres reads as they are', async () => {
  const values = { text: `'; "\\`, int: 7, big: 2n ** 62n, flag: true, bytes: Buffer.from([0, 255]), at: new Date(5) };
  const [row] = await db.query(sql`
    SELECT ${values.text}::TEXT AS "text", ${values.int}::INT AS "int", ${values.big}::BIGINT AS "big", ${values.flag}::BOOLEAN AS "flag",
      ${values.bytes}::BYTEA AS "bytes", ${values.at}::TIMESTAMPTZ AS "at", ${['a,"b"', null]}::TEXT[] AS "texts"`);
  expect(row).toEqual({ ...values, texts: ['a,"b"', null] });
});

it('counts the rows that a statement changes', async () => {
  expect(await db.execute(sql`INSERT INTO thing SELECT * FROM generate_series(101, 103), (SELECT 1) AS size`)).toBe(3);
  expect(await db.execute(sql`DELETE FROM thing WHERE id > ${101}`)).toBe(2);
  expect(await db.execute(sql`DELETE FROM thing`)).toBe(1);
});

/** Ways to a database: the driver itself, and the adapter that Prisma works on. */
interface Way {
  run(statement: Sql): Promise<unknown>;
  close(): Promise<void>;
}

const WAYS: [string, (options?: Partial<PoolOptions>) => Promise<Way>][] = [
  [
    'the driver',
    async (options) => {
      const own = openDatabase(options);
      return { run: (statement) => own.query(statement), close: () => own.close() };
    },
  ],
  [
    'the adapter of Prisma',
    async (options) => {
      const adapter = await openDatabase(options).toPrismaAdapter().connect();
      const argTypes = ({ values }: Sql) => values.map(() => ({ scalarType: 'unknown', arity: 'scalar' }) as const);
      return {
        run: (statement) =>
          adapter.queryRaw({ sql: statement.text, args: statement.values, argTypes: argTypes(statement) }),
        close: () => adapter.dispose(),
      };
    },
  ],
];

describe.each(WAYS)('%s', (_name, open) => {
  it('prepares a statement once on a connection', async () => {
    const own = await open({ poolSize: 1 });
    const runs = sql`SELECT (generic_plans + custom_plans)::TEXT AS runs FROM pg_prepared_statements WHERE name = ${one.name}`;
    for (let nth = 0; nth < 3; nth += 1) await own.run(one);
    expect(JSON.stringify(await own.run(runs))).toContain('"3"');
    await own.close();
  });

  it('cancels a statement at its deadline', async () => {
    const own = await open({ statementTimeoutMs: 200 });
    expect(kindsOf(await failureOf(own.run(nap(20))))).toEqual({ ...NONE, isCanceled: true });
    await own.close();
  });

  it('rejects when no connection is free in time', async () => {
    const own = await open({ poolSize: 1, waitTimeoutMs: 1_000 });
    // A busy machine may take longer over a new connection.
    await until('the connection stands', () =>
      own.run(one).then(
        () => true,
        () => false,
      ),
    );
    const napping = own.run(nap(3));
    expect(kindsOf(await failureOf(own.run(one)))).toEqual({ ...NONE, isUnreachable: true });
    await napping;
    await own.close();
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
  ])('reports %s', async (_what, state, kinds) => {
    const own = await open();
    const error = await failureOf(own.run(sql`SELECT fail_with(${state})::TEXT`));
    expect(sqlStateOf(error)).toBe(state);
    expect(kindsOf(error)).toEqual(kinds);
    await own.close();
  });

  it('reports that no server listens', async () => {
    const own = await open({ databaseUrl: `postgresql://postgres@127.0.0.1:${await findFreePort()}/thing` });
    expect(kindsOf(await failureOf(own.run(one)))).toEqual({ ...NONE, isUnreachable: true });
    await own.close();
  });

  it('reports a server that accepts the connection and stays silent', async () => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => void sockets.push(socket.on('error', () => {})));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as AddressInfo;
    const own = await open({ databaseUrl: `postgresql://postgres@127.0.0.1:${port}/thing`, waitTimeoutMs: 500 });
    expect(kindsOf(await failureOf(own.run(one)))).toEqual({ ...NONE, isUnreachable: true });
    for (const socket of sockets) socket.destroy();
    silent.close();
    await own.close();
  });
});

describe('a transaction', () => {
  it('commits what it did, and gives the result of the work', async () => {
    expect(
      await db.transaction(async (tx) => {
        await tx.execute(addThing(1));
        expect(await db.query(countThings)).toEqual([{ things: 0n }]);
        return 'done';
      }),
    ).toBe('done');
    expect(await db.query(countThings)).toEqual([{ things: 1n }]);
  });

  it.each([
    ['the work rejects', (error: unknown) => Promise.reject(error), 'duplicate key'],
    ['the work caught the failure of a statement', async () => {}, 'Postgres rolled the transaction back'],
  ])('leaves nothing behind when %s', async (_when, handle, message) => {
    const work = db.transaction(async (tx) => {
      await tx.execute(addThing(2));
      await tx.execute(addThing(2)).catch(handle);
    });
    await expect(work).rejects.toThrow(message);
    expect(await db.query(sql`SELECT id FROM thing WHERE id = 2`)).toEqual([]);
  });

  it('sees one state of the database in a snapshot', async () => {
    const seen = await db.snapshot(async (tx) => {
      const before = await tx.query(countThings);
      await db.execute(addThing(3));
      return [before, await tx.query(countThings)];
    });
    expect(seen[1]).toEqual(seen[0]);
  });

  it('gives its connection back after each end', async () => {
    const own = openDatabase({ poolSize: 1 });
    for (let nth = 0; nth < 3; nth += 1) {
      await own.transaction((tx) => tx.query(one));
      await own.transaction((tx) => tx.query(sql`SELECT 1 / 0`)).catch(() => {});
    }
    expect(await own.query(one)).toEqual([{ one: 1 }]);
    await own.close();
  });

  it('outlives a connection that ends while the work waits', async () => {
    const own = openDatabase({ poolSize: 1 });
    const failure = await failureOf(
      own.transaction(async (tx) => {
        const [backend] = await tx.query(sql<{ pid: number }>`SELECT pg_backend_pid() AS pid`);
        await db.query(sql`SELECT pg_terminate_backend(${backend?.pid ?? 0}, 10000)`);
        await tx.query(one);
      }),
    );
    expect(kindsOf(failure)).toEqual({ ...NONE, isUnreachable: true });
    expect(await own.query(one)).toEqual([{ one: 1 }]);
    await own.close();
  });
});

it.each([
  [2, 'gives the result of the third run', '40001', 3],
  [9, 'rejects after six runs', '40P01', 6],
  [1, 'does not run again what failed otherwise', '23514', 1],
])('after %i failures %s of %s', async (failures, _what, state, expectedRuns) => {
  let runs = 0;
  const running = retryConflicts(async () => {
    runs += 1;
    if (runs <= failures) await db.query(sql`SELECT fail_with(${state})::TEXT`);
    return 'done';
  });
  expect(await running.catch(sqlStateOf)).toBe(expectedRuns === 3 ? 'done' : state);
  expect(runs).toBe(expectedRuns);
});

// The last test, because the server is another process afterwards.
it('reports that the server went away during a statement, and works again when it is back', async () => {
  const napping = failureOf(db.query(nap(20)));
  await db.query(one);
  await postgres.crash();
  expect(kindsOf(await napping)).toEqual({ ...NONE, isUnreachable: true });
  await postgres.restart();
  // A connection that broke while idle may still be in the pool.
  await db.query(one).catch(() => {});
  expect(await db.query(one)).toEqual([{ one: 1 }]);
});
