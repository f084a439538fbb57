import { openPrisma, type Statements } from '@turnpike/postgres/database';
import { PrismaClient } from '../generated/client.ts';

export type Db = PrismaClient & Statements;

/** Applying a catalog is all this service asks of its database, now and then. */
const POOL_SIZE = 4;
const STATEMENT_TIMEOUT_MS = 5_000;

export const createDb = (databaseUrl: string): Db =>
  openPrisma(
    { service: 'catalog', databaseUrl, poolSize: POOL_SIZE, statementTimeoutMs: STATEMENT_TIMEOUT_MS },
    (adapter) => new PrismaClient({ adapter }),
  );
