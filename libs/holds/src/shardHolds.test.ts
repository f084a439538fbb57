import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { aKeyRecord } from '@turnpike/internal-api/aKeyRecord';
import { until } from '@turnpike/test-support/until';
import type { Redis } from 'ioredis';
import { v7 as uuidv7 } from 'uuid';
import { anOpenSessionState } from '../test/anOpenSessionState.ts';
import { aShardHolds } from '../test/aShardHolds.ts';
import { type OpenedRedis, openTestRedis } from '../test/openTestRedis.ts';
import { PendingCalls } from './call/pendingCalls.ts';
import type { AdmitRequest } from './gate/admit.ts';
import type { SessionState } from './redis/sessionState.ts';
import type { ShardHolds, ShardHoldsOptions } from './shardHolds.ts';

let opened: OpenedRedis;
let sessionState: SessionState;
let pending: PendingCalls;
beforeAll(async () => {
  opened = await openTestRedis();
});
afterAll(() => opened.close());
beforeEach(() => {
  sessionState = anOpenSessionState(opened.session);
  pending = new PendingCalls();
});

/** Holds that a call of `admit` reaches Redis by, and that something happens to before they have its answer. */
function holdsWith(onAnswer: (answer: unknown) => unknown, options: Partial<ShardHoldsOptions> = {}): ShardHolds {
  const redis: Redis = Object.create(opened.redis);
  redis.defineCommand = (name, definition) => {
    opened.redis.defineCommand(name, definition);
    const run = Reflect.get(opened.redis, name) as (...args: unknown[]) => Promise<unknown>;
    const runHere = (...args: unknown[]) => run.apply(opened.redis, args);
    Reflect.set(
      redis,
      name,
      name === 'admit' ? async (...args: unknown[]) => onAnswer(await runHere(...args)) : runHere,
    );
  };
  return aShardHolds({ redis, sessionState }, { pending, ...options });
}

async function aRequest(fields: Parameters<typeof aKeyRecord>[0] = {}): Promise<AdmitRequest> {
  const key = aKeyRecord(fields);
  await opened.credit(key.workspace.workspaceId, 10_000n);
  return { callId: uuidv7(), key, holdNanoUsd: 100n, estimatedPromptTokens: 1, unknownEventJson: '{}' };
}
const heldFor = async ({ key }: AdmitRequest) => (await opened.walletOf(key.workspace.workspaceId)).held;

it('has each admitted call put back with all others from then on', async () => {
  const request = await aRequest();
  const admission = await aShardHolds({ redis: opened.redis, sessionState }, { pending }).admit(request);
  expect(admission).toMatchObject({ outcome: 'admitted', hold: { callId: request.callId, holdNanoUsd: 100n } });
  expect([...pending.held]).toEqual([admission.outcome === 'admitted' && admission.hold]);
});

it.each<[string, () => void]>([
  ['has lapsed', () => sessionState.end()],
  ['is another one by now', () => sessionState.begin({ mark: opened.mark, token: 'newer' }, Number.POSITIVE_INFINITY)],
  ['has lapsed by the clock, as of a process that was frozen', () => sessionState.renew(performance.now() - 1)],
])('admits no call whose session %s when the answer comes, and releases its hold', async (_which, change) => {
  const request = await aRequest();
  let wasAdmitted = false;
  const holds = holdsWith((answer) => {
    wasAdmitted = Array.isArray(answer) && answer[0] === 'admitted';
    change();
    return answer;
  });
  expect(await holds.admit(request)).toEqual({ outcome: 'closed' });
  expect(wasAdmitted).toBe(true);
  await until('the hold is released', async () => (await heldFor(request)) === 0n);
  expect(pending.isEmpty).toBe(true);
});

it('has Redis looked at where it is another one', async () => {
  let looks = 0;
  sessionState.watch(() => {
    looks += 1;
  });
  expect(await holdsWith(() => ['closed']).admit(await aRequest())).toEqual({ outcome: 'closed' });
  expect([sessionState.isOpen, looks]).toEqual([false, 1]);
});

it('asks Redis once where a key goes on that is over its limits, and again after 100 ms', async () => {
  let asked = 0;
  const holds = holdsWith((answer) => {
    asked += 1;
    return answer;
  });
  const request = await aRequest({ rpm: 1 });
  const next = () => holds.admit({ ...request, callId: uuidv7() });
  expect(await next()).toMatchObject({ outcome: 'admitted' });
  expect(await next()).toMatchObject({ outcome: 'rate_limited' });
  // A busy machine takes longer than that for one question now and then.
  const repeated = await until('a refusal without a question', async () => {
    await next();
    const before = asked;
    const refusal = await next();
    return asked === before && refusal;
  });
  expect(repeated).toMatchObject({ outcome: 'rate_limited', isToldAgain: true });
  const before = asked;
  await until('Redis is asked again', async () => {
    await next();
    return asked > before;
  });
});

describe('when Redis gives no decision in time', () => {
  // Redis admits the call all the same.
  const timeOut = (): never => {
    throw new Error('Command timed out');
  };

  it('releases what Redis may yet admit', async () => {
    const request = await aRequest();
    await expect(holdsWith(timeOut).admit(request)).rejects.toThrow('timed out');
    await until('the hold is released', async () => (await heldFor(request)) === 0n);
    expect([pending.isEmpty, sessionState.session]).toEqual([true, opened.session]);
  });

  it('ends its session where that cannot be released: a sweeper takes no hold of a live one', async () => {
    const holds = holdsWith(timeOut, { release: () => Promise.reject(new Error('Redis is away')) });
    await expect(holds.admit(await aRequest())).rejects.toThrow('timed out');
    await until('the session is over', () => sessionState.session === undefined);
  });
});
