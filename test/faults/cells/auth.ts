import { setTimeout as pause } from 'node:timers/promises';
import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { CellTable } from '../cell.ts';
import type { CellContext } from '../cellContext.ts';
import { disturb, kill } from '../fault.ts';
import type { LoadKey } from '../load/startLoad.ts';

/** From the operator's order to the last call that a revoked key may still pass. */
const REVOKED_WITHIN_MS = 1_000;

export const auth: CellTable = {
  'auth-kill': {
    breaks: 'kill -9 of auth, back after 4 s',
    holds: 'known keys go on; unknown ones get 503 auth_service_unavailable within 1 s, /v1/models and /v1/svc/key 502',
    eventLog: 'embedded',
    async run(context) {
      const { keys } = await context.openAccount({ keys: 1 });
      const fault = kill('auth');
      const calls = await breakUnderLoad(context, {
        fault: {
          ...fault,
          async strike() {
            await fault.strike(context);
            const refused = await refuseStrangers(context, keys);
            const isNamed = refused.every(({ error }) => error?.includes('auth_service_unavailable') === true);
            context.check(isNamed, `an unknown key gets ${refused[0]?.error}`);
            for (const path of ['/models', '/svc/key']) {
              const { status } = await context.ask(path, keys[0]?.apiKey ?? '');
              context.check(status === 502, `GET ${path} answers ${status} without auth`);
            }
          },
        },
        forMs: 4_000,
      });
      context.checkOutcomes(calls, { ok: true });
      context.checkOutcomes(await context.startLoad({ calls: 5, keys }).done, { ok: true });
    },
  },
  'auth-slow': {
    breaks: 'auth answers after 800 ms, past the deadline of 500 ms',
    holds: 'known keys go on; unknown ones get 503 within 1 s and never pass unverified',
    eventLog: 'kafka',
    // The deadline that services have by themselves.
    serviceSettings: { 'model-router': { AUTH_TIMEOUT_MS: '500' } },
    async run(context) {
      const { keys } = await context.openAccount({ keys: 5 });
      const fault = disturb({ from: 'model-router', to: 'auth' }, { delayMs: 400 });
      const calls = await breakUnderLoad(context, {
        fault: {
          ...fault,
          async strike() {
            await fault.strike(context);
            await refuseStrangers(context, keys);
          },
        },
        forMs: 1_000,
      });
      context.checkOutcomes(calls, { ok: true });
    },
  },
  revocations: {
    breaks: 'half of the keys are revoked while their streams run',
    holds: 'streams under way end well and are charged; a second after the order no call of the key passes',
    eventLog: 'embedded',
    async run(context) {
      const { keys } = context.account;
      const load = context.startLoad({ calls: context.calls, tokens: [1, 200] });
      const revokedAt = new Map<string, number>();
      for (const { keyId } of keys.slice(0, keys.length / 2)) {
        await load.untilSent(Math.floor(context.calls * (0.2 + revokedAt.size * 0.05)));
        await context.stack.operator.revokeKey(keyId);
        revokedAt.set(keyId, Date.now());
      }
      await pause(REVOKED_WITHIN_MS);
      const calls = await load.done;
      context.checkOutcomes(calls, { ok: true, '401': true });
      const revocationOf = (keyId: string): number => revokedAt.get(keyId) ?? Number.POSITIVE_INFINITY;
      const passed = calls.filter(
        ({ keyId, outcome, startedAt }) => outcome !== '401' && startedAt > revocationOf(keyId) + REVOKED_WITHIN_MS,
      );
      context.check(passed.length === 0, `${passed.length} calls of revoked keys pass`);
      const early = calls.filter(
        ({ keyId, outcome, endedAt }) => outcome === '401' && endedAt < revocationOf(keyId) - REVOKED_WITHIN_MS,
      );
      context.check(early.length === 0, `${early.length} calls of good keys get 401`);
    },
  },
};

/** Sends calls with keys that no router knows, all of which have to get 503 within a second. Resolves with them. */
async function refuseStrangers(context: CellContext, keys: readonly LoadKey[]) {
  const refused = await context.startLoad({ calls: 20, keys }).done;
  context.checkOutcomes(refused, { '503': true });
  const slowest = Math.max(...refused.map(({ startedAt, endedAt }) => endedAt - startedAt));
  context.check(slowest <= 1_000, `an unknown key waits ${slowest} ms for its 503`);
  return refused;
}
