import { retryAfter } from '@turnpike/public-api/headers';
import type { ShownJob } from '../../terms/job.ts';

/** A change of a render is seen no sooner. */
const LEAST_MS = 1_000;
/** For each job that has its turn before. */
const PER_QUEUED_MS = 1_000;
const MOST_MS = 10_000;

/** When it may be worth looking again at a job: the usual clients wait for it between two looks. Nothing once it has ended. */
export function toPollHeaders({
  status,
  queuePosition,
}: Pick<ShownJob, 'status' | 'queuePosition'>): Record<string, string> {
  if (status === 'completed' || status === 'failed') return {};
  const ms = Math.min(LEAST_MS + (queuePosition ?? 0) * PER_QUEUED_MS, MOST_MS);
  return { 'openai-poll-after-ms': String(ms), ...retryAfter(ms / 1_000) };
}
