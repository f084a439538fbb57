import { openPrisma, type Statements } from '@turnpike/postgres/database';
import { type Prisma, PrismaClient } from '../generated/client.ts';

export type Db = PrismaClient & Statements;
/** The statements of one transaction. */
export type Tx = Prisma.TransactionClient;

/** Requests of people take some milliseconds each. */
const CONNECTIONS = 10;
/** Statements here touch a few rows each. */
const STATEMENT_TIMEOUT_MS = 2_000;

/** Opens the account database. Connections are made when they are first needed. */
export const openDatabase = (databaseUrl: string): Db =>
  openPrisma(
    { service: 'control-plane', databaseUrl, poolSize: CONNECTIONS, statementTimeoutMs: STATEMENT_TIMEOUT_MS },
    (adapter) => new PrismaClient({ adapter }),
  );
