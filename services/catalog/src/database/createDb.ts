import { openPrisma, type Statements } from '@turnpike/postgres/database';
import { PrismaClient } from '../generated/client.ts';

export type Db = PrismaClient & Statements;

/** Applying a catalog is all this service asks of its database, now and then. */
const POOL_SIZE = 4;
const STATEMENT_TIMEOUT_MS = 5_000;

/** Opens the catalog's database. `waitTimeoutMs` is the longest wait for a connection. */
export const createDb = (databaseUrl: string, waitTimeoutMs?: number): Db =>
  openPrisma(
    { service: 'catalog', databaseUrl, poolSize: POOL_SIZE, statementTimeoutMs: STATEMENT_TIMEOUT_MS, waitTimeoutMs },
    (adapter) => new PrismaClient({ adapter }),
  );
