import { repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import type { Queryable } from '@turnpike/postgres/database';
import { sql } from '@turnpike/postgres/sql';
import type { JobRow } from './table/jobRow.ts';

const ROUND_MS = 15_000;
/** Jobs of a model from which the median is computed. */
const LATEST = 20;
/** Most progress that an estimate shows. */
const MOST_PROGRESS = 95;

/** Estimates of the duration of jobs, from the latest jobs of the same model. */
export interface Estimate {
  /** Returns the progress of a job by its time, per cent; 0 if no job of its model is completed yet. */
  progressOf(job: Pick<JobRow, 'model' | 'sentAt' | 'now'>): number;
  /** Returns the time until a job that came now would be done, behind `jobs` others; undefined if unknown. */
  waitMs(model: string, { jobs, slots }: { jobs: number; slots: number }): number | undefined;
  close(): Promise<void>;
}

/** Reads the medians of all models every 15 s. */
export function createEstimate(db: Queryable, { log }: { log: Logger }): Estimate {
  let medians = new Map<string, number>();
  async function read(): Promise<void> {
    const rows = await db.query(sql<{ model: string; medianMs: number }>`
      WITH RECURSIVE known AS (
        (SELECT model FROM job WHERE state = 'completed' ORDER BY model LIMIT 1)
        UNION ALL
        SELECT next.model FROM known CROSS JOIN LATERAL (
          SELECT model FROM job WHERE state = 'completed' AND model > known.model ORDER BY model LIMIT 1
        ) AS next
      )
      SELECT known.model, 1000 * percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM ended_at - sent_at)) AS "medianMs"
      FROM known CROSS JOIN LATERAL (
        SELECT ended_at, sent_at FROM job WHERE state = 'completed' AND job.model = known.model
        ORDER BY ended_at DESC LIMIT ${LATEST}
      ) AS latest
      GROUP BY known.model`);
    medians = new Map(rows.map(({ model, medianMs }) => [model, medianMs]));
  }
  const reading = repeat(read, { pauseMs: ROUND_MS, log, failing: 'how long jobs take cannot be asked for' });
  return {
    progressOf({ model, sentAt, now }) {
      const medianMs = medians.get(model);
      if (!medianMs || sentAt === null) return 0;
      return Math.min(Math.floor((100 * (now.getTime() - sentAt.getTime())) / medianMs), MOST_PROGRESS);
    },
    waitMs(model, { jobs, slots }) {
      const medianMs = medians.get(model);
      return medianMs === undefined || slots === 0 ? undefined : medianMs * (Math.floor(jobs / slots) + 1);
    },
    close: reading.close,
  };
}
