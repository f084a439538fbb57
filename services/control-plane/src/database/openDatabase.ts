import { openPrisma, type Statements } from '@turnpike/postgres/database';
import { type Prisma, PrismaClient } from '../generated/client.ts';

export type Db = PrismaClient & Statements;
/** The statements of one transaction. */
export type Tx = Prisma.TransactionClient;

/** Requests of people take some milliseconds each. */
const CONNECTIONS = 10;

/** How long the database may take. */
export interface Patience {
  /** Longest run of one statement. */
  statementMs: number;
  /** Longest wait for a connection, also that of a transaction. */
  waitMs: number;
  /** Longest run of a transaction. */
  transactionMs: number;
}

/** Statements touch a few rows each. */
const USUAL: Patience = { statementMs: 2_000, waitMs: 3_000, transactionMs: 5_000 };

/** Opens the account database. Connections are made when they are first needed. */
export const openDatabase = (
  databaseUrl: string,
  { statementMs: statementTimeoutMs, waitMs: waitTimeoutMs, transactionMs: timeout } = USUAL,
): Db =>
  openPrisma(
    { service: 'control-plane', databaseUrl, poolSize: CONNECTIONS, statementTimeoutMs, waitTimeoutMs },
    (adapter) => new PrismaClient({ adapter, transactionOptions: { maxWait: waitTimeoutMs, timeout } }),
  );
