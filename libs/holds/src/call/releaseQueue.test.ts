import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { aKeyRecord } from '@turnpike/internal-api/aKeyRecord';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { connectRedis } from '@turnpike/redis-connection/connectRedis';
import { type FaultProxy, openFaultProxy } from '@turnpike/test-support/faultProxy';
import { until } from '@turnpike/test-support/until';
import type { Redis } from 'ioredis';
import { aShardHolds } from '../../test/aShardHolds.ts';
import { type OpenedRedis, openTestRedis } from '../../test/openTestRedis.ts';
import type { CallAddress } from '../redis/redisKeys.ts';
import { ReleaseQueue, type ReleaseQueueOptions } from './releaseQueue.ts';

const HOLD = 1_000n;
const LEASE_MS = 60_000;

let opened: OpenedRedis;
let proxy: FaultProxy;
/** Reaches Redis by the proxy. */
let redis: Redis;
beforeAll(async () => {
  opened = await openTestRedis();
  proxy = await openFaultProxy(Number(new URL(opened.server.url).port));
  redis = connectRedis(`redis://127.0.0.1:${proxy.port}`, { timeoutMs: 3_000, log: aSilentLogger() });
  await new Promise((resolve) => redis.once('ready', resolve));
});
afterAll(async () => {
  redis.disconnect();
  await proxy.close();
  await opened.close();
});

/** Releases that were given up. */
let givenUp: number;
beforeEach(() => {
  givenUp = 0;
});
const aQueue = (release: ReleaseQueueOptions['release'], leaseMs: number) =>
  new ReleaseQueue({
    release,
    onGiveUp() {
      givenUp += 1;
    },
    leaseMs,
    log: aSilentLogger(),
  });

it('gives back the hold of an admission whose answer was lost with its connection, once Redis can be reached', async () => {
  const key = aKeyRecord();
  const { workspaceId } = key.workspace;
  await opened.credit(workspaceId, 10n ** 12n);
  const address = { callId: randomUUID(), keyId: key.keyId, workspaceId };
  // The queue of this test alone repeats releases of these holds.
  const holds = aShardHolds({ redis, sessionState: opened.sessionState }, { release: async () => {} });
  const queue = aQueue((call) => holds.release(call), LEASE_MS);

  await proxy.become({ holdReplies: true });
  const admission = holds.admit({
    callId: address.callId,
    key,
    holdNanoUsd: HOLD,
    estimatedPromptTokens: 10,
    unknownEventJson: 'the unknown event',
  });
  const refused = expect(admission).rejects.toThrow();
  await until('the hold to stand', async () => (await opened.walletOf(workspaceId)).held === HOLD);
  await proxy.become({ refuse: true, holdReplies: true });
  proxy.reset();
  await refused;
  const released = queue.release(address);
  await expect(holds.release(address)).rejects.toThrow();
  expect(await opened.walletOf(workspaceId)).toMatchObject({ held: HOLD });

  await proxy.become({});
  await released;
  expect(await opened.walletOf(workspaceId)).toMatchObject({ held: 0n, ended: 0n });
  expect(await opened.pendingOf(workspaceId)).toEqual([]);
});

it('gives up after a lease, has its session ended, and goes on with the next', async () => {
  const [lost, next] = [randomUUID(), randomUUID()];
  let isAway = true;
  const released: string[] = [];
  const queue = aQueue(async ({ callId }: CallAddress) => {
    if (isAway) throw new Error('Redis is away');
    released.push(callId);
  }, 0);
  const address = { keyId: 'key', workspaceId: 'ws' };
  await queue.release({ ...address, callId: lost });
  expect(givenUp).toBe(1);
  isAway = false;
  await queue.release({ ...address, callId: next });
  expect([released, givenUp]).toEqual([[next], 1]);
});
