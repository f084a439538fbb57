import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { ConsoleRoute } from '@turnpike/console-api/console/consoleRoute';
import { usageConsoleApi } from '@turnpike/console-api/console/usage';
import { hasRight, ROLES } from '@turnpike/console-api/roles';
import { aMediaUsageRecorded, anUnchargedUsageRecorded, aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import { CONSOLE_CALLER_HEADER, signConsoleCaller } from '@turnpike/internal-auth/consoleToken';
import { createTokenIssuer } from '@turnpike/internal-auth/internalToken';
import { inOneHour } from '../../test/inOneHour.ts';
import { aPartition, openTestLedger, type TestLedger } from '../../test/openTestLedger.ts';
import { fleet, startTestService, type TestService } from '../../test/startTestService.ts';
import { addCredit } from '../credits/addCredit.ts';
import type { PricesOf } from '../reconcile/priceList.ts';

let ledger: TestLedger;
let service: TestService;
beforeAll(async () => {
  ledger = await openTestLedger();
  // No look-up of these tests carries a key, so nobody asks auth.
  service = await startTestService(ledger, { authUrl: 'http://127.0.0.1:9', usageQueryTimeoutMs: 20_000, pricesOf });
});
afterAll(async () => {
  await service.close();
  await ledger.close();
});

/** Version 1 has prices, version 2 cannot be read, and no other version is known. */
const pricesOf: PricesOf = async (version) => {
  if (version === 2) throw new Error('the catalog is away');
  if (version !== 1) return [];
  const text = { prompt: 400_000_000_000n, inputCacheRead: 100_000_000_000n, completion: 1_000_000_000_500n };
  return [
    { version, model: 'small-chat', of: { ...text, request: 0n, image: 0n } },
    { version, model: 'small-image', of: { billingUnit: 'image', price: 62_500_000_000_000n } },
  ];
};

const { listUsage, getSpendRate, getCall } = usageConsoleApi.routes;
const key = fleet.keyOf('edge');

/** Calls a console route as the edge does. */
async function call(
  { method, path }: ConsoleRoute,
  workspaceId: string,
  params: Record<string, string>,
  role = 'owner',
) {
  const query = new Map(Object.entries(params));
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => {
    const value = query.get(name) ?? '';
    query.delete(name);
    return value;
  });
  const response = await fetch(`${service.internalUrl}${filled}?${new URLSearchParams([...query])}`, {
    method,
    headers: {
      ...(await createTokenIssuer({ key })('usage-ledger', `${method} ${path}`)),
      [CONSOLE_CALLER_HEADER]: signConsoleCaller(
        { userId: 'u1', organizationId: 'o1', workspaceId, role },
        `${method} ${path}`,
        { key },
      ),
    },
  });
  // biome-ignore lint/suspicious/noExplicitAny: the tests assert the shapes
  return { status: response.status, body: (await response.json()) as any };
}

const anOwner = () => ({ keyId: `key_${randomUUID()}`, workspaceId: `ws_${randomUUID()}` });
const at = (day: number, hour: number) => Date.UTC(2026, 9, day, hour);
const OCTOBER = { start: '2026-10-01', end: '2026-11-01' };

/** Two keys of a workspace with calls of three models on two days, and a call of another workspace. */
async function recordedUsage() {
  const owner = anOwner();
  const second = { ...owner, keyId: `key_${randomUUID()}` };
  await aPartition(ledger.db).deliver([
    aUsageRecorded({ ...owner, startedAtMs: at(5, 23), chargeNanoUsd: 3n }),
    aUsageRecorded({ ...owner, startedAtMs: at(5, 1), chargeNanoUsd: 4n }),
    anUnchargedUsageRecorded('failure', { ...owner, startedAtMs: at(6, 0) }),
    aUsageRecorded({ ...second, startedAtMs: at(5, 1), canonicalModel: 'large-chat', chargeNanoUsd: 9n }),
    aMediaUsageRecorded({ ...second, startedAtMs: at(5, 1), chargeNanoUsd: 5n }),
    aUsageRecorded({ ...anOwner(), startedAtMs: at(5, 1) }),
  ]);
  return { workspaceId: owner.workspaceId, first: owner.keyId, second: second.keyId };
}

it('sums the calls of the workspace in the token by day, model and key, and none of another', async () => {
  const { workspaceId, first, second } = await recordedUsage();
  const { status, body } = await call(listUsage, workspaceId, OCTOBER);
  expect(status).toBe(200);
  const fifth = { start: '2026-10-05T00:00:00.000Z' };
  const small = { key_id: first, model: 'small-chat', modality: 'text' };
  expect(body.usage).toMatchObject([
    { ...fifth, key_id: second, model: 'large-chat', modality: 'text', requests: 1, charge_nano_usd: '9' },
    { ...fifth, ...small, requests: 2, success: 2, cached_prompt_tokens: 40, charge_nano_usd: '7' },
    { ...fifth, key_id: second, model: 'small-image', modality: 'image', requests: 1, charge_nano_usd: '5' },
    { ...small, start: '2026-10-06T00:00:00.000Z', requests: 1, failure: 1, charge_nano_usd: '0' },
  ]);
});

it.each([
  ['model', ['large-chat 9', 'small-chat 7', 'small-image 5', 'small-chat 0']],
  ['key', ['first 7', 'second 14', 'first 0']],
  ['none', ['21', '0']],
])('sums by %s alone', async (group, sums) => {
  const { workspaceId, first, second } = await recordedUsage();
  const names = new Map([
    [first, 'first'],
    [second, 'second'],
  ]);
  const { body } = await call(listUsage, workspaceId, { ...OCTOBER, group });
  const shown = body.usage.map((row: Record<string, string>) =>
    [row.model ?? names.get(row.key_id ?? ''), row.charge_nano_usd].filter(Boolean).join(' '),
  );
  const byDay = (rows: string[]) => [rows.slice(0, -1).sort(), rows.at(-1)];
  expect(byDay(shown)).toEqual(byDay(sums));
});

it('sums by the hour', async () => {
  const { workspaceId } = await recordedUsage();
  const { body } = await call(listUsage, workspaceId, { ...OCTOBER, by: 'hour', group: 'none' });
  expect(body.usage.map(({ start, requests, failure }: Record<string, unknown>) => [start, requests, failure])).toEqual(
    [
      ['2026-10-05T01:00:00.000Z', 3, 0],
      ['2026-10-05T23:00:00.000Z', 1, 0],
      ['2026-10-06T00:00:00.000Z', 1, 1],
    ],
  );
});

it('sums over a range of hours within a day, and over a whole range', async () => {
  const { workspaceId, first, second } = await recordedUsage();
  const hours = { start: '2026-10-05T02:00Z', end: '2026-10-06T00:00Z', by: 'hour', group: 'key' };
  const late = await call(listUsage, workspaceId, hours);
  const atEleven = { start: '2026-10-05T23:00:00.000Z', others: null, key_id: first, charge_nano_usd: '3' };
  expect(late.body.usage).toMatchObject([atEleven]);
  const { body } = await call(listUsage, workspaceId, { ...OCTOBER, by: 'range', group: 'key' });
  const october = { start: '2026-10-01T00:00:00.000Z', others: null, model: null };
  const byCharge = body.usage.sort((a: typeof atEleven, b: typeof atEleven) => +a.charge_nano_usd - +b.charge_nano_usd);
  expect(byCharge).toMatchObject([
    { ...october, key_id: first, requests: 3, failure: 1, charge_nano_usd: '7' },
    { ...october, key_id: second, requests: 2, failure: 0, charge_nano_usd: '14' },
  ]);
});

/** Calls of four models, each by a key of its own whose id sorts as the model does, on two days. Returns the model of each key. */
async function recordedModels(): Promise<{ workspaceId: string; modelOf: Map<string, string> }> {
  const { workspaceId } = anOwner();
  const ofModel = (canonicalModel: string) => ({
    workspaceId,
    keyId: `key_${canonicalModel}_${randomUUID()}`,
    canonicalModel,
  });
  const [dear, wordy, busy, faulty] = ['dear', 'wordy', 'busy', 'faulty'].map(ofModel);
  const ended = (day: number, fields: Partial<UsageRecorded>, charge: bigint, promptTokens: number) =>
    aUsageRecorded({
      ...fields,
      startedAtMs: at(day, 7),
      chargeNanoUsd: charge,
      formulaNanoUsd: charge,
      promptTokens,
      cachedPromptTokens: 0,
      completionTokens: 0,
    });
  const failed = (day: number, fields: Partial<UsageRecorded>) =>
    anUnchargedUsageRecorded('failure', { ...fields, startedAtMs: at(day, 7) });
  await aPartition(ledger.db).deliver([
    ended(5, { ...dear }, 100n, 0),
    ended(5, { ...wordy }, 10n, 1_000),
    failed(6, { ...wordy }),
    ...[5, 5, 6].map((day) => ended(day, { ...busy }, 1n, 1)),
    ...[5, 6].map((day) => failed(day, { ...faulty })),
  ]);
  const groups = [dear, wordy, busy, faulty].flatMap((group) => group ?? []);
  return { workspaceId, modelOf: new Map(groups.map(({ keyId, canonicalModel }) => [keyId, canonicalModel])) };
}

/** Asks for the groups of the largest sums. Returns day, name, requests and charge of each row. */
async function listTop(params: Record<string, string>): Promise<string[]> {
  const { workspaceId, modelOf } = await recordedModels();
  const { body } = await call(listUsage, workspaceId, { ...OCTOBER, ...params });
  return body.usage
    .map(({ start, key_id: keyId, model, others, requests, charge_nano_usd: charge }: Record<string, string>) => {
      const name = others === null ? (model ?? modelOf.get(keyId ?? '')) : `${others} others`;
      return `${start?.slice(8, 10)} ${name}: ${requests} ${charge}`;
    })
    .sort();
}

it.each([
  ['cost', ['05 2 others: 3 2', '05 dear: 1 100', '05 wordy: 1 10', '06 2 others: 2 1', '06 wordy: 1 0']],
  [
    'tokens',
    ['05 2 others: 2 100', '05 busy: 2 2', '05 wordy: 1 10', '06 2 others: 1 0', '06 busy: 1 1', '06 wordy: 1 0'],
  ],
  [
    'requests',
    ['05 2 others: 2 110', '05 busy: 2 2', '05 faulty: 1 0', '06 2 others: 1 0', '06 busy: 1 1', '06 faulty: 1 0'],
  ],
  [
    'errors',
    ['05 2 others: 3 102', '05 faulty: 1 0', '05 wordy: 1 10', '06 2 others: 1 1', '06 faulty: 1 0', '06 wordy: 1 0'],
  ],
])('names the two groups of the largest sum of %s, and sums up the others at each time', async (measure, rows) => {
  for (const group of ['model', 'key', 'key,model'])
    for (const by of ['day', 'hour'])
      expect({ group, by, rows: await listTop({ by, group, top: '2', top_by: measure }) }).toEqual({ group, by, rows });
});

it.each(['model', 'key', 'key,model'])('sums up the others over a whole range by %s', async (group) => {
  expect(await listTop({ by: 'range', group, top: '2' })).toEqual([
    '01 2 others: 5 3',
    '01 dear: 1 100',
    '01 wordy: 2 10',
  ]);
});

it('names a group that would be summed up alone', async () => {
  const rows = await listTop({ group: 'model', top: '3' });
  expect(rows).toEqual(await listTop({ group: 'model' }));
  expect(rows).toHaveLength(7);
});

it('refuses a table of more rows than an answer may have, and gives it by fewer groups', async () => {
  const { workspaceId, keyId } = anOwner();
  await aPartition(ledger.db).deliver([aUsageRecorded({ workspaceId, keyId, startedAtMs: at(1, 0) })]);
  await ledger.ownerDb.$executeRaw`
    INSERT INTO key_hour_total
    SELECT ${keyId}, hour, 'model-' || model, 'text', 1, 1, 0, 0, 10, 1, 10, 3
    FROM generate_series('2026-10-02T00:00Z'::TIMESTAMPTZ, '2026-10-30T23:00Z', '1 hour') AS hour, generate_series(1, 29) AS model`;
  const hours = { ...OCTOBER, by: 'hour' };
  const refused = await call(listUsage, workspaceId, hours);
  expect([refused.status, refused.body.error, refused.body.param]).toEqual([400, 'invalid_request', 'group']);
  const { body } = await call(listUsage, workspaceId, { ...hours, group: 'key' });
  expect(body.usage.length).toBe(1 + 29 * 24);
});

it.each([
  ['start', { start: 'today', end: '2026-10-01' }],
  ['start', { start: '0000-01-01', end: '0000-01-02' }],
  ['end', { start: '2026-10-01', end: '2026-10-01' }],
  ['end', { start: '2025-10-01', end: '2026-10-03' }],
  ['end', { start: '2025-10-01' }],
  ['end', { ...OCTOBER, end: '2026-11-02', by: 'hour' }],
  ['start', { ...OCTOBER, start: '2026-10-01T05:00Z' }],
  ['end', { ...OCTOBER, end: '2026-10-31T05:00Z', by: 'range' }],
  ['start', { ...OCTOBER, start: '2026-10-01T05:30Z', by: 'hour' }],
  ['by', { ...OCTOBER, by: 'minute' }],
  ['top', { ...OCTOBER, top: '21' }],
  ['top', { ...OCTOBER, top: '0' }],
  ['top_by', { ...OCTOBER, top: '8', top_by: 'name' }],
  ['group', { ...OCTOBER, group: 'model,key' }],
])('refuses a range whose %s is wrong', async (param, range) => {
  const { status, body } = await call(listUsage, 'ws_1', range);
  expect([status, body.error, body.param]).toEqual([400, 'invalid_request', param]);
});

it('takes 366 days, and 31 days of hours', async () => {
  expect((await call(listUsage, 'ws_1', { start: '2027-10-01', end: '2028-10-01' })).status).toBe(200);
  expect((await call(listUsage, 'ws_1', { ...OCTOBER, by: 'hour' })).status).toBe(200);
});

const hoursAgo = (hours: number) => Date.now() - hours * 3_600_000;
const rateOf = async (workspaceId: string) => (await call(getSpendRate, workspaceId, {})).body;
const addCreditTo = (workspaceId: string) =>
  addCredit(ledger.db, { creditId: randomUUID(), workspaceId, amountNanoUsd: 20_000n, note: 'top-up' });

it('tells how long the credit lasts at the mean of the last 7 days', async () => {
  const nothing = { credit_nano_usd: '0', per_day_nano_usd: '0', mean_days: 1, days_left: 0 };
  const rates = await inOneHour(async () => {
    const owner = anOwner();
    const { workspaceId } = owner;
    const unused = await rateOf(workspaceId);
    await addCreditTo(workspaceId);
    const credited = await rateOf(workspaceId);
    await aPartition(ledger.db).deliver([
      aUsageRecorded({ ...owner, startedAtMs: hoursAgo(1), chargeNanoUsd: 4_000n }),
      aUsageRecorded({ ...owner, keyId: `key_${randomUUID()}`, startedAtMs: hoursAgo(167), chargeNanoUsd: 3_000n }),
      aUsageRecorded({ ...owner, startedAtMs: hoursAgo(8 * 24), chargeNanoUsd: 1_500n }),
      aUsageRecorded({ startedAtMs: hoursAgo(1) }),
    ]);
    return { unused, credited, used: await rateOf(workspaceId) };
  });
  expect(rates.unused).toEqual(nothing);
  expect(rates.credited).toMatchObject({ days_left: null });
  expect(rates.used).toEqual({
    credit_nano_usd: '11500',
    per_day_nano_usd: '1000',
    mean_days: 7,
    days_left: 11.5,
  });
  expect(await rateOf(anOwner().workspaceId)).toEqual(nothing);
});

it.each([
  ['the current hour', 0, { per_day_nano_usd: '4000', mean_days: 1, days_left: 4 }],
  ['an hour of yesterday', 35, { per_day_nano_usd: '2666', mean_days: 1.5, days_left: 6 }],
])('takes the mean of a new workspace over its age, whose first call was in %s', async (_when, hours, rate) => {
  const used = await inOneHour(async () => {
    const owner = anOwner();
    await addCreditTo(owner.workspaceId);
    const startedAtMs = hoursAgo(hours);
    await aPartition(ledger.db).deliver([aUsageRecorded({ ...owner, startedAtMs, chargeNanoUsd: 4_000n })]);
    return rateOf(owner.workspaceId);
  });
  expect(used).toEqual({ credit_nano_usd: '16000', ...rate });
});

/** Records a call and shows it to its workspace. */
async function recordedCall(event: UsageRecorded, id = event.callId) {
  await aPartition(ledger.db).deliver([event]);
  return call(getCall, event.workspaceId, { call_id: id });
}

it('shows a call of text with its times, its tokens and the arithmetic of its cost', async () => {
  const event = aUsageRecorded({
    promptTokens: 120,
    cachedPromptTokens: 20,
    completionTokens: 80,
    chargeNanoUsd: 100_000n,
    formulaNanoUsd: 122_000n,
  });
  const { status, body } = await recordedCall(event);
  expect([status, body]).toEqual([
    200,
    {
      call_id: event.callId,
      key_id: event.keyId,
      canonical_model: 'small-chat',
      operation: 'chat',
      modality: 'text',
      is_stream: true,
      status: 'success',
      reason: null,
      prompt_tokens: 120,
      cached_prompt_tokens: 20,
      completion_tokens: 80,
      prompt_images: 0,
      billing_unit: 'token',
      units: null,
      price_version: 1,
      cost: [
        aLine('uncached_prompt_tokens', 100, '0.0000004', '40000'),
        aLine('cached_prompt_tokens', 20, '0.0000001', '2000'),
        aLine('completion_tokens', 80, '0.0000010000000005', '80000.00004'),
        { item: 'rounding', quantity: null, unit_price_usd: null, per: null, amount_nano_usd: '-0.00004' },
        { item: 'hold_limit', quantity: null, unit_price_usd: null, per: null, amount_nano_usd: '-22000' },
      ],
      charge_nano_usd: '100000',
      hold_nano_usd: '900000',
      started_at: new Date(event.startedAtMs).toISOString(),
      ended_at: new Date(event.endedAtMs).toISOString(),
      recorded_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    },
  ]);
});

const aLine = (item: string, quantity: number, price: string, amount: string) => ({
  item,
  quantity,
  unit_price_usd: price,
  per: 1,
  amount_nano_usd: amount,
});

it('shows a call of media with its units, and a failed call with its reason and no cost', async () => {
  const media = await recordedCall(aMediaUsageRecorded());
  expect(media.body).toMatchObject({
    operation: 'images.generations',
    modality: 'image',
    billing_unit: 'image',
    units: 2,
    cost: [aLine('images', 2, '0.0000625', '125000')],
  });
  const failed = await recordedCall(anUnchargedUsageRecorded('failure'));
  expect(failed.body).toMatchObject({ status: 'failure', reason: 'router_lost', cost: [], charge_nano_usd: '0' });
});

it.each([
  ['cannot be read', { priceVersion: 2 }],
  ['are not known', { priceVersion: 3 }],
  ['do not give the charge', { formulaNanoUsd: 1n, chargeNanoUsd: 1n }],
])('shows a call without lines where its prices %s', async (_case, fields) => {
  expect(await recordedCall(aUsageRecorded(fields))).toMatchObject({ status: 200, body: { cost: null } });
});

it.each(['chatcmpl-', 'cmpl-', 'embd-'])('finds a call by an id of its answer that begins with %s', async (prefix) => {
  const event = aUsageRecorded();
  const { body } = await recordedCall(event, `${prefix}${event.callId}`);
  expect(body.call_id).toBe(event.callId);
  // The second engine that was tried.
  expect((await call(getCall, event.workspaceId, { call_id: `${prefix}${event.callId}-2` })).body).toEqual(body);
});

it('answers the same 404 for a foreign call and for none', async () => {
  const event = aUsageRecorded();
  const media = aMediaUsageRecorded();
  await aPartition(ledger.db).deliver([event, media]);
  const { workspaceId } = event;
  const none = await call(getCall, workspaceId, { call_id: randomUUID() });
  expect([none.status, none.body.error]).toEqual([404, 'unknown_call']);
  expect(await call(getCall, anOwner().workspaceId, { call_id: event.callId })).toEqual(none);
  expect(await call(getCall, workspaceId, { call_id: media.callId })).toEqual(none);
  expect(await call(getCall, workspaceId, { call_id: 'chatcmpl-nonsense' })).toEqual(none);
});

it.each(Object.entries<ConsoleRoute>(usageConsoleApi.routes))(
  '%s lets each role in by its rights',
  async (_, route) => {
    for (const role of [...ROLES, 'root']) {
      const { body } = await call(route, 'ws_1', { call_id: 'none' }, role);
      const isAllowed = ROLES.some((known) => known === role && hasRight(known, route.right));
      expect([role, body.error === 'right_missing']).toEqual([role, !isAllowed]);
    }
  },
);
