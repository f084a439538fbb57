import { repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import type { Redis } from 'ioredis';
import type { EndedCall } from '../call/heldCalls.ts';
import type { EpochStamp, RedisEpoch } from '../redis/redisEpoch.ts';
import { readRedisId, readRedisTime } from '../redis/redisServer.ts';
import type { EpochMark } from './epochMark.ts';
import { type PutBackDependencies, putBackHolds } from './putBackHolds.ts';
import type { EpochNews, LedgerReports } from './reportToLedger.ts';

/** How often a router reports while all is well, and while it waits for others. */
const OPEN_MS = 1_000;
const CLOSED_MS = 100;
const POLL_MS = 10;
const RETRY_MS = 100;
/**
 * A connection on which no primary has answered for this long is replaced. TCP alone keeps one to a host that vanished for a
 * quarter of an hour, and one to a primary that was demoted for ever.
 */
const REPLACE_MS = 500;

export interface FollowEpochOptions extends PutBackDependencies {
  redis: Redis;
  epoch: RedisEpoch;
  reports: Pick<LedgerReports, 'report'>;
  mark: EpochMark;
  /** Sends what Redis, or this router outside its spool, keeps of calls that have ended. */
  publishKept: (unspooled: EndedCall[]) => Promise<void>;
  /** Whether the event log has what was in the spool, but for calls that wait. */
  isCaughtUp: () => boolean;
  /** Whether the spool holds events. */
  hasUnread: () => boolean;
  log: Logger;
}

/**
 * Keeps this router in step with the epoch of Redis (decision page: when Redis is lost). Reports to the ledger; when Redis
 * was lost, stops admitting, drains, asserts its holds, and opens again when every router has.
 */
export function followEpoch(options: FollowEpochOptions) {
  const { redis, epoch, reports, heldCalls, mark, publishKept, isCaughtUp, hasUnread, log } = options;
  let isClosed = false;
  /** The ledger's last answer. */
  let news: EpochNews | undefined;
  /** When it was asked, by Redis' clock. */
  let heardAtMs = 0;
  let drainedEpoch: number | null = null;
  let assertedEpoch: number | null = null;
  /** The epoch whose mark had gone from Redis while holds were put back. */
  let emptiedEpoch: number | undefined;
  let hasCounted = false;
  /** Since when no primary answers on this connection. */
  let unansweredSince: number | undefined;
  /** The epoch that is being rebuilt, and the phase this router works in. */
  let working: { number: number; phase: EpochNews['phase'] } | undefined;

  const isStill = (number: number, phase: EpochNews['phase']): boolean =>
    !isClosed && news?.number === number && news.phase === phase;

  /** Repeats until it succeeds or the epoch has moved on; meanwhile reports go on. */
  function work({ number, phase }: EpochNews, attempt: () => Promise<void>, done: () => void): void {
    if (working?.number === number && working.phase === phase) return;
    working = { number, phase };
    const run = async (): Promise<void> => {
      for (let failures = 0; isStill(number, phase); failures += 1) {
        try {
          await attempt();
          if (isStill(number, phase)) done();
          wake();
          return;
        } catch (error) {
          if (failures % 20 === 0) log.warn({ err: error, epoch: number, phase }, 'Redis is not rebuilt yet');
          await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
        }
      }
    };
    void run();
  }

  /** Why balances are built, as far as this router can tell. */
  function toOccasion({ redisId }: EpochNews): string {
    if (!hasCounted) return 'balances are built before this router admits its first call';
    return redisId === epoch.stamp.redisId
      ? 'balances are built anew in the same Redis: the ledger or a router found that something is missing from them'
      : 'Redis was restarted or replaced: balances are built anew';
  }

  function drain(now: EpochNews): void {
    epoch.drain();
    if (drainedEpoch === now.number) return;
    if (working?.number === now.number) return;
    log[hasCounted ? 'warn' : 'info']({ epoch: now.number, calls: heldCalls.size }, toOccasion(now));
    const unspooled = heldCalls.drawLine();
    work(
      now,
      async () => {
        await mark.put(now, heardAtMs);
        await publishKept(unspooled);
        while (isStill(now.number, now.phase) && !isCaughtUp())
          await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      },
      () => {
        drainedEpoch = now.number;
      },
    );
  }

  function assertHolds(now: EpochNews): void {
    if (assertedEpoch === now.number) return;
    const stamp = { number: now.number, redisId: now.redisId };
    work(
      now,
      async () => {
        if (await mark.isThere(now.number)) return putBackHolds(options, stamp);
        emptiedEpoch = now.number;
        throw new Error('Redis was emptied while it was rebuilt');
      },
      () => {
        assertedEpoch = now.number;
      },
    );
  }

  /** Said of the epoch in force, or of the one that is built: the next one is built with those calls. */
  const areCallsMissed = (): boolean =>
    news !== undefined && (news.number === emptiedEpoch || (epoch.missesCalls && news.number === epoch.stamp.number));

  async function report(redisId: string | null): Promise<EpochNews | undefined> {
    try {
      return await reports.report({
        redisId,
        knownEpoch: news?.number ?? null,
        drainedEpoch,
        assertedEpoch,
        isBlank: heldCalls.size === 0 && !hasUnread() && !hasCounted,
        missesCalls: areCallsMissed(),
      });
    } catch (error) {
      log.debug({ err: error }, 'the ledger takes no report');
      return undefined;
    }
  }

  function open({ number, redisId }: EpochStamp): void {
    if (!epoch.isOpen) log.info({ epoch: number }, 'calls are admitted');
    hasCounted = true;
    epoch.open({ number, redisId });
  }

  /** Null where no primary answers; a connection on which that lasts is replaced. */
  async function askRedisId(): Promise<string | null> {
    const isConnected = redis.status === 'ready' || redis.status === 'connect';
    const redisId = await readRedisId(redis).catch(() => null);
    if (redisId !== null || !isConnected) unansweredSince = undefined;
    else unansweredSince ??= performance.now();
    if (unansweredSince !== undefined && performance.now() - unansweredSince >= REPLACE_MS) {
      log.warn('no primary answers on the connection to Redis: it is replaced');
      unansweredSince = undefined;
      redis.disconnect(true);
    }
    return redisId;
  }

  async function step(): Promise<void> {
    const redisId = await askRedisId();
    const askedAtMs = redisId === null ? 0 : await readRedisTime(redis).catch(() => 0);
    if (epoch.isOpen && redisId !== epoch.stamp.redisId) epoch.close();
    const knownEpoch = news?.number;
    const answer = await report(redisId);
    if (!answer) {
      // The ledger is away. The same Redis in the epoch that was open goes on; anything else waits.
      const isSame = redisId === epoch.stamp.redisId && news?.number === epoch.stamp.number;
      if (isSame && news?.phase === 'open' && !epoch.missesCalls) open(epoch.stamp);
      return;
    }
    news = answer;
    heardAtMs = askedAtMs;
    const { number, phase, isMember } = answer;
    if (answer.redisId !== redisId) {
      epoch.close();
      // Told which epoch is in force, this router may say that the Redis is another one.
      if (redisId !== null && knownEpoch !== number) wake();
      return;
    }
    const isMissed = epoch.missesCalls && number === epoch.stamp.number;
    if (phase === 'open' && isMember && !isMissed) return open(answer);
    if (phase === 'draining') return drain(answer);
    epoch.close();
    if (phase === 'asserting' && drainedEpoch === number) assertHolds(answer);
  }

  const onClose = (): void => {
    unansweredSince = undefined;
    epoch.close();
  };
  redis.on('close', onClose);
  redis.on('ready', () => wake());
  epoch.watch(() => wake());
  const stepping = repeat(step, {
    pauseMs: () => (epoch.isOpen ? OPEN_MS : CLOSED_MS),
    log,
    failing: 'epoch of Redis not followed',
    level: 'error',
  });
  function wake(): void {
    stepping.now().catch(() => {}); // that a step failed is logged
  }
  return {
    close(): Promise<void> {
      isClosed = true;
      redis.off('close', onClose);
      return stepping.close();
    },
  };
}
