import { repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import type { Db } from '../database/createDb.ts';
import type { JobRow } from './table/jobRow.ts';

const ROUND_MS = 15_000;
/** Jobs of a model that the median is of. */
const LATEST = 20;
/** Where nobody knows how far a job is, it is not said to be nearly done. */
const MOST_PROGRESS = 95;

/** How long jobs take, by how long those of the same model took of late. */
export interface Estimate {
  /** How far a job is by its time, per cent; 0 where no job of its model has been completed yet. */
  progressOf(job: Pick<JobRow, 'model' | 'sentAt' | 'now'>): number;
  /** When a job that came now would be done, with as many of its model queued or at work; undefined where nobody knows. */
  waitMs(model: string, { jobs, slots }: { jobs: number; slots: number }): number | undefined;
  close(): Promise<void>;
}

/** Asks every so often for the medians of all models. */
export function createEstimate(db: Db, { log }: { log: Logger }): Estimate {
  let medians = new Map<string, number>();
  async function read(): Promise<void> {
    const rows = await db.$queryRaw<{ model: string; medianMs: number }[]>`
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
      GROUP BY known.model`;
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
