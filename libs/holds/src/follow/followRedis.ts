import { randomUUID } from 'node:crypto';
import { repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import { z } from 'zod';
import { defineScript, readRedis, readRedisTime } from '../redis/askRedis.ts';
import { redisKeys } from '../redis/redisKeys.ts';
import type { Session } from '../redis/sessionState.ts';
import type { Shard } from '../redis/shards.ts';
import type { LedgerReports, RedisNews } from './reportToLedger.ts';

/** How often an owner looks while all is well, and while it waits for others. */
const OPEN_MS = 1_000;
const CLOSED_MS = 250;
/**
 * A connection on which no primary has answered for this long is replaced. TCP alone keeps one to a host that vanished for a
 * quarter of an hour, and one to a primary that was demoted for ever.
 */
const REPLACE_MS = 500;
/** A lease is over for this owner a little before it is for others. */
const LEASE_MARGIN_MS = 100;
/** So long the owner that a mark was given to has to put it; then whoever misses it has another one made. */
const UNMARKED_MS = 500;
/** Life of the note of an owner's latest session. A longer session that goes early counts as a sign of an emptied Redis. */
const LATEST_SESSION_MS = 40 * 86_400_000;
/** A mark is put only so soon after the ledger was asked that wants one; the rest is for clocks that are set. */
const MARK_VALID_MS = 2_000;

/** Reasons for which a router does not admit calls. */
const LACKS = {
  no_redis: 'no Redis answers as a primary',
  full: 'Redis is full: it has reached its maxmemory',
  no_word: 'the ledger does not say whether the gate is open',
  stranger: 'the other routers see another Redis',
  not_put_back: 'its calls are not put back yet',
  others: 'others have not put their calls back',
  other_layout: 'another release has its keys in Redis; drain and stop one of the two (docs/releases.md)',
} as const;
type Lack = keyof typeof LACKS;

/** Reasons that an operator has to end, and their log lines. */
const ALERTS: Partial<Record<Lack, string>> = {
  stranger: 'ALERT this process sees another Redis than the others: it admits no call; look at its REDIS_URL',
  other_layout: 'ALERT Redis has the key layout of another release: this process admits no call; see docs/releases.md',
};

const markedSchema = z.enum(['marked', 'other_redis', 'other_layout', 'too_late']);

export interface FollowRedisOptions {
  shard: Shard;
  owner: string;
  leaseMs: number;
  /** The layout of keys that this process reads and writes. */
  layout: number;
  reports: Pick<LedgerReports, 'report'>;
  putBack: (session: Session) => Promise<unknown>;
  log: Logger;
}

/**
 * Keeps this owner's session with the Redis of a shard. It detects another Redis or one that has lost data, after a
 * restart, a promotion of a replica or a flush. The owner then puts its calls back under a new session. It admits no
 * call until the ledger reports that all owners have put theirs back or are no longer waited for
 * (`docs/redis-lost.md`).
 */
export function followRedis({ shard, owner, leaseMs, layout, reports, putBack, log }: FollowRedisOptions) {
  const { redis, sessionState, tag } = shard;
  const setMark = defineScript(redis, 'setMark');
  const claim = defineScript(redis, 'claim');
  /** The ledger's last report. */
  let news: RedisNews | undefined;
  /**
   * True while calls are being put back. Put-backs run one after the other, because a later one could otherwise undo what
   * an earlier list misses.
   */
  let isPuttingBack = false;
  let isClosed = false;
  /** The last logged reason for refusing calls. */
  let told: Lack | undefined;
  /** The mark of a session that went before its lease could end: Redis was emptied, whether or not it is marked again. */
  let emptied: string | undefined;
  /** A mark that this owner has never seen in Redis, and since when it looks for it. */
  let awaited: { mark: string; since: number } | undefined;
  /** Since when no primary answers on this connection. */
  let unansweredSince: number | undefined;

  const markOf = (known: RedisNews | undefined): string | undefined =>
    known?.mark && known.redisId ? `${known.redisId}:${tag}:${known.mark}` : undefined;

  /** Null where no primary answers; a connection on which that lasts is replaced. */
  async function askRedisId(): Promise<string | null> {
    const isConnected = redis.status === 'ready' || redis.status === 'connect';
    const found = await readRedis(redis).catch(() => null);
    const redisId = found?.redisId ?? null;
    sessionState.memoryShare = found?.memoryShare ?? 0;
    if (redisId !== null || !isConnected) unansweredSince = undefined;
    else unansweredSince ??= performance.now();
    if (unansweredSince !== undefined && performance.now() - unansweredSince >= REPLACE_MS) {
      log.warn({ shard: shard.name }, 'no primary answers on the connection to Redis: it is replaced');
      unansweredSince = undefined;
      redis.disconnect(true);
    }
    return redisId;
  }

  /** A session that has lapsed is not renewed: others may have given its calls up. */
  async function renew(): Promise<void> {
    const { session } = sessionState;
    if (!session) return sessionState.end();
    const askedAt = performance.now();
    const isAlive = await redis.pexpire(redisKeys.session(tag, session.token), leaseMs).catch(() => undefined);
    if (isAlive === 1) sessionState.renew(askedAt + leaseMs - LEASE_MARGIN_MS);
    if (isAlive !== 0 || sessionState.session !== session) return;
    sessionState.end();
    // Redis' clock was set forward, or this host stood still: all that was counted is there.
    const latest = await redis.get(redisKeys.latestSession(tag, owner)).catch(() => null);
    if (latest !== session.token) emptied = session.mark;
  }

  /** Begins a session once all calls stand in Redis under it. Meanwhile reports go on. */
  async function beginSession(mark: string): Promise<void> {
    isPuttingBack = true;
    // Calls admitted from here on are not in the list.
    sessionState.end();
    const session = { mark, token: randomUUID() };
    const askedAt = performance.now();
    try {
      await redis.del(redisKeys.latestSession(tag, owner));
      await claim([redisKeys.latestSession(tag, owner)], [session.token, LATEST_SESSION_MS]);
      await claim([redisKeys.session(tag, session.token)], [owner, leaseMs]);
      await putBack(session);
      if (isClosed) return;
      sessionState.begin(session, askedAt + leaseMs - LEASE_MARGIN_MS);
      await renew();
    } catch (error) {
      log.warn({ err: error }, 'calls are not put back into Redis yet');
    } finally {
      isPuttingBack = false;
      wake();
    }
  }

  async function putMark(mark: string, askedAtMs: number): Promise<void> {
    const args = [mark, askedAtMs + MARK_VALID_MS, layout, ...shard.otherTags()];
    const outcome = markedSchema.parse(await setMark([redisKeys.mark(tag), redisKeys.layout(tag)], args));
    if (outcome !== 'marked') throw new Error(`Redis cannot be marked: ${outcome}`);
  }

  /** Whether nobody has put a mark for so long that nobody will: whose it was may have died with the answer. */
  function hasWaited(mark: string | undefined, found: string | null): boolean {
    if (mark === undefined || found === mark) {
      awaited = undefined;
      return false;
    }
    if (awaited?.mark !== mark) awaited = { mark, since: performance.now() };
    return !news?.isStranger && performance.now() - awaited.since >= UNMARKED_MS;
  }

  async function report(redisId: string | null, found: string | null): Promise<RedisNews | undefined> {
    const known = markOf(news);
    const mark = sessionState.session?.mark;
    const isHere = redisId !== null && known?.startsWith(`${redisId}:`);
    const hasGone =
      emptied === known || (found !== known && (news?.isOpen || mark === known || hasWaited(known, found)));
    const isMissing = isHere && hasGone;
    try {
      return await reports.report({
        shard: shard.name,
        redisId,
        putBackMark: isHere && !isMissing && mark === known ? (news?.mark ?? null) : null,
        missingMark: isMissing ? (news?.mark ?? null) : null,
      });
    } catch (error) {
      log.debug({ err: error }, 'the ledger takes no report');
      return undefined;
    }
  }

  /** One line for each thing that comes to keep calls out, however often it is looked at. */
  function closeFor(lack: Lack, details: string[] = []): void {
    sessionState.close();
    sessionState.closedReason = details.length > 0 ? `${LACKS[lack]}: ${details.join(', ')}` : LACKS[lack];
    if (lack !== told)
      log[ALERTS[lack] ? 'error' : 'warn'](
        { shard: shard.name, lack: sessionState.closedReason },
        ALERTS[lack] ?? 'no call is admitted',
      );
    told = lack;
  }

  async function step(): Promise<void> {
    const redisId = await askRedisId();
    if (redisId === null) closeFor('no_redis');
    const [found, number, askedAtMs] =
      redisId === null
        ? [null, null, 0]
        : await Promise.all([redis.get(redisKeys.mark(tag)), redis.get(redisKeys.layout(tag)), readRedisTime(redis)]);
    const itsLayout = number ?? (found === null ? layout : 1);
    if (Number(itsLayout) !== layout) {
      // This owner writes nothing there. It reports nothing either, so that the ledger does not wait for it.
      sessionState.end();
      return closeFor('other_layout', [`layout ${itsLayout} in Redis`, `${layout} in this process`]);
    }
    // Without a renewal here the ledger would wait for this owner as long again.
    if (redisId !== null) await renew();
    const answer = await report(redisId, found);
    // While the ledger is away, the Redis that it called open stays so.
    const now = answer ?? (news?.isOpen && news.redisId === redisId ? news : undefined);
    if (answer) news = answer;
    if (redisId === null) return;
    const mark = markOf(now);
    if (!now || now.redisId !== redisId || mark === undefined) return closeFor('no_word');
    // A Redis of another region may be there, so nothing is written to it.
    if (now.isStranger) return closeFor('stranger');
    if (found !== mark) {
      closeFor('not_put_back');
      const isKnownMissing = now.isOpen || sessionState.session?.mark === mark || emptied === mark;
      if (isKnownMissing) return answer ? wake() : undefined; // reported missing next
      // Two that put the same one could do so before and after somebody empties Redis, and nobody would notice.
      if (!answer?.isToBeSet) return;
      await putMark(mark, askedAtMs);
    }
    if (sessionState.session?.mark !== mark) {
      closeFor('not_put_back');
      sessionState.end();
      if (!isPuttingBack) void beginSession(mark);
      return;
    }
    if (!now.isOpen) return closeFor('others', now.waitsFor);
    if (sessionState.memoryShare > 1) return closeFor('full');
    if (!sessionState.isOpen) log.info({ shard: shard.name }, 'calls are admitted');
    told = undefined;
    sessionState.open();
  }

  const onClose = (): void => {
    unansweredSince = undefined;
    sessionState.close();
  };
  redis.on('close', onClose);
  redis.on('ready', () => wake());
  sessionState.watch(() => wake());
  const stepping = repeat(step, {
    pauseMs: () => (sessionState.isOpen ? Math.min(OPEN_MS, leaseMs / 4) : CLOSED_MS),
    log,
    failing: 'Redis is not followed',
    level: 'error',
  });
  function wake(): void {
    stepping.now().catch(() => {}); // the repetition logs a failed step
  }
  return {
    /** Ends the session, so that what is left of it is found at once. */
    async close(): Promise<void> {
      isClosed = true;
      redis.off('close', onClose);
      await stepping.close();
      const { session } = sessionState;
      sessionState.end();
      if (!session) return;
      for (const key of [redisKeys.session(tag, session.token), redisKeys.latestSession(tag, owner)])
        await redis.del(key).catch(() => {});
    },
  };
}
