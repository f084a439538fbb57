import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { toUsageRecordedJson, type UsageRecorded } from '@turnpike/events/usageRecorded';
import fc from 'fast-check';
import { aFundedKey } from '../../test/aFundedKey.ts';
import { aShardHolds } from '../../test/aShardHolds.ts';
import { headOf } from '../../test/headOf.ts';
import { type OpenedRedis, openTestRedis } from '../../test/openTestRedis.ts';
import { type Absorbed, toAbsorb } from '../../test/toAbsorb.ts';
import { defineScript } from '../redis/askRedis.ts';
import { redisKeys } from '../redis/redisKeys.ts';
import type { ShardHolds } from '../shardHolds.ts';

// Every script on one call, in any order, against what they promise in a few lines.

const HOLD = 1_000n;
const AMPLE = 10n ** 12n;
const MONTH = new Date().toISOString().slice(0, 7);

let opened: OpenedRedis;
let holds: ShardHolds;
let runAbsorb: ReturnType<typeof defineScript>;
let runPutBack: ReturnType<typeof defineScript>;
beforeAll(async () => {
  opened = await openTestRedis();
  // An admission that is refused for its id releases nothing here: the model runs each script by itself.
  holds = aShardHolds(opened, { release: async () => {} });
  runAbsorb = defineScript(opened.redis, 'absorb');
  runPutBack = defineScript(opened.redis, 'putBack');
});
afterAll(() => opened.close());

interface Model {
  state: 'absent' | 'held' | 'ended' | 'released';
  session: 'first' | 'second';
  isLoaded: boolean;
  /** Number of the last put-back. */
  number: number;
}

async function aCall(chargeNanoUsd: bigint) {
  const key = await aFundedKey(opened, AMPLE);
  const { workspaceId } = key.workspace;
  const event = aUsageRecorded({ keyId: key.keyId, workspaceId, chargeNanoUsd, holdNanoUsd: HOLD });
  return { key, event, json: toUsageRecordedJson(event) };
}
type Call = Awaited<ReturnType<typeof aCall>>;

/** The sums are those that stand there already. */
const absorb = ({ event: { workspaceId } }: Call, absorbed: Partial<Absorbed>) =>
  runAbsorb(...toAbsorb(workspaceId, opened.mark, { left: AMPLE, ...absorbed }));

function putBack({ event, json }: Call, kind: 'held' | 'ended', number: number) {
  const { callId, keyId, workspaceId, chargeNanoUsd } = event;
  const { keys, args } = headOf(workspaceId, opened.mark);
  const amount = String(kind === 'held' ? HOLD : chargeNanoUsd);
  const call = [callId, kind, amount, keyId, MONTH, 0, 60, 600, 1, json];
  return runPutBack(keys, [...args, 'router-1', number, 'second', 1, ...call]);
}

const steps = {
  admit: ({ key, event }: Call) =>
    holds
      .admit({ callId: event.callId, key, holdNanoUsd: HOLD, estimatedPromptTokens: 1, unknownEventJson: '{}' })
      .catch((error: Error) => error.message),
  settle: ({ event, json }: Call) => holds.settle(event, json),
  release: ({ event }: Call) => holds.release(event),
  final: (call: Call) => absorb(call, { final: [call.event.callId] }),
  unknown: (call: Call) => absorb(call, { unknown: [[call.event.callId, opened.session.token]] }),
  unknownOfSecond: (call: Call) => absorb(call, { unknown: [[call.event.callId, 'second']] }),
  putBackHeld: (call: Call, { number }: Model) => putBack(call, 'held', number + 1),
  putBackEnded: (call: Call, { number }: Model) => putBack(call, 'ended', number + 1),
  putBackAgain: (call: Call, { number }: Model) => putBack(call, 'held', number),
  loseWallet: ({ event }: Call) => opened.redis.del(redisKeys.wallet(event.workspaceId)),
} satisfies Record<string, (call: Call, model: Model) => Promise<unknown>>;
type Step = keyof typeof steps;

/** The promise of the scripts: the state after a step. */
function after(model: Model, step: Step): Model {
  const { state, session, isLoaded, number } = model;
  const isPending = state === 'held' || state === 'ended';
  switch (step) {
    case 'admit':
      return state === 'absent' && isLoaded ? { ...model, state: 'held', session: 'first' } : model;
    case 'settle':
      return { ...model, state: state === 'held' ? 'ended' : state };
    case 'release':
      return { ...model, state: state === 'ended' ? 'ended' : 'released' };
    case 'final':
      return { ...model, state: isPending ? 'absent' : state, isLoaded: true };
    case 'unknown':
    case 'unknownOfSecond': {
      const isItsOwn = session === (step === 'unknown' ? 'first' : 'second');
      return { ...model, state: state === 'held' && isItsOwn ? 'absent' : state, isLoaded: true };
    }
    case 'putBackHeld':
      if (state === 'released') return { ...model, number: number + 1 };
      return { ...model, state: state === 'ended' ? 'ended' : 'held', session: 'second', number: number + 1 };
    case 'putBackEnded':
      return { ...model, state: 'ended', session: 'second', number: number + 1 };
    case 'putBackAgain':
      // Before the first one it is the first, and has a number that is not above nothing.
      return model;
    case 'loseWallet':
      return { ...model, isLoaded: false };
  }
}

const sumsOf = (state: Model['state'], { chargeNanoUsd }: UsageRecorded) => ({
  held: state === 'held' ? HOLD : 0n,
  ended: state === 'ended' ? chargeNanoUsd : 0n,
});

const anOrder = fc.array(fc.constantFrom(...(Object.keys(steps) as Step[])), { minLength: 3, maxLength: 14 });
const admittedSomewhere = fc
  .tuple(anOrder, fc.nat(6))
  .map(([order, at]): Step[] => [...order.slice(0, at), 'admit', ...order.slice(at)]);

it('1,000 orders of all scripts, each run once or twice in a row, leave the pending sums that the model has', async () => {
  const cases = fc.sample(fc.tuple(admittedSomewhere, fc.constantFrom(0n, 1n, 300n, 1_000n)), {
    numRuns: 1_000,
    seed: 20_261_121,
  });
  await Promise.all(
    cases.flatMap(([order, charge]) =>
      [1, 2].map(async (times) => {
        const call = await aCall(charge);
        let model: Model = { state: 'absent', session: 'first', isLoaded: true, number: 0 };
        for (const step of order) {
          for (let turn = 0; turn < times; turn += 1) {
            await steps[step](call, model);
            model = after(model, step);
          }
        }
        const { keyId, workspaceId, callId } = call.event;
        const place = { order, times };
        // A sum that was lost alone is counted again.
        await absorb(call, {});
        const sums = sumsOf(model.state, call.event);
        expect({ ...place, ...(await opened.walletOf(workspaceId)) }).toEqual({ ...place, left: AMPLE, ...sums });
        expect({ ...place, ...(await opened.keyOf(workspaceId, keyId)) }).toEqual({ ...place, spent: 0n, ...sums });
        expect({ ...place, ...(await opened.monthsOf(workspaceId)) }).toEqual({ ...place, spent: 0n, ...sums });
        const isPending = model.state === 'held' || model.state === 'ended';
        expect({ ...place, calls: await opened.redis.hgetall(redisKeys.calls(workspaceId)) }).toEqual({
          ...place,
          calls: isPending ? { [callId]: model.session === 'first' ? opened.session.token : 'second' } : {},
        });
      }),
    ),
  );
});
