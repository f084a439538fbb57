import { backoffMs } from '@turnpike/lifecycle/repeat';
import { MediaFault } from '../../media/mediaFault.ts';
import { BackendFault, type BackendFaultKind } from '../../terms/backend.ts';
import type { JobErrorCode } from '../../terms/job.ts';
import type { JobDependencies } from '../dependencies.ts';
import { MOST_ATTEMPTS } from '../times.ts';
import { endJob } from './endJob.ts';
import type { HeldJob } from './heldJob.ts';

/** Pause until a job that was turned away has its turn again. */
const TURNED_AWAY = { firstMs: 500, longestMs: 30_000 };

type Dependencies = Pick<JobDependencies, 'region'>;

/** Queues a job for another attempt on any replica. Fails the job if it has had as many attempts as it may. */
export async function tryAgain(
  held: HeldJob,
  code: JobErrorCode,
  dependencies: Dependencies,
  result: string = code,
): Promise<void> {
  if (held.row.attemptsCounted >= MOST_ATTEMPTS) return endJob(held, { name: 'fail', code, result }, dependencies);
  await held.step('retry', { result });
}

/** Returns what a file or a backend is at fault for. This machine being overloaded is no fault of the file. Throws any other error. */
export function toFaultKind(error: unknown): BackendFaultKind | 'invalid_output' {
  if (error instanceof MediaFault) return error.kind === 'overloaded' ? 'busy' : 'invalid_output';
  if (error instanceof BackendFault) return error.kind;
  throw error;
}

/**
 * Decides about a job whose replica gave nothing, or not all. An attempt that never began does not count: the job stays in the queue, and
 * another replica may have it. An attempt counts if its beginning is in doubt, or if it had made something before. Rejects with any error
 * that is no fault of a backend or of a file.
 */
export async function afterFault(
  held: HeldJob,
  error: unknown,
  dependencies: Dependencies,
  { hasBegun = false } = {},
): Promise<void> {
  const kind = toFaultKind(error);
  switch (kind) {
    case 'invalid_output':
    case 'content_refused':
      return endJob(held, { name: 'fail', code: kind }, dependencies);
    case 'refused_request':
      return endJob(held, { name: 'fail', code: 'generation_failed', result: kind }, dependencies);
    case 'busy':
    case 'unreachable':
      if (hasBegun) return tryAgain(held, 'backend_lost', dependencies, kind);
      await held.step('turnAway', { result: kind, dueInMs: turnedAwayMs(held, error) });
      return;
    case 'failed':
    case 'misconfigured':
      return tryAgain(held, 'generation_failed', dependencies, kind);
    case 'cut_off':
    case 'answer_lost':
      return tryAgain(held, 'backend_lost', dependencies, kind);
  }
}

/** Returns a pause that grows with the number of attempts that began nothing. */
function turnedAwayMs({ row: { attempt, attemptsCounted } }: HeldJob, error: unknown): number {
  const retryAfterMs = (error instanceof BackendFault && error.retryAfterMs) || 0;
  const pauseMs = backoffMs(attempt - attemptsCounted, TURNED_AWAY);
  return Math.max(pauseMs, Math.min(retryAfterMs, TURNED_AWAY.longestMs));
}
