import { setTimeout as pause } from 'node:timers/promises';
import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { CellTable } from '../cell.ts';
import type { CellContext } from '../cellContext.ts';
import { disturb, kill } from '../fault.ts';
import type { LoadKey } from '../load/startLoad.ts';

/** From the operator's order to the last call that a revoked key may still pass. */
const REVOKED_WITHIN_MS = 1_000;

/** A verdict in use is renewed at this age, and is used for 30 s more while auth is away. */
const RENEWED_AFTER_MS = 15_000;
/** From the loss of auth to the first refusal of a key in use, at least. */
const USED_FOR_MS = 29_000;
/** Longer than any verdict is used. */
const AWAY_MS = 47_000;

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
  'auth-away': {
    breaks: 'kill -9 of auth for 47 s, while each of 20 keys is used once a second',
    holds: 'each key goes on for 29 s at least, whenever its last verdict came, then gets 503 auth_service_unavailable',
    eventLog: 'embedded',
    async run(context) {
      const { keys } = await context.openAccount({ keys: 20 });
      const uses = [];
      for (const key of keys) {
        uses.push(context.startLoad({ calls: 200, perSecond: 1, openAtMost: 4, tokens: [1, 1], keys: [key] }));
        await pause(RENEWED_AFTER_MS / keys.length);
      }
      // Each key has been renewed or is about to be, at an age of its own.
      const fault = kill('auth');
      await fault.strike(context);
      const goneAt = Date.now();
      await pause(AWAY_MS);
      for (const use of uses) use.stop();
      const records = await Promise.all(uses.map(({ done }) => done));
      await fault.repair(context);

      const lasted = records.map((calls) => {
        const refused = calls.filter(({ outcome, startedAt }) => outcome !== 'ok' && startedAt >= goneAt);
        return Math.min(AWAY_MS, ...refused.map(({ startedAt }) => startedAt - goneAt));
      });
      const short = lasted.filter((ms) => ms < USED_FOR_MS);
      context.check(
        short.length === 0,
        `${short.length} of ${keys.length} keys go on for less than 29 s: ${short.join(', ')} ms`,
      );
      for (const calls of records) context.checkOutcomes(calls, { ok: true, '503': true });
      const refusals = records.flat().filter(({ outcome }) => outcome === '503');
      const isNamed = refusals.every(({ error }) => error?.includes('auth_service_unavailable') === true);
      context.check(isNamed, `a key that was used gets ${refusals[0]?.error}`);
      const [least, most] = [Math.min(...lasted), Math.max(...lasted)].map((ms) => (ms / 1_000).toFixed(1));
      context.notes.push(`${keys.length} keys went on for ${least} to ${most} s`);
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
