import { readFile } from 'node:fs/promises';
import pg from 'pg';

export interface RightsTarget {
  /** With the role that owns the database. */
  databaseUrl: string;
  /** A script of GRANT and REVOKE in which `:service_role` stands for the role. */
  rightsFile: string;
  /** The role that the service works with. It has to exist. */
  serviceRole: string;
}

const CONNECT_TIMEOUT_MS = 5_000;
const STATEMENT_TIMEOUT_MS = 30_000;
/** Two grants at once would meet in the system catalog. Names our lock among the advisory locks of a database. */
const LOCK_ID = '8467204914';

/** Gives the role that a service works with the rights of a script, all of them or none. Throws one clear line. */
export async function grantRights({ databaseUrl, rightsFile, serviceRole }: RightsTarget): Promise<void> {
  const script = await readFile(rightsFile, 'utf8');
  const client = new pg.Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    const rights = script.replaceAll(':service_role', client.escapeIdentifier(serviceRole));
    // Sent as one, several statements are one transaction.
    await client.query(`SELECT pg_advisory_xact_lock(${LOCK_ID});\n${rights}`);
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new Error(`the rights of role "${serviceRole}" were not granted: ${problem}`, { cause: error });
  } finally {
    await client.end().catch(() => {});
  }
}
