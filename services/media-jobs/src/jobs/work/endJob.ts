import { usageRecorded } from '@turnpike/events/usageRecorded';
import { type MediaEnding, toMediaEvent } from '../../money/toMediaEvent.ts';
import type { JobErrorCode, StoredOutput } from '../../terms/job.ts';
import type { JobDependencies } from '../dependencies.ts';
import { fromHoldJson, type JobRow } from '../table/jobRow.ts';
import { CANCELLED_KEPT_MS, SHOWN_MS, VIDEO_KEPT_MS, WAITED_FOR_KEPT_MS } from '../times.ts';
import type { EndValues } from '../transitions.ts';
import type { HeldJob } from './heldJob.ts';

/** End of a job. `result`: what the metrics count for its attempt, the code of a failure by default. */
export type JobEnd =
  | { name: 'complete'; units: number; outputs: StoredOutput[] }
  | { name: 'fail'; code: JobErrorCode; result?: string }
  /** The client sees nothing of the job from then on. */
  | { name: 'cancel' };

/** Returns the values of a job's end. The database sets the end in the completion event, as the row ends. */
export function toEnd(
  row: JobRow,
  end: JobEnd,
  { region, settledAfterMs = 0 }: Pick<JobDependencies, 'region'> & { settledAfterMs?: number },
): EndValues {
  const isCompleted = end.name === 'complete';
  const errorCode = end.name === 'fail' ? end.code : null;
  const units = isCompleted ? Math.min(end.units, row.unitsBound) : 0;
  const ending: MediaEnding = isCompleted
    ? { status: 'success', units }
    : { status: 'failure', reason: errorCode ?? 'cancelled' };
  const { admittedAtMs, unknownEventJson } = fromHoldJson(row.hold);
  // The event of the hold names the request that made the job, and its trace.
  const { data: made } = usageRecorded.schema.safeParse(JSON.parse(unknownEventJson));
  const isCancelled = end.name === 'cancel';
  const shownMs = isCancelled ? 0 : row.isHidden ? WAITED_FOR_KEPT_MS : SHOWN_MS;
  return {
    units,
    event: toMediaEvent(row, ending, {
      region,
      isStream: false,
      admittedAtMs,
      endedAtMs: admittedAtMs,
      requestId: made?.requestId,
      traceparent: made?.traceparent,
    }),
    outputs: isCompleted ? end.outputs : [],
    errorCode,
    settledAfterMs,
    shownMs,
    keptMs: isCancelled ? CANCELLED_KEPT_MS : row.modality === 'video' ? VIDEO_KEPT_MS : shownMs,
    result: isCompleted ? 'made' : end.name === 'fail' ? (end.result ?? end.code) : 'cancelled',
  };
}

/** Ends a job that this worker has. */
export const endJob = async (
  held: HeldJob,
  end: JobEnd,
  dependencies: Pick<JobDependencies, 'region'>,
): Promise<void> => void (await held.step(end.name, toEnd(held.row, end, dependencies)));
