import { CallQueue } from '../../services/model-router/src/placement/callQueue.ts';
import { percentile } from '../median.ts';

const LIMITS = { maxCalls: 1_000, maxBytes: 134_217_728, keyShare: 0.25, timeoutMs: 20_000, expectedWaitMs: 3_000 };
const REFUSALS = 2_000;
/** The queue is full of calls of so many keys, as is worst for whoever has to compare them. */
const KEYS = 1_000;

/** Real milliseconds, the 99th percentile, to turn away a call where the queue is full. */
export function measureRefusal(): number {
  const queue = new CallQueue(LIMITS, () => 0);
  const aCall = (flow: string) => ({
    flow,
    cost: 500,
    bytes: 2_000,
    tryStart: () => 'no_room' as const,
    turnedAway() {},
  });
  for (let key = 0; key < KEYS; key += 1) queue.join(aCall(`key ${key}`));
  const times = Array.from({ length: REFUSALS }, (_, index) => {
    const beganAt = performance.now();
    const call = aCall(`key ${index % KEYS}`);
    if (queue.findRefusal(call) === undefined) throw new Error('a full queue took a call');
    queue.join(call);
    return performance.now() - beganAt;
  });
  return percentile(
    times.sort((a, b) => a - b),
    0.99,
  );
}
