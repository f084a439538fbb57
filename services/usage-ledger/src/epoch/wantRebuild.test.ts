import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import { startPostgres } from '@turnpike/test-support/startPostgres';
import { until } from '@turnpike/test-support/until';
import { aReportingRouter } from '../../test/aReportingRouter.ts';
import { aPartition, openTestLedger, type TestLedger, toValue } from '../../test/openTestLedger.ts';
import { replayDeadLetter } from '../dead-letters/replayDeadLetter.ts';
import { isRebuildDue, type RedisEpoch, type Router } from './advanceEpoch.ts';

// A dead letter is replayed after balances were given out without its call (decision page: when Redis is lost).

const CHARGE = 125_000n;
/** Locks that transactions take when they commit, so that a test can keep them open until then. */
const [COMMIT_OF_REPLAY, COMMIT_OF_MOVE] = [1, 2];

let ledger: TestLedger;
let lag: () => Promise<bigint>;
let workspaceId: string;
let router: Awaited<ReturnType<typeof aReportingRouter>>;
beforeAll(async () => {
  ledger = await openTestLedger(await startPostgres());
  await ledger.ownerDb.$executeRaw`
    CREATE FUNCTION wait_at_commit() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM pg_advisory_xact_lock(TG_ARGV[0]::BIGINT);
      RETURN NULL;
    END $$`;
  await ledger.ownerDb.$executeRawUnsafe(`
    CREATE CONSTRAINT TRIGGER wait_at_commit AFTER UPDATE ON dead_letter DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION wait_at_commit(${COMMIT_OF_REPLAY})`);
  await ledger.ownerDb.$executeRawUnsafe(`
    CREATE CONSTRAINT TRIGGER wait_at_commit AFTER UPDATE ON redis_epoch DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW WHEN (OLD.phase <> NEW.phase) EXECUTE FUNCTION wait_at_commit(${COMMIT_OF_MOVE})`);
});
afterAll(() => ledger.close());
beforeEach(async () => {
  lag = async () => 0n;
  workspaceId = `ws_${randomUUID()}`;
  router = await aReportingRouter(ledger.db, { lag: () => lag(), workspaceId });
});

const epochNow = () => ledger.db.redisEpoch.findFirstOrThrow();
const aCall = (): UsageRecorded => aUsageRecorded({ workspaceId, chargeNanoUsd: CHARGE });

interface SpoiltLetter {
  id: bigint;
  repaired: Buffer;
}

async function aSpoiltLetter(event = aCall()): Promise<SpoiltLetter> {
  const partition = aPartition(ledger.db);
  await partition.deliver([toValue(event).subarray(1)]);
  const letter = await ledger.db.deadLetter.findFirstOrThrow({ where: { partition: partition.partition } });
  return { id: letter.deadLetterId, repaired: toValue(event) };
}

const replay = (letter: SpoiltLetter) =>
  replayDeadLetter(ledger.db, { ...letter, context: { region: 'us', now: new Date() } });

/** An epoch that was built while a letter waited, so that its balances lack the call. */
async function anEpochWithout(): Promise<{ letter: SpoiltLetter; number: number }> {
  const letter = await aSpoiltLetter();
  router.loseRedis();
  await router.reach('draining');
  const { number } = await router.reach('open');
  expect(router.spentNanoUsd).toBe(0n);
  return { letter, number };
}

/** As if the last replay had been so long ago. */
const replaysWere = (ago: '3 seconds' | '1 hour') =>
  ledger.db.$executeRaw`UPDATE redis_epoch SET rebuild_wanted_since = rebuild_wanted_since - ${ago}::INTERVAL,
    rebuild_wanted_at = rebuild_wanted_at - ${ago}::INTERVAL`;

/** Lets the epoch come to rest: open, and nobody wants another. */
async function comeToRest(): Promise<number> {
  const { number, phase } = await epochNow();
  if (phase !== 'open') await router.reach('open');
  if ((await epochNow()).rebuildWantedAt === null) return number;
  await replaysWere('1 hour');
  await router.reach('draining');
  await router.reach('open');
  const { rebuildWantedAt, number: last } = await epochNow();
  expect(rebuildWantedAt).toBeNull();
  return last;
}

/** Keeps whatever needs this lock waiting, until it is let go. */
async function hold(lock: string): Promise<() => Promise<void>> {
  const [isHeld, letGo] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holding = ledger.ownerDb.$transaction(
    async (tx) => {
      await tx.$executeRawUnsafe(lock);
      isHeld.resolve();
      await letGo.promise;
    },
    { maxWait: 120_000, timeout: 120_000 },
  );
  holding.catch(isHeld.reject);
  await isHeld.promise;
  return async () => {
    letGo.resolve();
    await holding;
  };
}

const holdCommits = (which: number) => hold(`SELECT pg_advisory_xact_lock(${which})`);

const untilWaiting = (transactions: bigint) =>
  until(`${transactions} transactions to wait for a lock`, async () => {
    const [locks] = await ledger.db.$queryRaw<{ waiting: bigint }[]>`
      SELECT count(*) AS waiting FROM pg_locks WHERE NOT granted`;
    return locks?.waiting === transactions;
  });

const POINTS: [string, (replaying: () => Promise<unknown>) => Promise<void>][] = [
  [
    'before the replayed call has its row',
    async (replaying) => {
      const letGo = await hold('LOCK TABLE workspace_total IN SHARE ROW EXCLUSIVE MODE');
      const replayed = replaying();
      await untilWaiting(1n);
      await router.step();
      await letGo();
      await replayed;
    },
  ],
  [
    'before the replay commits',
    async (replaying) => {
      const letGo = await holdCommits(COMMIT_OF_REPLAY);
      const replayed = replaying();
      await untilWaiting(1n);
      const moved = router.step();
      await untilWaiting(2n);
      await letGo();
      await Promise.all([replayed, moved]);
    },
  ],
  [
    'and commits after the replay has begun',
    async (replaying) => {
      const letGo = await holdCommits(COMMIT_OF_MOVE);
      const moved = router.step();
      await untilWaiting(1n);
      const replayed = replaying();
      await untilWaiting(2n);
      await letGo();
      await Promise.all([replayed, moved]);
    },
  ],
];
const PHASES = ['open', 'draining', 'asserting'] as const;

it.each(PHASES.flatMap((phase) => POINTS.map(([when, meet]) => ({ phase, when, meet }))))(
  'has the charge in the balances in the end, where an epoch that is $phase moves on $when',
  async ({ phase, meet }) => {
    const { letter } = await anEpochWithout();
    router.loseRedis();
    if (phase !== 'open') await router.reach(phase);
    const before = await epochNow();
    await meet(() => replay(letter));
    const moved = await epochNow();
    expect([before.phase, `${before.number} ${phase}` === `${moved.number} ${moved.phase}`]).toEqual([phase, false]);

    await comeToRest();
    expect(router.spentNanoUsd).toBe(CHARGE);
  },
);

it('builds the balances anew once for ten letters that are replayed one after the other', async () => {
  const letters = [await aSpoiltLetter(), await aSpoiltLetter(), await aSpoiltLetter(), await aSpoiltLetter()];
  for (let more = 0; more < 5; more += 1) letters.push(await aSpoiltLetter());
  const { letter, number } = await anEpochWithout();
  for (const each of [...letters, letter]) await replay(each);
  expect(await epochNow()).toMatchObject({ number, phase: 'open' });

  await replaysWere('3 seconds');
  expect(await router.step()).toMatchObject({ number: number + 1, phase: 'draining' });
  await router.reach('open');
  expect(router.spentNanoUsd).toBe(10n * CHARGE);
  expect(await comeToRest()).toBe(number + 1);
});

it.each<[string, () => Promise<bigint>]>([
  ['lags', async () => 1n],
  ['is down', () => Promise.reject(new Error('no broker answers'))],
  ['does not answer', () => new Promise(() => {})],
])('lets calls go on while the event log %s, and builds the balances anew when it is read', async (_how, faulty) => {
  const { letter, number } = await anEpochWithout();
  lag = faulty;
  await replay(letter);
  await replaysWere('1 hour');
  for (let reports = 0; reports < 3; reports += 1)
    expect(await router.step()).toMatchObject({ number, phase: 'open', isMember: true });

  lag = async () => 0n;
  expect(await router.step()).toMatchObject({ number: number + 1, phase: 'draining' });
  await router.reach('open');
  expect(router.spentNanoUsd).toBe(CHARGE);
});

it('is content with an epoch that was raised for something else', async () => {
  const { letter, number } = await anEpochWithout();
  await replay(letter);
  router.loseRedis();
  await router.reach('draining');
  await router.reach('open');
  expect(router.spentNanoUsd).toBe(CHARGE);
  await replaysWere('1 hour');
  expect(await comeToRest()).toBe(number + 1);
});

it('raises one epoch, however many routers report at once', async () => {
  const { letter, number } = await anEpochWithout();
  await replay(letter);
  await replaysWere('3 seconds');
  const answers = await Promise.all([router.step(), router.step(), router.step()]);
  expect(new Set(answers.map((answer) => answer.number))).toEqual(new Set([number + 1]));
  expect(await comeToRest()).toBe(number + 1);
});

it.each<[string, () => Promise<SpoiltLetter>]>([
  [
    'had the call from when it was settled',
    async () => {
      await anEpochWithout();
      return aSpoiltLetter();
    },
  ],
  [
    'have its row already',
    async () => {
      const event = aCall();
      const letter = await aSpoiltLetter(event);
      await aPartition(ledger.db).deliver([event]);
      router.loseRedis();
      await router.reach('draining');
      await router.reach('open');
      return letter;
    },
  ],
])('leaves balances as they are that %s', async (_why, prepare) => {
  const letter = await prepare();
  const before = await epochNow();
  expect(await replay(letter)).toMatchObject({ reason: null });
  expect(await epochNow()).toEqual(before);
});

const NOW = new Date('2026-11-21T12:00:00Z');
const aRouterHeard = (msAgo: number, { isExpired = false } = {}): Router => ({
  routerId: `router-${msAgo}`,
  processId: 'p',
  heardAt: new Date(NOW.getTime() - msAgo),
  isExpired,
  drainedEpoch: 7,
  drainedAt: null,
  assertedEpoch: 7,
});
it.each<[string, { phase?: RedisEpoch['phase']; firstMs: number; lastMs: number; routers?: Router[] }, boolean]>([
  ['2 s after the last', { firstMs: 2_000, lastMs: 2_000 }, true],
  ['sooner after the last', { firstMs: 9_999, lastMs: 1_999 }, false],
  ['10 s after the first, though they go on', { firstMs: 10_000, lastMs: 0 }, true],
  ['while an epoch drains', { phase: 'draining', firstMs: 60_000, lastMs: 60_000 }, false],
  ['while an epoch is asserting', { phase: 'asserting', firstMs: 60_000, lastMs: 60_000 }, false],
  [
    'while a router is silent',
    { firstMs: 60_000, lastMs: 60_000, routers: [aRouterHeard(0), aRouterHeard(4_000)] },
    false,
  ],
  [
    'with one gone for good',
    { firstMs: 60_000, lastMs: 60_000, routers: [aRouterHeard(90_000, { isExpired: true })] },
    true,
  ],
])('knows whether replays want a new epoch %s', (_when, { phase = 'open', firstMs, lastMs, routers = [] }, isDue) => {
  const epoch: RedisEpoch = {
    number: 7,
    redisId: 'a',
    phase,
    listeningSince: NOW,
    rebuildWantedSince: new Date(NOW.getTime() - firstMs),
    rebuildWantedAt: new Date(NOW.getTime() - lastMs),
  };
  expect(isRebuildDue(epoch, routers, NOW)).toBe(isDue);
});
