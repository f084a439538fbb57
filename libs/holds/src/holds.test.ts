import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { noMetrics } from '@turnpike/telemetry/noTelemetry';
import { aHold } from '../test/aHold.ts';
import { anEventLog } from '../test/anEventLog.ts';
import { aShard } from '../test/aShard.ts';
import { type OpenedRedis, openTestRedis } from '../test/openTestRedis.ts';
import { PendingCalls } from './call/pendingCalls.ts';
import { Holds, type HoldsParts } from './holds.ts';
import { SessionState } from './redis/sessionState.ts';
import type { Shard } from './redis/shards.ts';

// Calls that an owner takes over, where shards come and go. Two whole owners on one Redis are in test/twoOwners.test.ts.

const OWNER = 'router-2';

let opened: OpenedRedis;
let holds: Holds;
let pending: PendingCalls;
beforeAll(async () => {
  opened = await openTestRedis();
});
afterAll(() => opened.close());
beforeEach(() => {
  pending = new PendingCalls();
});
afterEach(() => holds.close(0));

/** Holds whose shards nobody follows or sweeps, and that record nothing. */
const holdsIn = (of: (workspaceId: string) => Shard | undefined): Holds =>
  new Holds({
    shards: { of, attend: () => ({ close: async () => {} }) },
    owner: OWNER,
    leaseMs: 0,
    pending,
    left: { calls: [], unreadable: [] },
    eventLog: anEventLog(),
    ...({} as Pick<HoldsParts, 'spool' | 'absorber' | 'reports'>),
    metrics: noMetrics,
    log: aSilentLogger(),
  });

it('waits for the shard that is lost with its calls alone', async () => {
  const [waiting, beside, other] = [await aHold(opened), await aHold(opened), await aHold(opened)];
  const lost = aShard(opened.redis, new SessionState());
  holds = holdsIn((workspaceId) => (workspaceId === waiting.workspaceId ? lost : opened.shard));
  let isBack = false;
  const taking = holds.putBack([waiting, beside]).then(() => {
    isBack = true;
  });
  await holds.putBack([other]);
  expect(await opened.callOf(other)).toMatchObject({ owner: OWNER });
  expect(isBack).toBe(false);
  lost.sessionState.begin(opened.session, Number.POSITIVE_INFINITY);
  await taking;
  for (const hold of [waiting, beside]) expect(await opened.callOf(hold)).toMatchObject({ owner: OWNER });
});

it('puts a call back where its workspace is served by then', async () => {
  let serving: Shard | undefined = aShard(opened.redis, new SessionState());
  holds = holdsIn(() => serving);
  const hold = await aHold(opened);
  const taking = holds.putBack([hold]);
  serving = undefined;
  await delay(150);
  serving = opened.shard;
  await taking;
  expect(await opened.callOf(hold)).toMatchObject({ owner: OWNER });
});

it('puts a call back once, and none that has ended meanwhile', async () => {
  const [running, ended] = [await aHold(opened), await aHold(opened)];
  const lost = aShard(opened.redis, new SessionState());
  holds = holdsIn(() => lost);
  const taking = holds.putBack([running, ended]);
  pending.drop(ended.callId);
  lost.sessionState.begin(opened.session, Number.POSITIVE_INFINITY);
  await taking;
  expect(await opened.callOf(running)).toMatchObject({ owner: OWNER });
  expect(await opened.callOf(ended)).toMatchObject({ owner: 'router-1' });
});
