import type { EventLogConsumer } from '@turnpike/event-log/eventLog';
import { pause } from '@turnpike/lifecycle/pause';
import { type Repetition, repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import type { Db } from '../database/createDb.ts';
import { statements } from '../database/statements.ts';

export interface FollowTimelineDependencies {
  db: Db;
  /** Reads `topic`. */
  consumer: Pick<EventLogConsumer, 'endOffsets' | 'goBack'>;
  topic: string;
  log: Logger;
}

const LOOK_EVERY_MS = 1_000;
const CAUGHT_UP_EVERY_MS = 100;

/**
 * Withholds balances after the database was started or has changed hands, until the event log is read again. A disk that was set
 * back, or a standby that took over, may lack the last commits, and with them rows of calls. The events of these calls are in the
 * log, which outlives the database, below its end at that time.
 */
export const followTimeline = (dependencies: FollowTimelineDependencies): Repetition =>
  repeat((signal) => catchUp(dependencies, signal), {
    pauseMs: LOOK_EVERY_MS,
    log: dependencies.log,
    failing: 'no word on whether the database was started again; balances are given only where it was not',
  });

async function catchUp({ db, consumer, topic, log }: FollowTimelineDependencies, signal: AbortSignal): Promise<void> {
  const [seen] = await db.query(statements.readTimeline());
  if (!seen) throw new Error('the row of recovery is gone');
  const { timeline, caughtUpWith } = seen;
  if (caughtUpWith === timeline) return;
  if (caughtUpWith === null) log.info({ timeline }, 'no balances until the event log is read for the first time');
  else
    log.warn(
      { timeline, caughtUpWith },
      'the database was started again: no balances until the event log is read again',
    );
  const ends = [...(await consumer.endOffsets())].map(([partition, end]) => ({ topic, partition, end }));
  await consumer.goBack();
  while (!signal.aborted) {
    const caughtUp = await db.query(statements.catchUp(timeline, ends));
    if (caughtUp.length > 0) return log.info({ timeline }, 'the event log is read, and balances are given');
    // Another replica was first, or the database has changed hands once more.
    if (await isOver(db, timeline)) return;
    await pause(CAUGHT_UP_EVERY_MS, signal);
  }
}

async function isOver(db: Db, timeline: number): Promise<boolean> {
  const [now] = await db.query(statements.readTimeline());
  return now?.timeline !== timeline || now.caughtUpWith === timeline;
}
