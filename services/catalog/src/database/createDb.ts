import { createPgAdapter, createPool } from '@turnpike/postgres/createPool';
import { PrismaClient } from '../generated/client.ts';

export type Db = PrismaClient;

/** Applying a catalog is all this service asks of its database, now and then. */
const POOL_SIZE = 4;
const STATEMENT_TIMEOUT_MS = 5_000;

export function createDb(databaseUrl: string): Db {
  const pool = createPool({
    service: 'catalog',
    databaseUrl,
    poolSize: POOL_SIZE,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
  });
  return new PrismaClient({ adapter: createPgAdapter(pool) });
}
