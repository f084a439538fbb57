import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';

export const cell: Cell = {
  name: 'engines-all-gone',
  group: 'engines',
  breaks: 'every engine refuses connections for 4 s',
  holds: '503 service_unavailable without a charge, within 5 s of their return all is well',
  eventLog: 'embedded',
  async run(context) {
    const { simulators } = context.stack;
    const calls = await breakUnderLoad(context, {
      strike: async () => {
        await Promise.all(simulators.map((simulator) => simulator.become('refusing')));
      },
      forMs: 4_000,
      repair: async () => {
        await Promise.all(simulators.map((simulator) => simulator.become('serving')));
      },
    });
    context.checkOutcomes(calls, { ok: true, error_event: true, '500': true, '503': true });
    context.check((context.recoveryMs ?? 0) <= 5_000, 'the engines are back, and calls succeed only after 5 s');
  },
};
