import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';

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
/** A server that cannot even cancel in time is given up from this side. */
const SILENCE_MS = 2_000;
/** Longest that a transaction waits for its next statement: the server then ends the session, whose process may be frozen, and its locks. */
const IDLE_IN_TRANSACTION_MS = 5_000;
/** What Prisma makes of a BIGINT; the driver by itself leaves its text. */
const BIGINTS: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    oid === pg.types.builtins.INT8 && format !== 'binary' ? BigInt : pg.types.getTypeParser(oid, format),
};

/** A bounded pool whose connections are made when first needed, and no wait without an end. */
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
  // A connection that breaks while nobody uses it is out of the pool by then; unheard, it would end the process.
  return pool.on('error', () => {});
}

/** Lets Prisma reach Postgres through this pool, which ends with the client. */
export const createPgAdapter = (pool: pg.Pool): PrismaPg => new PrismaPg(pool, { disposeExternalPool: true });
