import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startPostgres, type TestPostgres } from '@turnpike/test-support/startPostgres';
import pg from 'pg';
import { migrate } from './migrate.ts';

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

/** A folder of SQL with these files in it. */
async function aFolder(sqlByPath: Record<string, string>): Promise<URL> {
  const folder = pathToFileURL(`${await mkdtemp(join(root, 'case-'))}/`);
  await write(folder, sqlByPath);
  return folder;
}

async function write(folder: URL, sqlByPath: Record<string, string>): Promise<void> {
  for (const [path, sql] of Object.entries(sqlByPath)) {
    await mkdir(new URL('.', new URL(path, folder)), { recursive: true });
    await writeFile(new URL(path, folder), sql);
  }
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
  'migrations/0002_add_size.sql': 'ALTER TABLE thing ADD COLUMN size INT;',
  'migrations/0001_thing.sql': 'CREATE TABLE thing (id INT PRIMARY KEY);',
};

it('applies migrations in the order of their names, and none a second time', async () => {
  const databaseUrl = await postgres.createDatabase();
  const folder = await aFolder(twoSteps);

  expect(await migrate({ databaseUrl, folder })).toEqual(['0001_thing', '0002_add_size']);
  expect(await migrate({ databaseUrl, folder })).toEqual([]);
  expect(await query(databaseUrl, 'SELECT name FROM schema_migration ORDER BY 1')).toHaveLength(2);
});

it('applies each migration once when runners start together', async () => {
  const databaseUrl = await postgres.createDatabase();
  const folder = await aFolder(twoSteps);

  const runs = await Promise.all(Array.from({ length: 4 }, () => migrate({ databaseUrl, folder })));

  expect(runs.flat().sort()).toEqual(['0001_thing', '0002_add_size']);
});

it('runs a script whole, with semicolons inside a function body', async () => {
  const databaseUrl = await postgres.createDatabase();
  const folder = await aFolder({
    'migrations/0001_function.sql':
      'CREATE FUNCTION answer() RETURNS INT LANGUAGE plpgsql AS $$ BEGIN PERFORM 1; RETURN 42; END; $$; -- done; really',
  });

  await migrate({ databaseUrl, folder });

  expect(await query(databaseUrl, 'SELECT answer()')).toEqual([{ answer: 42 }]);
});

it('says which migration failed and leaves nothing half done', async () => {
  const databaseUrl = await postgres.createDatabase();
  const folder = await aFolder({
    ...twoSteps,
    'migrations/0003_broken.sql': 'CREATE TABLE a (id INT); SELECT nonsense;',
  });

  await expect(migrate({ databaseUrl, folder })).rejects.toThrow(/0003_broken[\s\S]*nonsense/);
  const tables = "SELECT to_regclass('a') AS a, to_regclass('thing') AS thing";
  expect(await query(databaseUrl, tables)).toEqual([{ a: null, thing: null }]);

  await write(folder, { 'migrations/0003_broken.sql': 'CREATE TABLE a (id INT);' });
  expect(await migrate({ databaseUrl, folder })).toEqual(['0001_thing', '0002_add_size', '0003_broken']);
});

it('refuses a migration that was changed after it was applied', async () => {
  const databaseUrl = await postgres.createDatabase();
  const folder = await aFolder(twoSteps);
  await migrate({ databaseUrl, folder });
  await write(folder, {
    'migrations/0002_add_size.sql': 'ALTER TABLE thing ADD COLUMN size BIGINT;',
    'migrations/0003_colour.sql': 'ALTER TABLE thing ADD COLUMN colour TEXT;',
  });

  await expect(migrate({ databaseUrl, folder })).rejects.toThrow(
    'migration 0002_add_size was changed after it was applied here: undo that, and write another one',
  );
  expect(await query(databaseUrl, 'SELECT * FROM thing')).toEqual([]);
  expect(await query(databaseUrl, 'SELECT name FROM schema_migration')).toHaveLength(2);
});

it('touches no database with tables that it has not made, and says what to do', async () => {
  const databaseUrl = await postgres.createDatabase();
  await query(databaseUrl, 'CREATE TABLE thing (size INT)');

  await expect(migrate({ databaseUrl, folder: await aFolder(twoSteps) })).rejects.toThrow(
    /has tables, such as thing, .*: take an empty one .*remove the folder \.turnpike/,
  );
  expect(await query(databaseUrl, "SELECT to_regclass('schema_migration') AS record")).toEqual([{ record: null }]);
});

it('lets a version run that does not know the last migration, as when one goes back to it', async () => {
  const databaseUrl = await postgres.createDatabase();
  const { 'migrations/0001_thing.sql': thing } = twoSteps;
  await migrate({ databaseUrl, folder: await aFolder(twoSteps) });

  expect(await migrate({ databaseUrl, folder: await aFolder({ 'migrations/0001_thing.sql': thing }) })).toEqual([]);
});

const aFunction = (answer: number) => ({
  'functions/answer.sql': `CREATE OR REPLACE FUNCTION answer() RETURNS BIGINT LANGUAGE sql AS $$
    SELECT count(*) + ${answer} FROM thing $$;`,
});

it('applies every function anew at each run, also one that a table names and one that names a table', async () => {
  const databaseUrl = await postgres.createDatabase();
  const folder = await aFolder({
    'migrations/0001_thing.sql': 'CREATE TABLE thing (id BIGINT DEFAULT answer())',
    ...aFunction(42),
  });
  await migrate({ databaseUrl, folder });
  expect(await query(databaseUrl, 'INSERT INTO thing DEFAULT VALUES RETURNING id')).toEqual([{ id: '42' }]);

  await write(folder, aFunction(52));
  expect(await migrate({ databaseUrl, folder })).toEqual([]);
  expect(await query(databaseUrl, 'INSERT INTO thing DEFAULT VALUES RETURNING id')).toEqual([{ id: '53' }]);
});

it('gives the service’s role its rights anew at each run', async () => {
  const databaseUrl = await postgres.createDatabase();
  const serviceRole = 'Service "$&"';
  await query(databaseUrl, 'CREATE ROLE "Service ""$&"""');
  const folder = await aFolder({ ...twoSteps, 'rights.sql': `GRANT SELECT ON thing TO :service_role` });
  const mayRead = () =>
    query(databaseUrl, `SELECT has_table_privilege('Service "$&"', 'thing', 'SELECT') AS "mayRead"`);

  await migrate({ databaseUrl, folder, serviceRole });
  expect(await mayRead()).toEqual([{ mayRead: true }]);

  await query(databaseUrl, `REVOKE ALL ON thing FROM "Service ""$&"""`);
  await migrate({ databaseUrl, folder, serviceRole });
  expect(await mayRead()).toEqual([{ mayRead: true }]);

  await expect(migrate({ databaseUrl, folder, serviceRole: 'nobody' })).rejects.toThrow(
    'a migration failed: rights.sql for the role "nobody": role "nobody" does not exist',
  );
});

it('says that a database refuses the connection, and why', async () => {
  const databaseUrl = new URL(await postgres.createDatabase());
  databaseUrl.username = 'nobody';
  await expect(migrate({ databaseUrl: databaseUrl.href, folder: await aFolder(twoSteps) })).rejects.toThrow(
    `the database at ${databaseUrl.host}${databaseUrl.pathname} refuses the connection: role "nobody" does not exist`,
  );
});

it('says where no database answers, without the password', async () => {
  const silent = createServer((socket) => socket.resume());
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const { port } = silent.address() as AddressInfo;
  const databaseUrl = `postgresql://user:hush@127.0.0.1:${port}/ledger`;
  const folder = await aFolder(twoSteps);

  const failure = await migrate({ databaseUrl, folder }).catch((error: Error) => error.message);

  expect(failure).toMatch(`the database at 127.0.0.1:${port}/ledger does not answer`);
  expect(failure).not.toMatch('hush');
  silent.close();
});
