import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import { searchOf } from '@turnpike/test-support/searchOf';
import fc from 'fast-check';
import { aPartition, openTestLedger, type TestLedger } from '../../test/openTestLedger.ts';

// The same cases every time: no run fails by chance.
fc.configureGlobal({ seed: 20_261_121 });

let ledger: TestLedger;
beforeAll(async () => {
  ledger = await openTestLedger();
});
afterAll(() => ledger.close());

const uncharged = {
  promptTokens: 0,
  cachedPromptTokens: 0,
  completionTokens: 0,
  chargeNanoUsd: 0n,
  formulaNanoUsd: 0n,
};

/** How calls may end, as positions: the key, the hour, the outcome, and whether an `unknown` was written as well. */
const callArbitrary = fc.record({
  key: fc.nat(2),
  hoursAgo: fc.nat(2),
  status: fc.constantFrom('success' as const, 'failure' as const, 'unknown' as const),
  isSwept: fc.boolean(),
  charge: fc.bigInt({ min: 0n, max: 10n ** 12n }),
  tokens: fc.nat(100_000),
});

/** One event log, cut into batches, in two orders and with other repeats. */
const logArbitrary = fc.array(callArbitrary, { minLength: 1, maxLength: 8 }).chain((calls) => {
  const deliveries = fc.shuffledSubarray([...calls.keys(), ...calls.keys(), ...calls.keys()], { minLength: 0 });
  return fc.record({
    calls: fc.constant(calls),
    orders: fc.tuple(deliveries, deliveries),
    shuffles: fc.tuple(fc.infiniteStream(fc.nat()), fc.infiniteStream(fc.nat())),
    batchSize: fc.integer({ min: 1, max: 7 }),
  });
});

type Call = typeof callArbitrary extends fc.Arbitrary<infer T> ? T : never;

/** The events of some calls, in a workspace of their own so that two runs do not meet. */
function toEvents(calls: Call[], run: string): UsageRecorded[] {
  const now = Date.UTC(2026, 10, 20, 12, 30);
  return calls.flatMap(({ key, hoursAgo, status, isSwept, charge, tokens }) => {
    const base = aUsageRecorded({
      keyId: `key_${key}_${run}`,
      workspaceId: `ws_${run}`,
      startedAtMs: now - hoursAgo * 3_600_000,
    });
    const paid = { chargeNanoUsd: charge, formulaNanoUsd: charge, holdNanoUsd: charge, completionTokens: tokens };
    const known = { ...base, status, ...(status === 'success' ? paid : { ...uncharged, holdNanoUsd: charge }) };
    return isSwept ? [known, { ...known, status: 'unknown' as const, ...uncharged }] : [known];
  });
}

async function stateOf(run: string): Promise<unknown> {
  const workspaceId = `ws_${run}`;
  const rows = await ledger.db.usageRequest.findMany({
    where: { workspaceId },
    omit: { callId: true, recordedAt: true },
  });
  const keys = await ledger.db.keyTotal.findMany({ where: { workspaceId } });
  const hours = await ledger.db.keyHourTotal.findMany({ where: { keyId: { in: keys.map(({ keyId }) => keyId) } } });
  const months = await ledger.db.workspaceMonthTotal.findMany({ where: { workspaceId } });
  const workspace = await ledger.db.workspaceTotal.findMany({ where: { workspaceId }, omit: { seq: true } });
  const text = (values: object[]): string[] =>
    values
      .map((value) => JSON.stringify(value, (_, v) => (typeof v === 'bigint' ? String(v) : v)).replaceAll(run, ''))
      .sort();
  return [rows, keys, hours, months, workspace].map(text);
}

/** Each total, recomputed from the rows. */
async function projectionsFit(run: string): Promise<void> {
  const workspaceId = `ws_${run}`;
  const differences = await ledger.db.$queryRaw<{ part: string }[]>`
    (SELECT 'key' AS part FROM
      (SELECT key_id, count(*) AS requests, sum(charge_nano_usd) AS charge FROM usage_request
        WHERE workspace_id = ${workspaceId} GROUP BY 1) AS rows
      FULL JOIN (SELECT * FROM key_total WHERE workspace_id = ${workspaceId}) AS total USING (key_id)
      WHERE (rows.requests, rows.charge) IS DISTINCT FROM (total.requests, total.charge_nano_usd))
    UNION ALL
    (SELECT 'workspace' FROM
      (SELECT workspace_id, sum(charge_nano_usd) AS charge FROM usage_request WHERE workspace_id = ${workspaceId} GROUP BY 1) AS rows
      FULL JOIN (SELECT * FROM workspace_total WHERE workspace_id = ${workspaceId}) AS total USING (workspace_id)
      WHERE rows.charge IS DISTINCT FROM total.charge_nano_usd)
    UNION ALL
    (SELECT 'hour' FROM
      (SELECT key_id, date_trunc('hour', started_at, 'UTC') AS hour, count(*) AS requests,
        count(*) FILTER (WHERE status = 'success') AS success, count(*) FILTER (WHERE status = 'failure') AS failure,
        count(*) FILTER (WHERE status = 'unknown') AS unknown, sum(completion_tokens) AS completion_tokens,
        sum(charge_nano_usd) AS charge
        FROM usage_request WHERE workspace_id = ${workspaceId} GROUP BY 1, 2) AS rows
      FULL JOIN (SELECT * FROM key_hour_total WHERE key_id LIKE ${`%${run}`}) AS total USING (key_id, hour)
      WHERE (rows.requests, rows.success, rows.failure, rows.unknown, rows.completion_tokens, rows.charge) IS DISTINCT FROM
        (total.requests, total.success, total.failure, total.unknown, total.completion_tokens, total.charge_nano_usd))`;
  expect(differences).toEqual([]);
}

it('ends in one state, whose totals are the sums of its rows, in whatever order and however often events come', async () => {
  await fc.assert(
    fc.asyncProperty(logArbitrary, async ({ calls, orders, shuffles, batchSize }) => {
      const states: unknown[] = [];
      for (const [index, order] of orders.entries()) {
        const run = randomUUID();
        const events = toEvents(calls, run);
        const random = shuffles[index] ?? shuffles[0];
        const repeats = order.flatMap((position) => events[position % events.length] ?? []);
        const log = [...events, ...repeats]
          .map((event) => ({ event, rank: random.next().value }))
          .sort((a, b) => a.rank - b.rank);
        const partition = aPartition(ledger.db);
        for (let start = 0; start < log.length; start += batchSize) {
          await partition.deliver(log.slice(start, start + batchSize).map(({ event }) => event));
        }
        await projectionsFit(run);
        states.push(await stateOf(run));
      }
      expect(states[0]).toEqual(states[1]);
    }),
    searchOf(60),
  );
});
