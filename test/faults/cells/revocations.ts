import { setTimeout as pause } from 'node:timers/promises';
import type { Cell } from '../cell.ts';

/** From the operator's order to the last call that may still pass. */
const WITHIN_MS = 1_000;

export const cell: Cell = {
  name: 'revocations',
  group: 'auth',
  breaks: 'half of the keys are revoked while their streams run',
  holds: 'streams under way end well and are charged; a second after the order no call of the key passes',
  eventLog: 'embedded',
  async run(context) {
    const { operator } = context.stack;
    const { keys } = context.account;
    const load = context.startLoad({ calls: context.calls, tokens: [1, 200] });
    const revokedAt = new Map<string, number>();
    for (const { keyId } of keys.slice(0, keys.length / 2)) {
      await load.untilSent(Math.floor(context.calls * (0.2 + revokedAt.size * 0.05)));
      await operator.revokeKey(keyId);
      revokedAt.set(keyId, Date.now());
    }
    await pause(WITHIN_MS);
    const calls = await load.done;
    context.checkOutcomes(calls, { ok: true, '401': true });
    const passed = calls.filter(
      ({ keyId, outcome, startedAt }) =>
        outcome !== '401' && startedAt > (revokedAt.get(keyId) ?? Number.POSITIVE_INFINITY) + WITHIN_MS,
    );
    context.check(passed.length === 0, `${passed.length} calls of revoked keys pass`);
    const early = calls.filter(
      ({ keyId, outcome, endedAt }) =>
        outcome === '401' && endedAt < (revokedAt.get(keyId) ?? Number.POSITIVE_INFINITY) - WITHIN_MS,
    );
    context.check(early.length === 0, `${early.length} calls of good keys get 401`);
  },
};
