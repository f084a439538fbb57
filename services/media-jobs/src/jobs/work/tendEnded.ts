import { toUsageRecordedJson, usageRecorded } from '@turnpike/events/usageRecorded';
import { isUnreachable } from '@turnpike/postgres/databaseFailure';
import { Prisma } from '../../generated/client.ts';
import { removeObjects } from '../removal/removeJob.ts';
import { interval, type JobRow } from '../table/jobRow.ts';
import { REMOVAL_ALARM_MS } from '../times.ts';
import type { HeldJob } from './heldJob.ts';
import type { House } from './house.ts';

/** How soon what failed is tried again. */
const SETTLE_AGAIN_MS = 1_000;
const CLEAR_AGAIN_MS = 10_000;
/** For so long a replica that is in no file may come back, or be in another process' one. */
const UNKNOWN_MS = 600_000;
const REMOVE_AGAIN_MS = 60_000;
const FAILED_AGAIN_MS = 60_000;

/**
 * Does what is left to do for a job that has ended: its hold becomes its charge, its backend and its uploads are cleared, and in the end
 * its bytes are removed. The row says what is done. A step that fails is tried again, and the steps behind it are tried all the same.
 */
export async function tendEnded(held: HeldJob, house: House): Promise<void> {
  const again: number[] = [];
  const attempt = async (work: Promise<boolean>, againMs: number): Promise<void> => {
    try {
      if (!(await work)) again.push(againMs);
    } catch (error) {
      if (held.signal.aborted) throw error;
      const { jobId } = held.row;
      const isAway = isUnreachable(error);
      again.push(isAway ? againMs : FAILED_AGAIN_MS);
      if (isAway)
        house.log.warn({ err: error, jobId }, 'a step of the end of a job has lost its database; tried again');
      else house.log.error({ err: error, jobId }, 'ALERT a step of the end of a job fails; the other steps go on');
    }
  };
  await attempt(settle(held, house), SETTLE_AGAIN_MS);
  await attempt(clearBackend(held, house), CLEAR_AGAIN_MS);
  await attempt(removeInputs(held, house), REMOVE_AGAIN_MS);
  await attempt(removeWhenDue(held, house), REMOVE_AGAIN_MS);
  const { removeAt, now } = held.row;
  const soonest = again.length > 0 ? Prisma.sql`now() + ${interval(Math.min(...again))}` : Prisma.sql`NULL`;
  // What was due and is not done is tried again after its while, not at once.
  const removal = removeAt !== null && removeAt > now ? removeAt : null;
  // Least of what is not null: nothing, once all is done.
  await held.step(Prisma.sql`due_at = least(${soonest}, ${removal}::TIMESTAMPTZ)`);
}

/** The row is the outbox: its event goes to the spool, any number of times, and counts once. */
async function settle(held: HeldJob, { money, metrics }: House): Promise<boolean> {
  const { settledAt, event: stored } = held.row;
  if (settledAt !== null) return true;
  // Throws on an event of a newer release: the hold is kept until that release is back.
  const event = usageRecorded.schema.parse(stored);
  if (!(await money.settle({ event, json: toUsageRecordedJson(event) }))) return false;
  metrics.jobEnded(await held.step(Prisma.sql`settled_at = now()`));
  return true;
}

async function clearBackend(held: HeldJob, { backends, log }: House): Promise<boolean> {
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
  await held.step(Prisma.sql`backend_cleared_at = now()`);
  return true;
}

async function removeInputs(held: HeldJob, { store, metrics, log }: House): Promise<boolean> {
  const { inputs, jobId } = held.row;
  if (inputs.length === 0) return true;
  try {
    for (const { key } of inputs) await store.delete(key);
  } catch (error) {
    metrics.storeFailed();
    log.warn({ err: error, jobId }, 'uploads of a job were not removed; tried again');
    return false;
  }
  await held.step(Prisma.sql`inputs = '[]'`);
  metrics.bytesRemoved('input', sumOf(inputs));
  return true;
}

/** Objects first, then the row: what it says was removed is gone. Counts and hashes stay, as the record of that. */
async function removeWhenDue(held: HeldJob, { store, texts, metrics, log }: House): Promise<boolean> {
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
  await held.step(Prisma.sql`
    sealed_texts = NULL, outputs = ${JSON.stringify(outputs.map(toRecord))}::JSONB, removed_at = now()`);
  metrics.bytesRemoved('output', sumOf(outputs));
  return true;
}

const sumOf = (files: readonly { bytes: number }[]): number => files.reduce((sum, { bytes }) => sum + bytes, 0);

const toRecord = ({ key: _removed, ...counted }: JobRow['outputs'][number]) => counted;
