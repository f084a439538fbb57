import { setTimeout as pause } from 'node:timers/promises';
import type { Cell } from '../cell.ts';

const PARTS = ['edge', 'auth', 'catalog', 'model-router', 'usage-ledger', 'postgres', 'redis', 'kafka'] as const;
const ROUNDS = 8;
const LONGEST_MS = 2_500;

export const cell: Cell = {
  name: 'anything',
  group: 'races',
  breaks: 'eight times two drawn parts at once are killed or frozen, and come back at drawn moments',
  holds: 'the books',
  eventLog: 'kafka',
  async run(context) {
    const { parts } = context.stack;
    const { random } = context;
    const load = context.startLoad({ calls: context.calls, tokens: [1, 200] });
    const strike = async (): Promise<void> => {
      const part = PARTS[random.between(0, PARTS.length - 1)] ?? 'edge';
      const [isKill, forMs] = [random.share() < 0.5, random.between(100, LONGEST_MS)];
      if (parts.isBroken(part)) return;
      if (isKill) await parts.kill(part);
      else parts.freeze(part);
      await pause(forMs);
      if (isKill) await parts.restart(part);
      else parts.thaw(part);
    };
    for (let round = 0; round < ROUNDS; round += 1) await Promise.all([strike(), strike()]);
    await context.repaired();
    const calls = await load.done;
    const failed = calls.filter(({ outcome }) => outcome !== 'ok').length;
    context.rules.unknownAtMost = failed;
    context.checkOutcomes(calls, { ok: true, error_event: true, broken: true, '500': true, '503': true });
  },
};
