import { openPostgres } from '@turnpike/test-support/startPostgres';
import { Database } from '../src/database.ts';
import type { Sql } from '../src/sql.ts';

/** Makes a database with the tables of these statements. */
export async function makeTables(...statements: Sql[]): Promise<{ databaseUrl: string; stop(): Promise<void> }> {
  const postgres = await openPostgres();
  const databaseUrl = await postgres.createDatabase();
  // A busy machine may take its time to connect.
  const timeouts = { statementTimeoutMs: 30_000, waitTimeoutMs: 30_000 };
  const db = new Database({ service: 'test', databaseUrl, poolSize: 1, ...timeouts });
  for (const statement of statements) await db.execute(statement);
  await db.close();
  return { databaseUrl, stop: () => postgres.stop() };
}
