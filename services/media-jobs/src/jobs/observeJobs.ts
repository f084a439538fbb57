import { type Repetition, repeat } from '@turnpike/lifecycle/repeat';
import { sql } from '@turnpike/postgres/sql';
import type { JobsNow } from '@turnpike/telemetry/mediaMetrics';
import type { JobDependencies } from './dependencies.ts';
import { listOverdue } from './removal/listOverdue.ts';

const ROUND_MS = 10_000;

export interface ObserverOptions extends Pick<JobDependencies, 'db' | 'metrics' | 'log'> {
  roundMs?: number;
}

/** Reads the jobs of the region every 10 s, for the metrics, so that no scrape waits for the database. */
export function observeJobs({ db, metrics, log, roundMs = ROUND_MS }: ObserverOptions): Repetition {
  let latest: JobsNow | undefined;
  async function read(): Promise<JobsNow> {
    const [jobs, slots, overdue] = await Promise.all([
      // An index has the jobs that are not settled.
      db.query(sql<JobsNow['jobs'][number]>`
        SELECT model, CASE WHEN ended_at IS NULL THEN state ELSE 'unsettled' END AS state, count(*)::INT AS jobs,
          extract(epoch FROM now() - min(created_at))::FLOAT AS "oldestSeconds"
        FROM job WHERE settled_at IS NULL GROUP BY 1, 2`),
      db.query(sql<JobsNow['slots'][number]>`
        SELECT replica AS backend, count(*)::INT AS used FROM job
        WHERE state IN ('submitting', 'running') AND replica IS NOT NULL GROUP BY replica`),
      listOverdue(db),
    ]);
    const counts = new Map<string, number>();
    for (const { lacks } of overdue) counts.set(lacks, (counts.get(lacks) ?? 0) + 1);
    return { jobs, slots, overdue: Array.from(counts, ([lacks, count]) => ({ lacks, jobs: count })) };
  }
  async function look(): Promise<void> {
    const reading = read();
    latest = await reading.catch(() => undefined);
    await reading;
  }
  metrics.observeJobs(() => latest);
  return repeat(look, { pauseMs: roundMs, log, failing: 'how jobs stand cannot be asked for: their metrics are NaN' });
}
