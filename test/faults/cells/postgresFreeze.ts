import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';

export const cell: Cell = {
  name: 'postgres-freeze',
  group: 'postgres',
  breaks: 'SIGSTOP of Postgres for 8 s',
  holds: 'every call ends well; a usage look-up gets 503 or 504 at its allowance of 5 s',
  eventLog: 'embedded',
  async run(context) {
    const { parts } = context.stack;
    let lookUp = { status: 0, tookMs: 0 };
    const calls = await breakUnderLoad(context, {
      strike: async () => {
        parts.freeze('postgres');
        const callId = context.records.find(({ outcome }) => outcome === 'ok')?.callId;
        lookUp = await context.ask(`/svc/usage/request/${callId}`);
      },
      forMs: 2_000,
      repair: async () => parts.thaw('postgres'),
    });
    context.checkOutcomes(calls, { ok: true });
    const { status, tookMs } = lookUp;
    context.check(status === 503 || status === 504, `a usage look-up got ${status}`);
    context.check(tookMs < 6_000, `a usage look-up took ${Math.round(tookMs)} ms`);
  },
};
