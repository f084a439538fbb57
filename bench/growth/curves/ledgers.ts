import { toChatRequest } from '../../calls/wire.ts';
import { measureInOrder, toLines } from '../callLines.ts';
import type { Curve } from '../curve.ts';
import { measureCalls, sendAll, toAll } from '../measureCalls.ts';
import { startReplica } from '../startReplica.ts';

const SIZES = [1, 2, 4];
const WARM_UP_SECONDS = 5;

/**
 * Ledgers that share the partitions of one log of Kafka. What they all need for a recorded call, as on two cores no rate can show what
 * four do.
 */
export const ledgers: Curve = {
  name: 'ledgers',
  async measure({ rounds, progress, startStack }) {
    const stack = await startStack({ kafka: true });
    const { router, ledger, postgres } = stack.behind;
    const requests = toAll(stack.apiKeys, toChatRequest());
    const parts: Record<string, number> = { router, ledger, postgres };
    let count = 1;
    const measured = await measureInOrder(SIZES, rounds, {
      async grow(size) {
        for (; count < size; count += 1) {
          const name = `usage-ledger-${count + 1}`;
          progress(`starting ${name}`);
          parts[`ledger ${count + 1}`] = (await startReplica(stack, 'usage-ledger', { name })).pid;
        }
        for (let second = 0; second < WARM_UP_SECONDS; second += 1) await sendAll(stack, requests, 1);
      },
      measure(size) {
        progress(`${size} ledgers`);
        return measureCalls(stack, { requests, parts });
      },
    });
    const lines = toLines(measured, { ledgers: ['ledger'], Postgres: ['postgres'] });
    return [
      {
        name: 'ledgers',
        title: 'Processor time of a recorded call by ledgers, over Kafka',
        along: 'ledgers',
        isRelative: true,
        lines,
      },
    ];
  },
};
