import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Part } from '@turnpike/local-stack/process/startParts';
import { type Balancers, startBalancers } from '@turnpike/test-support/startBalancers';
import { until } from '@turnpike/test-support/until';
import { countOutcomes } from './faults/load/callRecord.ts';
import { createRandom } from './faults/load/random.ts';
import { startLoad } from './faults/load/startLoad.ts';
import { daysAroundNow } from './support/daysAroundNow.ts';
import { makeAccount } from './support/makeAccount.ts';
import { startTestStack, type TestStack } from './support/startTestStack.ts';

const MODEL = 'llama-3.3-70b-instruct';
/** Longer than anybody here keeps an idle connection, 4 s, and than a balancer takes to notice, 0.1 s. */
const SETTLING = { DRAIN_SETTLE_MS: '6000' };

let balancers: Balancers;
let stack: TestStack;
beforeAll(async () => {
  balancers = startBalancers();
  stack = await startTestStack({
    kafka: false,
    replicas: 2,
    serviceSettings: {
      edge: SETTLING,
      auth: SETTLING,
      catalog: SETTLING,
      'model-router': SETTLING,
      'usage-ledger': SETTLING,
    },
    openLink: ({ port, replicas }) => (replicas ? balancers.open(replicas) : Promise.resolve(port)),
  });
});
afterAll(async () => {
  await stack?.stop(AbortSignal.abort()); // nothing is under way, and ten processes would settle first
  await balancers?.close();
});

/** SIGTERM to processes of several services at once, as where a machine is emptied; resolves when they have ended. */
async function end(parts: Part[]): Promise<void> {
  for (const { pid } of parts) process.kill(pid, 'SIGTERM');
  for (const part of parts) while (part.endedBy() === undefined) await pause(20);
}

it('a release that replaces every process, one replica of each service at a time, fails no call and cuts no stream', async () => {
  const { running } = stack;
  const baseUrl = `http://127.0.0.1:${await balancers.open(running.edges)}/v1`;
  const account = await makeAccount({ ...stack, baseUrl }, { rpm: 1_000_000, tpm: 1_000_000_000 });
  const load = startLoad(
    { baseUrl, models: [MODEL], keys: [{ keyId: 'only', apiKey: account.apiKey }], random: createRandom(1) },
    { calls: 10_000, perSecond: 8, openAtMost: 30, tokens: [1, 150], maxTokens: 200, interTokenMs: 20 },
  );
  await load.untilSent(20);
  for (const turn of [Object.values(running.parts.services), running.parts.replicas]) {
    await end(turn);
    await Promise.all(turn.map(({ name }) => running.restart(name)));
    await load.untilSent(load.sent + 10);
  }
  load.stop();
  const calls = await load.done;

  expect(Object.fromEntries(countOutcomes(calls))).toEqual({ ok: calls.length });
  const totals = await until('a row of every call', async () => {
    const { body } = await account.get<{ totals: { requests: number; success: number; total_spend: number } }>(
      `/svc/usage?${daysAroundNow()}`,
    );
    return body.totals.requests === calls.length ? body.totals : undefined;
  });
  expect(totals.success).toBe(calls.length);
  // A call that one router has yet to ask about is in the sums that another has taken over, and beside them.
  const spent = BigInt(Math.round(totals.total_spend * 1e9));
  await until('the key to have spent what its rows say', async () => (await account.findSpend()) === spent);
});
