import { readBalances } from '../books/readBalances.ts';
import type { Cell } from '../cell.ts';

const CAPS = [20_000_000n, 2_000_000n, 40_000_000n, 1n, 60_000_000n];
const HIGHEST = 60_000_000n;

export const cell: Cell = {
  name: 'cap-changes',
  group: 'money',
  breaks: 'the monthly cap is raised and lowered below what is spent while calls run',
  holds: 'running calls go on; what is spent and held never passes the highest cap; a raise works on the next call',
  eventLog: 'embedded',
  async run(context) {
    const { operator, redis } = context.stack;
    const account = await context.openAccount({ capNanoUsd: CAPS[0] ?? 0n });
    const load = context.startLoad({
      calls: context.calls,
      keys: account.keys,
      tokens: [10, 60],
      maxTokens: 100,
    });
    for (const [index, cap] of CAPS.entries()) {
      await load.untilSent(Math.floor((context.calls * (index + 1)) / (CAPS.length + 2)));
      await operator.setCap(account.workspaceId, cap);
      if (index % 2 === 0) {
        const [record] = await context.startLoad({ calls: 1, keys: account.keys, tokens: [1, 1], maxTokens: 1 }).done;
        context.check(record?.outcome === 'ok', `a cap was raised, and the next call gets ${record?.outcome}`);
      }
      const { months } = await readBalances(redis, account.workspaceId, []);
      for (const { spent, held } of months.values())
        context.check(spent + held <= HIGHEST, `${spent} spent and ${held} held pass every cap there was`);
    }
    const calls = await load.done;
    context.checkOutcomes(calls, { ok: true, '402': true });
    context.check(
      calls.some(({ outcome }) => outcome === '402'),
      'no cap was ever reached',
    );
  },
};
