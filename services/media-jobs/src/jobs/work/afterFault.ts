import { backoffMs } from '@turnpike/lifecycle/backoff';
import { Prisma } from '../../generated/client.ts';
import { BackendFault } from '../../terms/backend.ts';
import type { JobErrorCode } from '../../terms/job.ts';
import { interval } from '../table/jobRow.ts';
import { MOST_ATTEMPTS } from '../times.ts';
import { countAttempt } from './countAttempt.ts';
import { toEnd } from './endJob.ts';
import type { HeldJob } from './heldJob.ts';
import type { House } from './house.ts';
import { InvalidOutput } from './workshop.ts';

/** How soon a job that was turned away has its turn again. */
const TURNED_AWAY = { firstMs: 500, longestMs: 30_000 };

/** Ends a job that came to nothing. */
export async function fail(
  held: HeldJob,
  code: JobErrorCode,
  house: Pick<House, 'money' | 'metrics'>,
  result: string = code,
): Promise<void> {
  const { row } = held;
  await held.step(toEnd(row, { state: 'failed', code }, house.money));
  countAttempt(row, result, house);
}

/** Another attempt, on whatever replica, unless there were as many as there may be: then the job has failed. */
export async function tryAgain(
  held: HeldJob,
  code: JobErrorCode,
  house: Pick<House, 'money' | 'metrics'>,
  result: string = code,
): Promise<void> {
  const { row } = held;
  if (row.attemptsCounted >= MOST_ATTEMPTS) return fail(held, code, house, result);
  await held.step(Prisma.sql`state = 'queued', due_at = now(), progress = 0`);
  countAttempt(row, result, house);
}

/**
 * What becomes of a job whose replica gave nothing, or not all. What was never begun does not count as an attempt: the job stays in the
 * queue, and another replica may have it. Where nobody knows, or something of it was made before, it counts. Rejects with what is no fault
 * of a backend.
 */
export async function afterFault(
  held: HeldJob,
  error: unknown,
  house: Pick<House, 'money' | 'metrics'>,
  { hasBegun = false } = {},
): Promise<void> {
  if (error instanceof InvalidOutput) return fail(held, 'invalid_output', house);
  if (!(error instanceof BackendFault)) throw error;
  switch (error.kind) {
    case 'refused_request':
      return fail(held, 'generation_failed', house, error.kind);
    case 'content_refused':
      return fail(held, 'content_refused', house);
    case 'busy':
    case 'unreachable':
      return hasBegun ? tryAgain(held, 'backend_lost', house, error.kind) : turnAway(held, error, house);
    case 'failed':
    case 'misconfigured':
      return tryAgain(held, 'generation_failed', house, error.kind);
    case 'cut_off':
    case 'answer_lost':
      return tryAgain(held, 'backend_lost', house, error.kind);
  }
}

async function turnAway(
  held: HeldJob,
  { kind, retryAfterMs = 0 }: BackendFault,
  house: Pick<House, 'metrics'>,
): Promise<void> {
  const { row } = held;
  const { attempt, attemptsCounted } = row;
  // The more attempts there were that came to nothing, the longer.
  const pauseMs = backoffMs(attempt - attemptsCounted, TURNED_AWAY);
  const waitMs = Math.max(pauseMs, Math.min(retryAfterMs, TURNED_AWAY.longestMs));
  await held.step(Prisma.sql`
    state = 'queued', attempts_counted = attempts_counted - 1, due_at = now() + ${interval(waitMs)}`);
  countAttempt(row, kind, house);
}
