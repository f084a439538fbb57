import { expect, it } from '@jest/globals';
import { createLogger } from '@turnpike/logging/createLogger';
import { until } from '@turnpike/test-support/until';
import type { TopicState } from './createPartitionShare.ts';
import { keepShare } from './keepShare.ts';

const log = createLogger({ service: 'event-log-test', level: 'silent' });
const ENDS = new Map([[0, 5n]]);

/** A reader that keeps its share by leases that say what was asked of them. */
function aReader(endOffsets: () => Promise<Map<number, bigint>>, { isDatabaseAway = false } = {}) {
  const asked: string[] = [];
  const shares: TopicState[] = [];
  const positions = new Map([[0, 4n]]);
  const leases = {
    async renew(readerId: string) {
      asked.push(`renew ${readerId}`);
      if (isDatabaseAway) throw new Error('away');
      return { readers: ['a', 'b'], positions };
    },
    async giveBack(readerId: string) {
      asked.push(`give back ${readerId}`);
      if (isDatabaseAway) throw new Error('away');
    },
  };
  const reader = { share: (state: TopicState) => void shares.push(state) };
  const giveUp = keepShare(reader, { topic: 'calls', readerId: 'a', leases, lag: { endOffsets }, log });
  return { asked, shares, giveUp };
}

it('divides the topic among all whose leases run, again and again, and gives its own back in the end', async () => {
  const { asked, shares, giveUp } = aReader(async () => ENDS);
  await until('a second renewal', () => shares.length >= 2);
  await giveUp();
  expect(shares[0]).toEqual({ readers: ['a', 'b'], positions: new Map([[0, 4n]]), ends: ENDS });
  expect(asked.slice(0, 2)).toEqual(['renew a', 'renew a']);
  expect(asked.at(-1)).toBe('give back a');
});

it.each([
  ['refuses', () => Promise.reject(new Error('cut off'))],
  ['is silent', () => new Promise<never>(() => {})],
])('lets its lease lapse where Kafka %s, and renews it when Kafka is back', async (_how, failing) => {
  let questions = 0;
  const { asked, shares, giveUp } = aReader(() => {
    questions += 1;
    return questions <= 2 ? failing() : Promise.resolve(ENDS);
  });
  await until('two questions in vain', () => questions > 2 || undefined);
  expect(asked.filter((each) => each === 'renew a').length).toBeLessThanOrEqual(1);
  await until('Kafka to answer', () => shares.length > 0);
  expect(questions).toBeGreaterThanOrEqual(3);
  await giveUp();
});

it('leaves the share as it is while the database is away, and ends all the same', async () => {
  const { asked, shares, giveUp } = aReader(async () => ENDS, { isDatabaseAway: true });
  await until('a second attempt', () => asked.length >= 2);
  await giveUp();
  expect(shares).toEqual([]);
  expect(asked.at(-1)).toBe('give back a');
});
