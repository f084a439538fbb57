import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { aMediaUsageRecorded, anUnchargedUsageRecorded, aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { computeCharge } from '@turnpike/money/price';
import { computeUnitCharge } from '@turnpike/money/unitPrice';
import fc from 'fast-check';
import { aPartition, openTestLedger, type TestLedger } from '../../test/openTestLedger.ts';
import { addCredit } from '../credits/addCredit.ts';
import type { PriceList } from './priceList.ts';
import { readBooks } from './readBooks.ts';

// The same cases every time: no run fails by chance.
fc.configureGlobal({ seed: 20_261_121 });

let ledger: TestLedger;
beforeAll(async () => {
  ledger = await openTestLedger();
});
afterAll(() => ledger.close());

const tokens = fc.integer({ min: 0, max: 300_000 });
/** Down to the finest that a price may be, so that most charges have to be rounded. */
const price = fc.bigInt({ min: 0n, max: 10n ** 13n });
const callArbitrary = fc.record({
  of: fc.record({ prompt: price, completion: price, inputCacheRead: price, request: price, image: price }),
  promptTokens: tokens,
  cachedShare: fc.double({ min: 0, max: 1, noNaN: true }),
  completionTokens: tokens,
  images: fc.integer({ min: 0, max: 16 }),
  holdShare: fc.constantFrom(1n, 2n),
});

it('prices every row again to the nano-dollar, as the router priced it', async () => {
  const workspaceId = 'ws_priced';
  const calls = fc.sample(callArbitrary, 500);
  const prices = calls.map(({ of }, n) => ({ version: n + 1, model: `model-${n % 7}`, of }));
  const events = calls.map(({ of, promptTokens, cachedShare, completionTokens, images, holdShare }, n) => {
    const usage = {
      promptTokens,
      cachedPromptTokens: Math.floor(cachedShare * promptTokens),
      completionTokens,
      images,
    };
    const formulaNanoUsd = computeCharge(usage, of);
    const holdNanoUsd = formulaNanoUsd / holdShare;
    const model = { canonicalModel: `model-${n % 7}`, priceVersion: n + 1 };
    return aUsageRecorded({ ...usage, ...model, workspaceId, formulaNanoUsd, holdNanoUsd, chargeNanoUsd: holdNanoUsd });
  });
  const free = anUnchargedUsageRecorded('failure', { workspaceId, canonicalModel: 'model-0', priceVersion: 1 });
  await aPartition(ledger.db).deliver([...events, free]);

  const [books] = await readBooks(ledger.db, prices, workspaceId);
  expect(books?.checks.filter(({ verdict }) => verdict !== 'equal')).toEqual([]);
  expect(books?.unpriced).toBe(0n);

  // The same tokens at a price that is higher by the least there is.
  const [first] = prices;
  if (first) first.of.request += 10n ** 9n;
  const [dearer] = await readBooks(ledger.db, prices, workspaceId);
  expect(dearer?.checks.filter(({ verdict }) => verdict !== 'equal').map(({ name }) => name)).toContain('mispriced');
});

const mediaArbitrary = fc.record({
  media: fc.constantFrom(
    { operation: 'images.generations', modality: 'image', billingUnit: 'image' } as const,
    { operation: 'videos', modality: 'video', billingUnit: 'second' } as const,
    { operation: 'audio.speech', modality: 'audio', billingUnit: 'character' } as const,
    { operation: 'audio.transcriptions', modality: 'audio', billingUnit: 'minute' } as const,
  ),
  price: fc.bigInt({ min: 0n, max: 10n ** 18n }),
  units: fc.integer({ min: 0, max: 100_000 }),
  holdShare: fc.constantFrom(1n, 2n),
});

it('prices media again by what they are billed by, a minute’s price divided at the end', async () => {
  const workspaceId = 'ws_media';
  const calls = fc.sample(mediaArbitrary, 500);
  const prices = calls.map(({ media: { billingUnit }, price: own }, n) => ({
    version: n + 1,
    model: 'maker',
    of: { billingUnit, price: own },
  }));
  const events = calls.map(({ media, price: own, units, holdShare }, n) => {
    const formulaNanoUsd = computeUnitCharge(units, { billingUnit: media.billingUnit, price: own });
    const holdNanoUsd = formulaNanoUsd / holdShare;
    const amounts = { formulaNanoUsd, holdNanoUsd, chargeNanoUsd: holdNanoUsd };
    return aMediaUsageRecorded({
      ...media,
      units,
      workspaceId,
      canonicalModel: 'maker',
      priceVersion: n + 1,
      ...amounts,
    });
  });
  const uncharged = { units: 0, chargeNanoUsd: 0n, formulaNanoUsd: 0n };
  const failed = aMediaUsageRecorded({ ...uncharged, workspaceId, canonicalModel: 'maker', status: 'failure' });
  await aPartition(ledger.db).deliver([...events, { ...failed, priceVersion: 1 }]);
  const differing = async (list: PriceList) => {
    const [books] = await readBooks(ledger.db, list, workspaceId);
    return { unpriced: books?.unpriced, different: books?.checks.filter(({ verdict }) => verdict !== 'equal') };
  };

  expect(await differing(prices)).toEqual({ unpriced: 0n, different: [] });
  const [first] = prices;
  if (first) first.of.price += 10n ** 12n;
  expect((await differing(prices)).different?.map(({ name }) => name)).toContain('mispriced');
  expect(await differing(prices.slice(1))).toEqual({ unpriced: 2n, different: [] });
});

it.each<[string, PriceList[number]['of']]>([
  ['another unit', { billingUnit: 'second', price: 1n }],
  ['tokens', { prompt: 0n, completion: 0n, inputCacheRead: 0n, request: 0n, image: 0n }],
])('takes a row that is billed by something else than its price is for, which is %s, for wrong', async (_what, of) => {
  const { workspaceId, canonicalModel: model, priceVersion: version } = aMediaUsageRecorded();
  await aPartition(ledger.db).deliver([aMediaUsageRecorded({ workspaceId })]);
  const [books] = await readBooks(ledger.db, [{ version, model, of }], workspaceId);
  expect(books?.unpriced).toBe(0n);
  expect(books?.checks.filter(({ verdict }) => verdict !== 'equal').map(({ name }) => name)).toEqual(['mispriced']);
});

it('counts rows whose prices nobody knows, and takes them for neither right nor wrong', async () => {
  const event = aUsageRecorded({ workspaceId: 'ws_unpriced' });
  await aPartition(ledger.db).deliver([event]);
  const [books] = await readBooks(ledger.db, [], event.workspaceId);
  expect(books?.unpriced).toBe(1n);
  expect(books?.checks.filter(({ verdict }) => verdict !== 'equal')).toEqual([]);
});

it('reads all workspaces, also one that has credit and no call, and leaves other workspaces out where one is named', async () => {
  const events = [aUsageRecorded(), aUsageRecorded()] as const;
  await aPartition(ledger.db).deliver([...events]);
  await addCredit(ledger.db, { creditId: 'credit_idle', workspaceId: 'ws_idle', amountNanoUsd: 9n, note: '' });
  const all = (await readBooks(ledger.db, [], undefined)).map(({ workspaceId }) => workspaceId);
  expect(all).toEqual(expect.arrayContaining([...events.map(({ workspaceId }) => workspaceId), 'ws_idle']));

  const one = await readBooks(ledger.db, [], 'ws_idle');
  expect(one.map(({ workspaceId }) => workspaceId)).toEqual(['ws_idle']);
  const balance = one[0]?.checks.find(({ name }) => name === 'balance');
  expect(balance).toMatchObject({ left: 9n, right: 9n, verdict: 'equal' });
});

it('agrees with a call that became known in another hour', async () => {
  const known = aUsageRecorded();
  const { callId, keyId, workspaceId, startedAtMs } = known;
  const fields = { callId, keyId, workspaceId, startedAtMs: startedAtMs - 2 * 3_600_000 };
  const partition = aPartition(ledger.db);
  await partition.deliver([anUnchargedUsageRecorded('unknown', fields)]);
  await partition.deliver([known]);
  const [books] = await readBooks(ledger.db, [], workspaceId);
  expect(books?.checks.filter(({ verdict }) => verdict !== 'equal')).toEqual([]);
});

it.each([
  [
    'a row is gone',
    'DELETE FROM usage_request WHERE workspace_id = $1',
    ['rowsAndHours', 'keysApart', 'callsAndHours'],
  ],
  [
    'a posting is gone',
    "DELETE FROM posting WHERE workspace_id = $1 AND kind = 'usage'",
    ['rowsAndPostings', 'keysApart'],
  ],
  ['a credit is gone', 'DELETE FROM credit WHERE workspace_id = $1', ['credits', 'balance']],
  ['a key has lost count', 'UPDATE key_total SET requests = requests + 1 WHERE workspace_id = $1', ['keysApart']],
  ['a month is gone', 'DELETE FROM workspace_month_total WHERE workspace_id = $1', ['rowsAndMonths']],
  [
    'a model of a day has lost count',
    "UPDATE workspace_day_total SET unknown = unknown + 1 WHERE workspace_id = $1 AND grouped_by = 'model'",
    ['daysApart'],
  ],
  ['a day is gone', 'DELETE FROM workspace_day_total WHERE workspace_id = $1', ['daysApart']],
  [
    'a call is in the wrong hour',
    "UPDATE usage_request SET started_at = started_at - interval '2 hours' WHERE workspace_id = $1",
    ['hoursApart'],
  ],
  [
    'a call is of another model',
    "UPDATE usage_request SET canonical_model = 'large-chat' WHERE workspace_id = $1",
    ['hoursApart'],
  ],
])('notices that %s', async (_what, sql, names) => {
  const event = aUsageRecorded();
  const { workspaceId } = event;
  await aPartition(ledger.db).deliver([event]);
  await addCredit(ledger.db, { creditId: `credit_${workspaceId}`, workspaceId, amountNanoUsd: 7n, note: '' });
  await ledger.ownerDb.$transaction(async (tx) => {
    for (const table of ['usage_request', 'posting', 'credit'])
      await tx.$executeRawUnsafe(`ALTER TABLE ${table} DISABLE TRIGGER USER`);
    await tx.$executeRawUnsafe(sql, workspaceId);
    for (const table of ['usage_request', 'posting', 'credit'])
      await tx.$executeRawUnsafe(`ALTER TABLE ${table} ENABLE TRIGGER USER`);
  });

  const [books] = await readBooks(ledger.db, [], workspaceId);
  const different = books?.checks.filter(({ verdict }) => verdict === 'different').map(({ name }) => name);
  expect(different).toEqual(expect.arrayContaining(names));
});

it.each([
  ['units of a row', 'UPDATE usage_request SET units = units + 1 WHERE key_id = $1'],
  ['units of an hour', 'UPDATE key_hour_units SET units = units - 1 WHERE key_id = $1'],
  ['what an hour’s units are', "UPDATE key_hour_units SET billing_unit = 'second' WHERE key_id = $1"],
])('notices that %s were changed', async (_what, sql) => {
  const { workspaceId, keyId } = aMediaUsageRecorded();
  await aPartition(ledger.db).deliver([aMediaUsageRecorded({ workspaceId, keyId })]);
  const differences = async () =>
    (await readBooks(ledger.db, [], workspaceId)).flatMap(({ checks }) =>
      checks.filter(({ verdict }) => verdict !== 'equal').map(({ name }) => name),
    );
  expect(await differences()).toEqual([]);
  await ledger.ownerDb.$transaction(async (tx) => {
    await tx.$executeRaw`ALTER TABLE usage_request DISABLE TRIGGER USER`;
    await tx.$executeRawUnsafe(sql, keyId);
    await tx.$executeRaw`ALTER TABLE usage_request ENABLE TRIGGER USER`;
  });
  expect(await differences()).toEqual(['hoursApart']);
});
