import { createPgAdapter } from '@turnpike/postgres/createPgAdapter';
import { PrismaClient } from '../generated/client.ts';

export type Db = PrismaClient;

const POOL_SIZE = 20;
/** Statements here touch a few rows each, and callers give up on a verdict after half a second. */
const STATEMENT_TIMEOUT_MS = 2_000;

/** A pool of connections to auth's database, each made when it is first needed. */
export function createDb(databaseUrl: string): Db {
  const adapter = createPgAdapter({
    service: 'auth',
    databaseUrl,
    poolSize: POOL_SIZE,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
  });
  return new PrismaClient({ adapter });
}
