import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import pg from 'pg';

export interface MigrateOptions {
  /** The address, with the role that owns the database. */
  databaseUrl: string;
  /**
   * The folder of a service's SQL. Each of `migrations/*.sql` is applied once, in the order of names. Each of `functions/*.sql` is
   * applied at every run, and so is `rights.sql` if `serviceRole` is given.
   */
  folder: URL;
  /** The role that the service works with: `:service_role` in `rights.sql`. It has to exist. */
  serviceRole?: string | undefined;
}

interface SqlFile {
  name: string;
  sql: string;
}

const CONNECT_TIMEOUT_MS = 5_000;
/** Longest wait for another runner to finish. */
const TURN_TIMEOUT = '60s';
/** Longest wait for a table: whoever asks for it meanwhile waits behind this one. */
const LOCK_TIMEOUT = '10s';
/** Names our lock among the advisory locks of a database. */
const LOCK_ID = '8467204913';
const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Migrates a database in one transaction, and returns the names of the migrations applied now. Runners that start together take turns.
 * Throws an error of one line in these cases:
 * - The database does not answer within 5 s, or another runner holds it for a minute.
 * - A script fails.
 * - There are tables that no migration has made.
 * - A migration differs from the one that was applied under its name.
 */
export async function migrate({ databaseUrl, folder, serviceRole }: MigrateOptions): Promise<string[]> {
  const [functions, migrations] = await Promise.all([
    readScripts(new URL('functions/', folder)),
    readScripts(new URL('migrations/', folder)),
  ]);
  const client = await connect(databaseUrl);
  try {
    await client.query('BEGIN');
    await takeTurn(client);
    await refuseForeignTables(client);
    // First, as triggers of new tables name them; unchecked, as they name tables that may not be there yet.
    await client.query(`SET LOCAL lock_timeout = '${LOCK_TIMEOUT}'; SET LOCAL check_function_bodies = off`);
    for (const file of functions) await run(client, file);
    const applied = await applyMigrations(client, migrations);
    if (serviceRole !== undefined) {
      const rights = await readFile(new URL('rights.sql', folder), 'utf8');
      const sql = rights.replaceAll(':service_role', () => client.escapeIdentifier(serviceRole));
      await run(client, { name: `rights.sql for the role "${serviceRole}"`, sql });
    }
    await client.query('COMMIT');
    return applied;
  } finally {
    // Undoes what was not committed.
    await client.end().catch(() => {});
  }
}

/** Throws where there are tables and no record of migrations: what is there, nobody knows, and nothing is to be done to it. */
async function refuseForeignTables(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ tablename: string }>(
    `SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND to_regclass('schema_migration') IS NULL LIMIT 1`,
  );
  if (rows[0])
    throw new Error(
      `the database has tables, such as ${rows[0].tablename}, that no migration recorded here has made: take an empty one` +
        ' (a local stack of an earlier version: end it, and remove the folder .turnpike)',
    );
}

async function applyMigrations(client: pg.Client, migrations: SqlFile[]): Promise<string[]> {
  await client.query(`CREATE TABLE IF NOT EXISTS schema_migration (
    name TEXT PRIMARY KEY, sha256 TEXT NOT NULL, applied_at TIMESTAMPTZ NOT NULL DEFAULT now())`);
  const { rows } = await client.query<{ name: string; sha256: string }>('SELECT name, sha256 FROM schema_migration');
  const known = new Map(rows.map(({ name, sha256 }) => [name, sha256]));
  const applied: string[] = [];
  for (const file of migrations) {
    const sha256 = createHash('sha256').update(file.sql).digest('hex');
    if (known.has(file.name)) {
      if (known.get(file.name) === sha256) continue;
      throw new Error(`migration ${file.name} was changed after it was applied here: undo that, and write another one`);
    }
    await run(client, file);
    await client.query('INSERT INTO schema_migration (name, sha256) VALUES ($1, $2)', [file.name, sha256]);
    applied.push(file.name);
  }
  return applied;
}

/** The SQL files of a folder in the order of their names; none where there is no such folder. */
async function readScripts(folder: URL): Promise<SqlFile[]> {
  const files = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  const scripts = files.filter((file) => file.endsWith('.sql')).sort();
  return Promise.all(
    scripts.map(async (file) => ({ name: file.slice(0, -4), sql: await readFile(new URL(file, folder), 'utf8') })),
  );
}

async function run(client: pg.Client, { name, sql }: SqlFile): Promise<void> {
  await client.query(sql).catch((error: unknown) => {
    throw new Error(`a migration failed: ${name}: ${messageOf(error)}`, { cause: error });
  });
}

async function connect(databaseUrl: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  // A connection lost while idle is noticed by the next query; unheard, the event would end the process.
  client.on('error', () => {});
  try {
    await client.connect();
    return client;
  } catch (error) {
    await client.end().catch(() => {});
    const verdict = error instanceof pg.DatabaseError ? 'refuses the connection' : 'does not answer';
    throw new Error(`the database at ${placeOf(databaseUrl)} ${verdict}: ${messageOf(error)}`, { cause: error });
  }
}

async function takeTurn(client: pg.Client): Promise<void> {
  try {
    await client.query(`SET LOCAL lock_timeout = '${TURN_TIMEOUT}'; SELECT pg_advisory_xact_lock(${LOCK_ID})`);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || error.code !== LOCK_NOT_AVAILABLE) throw error;
    throw new Error('another process has been migrating this database for a minute', { cause: error });
  }
}

/** Host, port and database: the parts of the address that are no secret. */
function placeOf(databaseUrl: string): string {
  const { host, pathname } = new URL(databaseUrl);
  return `${host}${pathname}`;
}

function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}
