import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';
import { LEASE_MS } from '../stack/startFaultStack.ts';

const IN_TURN = ['model-router', 'usage-ledger', 'model-router-2', 'usage-ledger-2'] as const;
/** The other one has to sweep, and to read, before this one is back. */
const AWAY_MS = 2 * LEASE_MS;

export const cell: Cell = {
  name: 'twins',
  group: 'races',
  breaks: 'two of every service behind load balancers; kill -9 of each router and each ledger in turn, for two leases',
  holds: 'the other router settles its own calls and sweeps those of the dead one; the other ledger reads on',
  eventLog: 'kafka',
  replicas: 2,
  serviceSettings: {},
  async run(context) {
    const { parts } = context.stack;
    const killedAt: number[] = [];
    let turn = 0;
    const next = (): string => IN_TURN[turn % IN_TURN.length] ?? 'model-router';
    const calls = await breakUnderLoad(context, {
      times: IN_TURN.length,
      load: { tokens: [1, 300], perSecond: 30 },
      strike: async () => {
        await parts.kill(next());
        killedAt.push(Date.now());
      },
      forMs: AWAY_MS,
      repair: async () => {
        await parts.restart(next());
        turn += 1;
      },
    });
    context.allowUnknownAt(killedAt, calls);
    context.checkOutcomes(calls, { ok: true, broken: true, '503': true });
  },
};
