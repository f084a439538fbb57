import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { anUnchargedUsageRecorded, aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { request } from 'undici';
import { aPartition, openTestLedger, type TestLedger } from '../../test/openTestLedger.ts';
import { internalHeaders, startTestService, type TestService } from '../../test/startTestService.ts';

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

async function get(query: Record<string, string>, signed?: Record<string, string>) {
  const headers = signed ?? (await internalHeaders('usage-ledger', 'GET /internal/usage'));
  const answer = await request(`${service.internalUrl}/internal/usage?${new URLSearchParams(query)}`, { headers });
  return { status: answer.statusCode, body: (await answer.body.json()) as Record<string, unknown> };
}

const anOwner = () => ({ keyId: `key_${randomUUID()}`, workspaceId: `ws_${randomUUID()}` });
const at = (day: number, hour: number) => Date.UTC(2026, 9, day, hour);
const october = { start: '2026-10-01', end: '2026-11-01' };

it('sums a key’s calls by UTC day, in the order of days, to the nano-dollar', async () => {
  const owner = anOwner();
  const { keyId } = owner;
  const calls = [
    aUsageRecorded({ ...owner, startedAtMs: at(5, 23), chargeNanoUsd: 3n }),
    aUsageRecorded({ ...owner, startedAtMs: at(5, 0), chargeNanoUsd: 4n }),
    anUnchargedUsageRecorded('failure', { ...owner, startedAtMs: at(5, 1) }),
    anUnchargedUsageRecorded('unknown', { ...owner, startedAtMs: at(4, 23) }),
  ];
  await aPartition(ledger.db).deliver(calls);
  const uncharged = { prompt_tokens: 0, cached_prompt_tokens: 0, completion_tokens: 0, charge_nano_usd: '0' };
  expect(await get({ key_id: keyId, ...october })).toEqual({
    status: 200,
    body: {
      usage: [
        { key_id: keyId, day: '2026-10-04', requests: 1, success: 0, failure: 0, unknown: 1, ...uncharged },
        {
          key_id: keyId,
          day: '2026-10-05',
          requests: 3,
          success: 2,
          failure: 1,
          unknown: 0,
          prompt_tokens: 240,
          cached_prompt_tokens: 40,
          completion_tokens: 160,
          charge_nano_usd: '7',
        },
      ],
    },
  });
});

it('sums by what is asked for: by model, and by day and model, over all keys of a workspace', async () => {
  const workspaceId = `ws_${randomUUID()}`;
  const calls = [
    { canonicalModel: 'small-chat', startedAtMs: at(5, 1), chargeNanoUsd: 3n },
    { canonicalModel: 'large-chat', startedAtMs: at(5, 2), chargeNanoUsd: 4n },
    { canonicalModel: 'small-chat', startedAtMs: at(6, 1), chargeNanoUsd: 5n },
  ].map((fields) => aUsageRecorded({ workspaceId, ...fields }));
  await aPartition(ledger.db).deliver(calls);
  const groupsOf = async (by: string) => {
    const { body } = await get({ workspace_id: workspaceId, ...october, group_by: by });
    return (body.usage as Record<string, unknown>[]).map(({ key_id, day, model, charge_nano_usd }) => [
      ...[key_id, day, model].filter((group) => group !== undefined),
      charge_nano_usd,
    ]);
  };
  expect(await groupsOf('model')).toEqual([
    ['large-chat', '4'],
    ['small-chat', '8'],
  ]);
  expect(await groupsOf('model,day')).toEqual([
    ['2026-10-05', 'large-chat', '4'],
    ['2026-10-05', 'small-chat', '3'],
    ['2026-10-06', 'small-chat', '5'],
  ]);
});

it('shows every key of a workspace, and no other’s', async () => {
  const workspaceId = `ws_${randomUUID()}`;
  const calls = [1, 2].map((day) => aUsageRecorded({ workspaceId, startedAtMs: at(day, 0) }));
  await aPartition(ledger.db).deliver([...calls, aUsageRecorded({ startedAtMs: at(1, 0) })]);
  const { body } = await get({ workspace_id: workspaceId, ...october });
  expect(body.usage).toMatchObject(calls.map(({ keyId }, index) => ({ key_id: keyId, day: `2026-10-0${index + 1}` })));
});

it('counts the first day in and the last one out', async () => {
  const owner = anOwner();
  const days = [9, 10, 11].map((day) => aUsageRecorded({ ...owner, startedAtMs: at(day, 0) }));
  await aPartition(ledger.db).deliver(days);
  const { body } = await get({ key_id: owner.keyId, start: '2026-10-09', end: '2026-10-11' });
  expect(body.usage).toMatchObject([{ day: '2026-10-09' }, { day: '2026-10-10' }]);
});

it('knows nothing of a key that was never used', async () => {
  expect(await get({ key_id: 'key_none', ...october })).toEqual({ status: 200, body: { usage: [] } });
});

it.each([
  ['key_id', { ...october }],
  ['key_id', { key_id: 'key_a', workspace_id: 'ws_a', ...october }],
  ['start', { key_id: 'key_a', start: 'october', end: '2026-11-01' }],
  ['end', { key_id: 'key_a', start: '2026-10-01', end: '2026-10-01' }],
  ['query', { key_id: 'key_a', ...october, model: 'small-chat' }],
  ['group_by.1', { key_id: 'key_a', ...october, group_by: 'day,colour' }],
])('refuses a query whose %s is wrong', async (param, query) => {
  expect(await get(query)).toMatchObject({ status: 400, body: { error: 'invalid_request', param } });
});

it('is for the operator only', async () => {
  expect((await get({ key_id: 'key_a', ...october }, {})).status).toBe(401);
});
