import { toUsageRecordedJson, usageRecorded } from '@turnpike/events/usageRecorded';
import type { Hold } from '@turnpike/holds/call/pendingCalls';
import { repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import type { Db } from '../../database/createDb.ts';
import { Prisma } from '../../generated/client.ts';
import { interval } from '../table/jobRow.ts';
import type { JobMoney } from '../work/house.ts';
import { fromHoldJson } from './holdJson.ts';

/** How long an owner is taken for alive after it has said so, and how often it does. */
const LIVES_MS = 30_000;
const BEAT_MS = 5_000;
/** An insert that was not answered is committed or undone by then. */
const IN_DOUBT_MS = 60_000;
/** Jobs that are taken over at a time. */
const BATCH = 200;

export interface OwnersOptions {
  db: Db;
  money: Pick<JobMoney, 'owner' | 'putBack' | 'settleAgain' | 'release' | 'isHeld'>;
  log: Logger;
  /** Jobs have come to this owner, and may have something left to do. */
  onTaken: () => void;
  livesMs?: number;
  beatMs?: number;
  inDoubtMs?: number;
}

/** The owners of the money of jobs: who lives, and who has the jobs of those who do not. */
export interface Owners {
  /** Keeps the hold of a call to compare it with the rows: at once if its row is made; if in doubt, when no transaction can commit the row. */
  keep(hold: Hold, job: 'made' | 'in doubt'): void;
  /** Says that this owner is gone, so that others need not wait until that is clear. */
  close(): Promise<void>;
}

/**
 * Has this process be an owner: the holds of its open jobs, kept in their rows by the process before, are put back, and those of owners
 * that are gone are taken over, some at a time.
 */
export async function followOwners(options: OwnersOptions): Promise<Owners> {
  const { db, money, log, onTaken, livesMs = LIVES_MS, beatMs = BEAT_MS, inDoubtMs = IN_DOUBT_MS } = options;
  const { owner } = money;
  /** Holds of this process for jobs, by call id, with the instant of its clock from which a missing row means a lost job. */
  const kept = new Map<string, { hold: Hold; from: number }>();

  function keep(hold: Hold, job: 'made' | 'in doubt'): void {
    kept.set(hold.callId, { hold, from: performance.now() + (job === 'made' ? 0 : inDoubtMs) });
  }

  /** Resolves before the holds stand in Redis, which may be away: from here on they are put back with all others. */
  function putBack(rows: readonly { hold: unknown }[]): void {
    const holds: Hold[] = rows.map(({ hold }) => fromHoldJson(hold));
    for (const hold of holds) keep(hold, 'made');
    money.putBack(holds).catch((error: unknown) => log.error({ err: error }, 'holds of jobs were not put back'));
  }

  async function beat(): Promise<void> {
    await db.$executeRaw(Prisma.sql`
      INSERT INTO owner (name, lives_until) VALUES (${owner}, now() + ${interval(livesMs)})
      ON CONFLICT (name) DO UPDATE SET lives_until = excluded.lives_until`);
  }

  async function takeOver(): Promise<void> {
    for (;;) {
      const taken = await db.$queryRaw<{ hold: unknown; before: string }[]>(Prisma.sql`
        UPDATE job SET owner = ${owner}
        WHERE job_id IN (
          SELECT job_id FROM job
          -- A life that ends further ahead than a life lasts was noted before the clock was set back.
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
   * Compares what is held here with the rows. A call whose job has ended under another owner is settled here as well, with the event of
   * its row: each call counts once, and the hold goes once the call is recorded. A hold without a row is released: the database has lost
   * the job. A job that is open under another owner is compared again: its hold is one record in Redis, under either owner.
   */
  async function compare(): Promise<void> {
    for (const callId of kept.keys()) if (!money.isHeld(callId)) kept.delete(callId);
    if (kept.size === 0) return;
    const now = performance.now();
    const before = [...kept.values()].filter(({ from }) => from <= now).map(({ hold }) => hold);
    const own = await db.$queryRaw<{ callId: string }[]>`
      SELECT call_id::TEXT AS "callId" FROM job WHERE settled_at IS NULL AND owner = ${owner}`;
    const ownIds = new Set(own.map(({ callId }) => callId));
    const lost = before.filter(({ callId }) => !ownIds.has(callId) && money.isHeld(callId));
    if (lost.length === 0) return;
    const rows = await db.$queryRaw<{ callId: string; event: unknown }[]>`
      SELECT call_id::TEXT AS "callId", event FROM job WHERE call_id = ANY(${lost.map(({ callId }) => callId)}::UUID[])`;
    const events = new Map(rows.map(({ callId, event }) => [callId, event]));
    for (const hold of lost) {
      const { callId } = hold;
      if (!events.has(callId)) {
        log.error({ callId }, 'ALERT a hold has no job any more: it is released');
        void money.release(hold);
      }
      const { data: event } = usageRecorded.schema.safeParse(events.get(callId));
      if (event) await money.settleAgain({ event, json: toUsageRecordedJson(event) });
    }
  }

  // As one who lives: nobody else takes over meanwhile what the process before has left.
  await beat();
  putBack(await db.$queryRaw<{ hold: unknown }[]>`SELECT hold FROM job WHERE settled_at IS NULL AND owner = ${owner}`);

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
      await db.$executeRaw`UPDATE owner SET lives_until = now() WHERE name = ${owner}`;
    },
  };
}
