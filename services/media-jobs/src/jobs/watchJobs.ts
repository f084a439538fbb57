import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@turnpike/logging/createLogger';
import type { Queryable } from '@turnpike/postgres/database';
import { sql } from '@turnpike/postgres/sql';
import type { JobState } from './table/jobRow.ts';
import { POLL_MS } from './times.ts';

/** A job, and the state that a caller waits for it to leave. */
interface Watched {
  jobId: string;
  state: JobState;
}

export interface JobWatch {
  /** Resolves once the job is in another state, or the signal fires. Never rejects. */
  untilChanged(watched: Watched, signal: AbortSignal): Promise<void>;
  /** Polls now, because a job of this process has taken a step. */
  wake(): void;
}

/** Waits for changes of jobs with one poll for all callers, four times a second while any caller waits. */
export function watchJobs(db: Queryable, { log }: { log: Logger }): JobWatch {
  const waiting = new Map<symbol, Watched & { resolve: () => void }>();
  let pausing = new AbortController();
  let isLooking = false;

  async function look(): Promise<void> {
    const jobIds = [...new Set(Array.from(waiting.values(), ({ jobId }) => jobId))];
    const rows = await db.query(sql<Watched>`
      SELECT job_id AS "jobId", state FROM job WHERE job_id = ANY(${jobIds})`);
    const states = new Map(rows.map(({ jobId, state }) => [jobId, state]));
    for (const { jobId, state, resolve } of waiting.values()) if (states.get(jobId) !== state) resolve();
  }

  async function lookOn(): Promise<void> {
    if (isLooking) return;
    isLooking = true;
    while (waiting.size > 0) {
      await look().catch((error: unknown) => log.warn({ err: error }, 'jobs that are waited for cannot be looked at'));
      pausing = new AbortController();
      await delay(POLL_MS, undefined, { signal: pausing.signal, ref: false }).catch(() => {});
    }
    isLooking = false;
  }

  return {
    async untilChanged({ jobId, state }, signal) {
      if (signal.aborted) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      const name = Symbol(jobId);
      const stop = (): void => resolve();
      signal.addEventListener('abort', stop);
      waiting.set(name, { jobId, state, resolve });
      void lookOn();
      await promise;
      waiting.delete(name);
      signal.removeEventListener('abort', stop);
    },
    wake: () => pausing.abort(),
  };
}
