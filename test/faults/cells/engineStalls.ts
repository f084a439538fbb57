import type { Cell } from '../cell.ts';

/** As the fault stack's router is told. */
const BETWEEN_EVENTS_MS = 3_000;
const WHOLE_MS = 10_000;

export const cell: Cell = {
  name: 'engine-stalls',
  group: 'engines',
  breaks: 'a tenth of the answers stop for ever after some tokens',
  holds: 'streams end in an error event at the deadline, most within a second of it; the engine is told to stop',
  eventLog: 'embedded',
  async run(context) {
    const startedAt = Date.now();
    const calls = await context.startLoad({
      calls: context.calls,
      tokens: [20, 60],
      directives: (random) => (random.share() < 0.1 ? `fault=stall after=${random.between(1, 15)}` : ''),
    }).done;
    context.checkOutcomes(calls, { ok: true, error_event: true, '500': true, '503': true });
    const lateMs = calls
      .filter(({ outcome }) => outcome !== 'ok')
      .map(({ isStream, startedAt: from, endedAt }) => endedAt - from - (isStream ? BETWEEN_EVENTS_MS : WHOLE_MS))
      .sort((a, b) => a - b);
    const [middle = 0, last = 0] = [lateMs[Math.floor(lateMs.length / 2)], lateMs.at(-1)];
    // The machine may keep single ones waiting.
    context.check(middle < 1_000, `half of the stalled calls ended ${middle} ms and more after their deadline`);
    context.check(last < 5_000, `one of the stalled calls ended ${last} ms after its deadline`);
    context.check(
      calls.some(({ outcome }) => outcome === 'error_event'),
      'no stream stalled',
    );
    await context.until('the engines to have stopped', async () => {
      const lists = await Promise.all(context.stack.simulators.map((simulator) => simulator.listServed(startedAt)));
      return lists.flat().every(({ state }) => state !== 'running');
    });
  },
};
