import { PrismaPg } from '@prisma/adapter-pg';

export interface PgAdapterOptions {
  /** Shown in `pg_stat_activity`. */
  service: string;
  databaseUrl: string;
  /** Most connections at once. */
  poolSize: number;
  /** Longest run of one statement; the server cancels it then. */
  statementTimeoutMs: number;
  /** Longest wait for a connection, one that is free or a new one. */
  waitTimeoutMs?: number;
}

const WAIT_TIMEOUT_MS = 3_000;
/** A server that cannot even cancel in time is given up from this side. */
const SILENCE_MS = 2_000;

/** How Prisma reaches Postgres: a bounded pool whose connections are made when first needed, and no wait without an end. */
export function createPgAdapter({
  service,
  databaseUrl,
  poolSize,
  statementTimeoutMs,
  waitTimeoutMs = WAIT_TIMEOUT_MS,
}: PgAdapterOptions): PrismaPg {
  return new PrismaPg({
    connectionString: databaseUrl,
    max: poolSize,
    connectionTimeoutMillis: waitTimeoutMs,
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + SILENCE_MS,
    application_name: service,
  });
}
