import type { PoolOptions } from '@turnpike/postgres/createPool';
import { openPrisma, type Statements } from '@turnpike/postgres/database';
import { PrismaClient } from '../generated/client.ts';

export type Db = PrismaClient & Statements;

/** Pools of connections to auth's database, each for one purpose, so that none waits for another's. */
export interface Databases {
  /** Verdicts for the fleet: every call of a key that was not seen lately waits for one. */
  verdictDb: Db;
  /** Look-ups by clients. */
  lookUpDb: Db;
  /** Changes and lists by the operator, and readiness. */
  db: Db;
  close(): Promise<void>;
}

/**
 * Connections, 20 in all. A verdict takes some milliseconds, so the processor is busy before ten are; look-ups answer from
 * memory mostly and may wait.
 */
const CONNECTIONS = { verdicts: 10, lookUps: 4, administration: 6 };
/** Statements here touch a few rows each. */
const STATEMENT_TIMEOUT_MS = 2_000;

export interface DatabaseTimeouts {
  /**
   * The timeout of a caller that authenticates a key. No statement of the pool lasts longer, and no wait for a
   * connection lasts much longer.
   */
  verdictTimeoutMs: number;
  /** The limit of all other statements. */
  statementTimeoutMs?: number;
  /** The longest wait of all other statements for a connection. */
  waitTimeoutMs?: number;
}

/** Connections are made when they are first needed. */
export function openDatabases(
  databaseUrl: string,
  { verdictTimeoutMs, statementTimeoutMs = STATEMENT_TIMEOUT_MS, waitTimeoutMs }: DatabaseTimeouts,
): Databases {
  const open = (options: Pick<PoolOptions, 'poolSize' | 'statementTimeoutMs' | 'waitTimeoutMs'>): Db =>
    openPrisma({ service: 'auth', databaseUrl, ...options }, (adapter) => new PrismaClient({ adapter }));
  const verdictDb = open({
    poolSize: CONNECTIONS.verdicts,
    statementTimeoutMs: verdictTimeoutMs,
    // Twice as long: a new connection that comes too late for one verdict is there for the next.
    waitTimeoutMs: 2 * verdictTimeoutMs,
  });
  const lookUpDb = open({ poolSize: CONNECTIONS.lookUps, statementTimeoutMs, waitTimeoutMs });
  const db = open({ poolSize: CONNECTIONS.administration, statementTimeoutMs, waitTimeoutMs });
  return {
    verdictDb,
    lookUpDb,
    db,
    async close() {
      await Promise.all([verdictDb, lookUpDb, db].map((each) => each.$disconnect()));
    },
  };
}
