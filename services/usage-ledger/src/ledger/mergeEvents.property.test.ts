import { expect, it } from '@jest/globals';
import { anUnchargedUsageRecorded, aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import { searchOf } from '@turnpike/test-support/searchOf';
import fc from 'fast-check';
import { mergeEvents } from '../consumers/recordUsageBatch.ts';

// The same cases every time: no run fails by chance.
fc.configureGlobal({ seed: 20_261_121 });

// The rule of outcomes alone, many times; recordUsage.property.test.ts holds the database to the same rule.

/** Every kind of call: known at once, swept and known later, swept and never known. */
const LOG: UsageRecorded[] = Array.from({ length: 12 }, (_, n) => {
  const success = aUsageRecorded({ chargeNanoUsd: BigInt(n) });
  const { callId, keyId, workspaceId, startedAtMs } = success;
  const same = { callId, keyId, workspaceId, startedAtMs };
  const unknown = anUnchargedUsageRecorded('unknown', same);
  const known = n % 2 === 0 ? success : anUnchargedUsageRecorded('failure', same);
  return [[known], [known, unknown], [unknown]][n % 3] ?? [];
}).flat();

/** The final ending of each call, in any order of its events. */
const FINAL = new Map(
  LOG.toSorted((a, b) => Number(a.status !== 'unknown') - Number(b.status !== 'unknown')).map((event) => [
    event.callId,
    event,
  ]),
);

const positions = [...LOG.keys()];
/** All events in some order, some of them up to three times, cut into batches. */
const deliveries = fc.record({
  order: fc.shuffledSubarray([...positions, ...positions, ...positions], { minLength: 0 }),
  whole: fc.shuffledSubarray(positions, { minLength: positions.length }),
  isRepeatedFirst: fc.boolean(),
  batchSize: fc.integer({ min: 1, max: 9 }),
});

it('ends in one state for 10,000 orders and repetitions of one event log', () => {
  fc.assert(
    fc.property(deliveries, ({ order, whole, isRepeatedFirst, batchSize }) => {
      const log = (isRepeatedFirst ? [...order, ...whole] : [...whole, ...order]).flatMap((n) => LOG[n] ?? []);
      let state: UsageRecorded[] = [];
      for (let start = 0; start < log.length; start += batchSize) {
        state = mergeEvents([...state, ...mergeEvents(log.slice(start, start + batchSize))]);
      }
      if (state.length !== FINAL.size || state.some((event) => FINAL.get(event.callId) !== event))
        expect(new Map(state.map((event) => [event.callId, event]))).toEqual(FINAL);
    }),
    searchOf(10_000),
  );
});
