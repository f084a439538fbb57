import { randomUUID } from 'node:crypto';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { toUsageRecordedJson } from '@turnpike/events/usageRecorded';
import { defineScript } from '@turnpike/holds/redis/askRedis';
import { redisKeys } from '@turnpike/holds/redis/redisKeys';
import { aShardHolds } from '@turnpike/holds/test/aShardHolds';
import { type OpenedRedis, openTestRedis } from '@turnpike/holds/test/openTestRedis';
import { toAbsorb } from '@turnpike/holds/test/toAbsorb';
import { aKeyRecord } from '@turnpike/internal-api/aKeyRecord';
import { type BareCall, bareScripts } from './bareScripts.ts';
import { inGroups, secondsOf } from './redisLoad.ts';

/** Short and many: the machine is faster in one second than in the next. */
const ROUNDS = 11;
const WORKSPACES = 100;
const CALLS = 1_500;
/** Calls that are under way to Redis at once. */
const AT_ONCE = 50;
/** Calls of one workspace that one absorb drops: those of a quarter of a second at twenty a second. */
const CALLS_AN_ABSORB = 5;
const HOLD = 1_000_000n;

/** Microseconds a call. */
export interface RedisTime {
  bareUs: number;
  /** Time of bare scripts with only the necessary reads. */
  readingUs: number;
  callUs: number;
  admitUs: number;
  settleUs: number;
  absorbUs: number;
}

/**
 * Measures Redis' own CPU time for a call. The lower bounds are scripts that only make the same writes to the same keys, and scripts that
 * also make the same reads. All run by turns on one server, with its append-only file as in production.
 */
export async function measureRedisTime(progress: (text: string) => void): Promise<RedisTime[]> {
  const opened = await openTestRedis();
  try {
    const rounds: RedisTime[] = [];
    for (let round = 0; round <= ROUNDS; round += 1) {
      progress(`Redis’ time, round ${round} of ${ROUNDS}`);
      const measured = await measureRound(opened, round % 2 === 0);
      if (round > 0) rounds.push(measured);
    }
    return rounds;
  } finally {
    await opened.close();
  }
}

async function measureRound(opened: OpenedRedis, isBareFirst: boolean): Promise<RedisTime> {
  const { redis } = opened;
  const keys = Array.from({ length: WORKSPACES }, () => aKeyRecord());
  for (const { workspace, keyId } of keys) {
    await opened.credit(workspace.workspaceId, 10n ** 14n);
    await opened.loadKey(workspace.workspaceId, keyId);
  }
  const calls = Array.from({ length: CALLS }, (_, nth) => {
    const key = keys[Math.floor(nth / CALLS_AN_ABSORB) % WORKSPACES] ?? aKeyRecord();
    const event = aUsageRecorded({ callId: randomUUID(), keyId: key.keyId, workspaceId: key.workspace.workspaceId });
    return { key, event, json: toUsageRecordedJson(event) };
  });

  const timeBare = (withReads: boolean): Promise<number> => {
    const bare = bareScripts(redis, { withReads });
    const copies = calls.map(
      ({ event: { keyId, workspaceId }, json }): BareCall => ({
        callId: randomUUID(),
        keyId,
        workspaceId: `bare-${workspaceId}`,
        amount: HOLD.toString(),
        json,
      }),
    );
    return timeOf(redis, async () => {
      await each(copies, bare.admit);
      await each(copies, bare.settle);
      await each([...inGroups(copies, CALLS_AN_ABSORB)], bare.absorb);
    });
  };
  const timeAllBare = async () => ({ bareUs: await timeBare(false), readingUs: await timeBare(true) });
  const before = isBareFirst ? await timeAllBare() : undefined;
  const holds = aShardHolds(opened);
  const absorb = defineScript(redis, 'absorb');
  const admitUs = await timeOf(redis, () =>
    each(calls, async ({ key, event: { callId }, json }) => {
      const hold = { callId, holdNanoUsd: HOLD, estimatedPromptTokens: 10, unknownEventJson: json };
      const answer = await holds.admit({ key, ...hold });
      if (answer.outcome !== 'admitted') throw new Error(`a call was ${answer.outcome}`);
    }),
  );
  const settleUs = await timeOf(redis, () =>
    each(calls, async ({ event, json }) => {
      if ((await holds.settle(event, json)) !== 'held') throw new Error('a call was not held');
    }),
  );
  let sequence = 1;
  const month = new Date().toISOString().slice(0, 7);
  const absorbUs = await timeOf(redis, () =>
    each([...inGroups(calls, CALLS_AN_ABSORB)], async (group) => {
      sequence += 1;
      const { workspaceId = '', keyId = '' } = group[0]?.event ?? {};
      const final = group.map(({ event: { callId } }) => callId);
      const said = { sequence, left: 10n ** 13n, months: { [month]: 1n }, keys: { [keyId]: 1n }, final };
      await absorb(...toAbsorb(workspaceId, opened.mark, said));
    }),
  );
  const left = await redis.hlen(redisKeys.calls(calls[0]?.event.workspaceId ?? ''));
  if (left !== 0) throw new Error(`${left} calls are pending still`);
  return { ...(before ?? (await timeAllBare())), callUs: admitUs + settleUs + absorbUs, admitUs, settleUs, absorbUs };
}

/** Runs all, some at a time. */
async function each<Item>(items: Item[], run: (item: Item) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let nth = next++; nth < items.length; nth = next++) await run(items[nth] as Item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

/** Processor time of Redis' one thread while `run` lasts, microseconds a call. */
async function timeOf(redis: OpenedRedis['redis'], run: () => Promise<void>): Promise<number> {
  const before = await secondsOf(redis);
  await run();
  return (((await secondsOf(redis)) - before) / CALLS) * 1e6;
}
