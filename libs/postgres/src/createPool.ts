import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { preparedNameOf } from './sql.ts';

export interface PoolOptions {
  /** Shown in `pg_stat_activity`. */
  service: string;
  databaseUrl: string;
  /** Most connections at once. */
  poolSize: number;
  /** Longest run of one statement; the server cancels it then. */
  statementTimeoutMs: number;
  /** Longest wait for a connection, one that is free or a new one. */
  waitTimeoutMs?: number | undefined;
}

const WAIT_TIMEOUT_MS = 3_000;
/** Time that the server has to cancel a statement. The driver ends the connection afterwards. */
const SILENCE_MS = 2_000;
/** Longest wait of a transaction for its next statement. The server then ends the session and releases its locks. */
const IDLE_IN_TRANSACTION_MS = 5_000;
/** Reads a BIGINT as a bigint, as Prisma does. The driver's own parser returns text. */
const BIGINTS: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    oid === pg.types.builtins.INT8 && format !== 'binary' ? BigInt : pg.types.getTypeParser(oid, format),
};

/** Opens a bounded pool. Connects when a connection is first needed. Every wait and every statement has a deadline. */
export function createPool({
  service,
  databaseUrl,
  poolSize,
  statementTimeoutMs,
  waitTimeoutMs = WAIT_TIMEOUT_MS,
}: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max: poolSize,
    connectionTimeoutMillis: waitTimeoutMs,
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + SILENCE_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    application_name: service,
    types: BIGINTS,
  });
  // The pool has already removed an idle connection that broke. Without a listener the event ends the process.
  return pool.on('error', () => {});
}

/** Name under which Postgres keeps a statement until the next one only. */
const UNNAMED = '';

/** Lets a Prisma client work on this pool, which closes when the client disconnects. Prepares what the tag `sql` made. */
export const createPgAdapter = (pool: pg.Pool): PrismaPg =>
  new PrismaPg(pool, {
    disposeExternalPool: true,
    statementNameGenerator: ({ sql }) => preparedNameOf(sql) ?? UNNAMED,
  });
