import type { Logger } from '@turnpike/logging/createLogger';
import { createPool } from '@turnpike/postgres/createPool';
import { PgBoss } from 'pg-boss';

const POOL = { poolSize: 3, statementTimeoutMs: 10_000 };
/** Jobs under way may take so long to end when the process is told to stop. */
const STOP_MS = 5_000;

/**
 * The job queue in the account database, with connections of its own, and how to close it. Its tables come with the migrations.
 * `waitTimeoutMs` is the longest wait for a connection.
 */
export async function openJobQueue(
  databaseUrl: string,
  log: Logger,
  waitTimeoutMs?: number,
): Promise<{ boss: PgBoss; close(): Promise<void> }> {
  const pool = createPool({ service: 'control-plane-jobs', databaseUrl, ...POOL, waitTimeoutMs });
  const boss = new PgBoss({
    db: { executeSql: (text, values) => pool.query(text, values) },
    migrate: false,
    createSchema: false,
  });
  boss.on('error', (error) => log.warn({ err: error }, 'the job queue cannot work: it tries again'));
  await boss.start();
  return {
    boss,
    async close() {
      await boss.stop({ graceful: true, timeout: STOP_MS });
      await pool.end();
    },
  };
}
