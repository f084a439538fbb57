import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { anUnchargedUsageRecorded, aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import type { RedisCounters } from '@turnpike/internal-api/modelRouter';
import { aPartition, openTestLedger, type TestLedger } from '../../test/openTestLedger.ts';
import { absorb } from '../balances/absorb.ts';
import { addCredit } from '../credits/addCredit.ts';
import { checkRedis } from './checkRedis.ts';

let ledger: TestLedger;
beforeAll(async () => {
  ledger = await openTestLedger();
  await ledger.db.$executeRaw`UPDATE recovery SET timeline = current_timeline()`;
});
afterAll(() => ledger.close());

type PendingCall = RedisCounters['calls'][number];

/** A Redis that takes over what the ledger has whenever it is told to, and a router before it. */
function aRedis(workspaceId: string, { calls = [] as PendingCall[], pages = 1 } = {}) {
  let sums: Pick<RedisCounters, 'timeline' | 'seq' | 'left_nano_usd'> = {
    timeline: null,
    seq: null,
    left_nano_usd: null,
  };
  let keySums = sums;
  const keyId = `key_of_${workspaceId}`;
  let spent: bigint | null = null;
  const redis = {
    keyId,
    /** Added to what it has taken over. */
    error: 0n,
    keyError: 0n,
    timelinesBehind: 0,
    reloads: 0,
    /** Runs between the reading of Redis and that of the ledger. */
    beforeAnswer: async () => {},
    loseWallet() {
      sums = { timeline: null, seq: null, left_nano_usd: null };
    },
    async reloadBalances() {
      const { timeline, workspaces } = await absorb(ledger.db, [
        { workspaceId, month: '2026-11', keyIds: [keyId], callIds: [] },
      ]);
      const [books] = workspaces;
      sums = { timeline, seq: books?.seq ?? 0, left_nano_usd: books?.leftNanoUsd ?? 0n };
      spent = books?.spentNanoUsdByKey.get(keyId) ?? 0n;
      keySums = sums;
      redis.reloads += 1;
      return {};
    },
    async getCounters({ params: { after = '0' } }: { params: { after?: string | undefined } }): Promise<RedisCounters> {
      const page = Number(after);
      const held = calls.reduce((sum, call) => sum + (call.kind === 'held' ? call.amount_nano_usd : 0n), 0n);
      const ended = calls.reduce((sum, call) => sum + (call.kind === 'ended' ? call.amount_nano_usd : 0n), 0n);
      const pending = { held_nano_usd: held, ended_nano_usd: ended };
      const unloaded = { timeline: null, seq: null, spent_nano_usd: null };
      const answer = {
        now_ms: Date.now(),
        mark: sums.timeline === null ? null : 'm',
        ...sums,
        timeline: sums.timeline === null ? null : sums.timeline - redis.timelinesBehind,
        left_nano_usd: sums.left_nano_usd === null ? null : sums.left_nano_usd + redis.error,
        ...pending,
        keys: {
          k1: { ...unloaded, ...pending },
          ...(spent !== null && {
            [keyId]: {
              timeline: (keySums.timeline ?? 0) - redis.timelinesBehind,
              seq: keySums.seq,
              spent_nano_usd: spent + redis.keyError,
              held_nano_usd: 0n,
              ended_nano_usd: 0n,
            },
          }),
        },
        months: { '2026-11': { ...unloaded, ...pending } },
        calls: calls.filter((_, nth) => nth % pages === page),
        next_after: page + 1 < pages ? String(page + 1) : null,
      };
      await redis.beforeAnswer();
      return answer;
    },
  };
  return redis;
}

const pendingOf = (event: UsageRecorded, fields: Partial<PendingCall> = {}): PendingCall => ({
  call_id: event.callId,
  key_id: 'k1',
  kind: 'held',
  amount_nano_usd: 5n,
  month: '2026-11',
  session: 's1',
  has_live_session: true,
  owner: 'router_gone',
  admitted_at_ms: Date.now(),
  ...fields,
});

async function check(workspaceId: string, router: ReturnType<typeof aRedis>) {
  const { checks, doubts } = await checkRedis({ auditDb: ledger.db, router }, workspaceId);
  const odd = checks.filter(({ verdict }) => verdict !== 'equal');
  return { odd: odd.map(({ name, left, verdict }) => [name, verdict, Number(left)]), doubts };
}

const aWorkspace = (): string => `ws_${randomUUID()}`;
const credit = (workspaceId: string, amountNanoUsd: bigint) =>
  addCredit(ledger.db, { creditId: randomUUID(), workspaceId, amountNanoUsd, note: '' });

it('asks nothing of a Redis that has not loaded the workspace', async () => {
  const workspaceId = aWorkspace();
  await credit(workspaceId, 10n);
  const redis = aRedis(workspaceId);
  expect(await check(workspaceId, redis)).toEqual({ odd: [], doubts: [] });
  expect(redis.reloads).toBe(0);
});

it('judges a Redis that lacks a credit by the ledger’s sums before it', async () => {
  const workspaceId = aWorkspace();
  const redis = aRedis(workspaceId);
  await redis.reloadBalances();
  await credit(workspaceId, 10n);
  expect(await check(workspaceId, redis)).toEqual({ odd: [], doubts: [] });
  expect(redis.reloads).toBe(1);
});

it('calls another balance at the same place different, though the workspace is being charged all the while', async () => {
  const workspaceId = aWorkspace();
  const redis = aRedis(workspaceId);
  await redis.reloadBalances();
  let isOver = false;
  const partition = aPartition(ledger.db);
  const charging = (async () => {
    while (!isOver) await partition.deliver([aUsageRecorded({ workspaceId })]);
  })();
  try {
    expect((await check(workspaceId, redis)).odd).toEqual([]);
    redis.error = 1n;
    expect(await check(workspaceId, redis)).toEqual({
      odd: [['redisLeft', 'different', expect.any(Number)]],
      doubts: [],
    });
  } finally {
    isOver = true;
    await charging;
  }
});

it.each([
  ['of the workspace', (redis: ReturnType<typeof aRedis>) => (redis.error = 1n), 'redisLeft'],
  ['of a key', (redis: ReturnType<typeof aRedis>) => (redis.keyError = -1n), 'redisSpentApart'],
])('calls another sum %s different, though the ledger has gone on whenever it is read', async (_what, spoil, name) => {
  const workspaceId = aWorkspace();
  const redis = aRedis(workspaceId);
  const partition = aPartition(ledger.db);
  await partition.deliver([aUsageRecorded({ workspaceId, keyId: redis.keyId })]);
  await redis.reloadBalances();
  redis.beforeAnswer = () => partition.deliver([aUsageRecorded({ workspaceId, keyId: redis.keyId })]);
  expect(await check(workspaceId, redis)).toEqual({ odd: [], doubts: [] });
  spoil(redis);
  const { odd, doubts } = await check(workspaceId, redis);
  expect({ odd: odd.map(([found, verdict]) => [found, verdict]), doubts }).toEqual({
    odd: [[name, 'different']],
    doubts: [],
  });
  expect(redis.reloads).toBe(1);
});

it('decides nothing by postings from before they had a place, and has Redis take over newer sums', async () => {
  const workspaceId = aWorkspace();
  const redis = aRedis(workspaceId);
  await credit(workspaceId, 5n);
  await redis.reloadBalances();
  await credit(workspaceId, 7n);
  await ledger.ownerDb.$transaction(async (tx) => {
    await tx.$executeRaw`ALTER TABLE posting DISABLE TRIGGER USER`;
    await tx.$executeRaw`UPDATE posting SET seq = 0 WHERE workspace_id = ${workspaceId}`;
    await tx.$executeRaw`ALTER TABLE posting ENABLE TRIGGER USER`;
  });
  expect(await check(workspaceId, redis)).toEqual({ odd: [], doubts: [] });
  expect(redis.reloads).toBe(2);
});

it('says that it is not decided where Redis stays on an earlier timeline of Postgres', async () => {
  const workspaceId = aWorkspace();
  await credit(workspaceId, 5n);
  const redis = aRedis(workspaceId);
  await redis.reloadBalances();
  redis.timelinesBehind = 1;
  const { odd, doubts } = await check(workspaceId, redis);
  expect(odd).toEqual([['redisLeft', 'undecided', 5]]);
  expect(doubts).toEqual([expect.stringMatching('timeline')]);
});

it('finds a wallet that was lost alone, of which a key is still loaded', async () => {
  const workspaceId = aWorkspace();
  const redis = aRedis(workspaceId);
  await aPartition(ledger.db).deliver([aUsageRecorded({ workspaceId, keyId: redis.keyId })]);
  await redis.reloadBalances();
  redis.loseWallet();
  expect((await check(workspaceId, redis)).odd).toEqual([['redisWallet', 'different', 1]]);
});

it('calls a Redis that is ahead of the ledger different', async () => {
  const workspaceId = aWorkspace();
  await credit(workspaceId, 10n);
  const redis = aRedis(workspaceId);
  await redis.reloadBalances();
  await ledger.ownerDb.$executeRaw`UPDATE workspace_total SET seq = 0 WHERE workspace_id = ${workspaceId}`;
  expect((await check(workspaceId, redis)).odd).toContainEqual(['redisAhead', 'different', 2]);
});

it('finds calls that were recorded a minute ago and are still pending, on every page', async () => {
  const workspaceId = aWorkspace();
  const events = Array.from({ length: 5 }, () => aUsageRecorded({ workspaceId }));
  const unknown = anUnchargedUsageRecorded('unknown', { workspaceId });
  await aPartition(ledger.db).deliver([...events, unknown]);
  const calls = [...events, unknown, aUsageRecorded({ workspaceId })].map((event) => pendingOf(event));
  expect((await check(workspaceId, aRedis(workspaceId, { calls }))).odd).toEqual([]);

  await ledger.ownerDb.$transaction(async (tx) => {
    await tx.$executeRaw`ALTER TABLE usage_request DISABLE TRIGGER USER`;
    await tx.$executeRaw`
      UPDATE usage_request SET recorded_at = recorded_at - INTERVAL '61 seconds' WHERE workspace_id = ${workspaceId}`;
    await tx.$executeRaw`ALTER TABLE usage_request ENABLE TRIGGER USER`;
  });
  expect(await check(workspaceId, aRedis(workspaceId, { calls }))).toEqual({
    odd: [['overdue', 'different', 5]],
    doubts: [],
  });
  expect(await check(workspaceId, aRedis(workspaceId, { calls, pages: 3 }))).toEqual({
    odd: [['overdue', 'different', 5]],
    doubts: [expect.stringMatching('were not added up')],
  });
});

it('counts a call that becomes known from when it did', async () => {
  const workspaceId = aWorkspace();
  const known = aUsageRecorded({ workspaceId });
  const partition = aPartition(ledger.db);
  await partition.deliver([anUnchargedUsageRecorded('unknown', { ...idsOf(known) })]);
  await ledger.ownerDb.$transaction(async (tx) => {
    await tx.$executeRaw`ALTER TABLE usage_request DISABLE TRIGGER USER`;
    await tx.$executeRaw`
      UPDATE usage_request SET recorded_at = recorded_at - INTERVAL '1 hour' WHERE workspace_id = ${workspaceId}`;
    await tx.$executeRaw`ALTER TABLE usage_request ENABLE TRIGGER USER`;
  });
  await partition.deliver([known]);
  expect((await check(workspaceId, aRedis(workspaceId, { calls: [pendingOf(known)] }))).odd).toEqual([]);
});

const idsOf = ({ callId, keyId, workspaceId }: UsageRecorded) => ({ callId, keyId, workspaceId });

it.each<[string, Partial<PendingCall>, number]>([
  ['a hold of a live session', { admitted_at_ms: Date.now() - 5 * 3_600_000 }, 0],
  ['a hold of a live session for longer than any job lasts', { admitted_at_ms: Date.now() - 7 * 3_600_000 }, 1],
  ['a hold whose session has lapsed, of a router that has just died', { has_live_session: false }, 0],
  ['the same after 3 minutes', { has_live_session: false, admitted_at_ms: Date.now() - 190_000 }, 1],
  [
    'the same of a router that is heard',
    { has_live_session: false, admitted_at_ms: Date.now() - 190_000, owner: 'heard' },
    0,
  ],
  [
    'the same of that after four hours',
    { has_live_session: false, admitted_at_ms: Date.now() - 14_500_000, owner: 'heard' },
    1,
  ],
  ['a charge of a router that is gone', { kind: 'ended', has_live_session: false, admitted_at_ms: 0 }, 0],
])('of %s says how many are without an owner', async (_what, fields, count) => {
  const workspaceId = aWorkspace();
  await ledger.db.$executeRaw`INSERT INTO router (router_id, shard) VALUES ('heard', '*') ON CONFLICT DO NOTHING`;
  const calls = [pendingOf(aUsageRecorded({ workspaceId }), fields)];
  const { odd } = await check(workspaceId, aRedis(workspaceId, { calls }));
  expect(odd).toEqual(count === 0 ? [] : [['ownerless', 'different', count]]);
});
