import { repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import { createPool } from '@turnpike/postgres/createPool';
import { sql } from '@turnpike/postgres/sql';
import { PgBoss } from 'pg-boss';

const POOL = { poolSize: 3, statementTimeoutMs: 10_000 };
/** Jobs under way may take so long to end when the process is told to stop. */
const STOP_MS = 5_000;
/** Pause between two looks for queues with a due job. */
const LOOK_MS = 500;
const { name, text, values } = sql`
  SELECT name FROM pgboss.queue WHERE EXISTS (
    SELECT FROM pgboss.job
    WHERE job.name = queue.name AND state < 'active' AND NOT blocked AND start_after <= pgboss.job_now())`;

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
    db: {
      executeSql: (text, values) => pool.query(text, values),
      // One statement looks at all queues and wakes the workers of those with a due job. Each worker would look by itself.
      listen: async (_channel, wake) =>
        repeat(
          async () => {
            const { rows } = await pool.query<{ name: string }>({ name, text, values });
            for (const queue of rows) wake(queue.name);
          },
          { pauseMs: LOOK_MS, log, failing: 'due jobs cannot be looked for: they wait' },
        ),
    },
    useListenNotify: true,
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
