import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type ConsoleRoute, usageConsoleApi } from '@turnpike/console-api/consoleApi';
import { hasRight, ROLES } from '@turnpike/console-api/roles';
import { aMediaUsageRecorded, anUnchargedUsageRecorded, aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { CONSOLE_CALLER_HEADER, signConsoleCaller } from '@turnpike/internal-auth/consoleToken';
import { createTokenIssuer } from '@turnpike/internal-auth/internalToken';
import { aPartition, openTestLedger, type TestLedger } from '../../test/openTestLedger.ts';
import { fleet, startTestService, type TestService } from '../../test/startTestService.ts';

let ledger: TestLedger;
let service: TestService;
beforeAll(async () => {
  ledger = await openTestLedger();
  // No look-up of these tests carries a key, so nobody asks auth.
  service = await startTestService(ledger, { authUrl: 'http://127.0.0.1:9', usageQueryTimeoutMs: 20_000 });
});
afterAll(async () => {
  await service.close();
  await ledger.close();
});

const { listUsage, getCall } = usageConsoleApi.routes;
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
  ['end', { start: '2026-10-01', end: '2026-10-01' }],
  ['end', { start: '2025-10-01', end: '2026-10-03' }],
  ['end', { start: '2025-10-01' }],
  ['end', { ...OCTOBER, end: '2026-11-02', by: 'hour' }],
  ['by', { ...OCTOBER, by: 'minute' }],
  ['group', { ...OCTOBER, group: 'model,key' }],
])('refuses a range whose %s is wrong', async (param, range) => {
  const { status, body } = await call(listUsage, 'ws_1', range);
  expect([status, body.error, body.param]).toEqual([400, 'invalid_request', param]);
});

it('takes 366 days, and 31 days of hours', async () => {
  expect((await call(listUsage, 'ws_1', { start: '2027-10-01', end: '2028-10-01' })).status).toBe(200);
  expect((await call(listUsage, 'ws_1', { ...OCTOBER, by: 'hour' })).status).toBe(200);
});

it('shows a call to its workspace alone, and answers the same 404 for a foreign call and for none', async () => {
  const event = aUsageRecorded({ chargeNanoUsd: 125n });
  await aPartition(ledger.db).deliver([event]);
  const { callId, keyId, workspaceId } = event;
  const { status, body } = await call(getCall, workspaceId, { call_id: callId });
  expect([status, body]).toMatchObject([200, { call_id: callId, key_id: keyId, charge_nano_usd: '125' }]);
  const foreign = await call(getCall, anOwner().workspaceId, { call_id: callId });
  expect([foreign.status, foreign.body.error]).toEqual([404, 'unknown_call']);
  expect(await call(getCall, workspaceId, { call_id: randomUUID() })).toEqual(foreign);
  expect(await call(getCall, workspaceId, { call_id: 'nonsense' })).toEqual(foreign);
  const media = aMediaUsageRecorded({ workspaceId });
  await aPartition(ledger.db).deliver([media]);
  expect(await call(getCall, workspaceId, { call_id: media.callId })).toEqual(foreign);
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
