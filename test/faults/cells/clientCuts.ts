import type { Cell } from '../cell.ts';

export const cell: Cell = {
  name: 'client-cuts',
  group: 'clients',
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
    context.allowUnknown(calls);
    await context.until(
      'the engines to have stopped',
      async () => {
        const lists = await Promise.all(context.stack.simulators.map((simulator) => simulator.listServed(startedAt)));
        return lists.flat().every(({ state }) => state !== 'running');
      },
      2_000,
    );
  },
};
