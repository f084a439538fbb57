import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readTotals } from '../books/readLedger.ts';
import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';

/** About half of what the calls of a cell cost. */
const CREDIT = 20_000_000n;

export const cell: Cell = {
  name: 'redis-empty-last-cents',
  group: 'redis',
  breaks: 'Redis comes back without its file three times, under streams of a workspace that runs out of credit',
  holds: 'in the end no more is spent than was given',
  eventLog: 'embedded',
  async run(context) {
    const { parts, dataDir, ledger } = context.stack;
    const { workspaceId, keys } = await context.openAccount({ creditNanoUsd: CREDIT });
    const calls = await breakUnderLoad(context, {
      times: 3,
      load: { keys, tokens: [50, 400], maxTokens: 400 },
      strike: async () => {
        await parts.kill('redis');
        await rm(join(dataDir, 'redis', 'appendonlydir'), { recursive: true });
      },
      forMs: 300,
      repair: () => parts.restart('redis'),
    });
    context.checkOutcomes(calls, { ok: true, '402': true, '503': true });
    context.check(
      calls.some(({ outcome }) => outcome === '402'),
      'the credit never ran out',
    );
    await context.until('every row', async () => {
      const { hourlyRequests } = await readTotals(ledger, [workspaceId]);
      return hourlyRequests >= calls.filter(({ isAdmitted }) => isAdmitted).length;
    });
    const { byWorkspace } = await readTotals(ledger, [workspaceId]);
    const spent = byWorkspace.get(workspaceId) ?? 0n;
    context.check(spent <= CREDIT, `${spent} nano-dollars are spent, and ${CREDIT} were given`);
  },
};
