import { toUsageRecordedJson, usageRecorded } from '@turnpike/events/usageRecorded';
import type { Hold } from '@turnpike/holds/call/pendingCalls';
import { repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import type { Queryable } from '@turnpike/postgres/database';
import { sql } from '@turnpike/postgres/sql';
import type { JobDependencies } from '../dependencies.ts';
import { fromHoldJson, interval } from '../table/jobRow.ts';

/** Time for which a beat keeps an owner, and the pause between two beats. */
const LIVES_MS = 30_000;
const BEAT_MS = 5_000;
/** Time within which an insert that was not answered is committed or undone. */
const IN_DOUBT_MS = 60_000;
/** Most jobs that one statement takes over. */
const BATCH = 200;

export interface OwnersOptions {
  db: Queryable;
  money: Pick<JobDependencies['money'], 'owner' | 'holds'>;
  log: Logger;
  /** Called when this owner has taken over jobs, which may need work. */
  onTaken: () => void;
  livesMs?: number;
  beatMs?: number;
  inDoubtMs?: number;
}

/** Owners of the money of jobs. */
export interface Owners {
  /**
   * Compares the hold of a call with the rows from now on: at once if its row is made. In doubt, waits until no
   * transaction can commit the row any more.
   */
  keep(hold: Hold, job: 'made' | 'in doubt'): void;
  /** Ends this owner, so that other replicas can take its jobs over without a wait. */
  close(): Promise<void>;
}

/**
 * Makes this process an owner. It re-registers the holds in the rows of its open jobs, which a previous process left.
 * The process also takes over the jobs of owners that are gone.
 */
export async function followOwners(options: OwnersOptions): Promise<Owners> {
  const { db, money, log, onTaken, livesMs = LIVES_MS, beatMs = BEAT_MS, inDoubtMs = IN_DOUBT_MS } = options;
  const { owner, holds } = money;
  /**
   * Holds of this process for jobs, by call id. `from` is the time on this process' clock from which a missing row
   * means a lost job.
   */
  const kept = new Map<string, { hold: Hold; from: number }>();

  function keep(hold: Hold, job: 'made' | 'in doubt'): void {
    kept.set(hold.callId, { hold, from: performance.now() + (job === 'made' ? 0 : inDoubtMs) });
  }

  /**
   * Re-registers holds without waiting for Redis, which may be down. In that case they follow later with all others.
   */
  function putBack(rows: readonly { hold: unknown }[]): void {
    const given: Hold[] = rows.map(({ hold }) => fromHoldJson(hold));
    for (const hold of given) keep(hold, 'made');
    holds.putBack(given).catch((error: unknown) => log.error({ err: error }, 'holds of jobs were not put back'));
  }

  async function beat(): Promise<void> {
    await db.execute(sql`
      INSERT INTO owner (name, lives_until) VALUES (${owner}, now() + ${interval(livesMs)})
      ON CONFLICT (name) DO UPDATE SET lives_until = excluded.lives_until`);
  }

  async function takeOver(): Promise<void> {
    for (;;) {
      const taken = await db.query(sql<{ hold: unknown; before: string }>`
        UPDATE job SET owner = ${owner}
        WHERE job_id IN (
          SELECT job_id FROM job
          -- A time further ahead than a beat sets is of before a step back of the clock.
          WHERE settled_at IS NULL AND owner IN (
            SELECT DISTINCT gone.owner FROM job AS gone
            WHERE gone.settled_at IS NULL AND gone.owner <> ${owner}
              AND NOT EXISTS (
                SELECT FROM owner WHERE name = gone.owner
                  AND lives_until > now() AND lives_until < now() + ${interval(2 * livesMs)}
              )
          )
          LIMIT ${BATCH} FOR UPDATE SKIP LOCKED
        )
        RETURNING hold, old.owner AS before`);
      if (taken.length === 0) return;
      log.warn({ jobs: taken.length, of: taken[0]?.before }, 'jobs of an owner that is gone are taken over');
      putBack(taken);
      onTaken();
    }
  }

  /**
   * Compares the holds of this owner with the rows.
   * - A call whose job ended under another owner is settled here too, with the event of its row. The call counts once,
   * and its hold ends once the call is recorded.
   * - A hold without a row is released, because the database lost the job.
   * - A job that is open under another owner is compared again later: its hold is one record in Redis, under either
   * owner.
   */
  async function compare(): Promise<void> {
    for (const callId of kept.keys()) if (!holds.isHeld(callId)) kept.delete(callId);
    if (kept.size === 0) return;
    const now = performance.now();
    const before = [...kept.values()].filter(({ from }) => from <= now).map(({ hold }) => hold);
    const own = await db.query(sql<{ callId: string }>`
      SELECT call_id::TEXT AS "callId" FROM job WHERE settled_at IS NULL AND owner = ${owner}`);
    const ownIds = new Set(own.map(({ callId }) => callId));
    const lost = before.filter(({ callId }) => !ownIds.has(callId) && holds.isHeld(callId));
    if (lost.length === 0) return;
    const rows = await db.query(sql<{ callId: string; event: unknown }>`
      SELECT call_id::TEXT AS "callId", event FROM job WHERE call_id = ANY(${lost.map(({ callId }) => callId)}::UUID[])`);
    const events = new Map(rows.map(({ callId, event }) => [callId, event]));
    for (const hold of lost) {
      const { callId } = hold;
      if (!events.has(callId)) {
        log.error({ callId }, 'ALERT a hold has no job any more: it is released');
        void holds.release(hold);
      }
      const { data: event } = usageRecorded.schema.safeParse(events.get(callId));
      if (event) await holds.settle({ event, json: toUsageRecordedJson(event) });
    }
  }

  // Beats first, so that no other replica takes over these jobs during the read below.
  await beat();
  putBack(await db.query(sql<{ hold: unknown }>`SELECT hold FROM job WHERE settled_at IS NULL AND owner = ${owner}`));

  const beating = repeat(beat, {
    pauseMs: beatMs,
    pausesFirst: true,
    log,
    failing: 'this owner cannot say that it lives; another may take its jobs over',
  });
  const takingOver = repeat(takeOver, {
    pauseMs: beatMs,
    log,
    failing: 'jobs of owners that are gone cannot be taken over',
  });
  const comparing = repeat(compare, {
    pauseMs: beatMs,
    log,
    failing: 'what is held for jobs cannot be compared with their rows',
  });
  return {
    keep,
    async close() {
      await Promise.all([beating.close(), takingOver.close(), comparing.close()]);
      await db.execute(sql`UPDATE owner SET lives_until = now() WHERE name = ${owner}`);
    },
  };
}
