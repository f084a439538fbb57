import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { toUsageRecordedJson } from '@turnpike/events/usageRecorded';
import { aKeyRecord } from '@turnpike/internal-api/aKeyRecord';
import { until } from '@turnpike/test-support/until';
import { v7 as uuidv7 } from 'uuid';
import { aHold, aLapsedHold } from '../../test/aHold.ts';
import { TAG } from '../../test/aShard.ts';
import { aShardHolds } from '../../test/aShardHolds.ts';
import { aTestLedger, type TestLedger } from '../../test/aTestLedger.ts';
import { type OpenedRedis, openTestRedis } from '../../test/openTestRedis.ts';
import { type Hold, PendingCalls } from '../call/pendingCalls.ts';
import { redisKeys } from '../redis/redisKeys.ts';
import { SessionState } from '../redis/sessionState.ts';
import { type Absorber, ShardAbsorber } from './absorb.ts';

const HOLD = 1_000n;
const CHARGE = 300n;
const MONTH = new Date().toISOString().slice(0, 7);

let opened: OpenedRedis;
let ledger: TestLedger;
let sessionState: SessionState;
let absorber: Absorber;
beforeAll(async () => {
  opened = await openTestRedis();
});
afterAll(() => opened.close());
beforeEach(async () => {
  ledger = await aTestLedger();
  sessionState = new SessionState();
  sessionState.begin(opened.session, Number.POSITIVE_INFINITY);
  sessionState.open();
  // Long: the ledger here answers, though a busy machine may take its time.
  const options = { internalHeaders: () => ({}), timeoutMs: 20_000, sessionState };
  absorber = new ShardAbsorber({ redis: opened.redis, ledgerUrl: ledger.url, ...options });
});
afterEach(() => ledger.close());

const aWorkspaceId = (): string => `ws_${randomUUID()}`;

/** A call of a new workspace that the ledger has credited 10,000. */
async function aHeldCall(): Promise<Hold> {
  const call = await aHold(opened, { holdNanoUsd: HOLD });
  Object.assign(ledger.booksOf(call.workspaceId), { seq: 1, leftNanoUsd: 10_000n });
  return call;
}

async function settle({ callId, keyId, workspaceId }: Hold): Promise<void> {
  const event = aUsageRecorded({ callId, keyId, workspaceId, chargeNanoUsd: CHARGE, holdNanoUsd: HOLD });
  expect(await aShardHolds(opened).settle(event, toUsageRecordedJson(event))).toBe('held');
}

/** The ledger has the call for good. */
function record({ callId, keyId, workspaceId }: Hold, chargeNanoUsd = CHARGE): void {
  const books = ledger.booksOf(workspaceId);
  if (chargeNanoUsd > 0n) books.seq += 1;
  books.leftNanoUsd -= chargeNanoUsd;
  books.final.push(callId);
  books.months[MONTH] = (books.months[MONTH] ?? 0n) + chargeNanoUsd;
  books.keys[keyId] = (books.keys[keyId] ?? 0n) + chargeNanoUsd;
}

const askAbout = async ({ callId, workspaceId }: Hold) =>
  (await absorber.absorbCalls([{ workspaceId, callIds: [callId] }])).final;

/** Holds the ledger's answers of now back until they are let go. */
function holdAnswers(): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  ledger.delivery = promise;
  return () => {
    ledger.delivery = Promise.resolve();
    resolve();
  };
}

it('waits longer for what is asked about recorded calls than a call waits for balances', async () => {
  const { redis } = opened;
  const hasty = new ShardAbsorber({
    redis,
    ledgerUrl: ledger.url,
    internalHeaders: () => ({}),
    timeoutMs: 50,
    sessionState,
  });
  const call = await aHeldCall();
  await settle(call);
  record(call);
  const letGo = holdAnswers();
  const asking = hasty.absorbCalls([{ workspaceId: call.workspaceId, callIds: [call.callId] }]);
  await until('the ledger is asked', () => ledger.asked.length === 1);
  await expect(hasty.load(call.workspaceId)).rejects.toThrow(/within 50 ms/);
  letGo();
  expect((await asking).final).toEqual(new Set([call.callId]));
});

describe('load', () => {
  it('brings what is left, and spends of months and of the key, into an empty Redis', async () => {
    const workspaceId = aWorkspaceId();
    const sums = { seq: 7, leftNanoUsd: -700n, months: { [MONTH]: 200n, '2999-12': 1n } };
    Object.assign(ledger.booksOf(workspaceId), { ...sums, keys: { key_a: 250n } });
    const months = [MONTH, new Date().toISOString().slice(0, 7)];
    expect(await absorber.load(workspaceId, 'key_a')).toBe(true);
    expect(ledger.asked).toEqual([
      [{ workspace_id: workspaceId, month: expect.any(String), keys: ['key_a'], since: {}, calls: [] }],
    ]);
    expect([...months, new Date().toISOString().slice(0, 7)]).toContain(ledger.asked[0]?.[0]?.month);
    expect(await opened.walletOf(workspaceId)).toEqual({ left: -700n, held: 0n, ended: 0n });
    expect(await opened.keyOf(workspaceId, 'key_a')).toEqual({ spent: 250n, held: 0n, ended: 0n });
    expect((await opened.monthsOf(workspaceId)).spent).toBe(201n);
    const place = { loaded: opened.mark, timeline: '1', sequence: '7' };
    expect(await opened.redis.hgetall(redisKeys.wallet(workspaceId))).toMatchObject(place);
    expect(await opened.redis.hgetall(redisKeys.key(workspaceId, 'key_a'))).toMatchObject(place);
    expect(await opened.redis.smembers(redisKeys.keys(workspaceId))).toEqual(['key_a']);
  });

  it('keeps an amount that no double holds', async () => {
    const workspaceId = aWorkspaceId();
    ledger.booksOf(workspaceId).leftNanoUsd = 2n ** 59n + 1n;
    await absorber.load(workspaceId);
    expect((await opened.walletOf(workspaceId)).left).toBe(2n ** 59n + 1n);
  });

  it.each<[string, { timeline: number; seq: number }, boolean]>([
    ['newer', { timeline: 3, seq: 6 }, true],
    ['of the same instant', { timeline: 3, seq: 5 }, false],
    ['older', { timeline: 3, seq: 4 }, false],
    ['of a database that took over, and counts from less', { timeline: 4, seq: 1 }, true],
    ['of a database that was taken over from, and had counted on', { timeline: 2, seq: 9 }, false],
  ])('takes over sums that are %s, or not: %j', async (_which, { timeline, seq }, isTaken) => {
    const workspaceId = aWorkspaceId();
    const books = ledger.booksOf(workspaceId);
    const first = { seq: 5, leftNanoUsd: 1_000n, months: { [MONTH]: 1n }, keys: { key_a: 1n } };
    ledger.timeline = 3;
    Object.assign(books, first);
    await absorber.load(workspaceId, 'key_a');
    ledger.timeline = timeline;
    Object.assign(books, { seq, leftNanoUsd: 9_000n, months: { [MONTH]: 2n }, keys: { key_a: 2n } });
    expect(await absorber.load(workspaceId, 'key_a')).toBe(isTaken);
    expect((await opened.walletOf(workspaceId)).left).toBe(isTaken ? 9_000n : 1_000n);
    expect((await opened.keyOf(workspaceId, 'key_a')).spent).toBe(isTaken ? 2n : 1n);
    expect((await opened.monthsOf(workspaceId)).spent).toBe(isTaken ? 2n : 1n);
  });

  it('takes sums loaded under another mark for nothing, however far they had counted', async () => {
    const workspaceId = aWorkspaceId();
    const books = ledger.booksOf(workspaceId);
    ledger.timeline = 9;
    Object.assign(books, { seq: 99, leftNanoUsd: 1_000n, months: { [MONTH]: 1n }, keys: { key_a: 1n } });
    await absorber.load(workspaceId, 'key_a');
    for (const key of [redisKeys.wallet(workspaceId), redisKeys.key(workspaceId, 'key_a')])
      await opened.redis.hset(key, 'loaded', 'former');
    await opened.redis.hset(redisKeys.months(workspaceId), `${MONTH}:loaded`, 'former');
    ledger.timeline = 1;
    Object.assign(books, { seq: 1, leftNanoUsd: 70n, months: { [MONTH]: 7n }, keys: { key_a: 7n } });
    expect(await absorber.load(workspaceId, 'key_a')).toBe(true);
    expect((await opened.walletOf(workspaceId)).left).toBe(70n);
    expect((await opened.keyOf(workspaceId, 'key_a')).spent).toBe(7n);
    expect((await opened.monthsOf(workspaceId)).spent).toBe(7n);
  });

  it('leaves a key’s generation as it is', async () => {
    const workspaceId = aWorkspaceId();
    await opened.redis.hset(redisKeys.key(workspaceId, 'key_a'), 'generation', 9);
    ledger.booksOf(workspaceId).keys = { key_a: 1n };
    await absorber.load(workspaceId, 'key_a');
    expect(await opened.redis.hget(redisKeys.key(workspaceId, 'key_a'), 'generation')).toBe('9');
  });

  it('asks once for a workspace, however many calls wait', async () => {
    const workspaceId = aWorkspaceId();
    await Promise.all(Array.from({ length: 50 }, () => absorber.load(workspaceId)));
    expect(ledger.asked).toHaveLength(1);
  });

  it.each<[string, (workspaceId: string) => void]>([
    [
      'fails',
      () => {
        ledger.fails = 503;
      },
    ],
    [
      'answers nonsense',
      (workspaceId) => {
        ledger.booksOf(workspaceId).seq = 0.5;
      },
    ],
  ])('rejects and brings nothing when the ledger %s', async (_case, prepare) => {
    const workspaceId = aWorkspaceId();
    prepare(workspaceId);
    await expect(absorber.load(workspaceId)).rejects.toThrow();
    expect(await opened.redis.exists(redisKeys.wallet(workspaceId))).toBe(0);
  });
});

it('refreshes a workspace at most every half second', async () => {
  const workspaceId = aWorkspaceId();
  expect(await absorber.refresh(workspaceId)).toBe(true);
  expect(await absorber.refresh(workspaceId)).toBe(false);
  expect(ledger.asked).toHaveLength(1);
});

it('asks anew to reload, since one that is under way may have been answered before', async () => {
  const workspaceId = aWorkspaceId();
  const deliver = holdAnswers();
  const earlier = absorber.load(workspaceId);
  await until('the ledger has made its answer', () => ledger.asked.length === 1);
  Object.assign(ledger.booksOf(workspaceId), { seq: 1, leftNanoUsd: -70n });
  const reloads = [absorber.reload(workspaceId), absorber.reload(workspaceId)];
  deliver();
  await Promise.all([earlier, ...reloads]);
  expect((await opened.walletOf(workspaceId)).left).toBe(-70n);
  expect(ledger.asked).toHaveLength(2);
});

describe('a pending call that is recorded', () => {
  it('is dropped in the same script that brings the sums which contain it', async () => {
    const call = await aHeldCall();
    await settle(call);
    record(call);
    expect(await askAbout(call)).toEqual(new Set([call.callId]));
    expect(await opened.walletOf(call.workspaceId)).toEqual({ left: 9_700n, held: 0n, ended: 0n });
    expect(await opened.pendingOf(call.workspaceId)).toEqual([]);
    expect(await opened.callOf(call)).toEqual({});
  });

  it('is dropped where it is a hold still, as of a settlement that did not come', async () => {
    const call = await aHeldCall();
    record(call);
    await askAbout(call);
    expect(await opened.walletOf(call.workspaceId)).toEqual({ left: 9_700n, held: 0n, ended: 0n });
  });

  it('is dropped by sums of the same place: a call of no charge moves none', async () => {
    const call = await aHeldCall();
    record(call, 0n);
    await absorber.load(call.workspaceId);
    expect(await askAbout(call)).toEqual(new Set([call.callId]));
    expect(await opened.pendingOf(call.workspaceId)).toEqual([]);
  });

  it('is dropped by an older answer, beside the newer sums, which contain it as well', async () => {
    const call = await aHeldCall();
    await settle(call);
    record(call);
    const deliver = holdAnswers();
    const older = askAbout(call);
    await until('the ledger has made its answer', () => ledger.asked.length === 1);
    Object.assign(ledger.booksOf(call.workspaceId), { seq: 3, leftNanoUsd: 19_700n });
    ledger.delivery = Promise.resolve();
    await absorber.load(call.workspaceId);
    deliver();
    expect(await older).toEqual(new Set([call.callId]));
    expect(await opened.walletOf(call.workspaceId)).toEqual({ left: 19_700n, held: 0n, ended: 0n });
  });

  it('is never more left of: what was asked before it was recorded comes too late', async () => {
    const call = await aHeldCall();
    await settle(call);
    const deliver = holdAnswers();
    const older = absorber.load(call.workspaceId);
    await until('the ledger has made its answer', () => ledger.asked.length === 1);
    record(call);
    ledger.delivery = Promise.resolve();
    await askAbout(call);
    deliver();
    expect(await older).toBe(false);
    expect(await opened.walletOf(call.workspaceId)).toEqual({ left: 9_700n, held: 0n, ended: 0n });
  });

  it('is in the sum of a key that is counted only now, though that was asked for before it was recorded', async () => {
    const call = await aHeldCall();
    await settle(call);
    const deliver = holdAnswers();
    const older = absorber.load(call.workspaceId, call.keyId);
    await until('the ledger has made its answer', () => ledger.asked.length === 1);
    record(call);
    ledger.delivery = Promise.resolve();
    await askAbout(call);
    deliver();
    expect(await older).toBe(false);
    expect(await opened.redis.hget(redisKeys.key(call.workspaceId, call.keyId), 'loaded')).toBeNull();
    expect(await absorber.load(call.workspaceId, call.keyId)).toBe(true);
    expect(await opened.keyOf(call.workspaceId, call.keyId)).toEqual({ spent: CHARGE, held: 0n, ended: 0n });
  });

  it('brings the sum of its key, where that is loaded', async () => {
    const call = await aHeldCall();
    await settle(call);
    await absorber.load(call.workspaceId, call.keyId);
    record(call);
    await askAbout(call);
    expect(await opened.keyOf(call.workspaceId, call.keyId)).toEqual({ spent: CHARGE, held: 0n, ended: 0n });
    const other = await aHeldCall();
    record(other);
    await askAbout(other);
    expect(await opened.redis.hget(redisKeys.key(other.workspaceId, other.keyId), 'spent')).toBeNull();
  });

  describe('of a key with a budget of a period', () => {
    const periodOf = async ({ workspaceId, keyId }: Hold) =>
      opened.redis.hmget(redisKeys.key(workspaceId, keyId), 'since', 'since_spent', 'since_sequence', 'since_loaded');
    const today = () => new Date().toISOString().slice(0, 'YYYY-MM-DD'.length);
    const recordInPeriod = (call: Hold): void => {
      record(call);
      const { since } = ledger.booksOf(call.workspaceId);
      since[call.keyId] = (since[call.keyId] ?? 0n) + CHARGE;
    };
    const askAsRouter = (by: Absorber, { workspaceId, callId, keyId }: Hold) =>
      by.absorbCalls([{ workspaceId, callIds: [callId], calledKeyIds: [keyId] }]);

    it('is in the sum of the period that replaces it', async () => {
      const call = await aHeldCall();
      ledger.booksOf(call.workspaceId).since[call.keyId] = 40n;
      await absorber.load(call.workspaceId, call.keyId, '', 'day');
      expect(ledger.asked[0]?.[0]?.since).toEqual({ [call.keyId]: today() });
      expect(await periodOf(call)).toEqual([today(), '40', '1', opened.mark]);
      await settle(call);
      recordInPeriod(call);
      await askAsRouter(absorber, call);
      expect(await periodOf(call)).toEqual([today(), '340', '2', opened.mark]);
      expect(await opened.keyOf(call.workspaceId, call.keyId)).toEqual({ spent: CHARGE, held: 0n, ended: 0n });
    });

    it('has the period loaded again, where who asked did not know of it', async () => {
      const call = await aHeldCall();
      await absorber.load(call.workspaceId, call.keyId, '', 'month');
      await settle(call);
      recordInPeriod(call);
      const options = { internalHeaders: () => ({}), timeoutMs: 20_000, sessionState };
      const other = new ShardAbsorber({ redis: opened.redis, ledgerUrl: ledger.url, ...options });
      const letGo = holdAnswers();
      const asking = askAsRouter(other, call);
      await until('the ledger has made its answer', () => ledger.asked.length === 2);
      letGo();
      const again = holdAnswers();
      await asking;
      expect(await periodOf(call)).toEqual([`${MONTH}-01`, '0', '1', opened.mark]);
      const key = aKeyRecord({
        keyId: call.keyId,
        periodBudget: { period: 'month', maxNanoUsd: HOLD },
        workspace: { workspaceId: call.workspaceId },
      });
      expect(
        await aShardHolds(opened).admit({
          callId: uuidv7(),
          key,
          holdNanoUsd: 1n,
          estimatedPromptTokens: 0,
          unknownEventJson: '{}',
        }),
      ).toEqual({ outcome: 'not_loaded' });
      again();
      await until('the period is loaded', async () => (await periodOf(call))[2] === '2');
      expect(await periodOf(call)).toEqual([`${MONTH}-01`, '300', '2', opened.mark]);
      const next = await aHeldCall();
      recordInPeriod({ ...next, workspaceId: call.workspaceId, keyId: call.keyId });
      await askAsRouter(other, { ...next, workspaceId: call.workspaceId, keyId: call.keyId });
      expect(ledger.asked.at(-1)?.[0]?.since).toEqual({ [call.keyId]: `${MONTH}-01` });
    });

    it('keeps the sum of its period that contains it from an older answer', async () => {
      const call = await aHeldCall();
      await settle(call);
      const deliver = holdAnswers();
      const older = absorber.load(call.workspaceId, call.keyId, '', 'day');
      await until('the ledger has made its answer', () => ledger.asked.length === 1);
      recordInPeriod(call);
      ledger.delivery = Promise.resolve();
      await absorber.load(call.workspaceId, call.keyId);
      await askAsRouter(absorber, call);
      deliver();
      await older;
      expect(await periodOf(call)).toEqual([today(), '300', '2', opened.mark]);
    });
  });

  it('does not count as done where Redis took over of its workspace alone nothing', async () => {
    const [call, other] = [await aHeldCall(), await aHeldCall()];
    record(call);
    record(other);
    await opened.redis.set(redisKeys.wallet(other.workspaceId), 'no hash');
    const questions = [call, other].map(({ callId, workspaceId }) => ({ workspaceId, callIds: [callId] }));
    expect((await absorber.absorbCalls(questions)).final).toEqual(new Set([call.callId]));
  });

  it('is one of many that are asked about, of more workspaces than one question takes', async () => {
    const questions = Array.from({ length: 150 }, () => ({ workspaceId: aWorkspaceId(), callIds: [randomUUID()] }));
    for (const { workspaceId, callIds } of questions) ledger.booksOf(workspaceId).final = callIds;
    const { final } = await absorber.absorbCalls(questions);
    expect(final).toEqual(new Set(questions.flatMap(({ callIds }) => callIds)));
    expect(ledger.asked.map(({ length }) => length)).toEqual([100, 50]);
  });
});

describe('a pending call whose row is unknown', () => {
  const token = 'lapsed';
  async function anAbandonedCall(): Promise<Hold> {
    const call = await aLapsedHold(opened, { holdNanoUsd: HOLD }, token);
    Object.assign(ledger.booksOf(call.workspaceId), { seq: 1, leftNanoUsd: 10_000n });
    ledger.booksOf(call.workspaceId).unknown.push(call.callId);
    return call;
  }
  const giveUp = ({ callId, workspaceId }: Hold, session: string) =>
    absorber.absorbCalls([{ workspaceId, callIds: [callId], unknownAs: new Map([[callId, session]]) }]);
  const heldOf = async ({ workspaceId }: Hold) => (await opened.walletOf(workspaceId)).held;

  it('is dropped where it is held under the session that has lapsed, and is not done with', async () => {
    const call = await anAbandonedCall();
    expect(await giveUp(call, token)).toMatchObject({ final: new Set(), unknown: new Set([call.callId]) });
    expect(await heldOf(call)).toBe(0n);
    expect(await opened.pendingOf(call.workspaceId)).toEqual([]);
  });

  it('stays where its owner has put it back under another session since', async () => {
    const call = await anAbandonedCall();
    await opened.redis.hset(redisKeys.call(call.workspaceId, call.callId), 'session', 'newer');
    await giveUp(call, token);
    expect(await heldOf(call)).toBe(HOLD);
  });

  it('stays where nobody has seen its session lapse', async () => {
    const call = await anAbandonedCall();
    await askAbout(call);
    expect(await heldOf(call)).toBe(HOLD);
  });

  it('stays with its charge where it has ended', async () => {
    const call = await anAbandonedCall();
    await settle(call);
    await giveUp(call, token);
    expect(await opened.walletOf(call.workspaceId)).toMatchObject({ held: 0n, ended: CHARGE });
    expect(await opened.callOf(call)).toMatchObject({ kind: 'ended', session: token });
  });
});

it('counts the calls of a wallet that was evicted alone again, before it is loaded', async () => {
  const call = await aHeldCall();
  const ended = await aHold(opened, { workspaceId: call.workspaceId, holdNanoUsd: HOLD });
  await settle(ended);
  await opened.redis.del(redisKeys.wallet(call.workspaceId));
  expect(await absorber.load(call.workspaceId)).toBe(true);
  const sums = { held: HOLD, ended: CHARGE };
  expect(await opened.walletOf(call.workspaceId)).toEqual({ left: 10_000n, ...sums });
  expect(await opened.keyOf(call.workspaceId, call.keyId)).toMatchObject({ held: HOLD, ended: 0n });
  expect(await opened.monthsOf(call.workspaceId)).toMatchObject(sums);
});

describe('an owner', () => {
  it('brings nothing without a session', async () => {
    sessionState.end();
    await expect(absorber.load(aWorkspaceId())).rejects.toThrow('no session');
    expect(ledger.asked).toEqual([]);
  });

  it.each<[string, () => string]>([
    ['another mark', () => `${opened.mark.slice(0, -36)}${randomUUID()}`],
    ['the mark of another server', () => `${'f'.repeat(40)}:${TAG}:${randomUUID()}`],
  ])('brings nothing where Redis has %s by now, and has it looked at', async (_which, theirs) => {
    const call = await aHeldCall();
    record(call);
    let looks = 0;
    sessionState.watch(() => {
      looks += 1;
    });
    const deliver = holdAnswers();
    const asked = askAbout(call);
    await until('the ledger has made its answer', () => ledger.asked.length === 1);
    await opened.redis.set(redisKeys.mark(TAG), theirs());
    deliver();
    await expect(asked).rejects.toThrow('not the one of this session');
    await opened.redis.set(redisKeys.mark(TAG), opened.mark);
    expect(await opened.walletOf(call.workspaceId)).toMatchObject({ held: HOLD });
    expect(sessionState.isOpen).toBe(false);
    expect(looks).toBe(1);
  });

  it('is not done with a call that it put back alone while it asked: nobody would ask about it any more', async () => {
    const call = await aHeldCall();
    await settle(call);
    record(call);
    const event = aUsageRecorded({ ...call, chargeNanoUsd: CHARGE, holdNanoUsd: HOLD });
    const pending = new PendingCalls();
    pending.end({ event, json: toUsageRecordedJson(event) });
    const holds = aShardHolds({ redis: opened.redis, sessionState }, { pending });
    const letGo = holdAnswers();
    const asked = askAbout(call);
    await until('the ledger is asked', () => ledger.asked.length > 0);
    for (const ended of pending.ended) await holds.restore(ended);
    letGo();
    await expect(asked).rejects.toThrow('put back');
    expect(await askAbout(call)).toEqual(new Set([call.callId]));
    expect(await opened.pendingOf(call.workspaceId)).toEqual([]);
  });

  it('is not done with a call where its session was over before Redis had taken it over: it may list it meanwhile', async () => {
    const call = await aHeldCall();
    record(call);
    const deliver = holdAnswers();
    const asked = askAbout(call);
    await until('the ledger has made its answer', () => ledger.asked.length === 1);
    sessionState.end();
    sessionState.begin({ mark: opened.mark, token: randomUUID() }, Number.POSITIVE_INFINITY);
    deliver();
    await expect(asked).rejects.toThrow('put back');
  });
});
