import { toUsageRecordedJson, usageRecorded } from '@turnpike/events/usageRecorded';
import { isUnreachable } from '@turnpike/postgres/databaseFailure';
import type { JobDependencies } from '../dependencies.ts';
import { removeObjects } from '../removal/removeObjects.ts';
import { REMOVAL_ALARM_MS } from '../times.ts';
import type { HeldJob } from './heldJob.ts';

/** Pauses before a failed step is retried. */
const SETTLE_AGAIN_MS = 1_000;
const CLEAR_AGAIN_MS = 10_000;
/** Time that a replica missing from the file may take to return, or may be in another process' file. */
const UNKNOWN_MS = 600_000;
const REMOVE_AGAIN_MS = 60_000;
const FAILED_AGAIN_MS = 60_000;

/**
 * Runs the remaining steps of an ended job. The hold becomes the charge, backend and uploads are cleared, and at last
 * the bytes are removed. The row records the finished steps. A failed step is retried and does not stop the steps after
 * it.
 */
export async function tendEnded(held: HeldJob, dependencies: JobDependencies): Promise<void> {
  const { log } = dependencies;
  const again: number[] = [];
  const attempt = async (work: Promise<boolean>, againMs: number): Promise<void> => {
    try {
      if (!(await work)) again.push(againMs);
    } catch (error) {
      if (held.signal.aborted) throw error;
      const { jobId } = held.row;
      const isAway = isUnreachable(error);
      again.push(isAway ? againMs : FAILED_AGAIN_MS);
      if (isAway) log.warn({ err: error, jobId }, 'a step of the end of a job has lost its database; tried again');
      else log.error({ err: error, jobId }, 'ALERT a step of the end of a job fails; the other steps go on');
    }
  };
  await attempt(settle(held, dependencies), SETTLE_AGAIN_MS);
  await attempt(clearBackend(held, dependencies), CLEAR_AGAIN_MS);
  await attempt(removeInputs(held, dependencies), REMOVE_AGAIN_MS);
  await attempt(removeWhenDue(held, dependencies), REMOVE_AGAIN_MS);
  const { removeAt, now } = held.row;
  await held.step('rest', {
    againInMs: again.length > 0 ? Math.min(...again) : null,
    // A due removal that failed is retried after its pause, not at once.
    removeAt: removeAt !== null && removeAt > now ? removeAt : null,
  });
}

/** Sends the event of the row to the spool. The event may be sent any number of times, and counts once. */
async function settle(held: HeldJob, { money, metrics }: JobDependencies): Promise<boolean> {
  const { settledAt, event: stored } = held.row;
  if (settledAt !== null) return true;
  // Throws on an event of a newer release: the hold is kept until that release is back.
  const event = usageRecorded.schema.parse(stored);
  if (!(await money.settleJob({ event, json: toUsageRecordedJson(event) }))) return false;
  metrics.jobEnded(await held.step('settle'));
  return true;
}

async function clearBackend(held: HeldJob, { backends, log }: JobDependencies): Promise<boolean> {
  const { backendId, backendClearedAt, replica: id, jobId, endedAt, now } = held.row;
  if (backendId === null || backendClearedAt !== null) return true;
  const replica = backends.list().find((each) => each.replica.id === id)?.replica;
  try {
    if (!replica && now.getTime() - (endedAt?.getTime() ?? 0) < UNKNOWN_MS) return false;
    if (replica) await backends.dialectOf(replica).deleteVideo?.(replica, backendId, held.signal);
  } catch (error) {
    log.debug({ err: error, jobId }, 'a backend did not remove what it has of a job; tried again');
    return false;
  }
  await held.step('clearBackend');
  return true;
}

async function removeInputs(held: HeldJob, { store, metrics, log }: JobDependencies): Promise<boolean> {
  const { inputs, jobId } = held.row;
  if (inputs.length === 0) return true;
  try {
    for (const { key } of inputs) await store.delete(key);
  } catch (error) {
    metrics.storeFailed();
    log.warn({ err: error, jobId }, 'uploads of a job were not removed; tried again');
    return false;
  }
  await held.step('removeInputs');
  metrics.bytesRemoved('input', sumOf(inputs));
  return true;
}

/** Removes the objects first and notes that in the row then. */
async function removeWhenDue(held: HeldJob, { store, texts, metrics, log }: JobDependencies): Promise<boolean> {
  const { jobId, removeAt, removedAt, now, endedAt, outputs } = held.row;
  if (removedAt !== null || removeAt === null || removeAt > now) return true;
  try {
    await removeObjects(store, jobId);
  } catch (error) {
    metrics.storeFailed();
    const isOverdue = endedAt !== null && now.getTime() - endedAt.getTime() > REMOVAL_ALARM_MS;
    if (isOverdue) log.error({ err: error, jobId }, 'ALERT bytes of a job are still there that were to be removed');
    else log.warn({ err: error, jobId }, 'bytes of a job were not removed; tried again');
    return false;
  }
  texts.forget(jobId);
  await held.step('remove', { outputs: outputs.map(({ key: _removed, ...counted }) => counted) });
  metrics.bytesRemoved('output', sumOf(outputs));
  return true;
}

const sumOf = (files: readonly { bytes: number }[]): number => files.reduce((sum, { bytes }) => sum + bytes, 0);
