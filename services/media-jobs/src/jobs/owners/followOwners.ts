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
/** Jobs that are taken over at a time. */
const BATCH = 200;

export interface OwnersOptions {
  db: Db;
  money: Pick<JobMoney, 'owner' | 'putBack'>;
  log: Logger;
  /** Jobs have come to this owner, and may have something left to do. */
  onTaken: () => void;
  livesMs?: number;
  beatMs?: number;
}

/** The owners of the money of jobs: who lives, and who has the jobs of those who do not. */
export interface Owners {
  /** Has the jobs of owners that live no more go on under this one. Also done every so often. */
  takeOver(): Promise<void>;
  /** Says that this owner is gone, so that others need not wait until that is clear. */
  close(): Promise<void>;
}

/**
 * Has this process be an owner: the holds of its open jobs, kept in their rows by the process before, are put back, and those of owners
 * that are gone are taken over, some at a time.
 */
export async function followOwners(options: OwnersOptions): Promise<Owners> {
  const { db, money, log, onTaken, livesMs = LIVES_MS, beatMs = BEAT_MS } = options;
  const { owner } = money;

  /** Resolves before the holds stand in Redis, which may be away: from here on they are put back with all others. */
  function putBack(rows: readonly { hold: unknown }[]): void {
    const holds: Hold[] = rows.map(({ hold }) => fromHoldJson(hold));
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
          WHERE settled_at IS NULL AND owner IN (
            SELECT DISTINCT gone.owner FROM job AS gone
            WHERE gone.settled_at IS NULL AND gone.owner <> ${owner}
              AND NOT EXISTS (SELECT FROM owner WHERE name = gone.owner AND lives_until > now())
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
  return {
    takeOver,
    async close() {
      await Promise.all([beating.close(), takingOver.close()]);
      await db.$executeRaw`UPDATE owner SET lives_until = now() WHERE name = ${owner}`;
    },
  };
}
