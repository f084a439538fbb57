import type { Cell } from '../cell.ts';

/** As the fault stack's router is told. */
const BETWEEN_EVENTS_MS = 3_000;
const WHOLE_MS = 10_000;

export const cell: Cell = {
  name: 'engine-stalls',
  group: 'engines',
  breaks: 'a tenth of the answers stop for ever after some tokens',
  holds: 'streams end in an error event at the deadline, a second more at most; the engine is told to stop',
  eventLog: 'embedded',
  async run(context) {
    const startedAt = Date.now();
    const calls = await context.startLoad({
      calls: context.calls,
      tokens: [20, 60],
      directives: (random) => (random.share() < 0.1 ? `fault=stall after=${random.between(1, 15)}` : ''),
    }).done;
    context.checkOutcomes(calls, { ok: true, error_event: true, '500': true, '503': true });
    // A stream that began ends by its silence: it may have waited in the router before.
    const late = calls.filter(({ outcome, isStream, longestSilenceMs, startedAt: from, endedAt }) => {
      if (outcome === 'ok') return false;
      if (outcome === 'error_event') return longestSilenceMs > BETWEEN_EVENTS_MS + 1_000;
      return endedAt - from > (isStream ? BETWEEN_EVENTS_MS : WHOLE_MS) + 1_000;
    });
    context.check(late.length === 0, `${late.length} calls ended more than a second after their deadline`);
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
