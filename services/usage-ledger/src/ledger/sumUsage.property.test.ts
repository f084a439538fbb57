import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { aMediaUsageRecorded, aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import type { BillingUnit } from '@turnpike/public-api/modality';
import { searchOf } from '@turnpike/test-support/searchOf';
import fc from 'fast-check';
import { aPartition, openTestLedger, type TestLedger } from '../../test/openTestLedger.ts';
import { toUsageBody } from '../wire/usageBody.ts';
import { toUsageRequestBody } from '../wire/usageRequestBody.ts';
import type { CallSums } from './callSums.ts';
import { listUsage, type UsageEntry } from './listUsage.ts';
import { sumUsage, type UsageDimension, type UsageGroup, type UsageSums } from './sumUsage.ts';

// The same cases every time: no run fails by chance.
fc.configureGlobal({ seed: 20_261_121 });

let ledger: TestLedger;
beforeAll(async () => {
  ledger = await openTestLedger();
});
afterAll(() => ledger.close());

const HOUR_MS = 3_600_000;
/** Calls lie in the 60 hours from here: over three days and the turn of a month. */
const FIRST_HOUR_MS = Date.UTC(2026, 8, 29, 20);
const HOURS = 60;
const LIMIT = 10_000;

/** Units of media calls. No model is priced by the second and by the minute. */
const MEDIA = [
  { operation: 'images.generations', modality: 'image', billingUnit: 'image' },
  { operation: 'videos', modality: 'video', billingUnit: 'second' },
  { operation: 'audio.speech', modality: 'audio', billingUnit: 'character' },
  { operation: 'audio.transcriptions', modality: 'audio', billingUnit: 'minute' },
] as const;

const eventArbitrary = fc.record({
  key: fc.nat(1),
  model: fc.constantFrom('small-chat', 'large-chat', 'Embeddings'),
  /** In milliseconds after the first hour, with a leaning to the edges of hours. */
  admittedAfterMs: fc
    .record({ hour: fc.nat(HOURS - 1), within: fc.oneof(fc.constantFrom(0, HOUR_MS - 1), fc.nat(HOUR_MS - 1)) })
    .map(({ hour, within }) => hour * HOUR_MS + within),
  status: fc.constantFrom('success' as const, 'failure' as const, 'unknown' as const),
  isSwept: fc.boolean(),
  charge: fc.bigInt({ min: 0n, max: 10n ** 12n }),
  promptTokens: fc.nat(100_000),
  completionTokens: fc.nat(100_000),
  medium: fc.constantFrom('text' as const, ...MEDIA.keys()),
  units: fc.nat(3_600),
});

/** Deliveries of every event and of some again, in any order; then a question. */
const caseArbitrary = fc.array(eventArbitrary, { minLength: 1, maxLength: 12 }).chain((calls) =>
  fc.record({
    calls: fc.constant(calls),
    order: fc.array(fc.nat(1_000), { minLength: 1, maxLength: 20 }),
    batchSize: fc.integer({ min: 1, max: 9 }),
    cuts: fc.tuple(fc.nat(HOURS), fc.nat(HOURS), fc.nat(HOURS)).map((cuts) => cuts.toSorted((a, b) => a - b)),
    groupBy: fc.subarray<UsageDimension>(['model', 'day', 'hour', 'modality']),
    dayGroups: fc.subarray<'model' | 'day' | 'key' | 'modality'>(['model', 'day', 'key', 'modality']),
  }),
);

type Call = typeof eventArbitrary extends fc.Arbitrary<infer T> ? T : never;

const nothing = {
  promptTokens: 0,
  cachedPromptTokens: 0,
  completionTokens: 0,
  chargeNanoUsd: 0n,
  formulaNanoUsd: 0n,
};

function toEvents(calls: Call[], run: string): UsageRecorded[] {
  return calls.flatMap(({ medium, units, ...call }) => {
    const { key, model, admittedAfterMs, status, isSwept, charge, promptTokens, completionTokens } = call;
    const media = medium === 'text' ? undefined : MEDIA[medium];
    const base = (media ? aMediaUsageRecorded : aUsageRecorded)({
      ...media,
      keyId: `key_${key}_${run}`,
      workspaceId: `ws_${run}`,
      canonicalModel: model,
      startedAtMs: FIRST_HOUR_MS + admittedAfterMs,
      holdNanoUsd: charge,
    });
    const counts = media ? { units } : { promptTokens, cachedPromptTokens: promptTokens >> 1, completionTokens };
    const used = { ...counts, chargeNanoUsd: charge, formulaNanoUsd: charge };
    const unused = { ...nothing, ...(media && { units: 0 }) };
    const ended = { ...base, status, ...(status === 'success' ? used : unused) };
    return isSwept ? [{ ...base, status: 'unknown' as const, ...unused }, ended] : [ended];
  });
}

/** Every event once and some again, in an order that the numbers decide. */
function shuffle(events: UsageRecorded[], order: number[]): UsageRecorded[] {
  const again = order.flatMap((number) => events[number % events.length] ?? []);
  return [...events, ...again]
    .map((event, index) => ({ event, rank: (order[index % order.length] ?? 0) * (index + 1) }))
    .sort((a, b) => (a.rank % 31) - (b.rank % 31))
    .map(({ event }) => event);
}

const atHour = (hour: number) => new Date(FIRST_HOUR_MS + hour * HOUR_MS);

/** The sums of rows of calls, made here anew. */
async function sumOfRows(keyId: string, start: Date, end: Date): Promise<UsageSums> {
  const rows = await ledger.db.usageRequest.findMany({ where: { keyId, startedAt: { gte: start, lt: end } } });
  const count = (status: string) => BigInt(rows.filter((row) => row.status === status).length);
  const sum = (read: (row: (typeof rows)[number]) => bigint | number) =>
    rows.reduce((total, row) => total + BigInt(read(row)), 0n);
  const kinds = new Set(rows.filter(({ units }) => units).map(({ billingUnit }) => billingUnit as BillingUnit));
  const [billingUnit = null] = kinds;
  const isOfOneKind = kinds.size < 2 && rows.some(({ modality }) => modality !== 'text');
  return {
    requests: BigInt(rows.length),
    success: count('success'),
    failure: count('failure'),
    unknown: count('unknown'),
    promptTokens: sum((row) => row.promptTokens),
    cachedPromptTokens: sum((row) => row.cachedPromptTokens),
    completionTokens: sum((row) => row.completionTokens),
    chargeNanoUsd: sum((row) => row.chargeNanoUsd),
    units: isOfOneKind ? { count: sum(({ units }) => units ?? 0), billingUnit } : null,
  };
}

const SUMS = [
  'requests',
  'success',
  'failure',
  'unknown',
  'promptTokens',
  'cachedPromptTokens',
  'completionTokens',
  'chargeNanoUsd',
] as const satisfies (keyof CallSums)[];

function add(parts: CallSums[]): CallSums {
  const total = (name: (typeof SUMS)[number]) => parts.reduce((sum, part) => sum + part[name], 0n);
  return Object.fromEntries(SUMS.map((name) => [name, total(name)])) as unknown as CallSums;
}

/** Units stand beside what is no text, unless audio of two kinds meet. */
const isShown = ({ modality, units }: UsageGroup): boolean =>
  modality === 'audio' || (units === null) === (modality === 'text');

const keysOf = ({ day, hour, model, modality }: UsageGroup) =>
  JSON.stringify([day?.getTime() ?? null, hour?.getTime() ?? null, model, modality]);

/** Adds up the sums of each group. Sums of another group are absent. */
function inGroups(entries: UsageEntry[], groups: readonly ('model' | 'day' | 'key' | 'modality')[]) {
  const parts = Map.groupBy(entries, ({ start, model, modality, keyId }) => {
    const group = { day: start?.toISOString().slice(0, 10), model, modality, key: keyId };
    return JSON.stringify(groups.map((name) => group[name]));
  });
  return new Map([...parts].map(([group, sums]) => [group, add(sums)]));
}

it('totals are the sum of the calls’ rows, of the groups and of every cut of the range, whatever was delivered how', async () => {
  await fc.assert(
    fc.asyncProperty(caseArbitrary, async ({ calls, order, batchSize, cuts, groupBy, dayGroups }) => {
      const run = randomUUID();
      const keyId = `key_0_${run}`;
      const log = shuffle(toEvents(calls, run), order);
      const partition = aPartition(ledger.db);
      for (let start = 0; start < log.length; start += batchSize) {
        await partition.deliver(log.slice(start, start + batchSize));
      }

      const [first, middle, last] = cuts.map(atHour) as [Date, Date, Date];
      const ask = (start: Date, end: Date) => sumUsage(ledger.db, keyId, { start, end, groupBy, limit: LIMIT });
      const [whole, before, after] = await Promise.all([ask(first, last), ask(first, middle), ask(middle, last)]);

      expect(whole.totals).toMatchObject({ ...(await sumOfRows(keyId, first, last)) });
      expect(add(whole.groups)).toEqual(add([whole.totals]));
      for (const group of whole.groups) if (groupBy.includes('modality')) expect(isShown(group)).toBe(true);
      expect(add([before.totals, after.totals])).toEqual(add([whole.totals]));
      // Each group once, in the one order.
      expect(new Set(whole.groups.map(keysOf)).size).toBe(whole.groups.length);
      expect(await ask(first, last)).toEqual(whole);
      if (groupBy.length > 0) expect(whole.groups.every(({ requests }) => requests > 0n)).toBe(true);

      const days = { start: '2026-09-29', end: '2026-10-03', limit: LIMIT };
      const list = (by: Parameters<typeof listUsage>[2]['groupBy']) =>
        listUsage(ledger.db, { workspaceId: `ws_${run}` }, { ...days, groupBy: by });
      const hours = await list(['hour', 'model', 'modality', 'key']);
      expect(inGroups(await list(dayGroups), dayGroups)).toEqual(inGroups(hours, dayGroups));
      const top = { count: 1, of: 'tokens' } as const;
      const few = await listUsage(ledger.db, { workspaceId: `ws_${run}` }, { ...days, groupBy: dayGroups, top });
      expect(add(few)).toEqual(add(hours));
    }),
    searchOf(40),
  );
});

it('the printed records of calls sum to the printed totals to the nano-dollar', async () => {
  const owner = { keyId: `key_${randomUUID()}`, workspaceId: `ws_${randomUUID()}` };
  // In floats, these sums come out differently in nearly every order.
  const events = Array.from({ length: 300 }, (_, index) => {
    const charge = 100_000_001n + 7_919n * BigInt(index) ** 2n;
    const amounts = { chargeNanoUsd: charge, formulaNanoUsd: charge, holdNanoUsd: charge };
    return aUsageRecorded({ ...owner, ...amounts, startedAtMs: FIRST_HOUR_MS + index * 600_000 });
  });
  await aPartition(ledger.db).deliver(events);

  const range = { start: atHour(0), end: atHour(HOURS) };
  const report = await sumUsage(ledger.db, owner.keyId, { ...range, groupBy: ['hour'], limit: LIMIT });
  const body = toUsageBody(report, range, new Date());
  const rows = await ledger.db.usageRequest.findMany({ where: { keyId: owner.keyId } });
  // A printed amount is the integer's own decimal text: read digit by digit, none is lost.
  const toNano = (usd: number): bigint => BigInt(usd.toFixed(9).replace('.', ''));
  const sum = (amounts: number[]) => amounts.map(toNano).reduce((total, amount) => total + amount, 0n);

  expect(body.data).toHaveLength(50);
  const ofRecords = sum(rows.map((row) => toUsageRequestBody(row, new Date()).total_spend));
  expect(ofRecords).toBe(events.reduce((total, event) => total + event.chargeNanoUsd, 0n));
  expect(toNano(body.totals.total_spend)).toBe(ofRecords);
  expect(sum(body.data.map((group) => group.total_spend))).toBe(ofRecords);
});
