import { openPrisma, type Statements } from '@turnpike/postgres/database';
import { type Prisma, PrismaClient } from '../generated/client.ts';

export type Db = PrismaClient & Statements;
/** The statements of one transaction. */
export type Tx = Prisma.TransactionClient;

/** Requests of people take some milliseconds each. */
const CONNECTIONS = 10;
/** Statements here touch a few rows each. */
const STATEMENT_TIMEOUT_MS = 2_000;

/** The longest that a transaction waits for a connection, and then runs. */
const TRANSACTION = { maxWait: 2_000, timeout: 5_000 };

/** Opens the account database. Connections are made when they are first needed. A test on a busy machine has other deadlines. */
export const openDatabase = (
  databaseUrl: string,
  { statementTimeoutMs = STATEMENT_TIMEOUT_MS, transaction = TRANSACTION } = {},
): Db =>
  openPrisma(
    { service: 'control-plane', databaseUrl, poolSize: CONNECTIONS, statementTimeoutMs },
    (adapter) => new PrismaClient({ adapter, transactionOptions: transaction }),
  );
