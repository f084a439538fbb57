import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { aKeyRecord } from '@turnpike/internal-api/aKeyRecord';
import { aSilentLogger } from '@turnpike/logging/aSilentLogger';
import { connectRedis } from '@turnpike/redis-connection/connectRedis';
import { type FaultProxy, openFaultProxy } from '@turnpike/test-support/faultProxy';
import { until } from '@turnpike/test-support/until';
import type { Redis } from 'ioredis';
import { type OpenedRedis, openTestRedis } from '../../test/openTestRedis.ts';
import { createAdmit } from '../gate/admit.ts';
import type { CallAddress } from '../redis/redisKeys.ts';
import { createCallEndings } from './endCall.ts';
import { createGiveBack, type GiveBackOptions } from './giveBack.ts';

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

/** Calls that were reported missing. */
let missing: number;
beforeEach(() => {
  missing = 0;
});
const aGiveBack = (endings: GiveBackOptions['endings'], leaseMs: number) =>
  createGiveBack({
    endings,
    standing: {
      reportMissingCall() {
        missing += 1;
      },
    },
    leaseMs,
    log: aSilentLogger(),
  });

it('gives back the hold of an admission whose answer was lost with its connection, once Redis can be reached', async () => {
  const key = aKeyRecord();
  const { workspaceId } = key.workspace;
  await opened.credit(workspaceId, 10n ** 12n);
  const address = { callId: randomUUID(), keyId: key.keyId, workspaceId };
  const admit = createAdmit(redis, { standing: opened.standing, owner: 'router-1' });
  const giveBack = aGiveBack(createCallEndings(redis), LEASE_MS);

  await proxy.become({ holdReplies: true });
  const admission = admit({
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
  const released = giveBack(address);
  await expect(createCallEndings(redis).release(address)).rejects.toThrow();
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
  const endings = {
    async release({ callId }: CallAddress) {
      if (isAway) throw new Error('Redis is away');
      released.push(callId);
    },
  };
  const giveBack = aGiveBack(endings, 0);
  const address = { keyId: 'key', workspaceId: 'ws' };
  await giveBack({ ...address, callId: lost });
  expect(missing).toBe(1);
  isAway = false;
  await giveBack({ ...address, callId: next });
  expect([released, missing]).toEqual([[next], 1]);
});
