import type { Logger } from '@turnpike/logging/createLogger';
import type { Job, JobResult, PgBoss } from 'pg-boss';

const AT_ONCE = 5;
/** Options of every worker. `openJobQueue` wakes it for a due job, so its own looks are rare. */
export const WOKEN = { pollingIntervalSeconds: 60 } as const;

/** A job that did what it can for now. It is tried again, and nothing is logged. */
export class NotOver extends Error {}

/** Works off a queue, some jobs at once. A job that fails is tried again, and fails no other one. */
export async function workEach<J extends object>(
  { boss, log }: { boss: PgBoss; log: Logger },
  { queue, failing }: { queue: string; failing: string },
  work: (job: J) => Promise<void>,
): Promise<void> {
  const options = { ...WOKEN, batchSize: AT_ONCE, perJobResults: true } as const;
  await boss.work<J, unknown, typeof options>(queue, options, (jobs: Job<J>[]) =>
    Promise.all(
      jobs.map(async ({ id, data }): Promise<JobResult> => {
        try {
          await work(data);
          return { id, status: 'completed' };
        } catch (error) {
          if (!(error instanceof NotOver)) log.warn({ err: error, job: data }, failing);
          return { id, status: 'failed', output: { message: String(error) } };
        }
      }),
    ),
  );
}
