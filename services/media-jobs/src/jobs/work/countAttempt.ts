import type { JobRow } from '../table/jobRow.ts';
import type { House } from './house.ts';

/** Counts what came of the attempt that a job was in, by its row as that attempt had it. One that was queued was in none. */
export function countAttempt(
  { replica, state }: Pick<JobRow, 'replica' | 'state'>,
  result: string,
  { metrics }: Pick<House, 'metrics'>,
): void {
  if (replica !== null && state !== 'queued') metrics.attemptEnded({ id: replica }, result);
}
