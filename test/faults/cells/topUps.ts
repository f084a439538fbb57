import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { readTotals } from '../books/readLedger.ts';
import type { Cell } from '../cell.ts';

const TOP_UP = 400_000n;
const TOP_UPS = 12;
/** From a top-up to the first call that it pays. */
const COUNTS_WITHIN_MS = 1_000;

export const cell: Cell = {
  name: 'top-ups',
  group: 'money',
  breaks: 'calls on a workspace that is always nearly empty, topped up twelve times, each top-up told three times',
  holds: 'each top-up counts once and within a second; never is more spent than was given',
  eventLog: 'embedded',
  async run(context) {
    const { operator, ledger } = context.stack;
    const account = await context.openAccount({ creditNanoUsd: TOP_UP });
    const load = context.startLoad({
      calls: context.calls,
      keys: account.keys,
      tokens: [10, 60],
      maxTokens: 100,
    });
    for (let count = 0; count < TOP_UPS; count += 1) {
      await load.untilSent(Math.floor((context.calls * (count + 1)) / (TOP_UPS + 2)));
      const creditId = randomUUID();
      const told = [0, 1, 2].map(() => operator.addCredit(account.workspaceId, TOP_UP, creditId));
      await Promise.all(told);
      await context.until(
        'a top-up to count',
        async () => {
          const [record] = await context.startLoad({ calls: 1, keys: account.keys, tokens: [1, 1], maxTokens: 1 }).done;
          await pause(50);
          return record?.outcome === 'ok';
        },
        COUNTS_WITHIN_MS,
      );
    }
    const calls = await load.done;
    context.checkOutcomes(calls, { ok: true, '402': true });
    context.check(
      calls.some(({ outcome }) => outcome === '402'),
      'the workspace never was empty',
    );
    const { credited } = await readTotals(ledger, [account.workspaceId]);
    context.check(
      credited.get(account.workspaceId) === TOP_UP * BigInt(TOP_UPS + 1),
      'a top-up counts more or less than once',
    );
  },
};
