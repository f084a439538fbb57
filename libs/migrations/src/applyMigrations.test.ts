import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startPostgres, type TestPostgres } from '@turnpike/test-support/startPostgres';
import pg from 'pg';
import { applyMigrations } from './applyMigrations.ts';

let postgres: TestPostgres;
let root: string;

beforeAll(async () => {
  postgres = await startPostgres();
  root = await mkdtemp(join(tmpdir(), 'turnpike-migrations-'));
});
afterAll(async () => {
  await postgres.stop();
  await rm(root, { recursive: true });
});

async function migrations(sqlByName: Record<string, string>): Promise<string> {
  const migrationsDir = await mkdtemp(join(root, 'case-'));
  await writeFile(join(migrationsDir, 'migration_lock.toml'), 'provider = "postgresql"\n');
  for (const [name, sql] of Object.entries(sqlByName)) {
    await mkdir(join(migrationsDir, name));
    await writeFile(join(migrationsDir, name, 'migration.sql'), sql);
  }
  return migrationsDir;
}

async function query(databaseUrl: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  return client.query(sql).then(
    ({ rows }) => client.end().then(() => rows),
    (error) => client.end().then(() => Promise.reject(error)),
  );
}

const twoSteps = {
  '20260102000000_add_size': 'ALTER TABLE thing ADD COLUMN size INT;',
  '20260101000000_thing': 'CREATE TABLE thing (id INT PRIMARY KEY);',
};

it('applies migrations in the order of their names, and none a second time', async () => {
  const databaseUrl = await postgres.createDatabase();
  const migrationsDir = await migrations(twoSteps);

  expect(await applyMigrations({ databaseUrl, migrationsDir })).toEqual([
    '20260101000000_thing',
    '20260102000000_add_size',
  ]);
  expect(await applyMigrations({ databaseUrl, migrationsDir })).toEqual([]);
  expect(await query(databaseUrl, 'SELECT migration_name FROM _prisma_migrations ORDER BY 1')).toHaveLength(2);
});

it('applies each migration once when runners start together', async () => {
  const databaseUrl = await postgres.createDatabase();
  const migrationsDir = await migrations(twoSteps);

  const runs = await Promise.all(Array.from({ length: 4 }, () => applyMigrations({ databaseUrl, migrationsDir })));

  expect(runs.flat().sort()).toEqual(['20260101000000_thing', '20260102000000_add_size']);
});

it('runs a script whole, with semicolons inside a function body', async () => {
  const databaseUrl = await postgres.createDatabase();
  const migrationsDir = await migrations({
    '20260101000000_function':
      'CREATE FUNCTION answer() RETURNS INT LANGUAGE plpgsql AS $$ BEGIN PERFORM 1; RETURN 42; END; $$; -- done; really',
  });

  await applyMigrations({ databaseUrl, migrationsDir });

  expect(await query(databaseUrl, 'SELECT answer()')).toEqual([{ answer: 42 }]);
});

it('says which migration failed and leaves nothing half done', async () => {
  const databaseUrl = await postgres.createDatabase();
  const migrationsDir = await migrations({ '20260101000000_broken': 'CREATE TABLE a (id INT); SELECT nonsense;' });

  await expect(applyMigrations({ databaseUrl, migrationsDir })).rejects.toThrow(/20260101000000_broken[\s\S]*nonsense/);
  expect(await query(databaseUrl, "SELECT to_regclass('a') AS a")).toEqual([{ a: null }]);
});

it('says where no database answers, without the password', async () => {
  const silent = createServer((socket) => socket.resume());
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const { port } = silent.address() as AddressInfo;
  const databaseUrl = `postgresql://user:hush@127.0.0.1:${port}/ledger`;
  const migrationsDir = await migrations(twoSteps);

  const failure = await applyMigrations({ databaseUrl, migrationsDir }).catch((error: Error) => error.message);

  expect(failure).toMatch(`the database at 127.0.0.1:${port}/ledger does not answer`);
  expect(failure).not.toMatch('hush');
  silent.close();
});
