import type { Queryable } from '@turnpike/postgres/database';
import { sql } from '@turnpike/postgres/sql';

/** A job with a step that is long overdue. */
export interface OverdueJob {
  jobId: string;
  modality: 'image' | 'audio' | 'video';
  endedAt: Date | null;
  /** `removal`: its bytes are still there. `settlement`: its hold is not its charge yet. `backend`: its backend may still have it. */
  lacks: 'removal' | 'settlement' | 'backend' | 'end';
}

const MOST_LISTED = 1_000;

/** Returns the overdue jobs of the region, by the database's clock, for the operator. */
export const listOverdue = (db: Queryable): Promise<OverdueJob[]> =>
  db.query(sql<OverdueJob>`
    SELECT job_id AS "jobId", modality, ended_at AS "endedAt", lacks FROM (
      SELECT *, CASE
        WHEN ended_at IS NULL THEN CASE WHEN deadline_at < now() - INTERVAL '1 minute' THEN 'end' END
        WHEN removed_at IS NULL AND remove_at < now() - CASE modality WHEN 'video' THEN INTERVAL '12 hours' ELSE INTERVAL '1 hour' END
          THEN 'removal'
        WHEN settled_at IS NULL AND ended_at < now() - INTERVAL '5 minutes' THEN 'settlement'
        WHEN backend_id IS NOT NULL AND backend_cleared_at IS NULL AND ended_at < now() - INTERVAL '10 minutes' THEN 'backend'
      END AS lacks
      -- By the indexes of what is open and late, and of what has ended and is due.
      FROM job WHERE (deadline_at < now() AND state IN ('queued', 'submitting', 'running', 'storing'))
        OR (due_at IS NOT NULL AND state IN ('completed', 'failed', 'cancelled'))
    ) AS judged
    WHERE lacks IS NOT NULL ORDER BY ended_at NULLS FIRST LIMIT ${MOST_LISTED}`);
