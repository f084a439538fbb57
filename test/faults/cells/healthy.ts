import { watchRows } from '../books/watchRows.ts';
import type { CellTable } from '../cell.ts';
import type { CellContext } from '../cellContext.ts';

const VISIBLE_WITHIN_MS = 2_000;
/** A machine that is busy with other things for a while is no stack that is slow. */
const ROUNDS = 3;

export const healthy: CellTable = {
  healthy: {
    breaks: 'nothing',
    holds: 'every call ends well, and 99 of 100 rows are visible within 2 s',
    eventLog: 'kafka',
    async run(context) {
      for (let round = 1; round <= ROUNDS; round += 1) {
        const p99 = await measureDelay(context);
        if (p99 <= VISIBLE_WITHIN_MS) return;
        context.check(round < ROUNDS, `99 of 100 rows are visible only after ${p99} ms, ${ROUNDS} times in a row`);
      }
    },
  },
};

/** How long after the call's end 99 of 100 rows were visible, in milliseconds. */
async function measureDelay(context: CellContext): Promise<number> {
  const watch = watchRows(context.stack.ledger, context.account.workspaceId);
  const calls = await context.startLoad({ calls: context.calls }).done;
  context.checkOutcomes(calls, { ok: true });
  const delays = await watch.untilSeen(calls);
  const [half, p99] = [0.5, 0.99].map((share) => delays[Math.floor(delays.length * share)]);
  context.notes.push(`half of the rows are visible ${half} ms after the call's end, 99 of 100 after ${p99} ms`);
  return p99 ?? Number.POSITIVE_INFINITY;
}
