import type { Cell } from '../cell.ts';

const ORDER = ['usage-ledger', 'catalog', 'auth', 'model-router', 'edge'] as const;

export const cell: Cell = {
  name: 'rolling-restart',
  group: 'races',
  breaks: 'every service is ended by SIGTERM and started again, one after the other, under streams of seconds',
  holds: 'no stream is cut; only what comes while a single replica is away is refused',
  eventLog: 'kafka',
  async run(context) {
    const { parts } = context.stack;
    const load = context.startLoad({ calls: context.calls, tokens: [1, 600] });
    for (const [index, service] of ORDER.entries()) {
      await load.untilSent(Math.floor((context.calls * (index + 1)) / (ORDER.length + 1)));
      await parts.end(service);
      await parts.restart(service);
      await context.repaired();
    }
    const calls = await load.done;
    const isCut = ({ outcome, callId }: (typeof calls)[number]): boolean =>
      outcome === 'broken' && callId !== undefined;
    context.check(!calls.some(isCut), `${calls.filter(isCut).length} calls were cut that had begun`);
    context.checkOutcomes(calls, { ok: true, '503': true, broken: true });
  },
};
