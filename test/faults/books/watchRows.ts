import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import type { CallRecord } from '../load/callRecord.ts';

const INTERVAL_MS = 50;
const PATIENCE_MS = 20_000;

/** Looks at a workspace's rows all the time, and so knows when each became visible. */
export function watchRows(db: pg.Pool, workspaceId: string) {
  const seenAt = new Map<string, number>();
  let isClosed = false;

  async function watch(): Promise<void> {
    while (!isClosed) {
      const { rows } = await db.query('SELECT call_id FROM usage_request WHERE workspace_id = $1', [workspaceId]);
      const now = Date.now();
      for (const { call_id: callId } of rows) if (!seenAt.has(callId)) seenAt.set(callId, now);
      await pause(INTERVAL_MS);
    }
  }
  const watching = watch();

  return {
    /** How long after its end each admitted call's row could be seen, in milliseconds, the shortest first; at most 20 s are waited. */
    async untilSeen(calls: readonly CallRecord[]): Promise<number[]> {
      const deadline = performance.now() + PATIENCE_MS;
      const admitted = calls.filter(({ isAdmitted }) => isAdmitted);
      const isMissing = ({ callId = '' }: CallRecord): boolean => !seenAt.has(callId);
      while (admitted.some(isMissing) && performance.now() < deadline) await pause(INTERVAL_MS);
      isClosed = true;
      await watching;
      return admitted
        .map(({ callId = '', endedAt }) => Math.max((seenAt.get(callId) ?? Number.POSITIVE_INFINITY) - endedAt, 0))
        .sort((a, b) => a - b);
    },
  };
}
