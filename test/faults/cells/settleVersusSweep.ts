import { setTimeout as pause } from 'node:timers/promises';
import type { Cell } from '../cell.ts';
import type { LoadOptions } from '../load/startLoad.ts';

const EVERY_MS = 20;
/** Long calls of few tokens: the sweeper meets them under way, and the machine can carry them. */
const LONG_CALLS = { tokens: [1, 120], interTokenMs: 30 } satisfies Partial<LoadOptions>;

export const cell: Cell = {
  name: 'settle-versus-sweep',
  group: 'races',
  breaks: 'the leases of running calls end in Redis all the time, so that the sweeper takes calls as they settle',
  holds: 'a call that ends well is charged once, and one that was swept gives back its hold once',
  eventLog: 'embedded',
  async run(context) {
    const { redis } = context.stack;
    const calls = `{${context.account.workspaceId}}:calls`;
    const load = context.startLoad({ calls: context.calls, ...LONG_CALLS });
    while (load.sent < context.calls || load.open > 0) {
      for (const callId of await redis.zrange(calls, 0, -1)) await redis.zadd(calls, 'XX', 0, callId);
      await pause(EVERY_MS);
    }
    const ended = await load.done;
    // A lease that is lost while the call runs ends it; nobody may take it for whole.
    context.checkOutcomes(ended, { ok: true, error_event: true, '500': true });
    const swept = ended.filter(({ outcome }) => outcome === 'error_event' || outcome === '500');
    context.check(swept.length > 0, 'no call was swept while it ran');
    context.notes.push(`${swept.length} of ${ended.length} calls were swept while they ran`);
    context.rules.unknownAtMost = swept.length;
    await context.repaired();
  },
};
