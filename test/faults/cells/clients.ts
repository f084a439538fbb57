import type { CellTable } from '../cell.ts';

export const clients: CellTable = {
  'client-leaves': {
    breaks: 'clients leave whole answers and streams after 0 to 150 ms, many before anything came',
    holds:
      'a whole answer is finished and charged in full, a stream by the first count; none ends as unknown, nothing is held in the end',
    eventLog: 'kafka',
    async run(context) {
      const calls = await context.startLoad({
        calls: context.calls,
        tokens: [1, 60],
        cut: (random) => ({ afterMs: random.between(0, 150) }),
      }).done;
      context.checkOutcomes(calls, { ok: true, left: true });
    },
  },
  'client-cuts': {
    breaks: 'twice as many streams as calls of a cell, each cut by its client at a random byte',
    holds: 'what is charged lies between what was delivered and what the engine made; the engine is told to stop',
    eventLog: 'embedded',
    async run(context) {
      const startedAt = Date.now();
      const calls = await context.startLoad({
        calls: 2 * context.calls,
        tokens: [20, 400],
        streamShare: 1,
        cut: (random) => ({ afterBytes: random.between(0, 20_000) }),
      }).done;
      context.checkOutcomes(calls, { ok: true, left: true });
      await context.untilEnginesStop(startedAt, 2_000);
    },
  },
};
