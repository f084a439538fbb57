import { type Repetition, repeat } from '@turnpike/lifecycle/repeat';
import { sql } from '@turnpike/postgres/sql';
import type { JobDependencies } from '../dependencies.ts';
import { removeOldCreations } from '../table/creations.ts';

const ROUND_MS = 3_600_000;
/** Least age of a stray: a younger object may belong to a job in the making, or to a worker that just lost its job. */
const STRAY_MS = 3_600_000;
const FOLDERS = 'jobs/';
/** Most ids in one statement. */
const BATCH = 500;

export interface SweeperOptions extends Pick<JobDependencies, 'db' | 'store' | 'metrics' | 'log'> {
  roundMs?: number;
}

/**
 * Removes objects of no job, or of a job whose bytes were removed. A process left them that died before the job's row,
 * or a late worker. Also removes unfinished puts, and creations too old for repeats.
 */
export function sweepStrays({ db, store, metrics, log, roundMs = ROUND_MS }: SweeperOptions): Repetition {
  async function removeStrays(keys: { jobId: string; key: string }[]): Promise<void> {
    const jobIds = [...new Set(keys.map(({ jobId }) => jobId))];
    const rows = await db.query(sql<{ jobId: string }>`
      SELECT job_id AS "jobId" FROM job WHERE job_id = ANY(${jobIds}) AND removed_at IS NULL`);
    const kept = new Set(rows.map(({ jobId }) => jobId));
    for (const { jobId, key } of keys) {
      if (kept.has(jobId)) continue;
      await store.delete(key);
      metrics.strayRemoved();
      log.warn({ jobId }, 'removed a stray object');
    }
  }

  return repeat(
    async (signal) => {
      const before = new Date(Date.now() - STRAY_MS);
      await removeOldCreations(db, STRAY_MS);
      await store.removeUnfinished(FOLDERS, before);
      let batch: { jobId: string; key: string }[] = [];
      for await (const { key, modifiedAt } of store.list(FOLDERS)) {
        if (signal.aborted) return;
        const jobId = key.split('/')[1];
        if (jobId === undefined || modifiedAt > before) continue;
        batch.push({ jobId, key });
        if (batch.length < BATCH) continue;
        await removeStrays(batch);
        batch = [];
      }
      await removeStrays(batch);
    },
    { pauseMs: roundMs, pausesFirst: true, log, failing: 'stray objects cannot be listed' },
  );
}
