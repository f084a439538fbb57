import { createHash } from 'node:crypto';
import { parseUsageRecorded } from '@turnpike/events/usageRecorded';
import type { Logger } from '@turnpike/logging/createLogger';
import type { InferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import { Spool } from '../spool/spool.ts';
import type { EndedCall } from './pendingCalls.ts';

/** Events that the previous process left in the spool. */
export interface LeftEvents {
  calls: EndedCall[];
  /** Events that no program can read. */
  unreadable: { id: string; json: string }[];
}

/** Opens the spool, and reads what the process before left to be recorded. */
export async function recoverSpool({
  dir,
  maxBytes,
  metrics,
  log,
}: {
  dir: string;
  maxBytes: number;
  metrics: Pick<InferenceMetrics, 'alerted'>;
  log: Logger;
}): Promise<{ spool: Spool; left: LeftEvents }> {
  const { spool, left: events } = await Spool.open({ dir, maxBytes, log, idOf });
  const left: LeftEvents = { calls: [], unreadable: [] };
  for (const { id, json } of events) {
    try {
      left.calls.push({ event: parseUsageRecorded(json), json });
    } catch (error) {
      log.error(
        { err: error },
        'ALERT event in the spool cannot be read; it is left to the dead letters of its reader',
      );
      metrics.alerted('unreadable_call');
      left.unreadable.push({ id, json });
    }
  }
  return { spool, left };
}

/** The id of the call; of what no program can read, one of its text. */
function idOf(json: string): string {
  try {
    return parseUsageRecorded(json).callId;
  } catch {
    return createHash('sha256').update(json).digest('hex');
  }
}
