import { toUsageRecordedJson } from '@turnpike/events/usageRecorded';
import { Prisma } from '../../generated/client.ts';
import type { JobErrorCode, StoredOutput } from '../../terms/job.ts';
import { interval, type JobRow } from '../table/jobRow.ts';
import { CANCELLED_KEPT_MS, SHOWN_MS, VIDEO_KEPT_MS, WAITED_FOR_KEPT_MS } from '../times.ts';
import type { JobEnding, JobMoney } from './house.ts';

/** The end of a job. */
export type JobEnd =
  | { state: 'completed'; units: number; outputs: StoredOutput[] }
  | { state: 'failed'; code: JobErrorCode }
  /** By its client, who sees nothing of it from then on. */
  | { state: 'cancelled' };

/**
 * The assignments by which a job ends: state, outputs, units, charge and completion event in one step, so that no crash comes between
 * them. Whoever owns its money settles it then, or after a while; the row keeps the event until that is done.
 */
export function toEnd(
  row: JobRow,
  end: JobEnd,
  money: Pick<JobMoney, 'toEvent'>,
  { settledAfterMs = 0 }: { settledAfterMs?: number } = {},
): Prisma.Sql {
  const units = end.state === 'completed' ? Math.min(end.units, row.unitsBound) : 0;
  const event = money.toEvent(row, toEnding(end, units));
  const shownMs = end.state === 'cancelled' ? 0 : row.isHidden ? WAITED_FOR_KEPT_MS : SHOWN_MS;
  const keptMs = end.state === 'cancelled' ? CANCELLED_KEPT_MS : row.modality === 'video' ? VIDEO_KEPT_MS : shownMs;
  return Prisma.sql`
    state = ${end.state}, units = ${units}, charge_nano_usd = ${event.chargeNanoUsd},
    event = ${toUsageRecordedJson(event)}::JSONB || jsonb_build_object('endedAtMs',
      ${event.startedAtMs}::BIGINT + (extract(epoch FROM clock_timestamp() - created_at) * 1000)::BIGINT),
    error_code = ${end.state === 'failed' ? end.code : null},
    outputs = ${JSON.stringify(end.state === 'completed' ? end.outputs : [])}::JSONB,
    progress = CASE WHEN ${end.state === 'completed'} THEN 100 ELSE progress END,
    ended_at = now(), due_at = now() + ${interval(settledAfterMs)}, expires_at = now() + ${interval(shownMs)}, remove_at = now() + ${interval(keptMs)}`;
}

function toEnding(end: JobEnd, units: number): JobEnding {
  if (end.state === 'completed') return { status: 'success', units };
  return { status: 'failure', reason: end.state === 'failed' ? end.code : 'cancelled' };
}
