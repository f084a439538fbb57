import { setTimeout as delay } from 'node:timers/promises';
import type { MigrationList } from '@prisma/schema-engine-wasm/schema_engine_bg';
import pg from 'pg';
import { openSchemaEngine } from './openSchemaEngine.ts';
import { readMigrations } from './readMigrations.ts';

export interface MigrationTarget {
  databaseUrl: string;
  /** A folder of `<timestamp>_<name>/migration.sql`, applied in the order of their names. */
  migrationsDir: string;
}

const CONNECT_TIMEOUT_MS = 5_000;
/** Longest wait for another runner to finish its migrations. */
const LOCK_TIMEOUT_MS = 60_000;
const LOCK_RETRY_MS = 100;
/** Names our lock among the advisory locks of a database. */
const LOCK_ID = '8467204913';

/**
 * Brings a database's schema up to date and returns the names of the migrations applied now; none when it already was.
 * Runners that start together take turns. Throws one clear line when the database does not answer within 5 s, when
 * another runner holds it for a minute, or when a migration fails; a failed migration blocks every later run.
 */
export async function applyMigrations({ databaseUrl, migrationsDir }: MigrationTarget): Promise<string[]> {
  const migrationsList = await readMigrations(migrationsDir);
  const lockHolder = await connect(databaseUrl);
  try {
    await takeTurn(lockHolder);
    return await apply(databaseUrl, migrationsList);
  } finally {
    await lockHolder.end();
  }
}

async function apply(databaseUrl: string, migrationsList: MigrationList): Promise<string[]> {
  const pool = new pg.Pool({ connectionString: databaseUrl, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  try {
    const engine = await openSchemaEngine(pool);
    const filters = { externalTables: [], externalEnums: [] };
    return (await engine.applyMigrations({ migrationsList, filters })).appliedMigrationNames;
  } catch (error) {
    throw new Error(`a migration failed: ${firstLinesOf(messageOf(error))}`, { cause: error });
  } finally {
    // The engine takes a lock of its own and leaves it to the connection to let it go.
    await pool.end();
  }
}

async function connect(databaseUrl: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  // A connection lost while idle is noticed by the next query; unheard, the event would end the process.
  client.on('error', () => {});
  try {
    await client.connect();
  } catch (error) {
    await client.end().catch(() => {});
    throw new Error(`the database at ${placeOf(databaseUrl)} does not answer: ${messageOf(error)}`, { cause: error });
  }
  return client;
}

/** Tried again and again instead of waited for: a waiting statement's snapshot would hold up `CREATE INDEX CONCURRENTLY`. */
async function takeTurn(client: pg.Client): Promise<void> {
  const giveUpAt = performance.now() + LOCK_TIMEOUT_MS;
  for (;;) {
    const { rows } = await client.query<{ taken: boolean }>('SELECT pg_try_advisory_lock($1) AS taken', [LOCK_ID]);
    if (rows[0]?.taken) return;
    if (performance.now() > giveUpAt) throw new Error('another process has been migrating this database for a minute');
    await delay(LOCK_RETRY_MS);
  }
}

/** Host, port and database: the parts of the address that are no secret. */
function placeOf(databaseUrl: string): string {
  const { host, pathname } = new URL(databaseUrl);
  return `${host}${pathname}`;
}

/** The engine's message without the trace of its own source that follows it, but with the migration's name. */
function firstLinesOf(message: string): string {
  const [text = '', trace = ''] = message.split(/\n\s*0: /, 2);
  const migrationName = /migration_name="([^"]+)"/.exec(trace)?.[1];
  return migrationName === undefined ? text : `${migrationName}: ${text}`;
}

function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}
