import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { aMediaUsageRecorded, anUnchargedUsageRecorded, aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import { seededRandom } from '../../../../bench/seededRandom.ts';
import { aPartition, openTestLedger, type TestLedger } from '../../test/openTestLedger.ts';
import { addCredit } from '../credits/addCredit.ts';
import { readBooks } from './readBooks.ts';
import { readHoursBefore, sealBooks } from './sealBooks.ts';
import { verifySeals } from './verifySeals.ts';

// Most tests look at a workspace of their own; those that look at whole tables come last, each with a ledger of its own.
let ledger: TestLedger;
const opened: TestLedger[] = [];
async function openAnother(): Promise<void> {
  ledger = await openTestLedger();
  opened.push(ledger);
}
beforeAll(openAnother);
afterAll(() => Promise.all(opened.map((one) => one.close())));

const HOUR_MS = 3_600_000;
const hoursAgo = (hours: number): number => Date.now() - hours * HOUR_MS;
const options = { listPrices: async () => [], timeMs: 60_000, signal: new AbortController().signal };
const seal = () => sealBooks(ledger.db, options);
const deliver = (...events: UsageRecorded[]) => aPartition(ledger.db).deliver(events);

/** The checks whose sides differ: of all workspaces, or of one, found alone or among all. */
async function findDifferences({
  verifies = false,
  alone,
  among,
}: {
  verifies?: boolean;
  alone?: string;
  among?: string;
} = {}) {
  const found = await readBooks(ledger.db, [], alone);
  const sealChecks = verifies ? await verifySeals(ledger.db, alone) : () => [];
  const wanted = found.filter(({ workspaceId }) => among === undefined || workspaceId === among);
  const checks = wanted.flatMap((books) => [...books.checks, ...sealChecks(books.workspaceId)]);
  return [...new Set(checks.filter(({ verdict }) => verdict !== 'equal').map(({ name }) => name))].sort();
}

/** Changes a sealed row as a superuser can, with triggers turned off. */
async function tamper(sql: string, ...values: unknown[]): Promise<void> {
  await ledger.ownerDb.$transaction(async (tx) => {
    for (const table of ['usage_request', 'posting'])
      await tx.$executeRawUnsafe(`ALTER TABLE ${table} DISABLE TRIGGER USER`);
    await tx.$executeRawUnsafe(sql, ...values);
    for (const table of ['usage_request', 'posting'])
      await tx.$executeRawUnsafe(`ALTER TABLE ${table} ENABLE TRIGGER USER`);
  });
}

it('seals hours 2 h after their end, and agrees with what came before, in and after them', async () => {
  const { keyId, workspaceId } = aUsageRecorded();
  const own = { keyId, workspaceId };
  await addCredit(ledger.db, { creditId: 'c1', workspaceId, amountNanoUsd: 7n, note: '' });
  const ages = [24 * 40, 24, 23.5, 4, 0];
  await deliver(...ages.map((age) => aUsageRecorded({ ...own, startedAtMs: hoursAgo(age) })));
  await deliver(aUsageRecorded({ startedAtMs: hoursAgo(30) }), aMediaUsageRecorded());
  // An hour may end while the books are sealed.
  const lastHour = () => new Date(Math.floor(hoursAgo(2) / HOUR_MS) * HOUR_MS);
  const before = lastHour();
  await seal();

  expect([before, lastHour()]).toContainEqual(await readHoursBefore(ledger.db));
  const sealed = await ledger.db.$queryRaw`SELECT sum(calls)::INT AS calls, count(*)::INT AS hours FROM sealed_hour`;
  expect(sealed).toEqual([{ calls: 5, hours: expect.any(Number) }]);
  expect(await findDifferences({ verifies: true })).toEqual([]);
  expect(await findDifferences({ verifies: true, alone: workspaceId })).toEqual([]);
  await deliver(aUsageRecorded(own));
  await seal();
  expect(await findDifferences({ verifies: true })).toEqual([]);
});

it('refuses to seal an hour that is not 2 h over', async () => {
  await expect(
    ledger.db.$executeRaw`SELECT begin_sealing(date_trunc('hour', now() - INTERVAL '1 hour', 'UTC'))`,
  ).rejects.toThrow('not to be sealed yet');
});

it.each([
  ['sealed_hour', 'UPDATE sealed_hour SET calls = 0'],
  ['sealed_key', 'DELETE FROM sealed_key'],
  ['seal_amendment', 'INSERT INTO seal_amendment SELECT'],
  ['sealing', 'UPDATE sealing SET hours_before = now()'],
])('gives the service’s role no way to write %s', async (_table, sql) => {
  await expect(ledger.db.$executeRawUnsafe(sql)).rejects.toThrow(/42501|permission denied/);
});

it('takes late calls of sealed hours, and unknown ones that become known there, for lawful: before the next sealing and after', async () => {
  const known = aUsageRecorded({ startedAtMs: hoursAgo(10) });
  const { callId, keyId, workspaceId, startedAtMs } = known;
  const moved = aMediaUsageRecorded({ workspaceId, startedAtMs: hoursAgo(20) });
  await deliver(
    anUnchargedUsageRecorded('unknown', { callId, keyId, workspaceId, startedAtMs }),
    anUnchargedUsageRecorded('unknown', { ...idsOf(moved), startedAtMs: hoursAgo(9) }),
  );
  await seal();
  const late = aUsageRecorded({ startedAtMs: hoursAgo(24 * 62) });
  await deliver(known, moved, late);
  await deliver(known, late, { ...known, chargeNanoUsd: 1n });

  expect(await ledger.db.$queryRaw`SELECT count(*)::INT AS amendments FROM seal_amendment`).toEqual([
    { amendments: 5 },
  ]);
  for (const books of [{}, { alone: workspaceId }])
    expect(await findDifferences({ verifies: true, ...books })).toEqual([]);
  await seal();
  expect(await ledger.db.$queryRaw`SELECT count(*)::INT AS amendments FROM seal_amendment`).toEqual([
    { amendments: 0 },
  ]);
  expect(await findDifferences({ verifies: true })).toEqual([]);
});

const idsOf = ({ callId, keyId, workspaceId }: UsageRecorded) => ({ callId, keyId, workspaceId });

const TAMPERINGS: [string, string, { found: string[]; bySeals: string[] }][] = [
  [
    'a row is gone',
    'DELETE FROM usage_request WHERE workspace_id = $1',
    { found: [], bySeals: ['sealedHoursApart', 'sealsApart'] },
  ],
  [
    'a row says another engine, which no sum does',
    "UPDATE usage_request SET model = 'other' WHERE workspace_id = $1",
    { found: [], bySeals: ['sealsApart'] },
  ],
  [
    'a row stands in another hour',
    "UPDATE usage_request SET started_at = started_at - INTERVAL '1 hour' WHERE workspace_id = $1",
    { found: [], bySeals: ['sealedHoursApart', 'sealsApart'] },
  ],
  [
    'an unknown call became known without the ledger',
    "UPDATE usage_request SET status = 'failure' WHERE workspace_id = $1 AND status = 'unknown'",
    { found: [], bySeals: ['sealedHoursApart', 'sealsApart'] },
  ],
  [
    'the units of a row are changed, which no sum of money is',
    'UPDATE usage_request SET units = units + 1 WHERE workspace_id = $1',
    { found: [], bySeals: ['sealedHoursApart', 'sealsApart'] },
  ],
  [
    'the sealed units of an hour are changed',
    'UPDATE key_hour_units SET units = units + 1 WHERE key_id IN (SELECT key_id FROM key_total WHERE workspace_id = $1)',
    { found: [], bySeals: ['sealedHoursApart'] },
  ],
  [
    'a sealed hourly sum is changed',
    'UPDATE key_hour_total SET requests = requests + 1 WHERE key_id IN (SELECT key_id FROM key_total WHERE workspace_id = $1)',
    { found: [], bySeals: ['sealedHoursApart'] },
  ],
  [
    'a posting says another cause',
    "UPDATE posting SET source = 'x' WHERE workspace_id = $1",
    { found: [], bySeals: ['sealedPostingsApart'] },
  ],
  [
    'a key’s total is changed',
    'UPDATE key_total SET charge_nano_usd = charge_nano_usd + 1 WHERE workspace_id = $1',
    { found: ['keysApart', 'rowsAndKeys'], bySeals: [] },
  ],
  [
    'a seal is changed',
    'UPDATE sealed_hour SET rows_hash = rows_hash + 1 WHERE workspace_id = $1',
    { found: [], bySeals: ['sealsApart'] },
  ],
  [
    'a seal is gone',
    'DELETE FROM sealed_key WHERE workspace_id = $1',
    {
      found: ['balance', 'keysApart', 'rowsAndKeys', 'rowsAndMonths', 'rowsAndPostings', 'rowsAndWorkspace'],
      bySeals: [],
    },
  ],
];
it.each(TAMPERINGS)(
  'of what is sealed finds that %s, of one workspace and of all',
  async (_what, sql, { found, bySeals }) => {
    const event = aMediaUsageRecorded({ startedAtMs: hoursAgo(10) });
    const { workspaceId, keyId } = event;
    await deliver(event, anUnchargedUsageRecorded('unknown', { workspaceId, keyId, startedAtMs: hoursAgo(10) }));
    await deliver(aUsageRecorded({ startedAtMs: hoursAgo(10) }));
    await seal();
    expect(await findDifferences({ verifies: true, among: workspaceId })).toEqual([]);
    await tamper(sql, workspaceId);
    for (const books of [{ alone: workspaceId }, { among: workspaceId }]) {
      const differing = await findDifferences({ verifies: true, ...books });
      expect(differing).toEqual([...found, ...bySeals].sort());
    }
  },
);

it('finds that the sum of a sealed day is changed', async () => {
  const event = aUsageRecorded({ startedAtMs: hoursAgo(60) });
  await deliver(event);
  await seal();
  expect(await findDifferences({ verifies: true, alone: event.workspaceId })).toEqual([]);
  await tamper('UPDATE workspace_day_total SET requests = requests + 1 WHERE workspace_id = $1', event.workspaceId);
  expect(await findDifferences({ alone: event.workspaceId })).toEqual([]);
  expect(await findDifferences({ verifies: true, alone: event.workspaceId })).toEqual(['sealedDaysApart']);
});

it('says for ever what differed before it was sealed, until the month is unsealed and right', async () => {
  await openAnother();
  const event = aUsageRecorded({ startedAtMs: hoursAgo(10) });
  await deliver(event);
  const shift = (by: number) =>
    tamper(
      'UPDATE usage_request SET completion_tokens = completion_tokens + $1::INT, formula_nano_usd = formula_nano_usd',
      by,
    );
  await shift(1);
  expect(await findDifferences()).toEqual(['hoursApart']);
  await seal();
  expect(await findDifferences()).toEqual(['hoursApart']);

  await shift(-1);
  expect(await findDifferences({ verifies: true })).toEqual(['hoursApart', 'sealsApart']);
  await ledger.ownerDb.$executeRaw`SELECT unseal_usage(${new Date(event.startedAtMs)}::DATE)`;
  expect(await findDifferences({ verifies: true })).toEqual([]);
  await seal();
  expect(await findDifferences({ verifies: true })).toEqual([]);
});

it('agrees at every instant while calls of all hours are recorded, known and sealed at once', async () => {
  await openAnother();
  const share = seededRandom(11);
  const pick = <T>(choices: T[]): T => choices[Math.floor(share() * choices.length)] as T;
  const workspaces = ['w1', 'w2', 'w3'];
  const calls = Array.from({ length: 400 }, (_, nth) =>
    (nth % 2 === 0 ? aUsageRecorded : aMediaUsageRecorded)({
      keyId: `k${nth % 6}`,
      workspaceId: workspaces[nth % 3] as string,
      startedAtMs: hoursAgo(share() * 12),
    }),
  );
  let isOver = false;
  let [seals, audits] = [0, 0];
  const write = async () => {
    const partition = aPartition(ledger.db);
    // A busy machine may have come to few audits by then.
    const goesOn = (batches: number) => batches < 60 || (batches < 600 && Math.min(seals, audits) < 3);
    for (let batches = 0; goesOn(batches); batches += 1) {
      const chosen = [...new Set(Array.from({ length: 8 }, () => pick(calls)))];
      await partition.deliver(
        chosen.map((call) =>
          share() < 0.5
            ? call
            : anUnchargedUsageRecorded('unknown', { ...idsOf(call), startedAtMs: call.startedAtMs + 1_000 }),
        ),
      );
    }
  };
  const writing = Promise.all([write(), write(), write()]).finally(() => {
    isOver = true;
  });
  const sealing = (async () => {
    while (!isOver) {
      // Seals go forward only: every round begins anew, so that hours are sealed under the writers again and again.
      await ledger.ownerDb.$executeRaw`SELECT unseal_usage('2025-01-01')`;
      await seal();
      seals += 1;
      await delay(20);
    }
  })();
  while (!isOver) {
    expect(await findDifferences()).toEqual([]);
    audits += 1;
  }
  await Promise.all([writing, sealing]);
  expect(Math.min(seals, audits)).toBeGreaterThan(2);
  expect(await findDifferences({ verifies: true })).toEqual([]);
  await seal();
  expect(await findDifferences({ verifies: true })).toEqual([]);
});
