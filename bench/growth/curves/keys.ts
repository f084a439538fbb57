import { toChatRequest } from '../../calls/wire.ts';
import { OF_CALLS, toLines } from '../callLines.ts';
import { type Curve, measureByTurns } from '../curve.ts';
import { makeKeys } from '../makeKeys.ts';
import { measureCalls, readRest, sendAll, toAll } from '../measureCalls.ts';

const SIZES = [10, 1_000];
const LONG_SIZES = [10, 100, 1_000, 10_000, 100_000];
/** Each calls once in a round: more rounds of 100,000 keys would take an hour. */
const MOST_ROUNDS = 3;
/** Keys that are called during the measurement, once or more each. */
const MOST_MEASURED = 300;
const request = toChatRequest({ promptBytes: 100 });

/**
 * Keys that call. All of them exist from the first point on. At each size as many have called just before. A router caches a key for 30 s,
 * and later calls ask auth at any size. That is no growth, so the measured keys are those that called last.
 */
export const keys: Curve = {
  name: 'keys',
  title: 'Processor time of a call by the API keys that call',
  async measure({ rounds, isLong, progress, startStack }) {
    const stack = await startStack();
    const sizes = isLong ? LONG_SIZES : SIZES;
    const apiKeys = await makeKeys(stack, { count: sizes.at(-1) ?? 0, progress });
    const { router, redis, ledger, postgres, auth } = stack.behind;
    const parts = { router, redis, ledger, postgres, auth };
    const atRest = await readRest(parts);
    const measured = await measureByTurns(sizes, Math.min(rounds, MOST_ROUNDS), async (size, round) => {
      progress(`${size} keys, round ${round + 1} of ${rounds}`);
      const requests = toAll(apiKeys.slice(0, size), request);
      await sendAll(stack, requests.toReversed(), 0.3);
      return measureCalls(stack, { requests: requests.slice(0, MOST_MEASURED), parts, atRest });
    });
    return toLines(measured, OF_CALLS);
  },
};
