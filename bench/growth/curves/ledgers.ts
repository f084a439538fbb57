import { toChatRequest } from '../../calls/wire.ts';
import { startReplica } from '../../startReplica.ts';
import { measureInOrder, pick } from '../callLines.ts';
import { type Curve, toLine } from '../curve.ts';
import { measureCalls, readRest, sendAll, toAll } from '../measureCalls.ts';

const SIZES = [1, 4];
const LONG_SIZES = [1, 2, 4];
/** Calls a second of each ledger. */
const RATE_OF_EACH = 100;
const WARM_UP_SECONDS = 3;

/**
 * Ledgers that share the partitions of one Kafka log. Measures what they all use for a recorded call beyond their use at rest, and the use
 * of one at rest. On two cores no rate can show the capacity of four ledgers.
 */
export const ledgers: Curve = {
  name: 'ledgers',
  title:
    'Processor time of a recorded call by ledgers, each with 100 calls a second over Kafka, and of a ledger at rest',
  async measure({ rounds, isLong, progress, startStack }) {
    const stack = await startStack({ kafka: true });
    const { router, ledger, postgres, broker = 0 } = stack.behind;
    const requests = toAll(stack.apiKeys, toChatRequest());
    const parts: Record<string, number> = { router, ledger, postgres, broker };
    let atRest: Record<string, number> = {};
    const measured = await measureInOrder(isLong ? LONG_SIZES : SIZES, rounds, {
      async grow(size) {
        progress(`starting ${size} ledgers`);
        const further = Array.from({ length: size }, (_, index) => index + 1).filter(
          (n) => n > 1 && parts[`ledger ${n}`] === undefined,
        );
        const start = async (n: number): Promise<void> => {
          parts[`ledger ${n}`] = (await startReplica(stack.running, 'usage-ledger', { name: `usage-ledger-${n}` })).pid;
        };
        await Promise.all(further.map(start));
        for (let second = 0; second < WARM_UP_SECONDS; second += 1) await sendAll(stack, requests, 1);
        atRest = await readRest(parts);
      },
      measure(size) {
        progress(`${size} ledgers`);
        return measureCalls(stack, { requests, parts, atRest, rate: RATE_OF_EACH * size });
      },
    });
    // The cost of each process at rest is the same for each, and no part of a call.
    const toCallLine = (name: string, part: string) =>
      toLine(name, measured, ({ beyondRest }) => pick(beyondRest, [part]));
    const resting = toLine('one at rest', measured, (costs, size) => pick(costs.atRest, ['ledger']) / size, {
      unit: 'µs a second',
    });
    return [
      toCallLine('ledgers', 'ledger'),
      toCallLine('Postgres', 'postgres'),
      toCallLine('broker', 'broker'),
      resting,
    ];
  },
};
