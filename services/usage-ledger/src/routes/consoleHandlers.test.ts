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

it('sums the calls of the workspace in the token by day, key and model, and none of another', async () => {
  const owner = anOwner();
  const second = { ...owner, keyId: `key_${randomUUID()}` };
  await aPartition(ledger.db).deliver([
    aUsageRecorded({ ...owner, startedAtMs: at(5, 23), chargeNanoUsd: 3n }),
    aUsageRecorded({ ...owner, startedAtMs: at(5, 1), chargeNanoUsd: 4n }),
    anUnchargedUsageRecorded('failure', { ...owner, startedAtMs: at(6, 0) }),
    aUsageRecorded({ ...second, startedAtMs: at(5, 1), canonicalModel: 'large-chat', chargeNanoUsd: 9n }),
    aUsageRecorded({ ...anOwner(), startedAtMs: at(5, 1) }),
  ]);
  const { status, body } = await call(listUsage, owner.workspaceId, OCTOBER);
  expect(status).toBe(200);
  expect(body.usage).toMatchObject([
    { day: '2026-10-05', key_id: second.keyId, model: 'large-chat', requests: 1, charge_nano_usd: '9' },
    { day: '2026-10-05', key_id: owner.keyId, model: 'small-chat', requests: 2, success: 2, charge_nano_usd: '7' },
    { day: '2026-10-06', key_id: owner.keyId, model: 'small-chat', requests: 1, failure: 1, charge_nano_usd: '0' },
  ]);
});

it.each([
  ['start', { start: 'today', end: '2026-10-01' }],
  ['end', { start: '2026-10-01', end: '2026-10-01' }],
  ['end', { start: '2025-10-01', end: '2026-10-03' }],
  ['end', { start: '2025-10-01' }],
])('refuses a range whose %s is wrong', async (param, range) => {
  const { status, body } = await call(listUsage, 'ws_1', range);
  expect([status, body.error, body.param]).toEqual([400, 'invalid_request', param]);
});

it('takes 366 days', async () => {
  expect((await call(listUsage, 'ws_1', { start: '2027-10-01', end: '2028-10-01' })).status).toBe(200);
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
