import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { toUsageRecordedJson, type UsageRecorded } from '@turnpike/events/usageRecorded';
import fc from 'fast-check';
import { aKeyRecord } from '../../../test/aKeyRecord.ts';
import { type OpenedRedis, openTestRedis } from '../../../test/openTestRedis.ts';
import { type CallEndings, createCallEndings } from '../call/endCall.ts';
import { redisKeys } from '../redis/redisKeys.ts';
import { createAdmit } from './admit.ts';

const HOLD = 1_000n;
const LEASE_MS = 60_000;
const TPM = 600;

let opened: OpenedRedis;
let endings: CallEndings;
let admit: ReturnType<typeof createAdmit>;
beforeAll(async () => {
  opened = await openTestRedis();
  endings = createCallEndings(opened.redis, opened);
  admit = createAdmit(opened.redis, { epoch: opened.epoch, routerId: 'router-1' });
});
afterAll(() => opened.close());

async function aCall(chargeNanoUsd: bigint) {
  // Requests refill so slowly that Redis does not forget them while a test looks.
  const key = aKeyRecord({ rpm: 2, tpm: TPM });
  const { workspaceId } = key.workspace;
  await opened.credit(workspaceId, 10n ** 12n);
  const event = aUsageRecorded({ keyId: key.keyId, workspaceId, chargeNanoUsd, holdNanoUsd: HOLD });
  return { key, event, json: toUsageRecordedJson(event) };
}
type Call = Awaited<ReturnType<typeof aCall>>;

const admitOnce = ({ key, event }: Call): Promise<unknown> =>
  admit({
    callId: event.callId,
    key,
    holdNanoUsd: HOLD,
    estimatedPromptTokens: 100,
    leaseMs: LEASE_MS,
    unknownEventJson: toUsageRecordedJson({ ...event, status: 'unknown', chargeNanoUsd: 0n }),
  }).catch((error: Error) => error.message);

const steps = {
  admit: admitOnce,
  settle: ({ event, json }: Call) => endings.settle(event, json, { isSafe: false, keepMs: LEASE_MS }),
  settleSafe: ({ event, json }: Call) => endings.settle(event, json, { isSafe: true, keepMs: 0 }),
  release: ({ event }: Call) => endings.release(event),
  renew: ({ event }: Call) => endings.renewLease(event, LEASE_MS),
  endLease: ({ event }: Call) => opened.redis.zadd(redisKeys.calls(event.workspaceId), 'XX', 1, event.callId),
  sweep: ({ event }: Call) => endings.sweep(event, LEASE_MS),
  look: ({ event }: Call) => endings.findEndedLeases(event.workspaceId, { passOver: 0, most: 10 }),
  forgetSwept: ({ event }: Call) => endings.forgetSwept(event, 'swept'),
  forgetSettled: ({ event }: Call) => endings.forgetSwept(event, 'settled'),
} satisfies Record<string, (call: Call) => Promise<unknown>>;
type Step = keyof typeof steps;

interface Model {
  state: 'absent' | 'held' | 'settled' | 'swept' | 'released' | 'done';
  isLeaseOver: boolean;
  charged: bigint;
}

/** What the scripts promise, in a few lines. */
function after({ state, isLeaseOver, charged }: Model, step: Step, { chargeNanoUsd }: UsageRecorded): Model {
  const over = step === 'endLease' || (isLeaseOver && step !== 'renew' && step !== 'sweep');
  const to = (next: Model['state'], more = 0n): Model => ({ state: next, isLeaseOver: over, charged: charged + more });
  const mayCharge = state === 'held' || state === 'swept';
  if (step === 'admit' && state === 'absent') return { ...to('held'), isLeaseOver: false };
  if (step === 'settle' && mayCharge) return { ...to('settled', chargeNanoUsd), isLeaseOver: false };
  if (step === 'settleSafe' && mayCharge) return to('done', chargeNanoUsd);
  if (step === 'settleSafe' && state === 'settled') return to('done');
  if (step === 'release' && (state === 'absent' || state === 'held')) return to('released');
  if (step === 'sweep' && state === 'held' && isLeaseOver) return to('swept');
  if (step === 'forgetSettled' && state === 'settled') return to('done');
  return to(state);
}

/** Whether the sweeper would come to it, where it has any call. */
async function isInSight({ event: { workspaceId } }: Call): Promise<boolean> {
  const script = "return redis.call('ZCARD', KEYS[1]) == 0 or redis.call('SISMEMBER', KEYS[2], ARGV[1]) == 1";
  return (await opened.redis.eval(script, 2, redisKeys.calls(workspaceId), redisKeys.workspaces, workspaceId)) === 1;
}

const anOrder = fc.array(fc.constantFrom(...(Object.keys(steps) as Step[])), { minLength: 3, maxLength: 14 });
const admittedSomewhere = fc
  .tuple(anOrder, fc.nat(6))
  .map(([order, at]): Step[] => [...order.slice(0, at), 'admit', ...order.slice(at)]);

it('1,000 orders of all scripts, each run once or twice in a row, leave the books that the model has', async () => {
  const cases = fc.sample(fc.tuple(admittedSomewhere, fc.constantFrom(0n, 1n, 300n, 1_000n)), {
    numRuns: 1_000,
    seed: 20_261_121,
  });
  await Promise.all(
    cases.flatMap(([order, charge]) =>
      [1, 2].map(async (times) => {
        const call = await aCall(charge);
        let model: Model = { state: 'absent', isLeaseOver: false, charged: 0n };
        for (const step of order) {
          for (let turn = 0; turn < times; turn += 1) {
            await steps[step](call);
            expect({ order, step, isInSight: await isInSight(call) }).toMatchObject({ order, step, isInSight: true });
            model = after(model, step, call.event);
          }
        }
        const { workspaceId } = call.key.workspace;
        const held = model.state === 'held' ? HOLD : 0n;
        const books = { spent: model.charged, held };
        expect({ order, ...(await opened.walletOf(workspaceId)) }).toMatchObject({ order, ...books });
        expect(await opened.keyOf(workspaceId, call.key.keyId)).toEqual(books);
        const wasCounted = model.state !== 'absent' && model.state !== 'released';
        expect(await opened.redis.hget(redisKeys.wallet(workspaceId), 'admitted')).toBe(wasCounted ? '1' : '0');
      }),
    ),
  );
}, 60_000);

describe('a late admission that is released', () => {
  const limitsOf = async ({ key: { keyId, workspace } }: Call) => ({
    arrivalUs: Number(await opened.redis.get(redisKeys.requestsPerMinute(workspace.workspaceId, keyId))),
    level: Number(await opened.redis.hget(redisKeys.tokensPerMinute(workspace.workspaceId, keyId), 'level')),
  });

  it('gives back hold, request and tokens, once', async () => {
    const call = await aCall(0n);
    const other = { ...call, event: aUsageRecorded({ keyId: call.key.keyId, workspaceId: call.event.workspaceId }) };
    await admitOnce(other);
    const before = await limitsOf(call);
    await admitOnce(call);
    const during = await limitsOf(call);
    expect(during.arrivalUs - before.arrivalUs).toBeGreaterThan(29_999_000);
    await endings.release(call.event);
    await endings.release(call.event);
    const afterwards = await limitsOf(call);
    expect(Math.abs(afterwards.arrivalUs - before.arrivalUs)).toBeLessThan(1_000);
    expect(afterwards.level - during.level).toBeCloseTo(100, 0);
    expect(await opened.walletOf(call.event.workspaceId)).toMatchObject({ held: HOLD, spent: 0n });
  });

  it('consumes nothing at all where its release came first', async () => {
    const call = await aCall(0n);
    await endings.release(call.event);
    expect(await admitOnce(call)).toMatch('used before');
    expect(await limitsOf(call)).toEqual({ arrivalUs: 0, level: 0 });
  });
});

describe('a call across the turn of a month', () => {
  const AT = { october: Date.UTC(2026, 9, 31, 23, 59, 59, 999), november: Date.UTC(2026, 10, 1) };
  const source = readFileSync(new URL('./admit.lua', import.meta.url), 'utf8');

  it.each([
    ['a millisecond before midnight', AT.october, '2026-10'],
    ['at midnight', AT.november, '2026-11'],
  ])('belongs to the month it was admitted in by Redis’ clock, %s, whenever it ends', async (_case, atMs, month) => {
    const call = await aCall(300n);
    const { keyId, workspace } = call.key;
    const { workspaceId } = workspace;
    // The script with its clock set: Redis' own cannot be.
    const clock = `{ '${Math.floor(atMs / 1_000)}', '${(atMs % 1_000) * 1_000}' }`;
    const script = source.replace("redis.call('TIME')", clock);
    expect(script).not.toBe(source);
    const { number, redisId } = opened.epoch.stamp;
    const keys = [
      redisKeys.wallet(workspaceId),
      redisKeys.key(workspaceId, keyId),
      redisKeys.months(workspaceId),
      redisKeys.requestsPerMinute(workspaceId, keyId),
      redisKeys.tokensPerMinute(workspaceId, keyId),
      redisKeys.call(workspaceId, call.event.callId),
      redisKeys.calls(workspaceId),
      redisKeys.keys(workspaceId),
      redisKeys.workspaces,
    ];
    const args = [
      call.event.callId,
      1,
      60,
      TPM,
      1,
      String(HOLD),
      '',
      '',
      LEASE_MS,
      '{}',
      number,
      redisId,
      keyId,
      'r',
      '',
      workspaceId,
    ];
    expect(await opened.redis.eval(script, keys.length, ...keys, ...args)).toEqual(
      expect.arrayContaining(['admitted', String(atMs)]),
    );
    expect(await opened.monthsOf(workspaceId)).toEqual({ [`${month}:held`]: HOLD });
    await steps.settle(call);
    expect(await opened.monthsOf(workspaceId)).toEqual({ [`${month}:held`]: 0n, [`${month}:spent`]: 300n });
  });
});
