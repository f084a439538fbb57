import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { generateApiKey, toKeySha256 } from '@turnpike/api-keys/apiKey';
import { changeHold } from '../src/workspaces/changeWorkspace.ts';
import { aWorkspace, putAWorkspace, registerAKey, verify } from './builders.ts';
import { startAuth, type TestAuth } from './startAuth.ts';

let auth: TestAuth;
beforeAll(async () => {
  auth = await startAuth();
});
afterAll(() => auth.stop());

const HOUR_MS = 3_600_000;

async function rotate(keyId: string, changes: object = {}) {
  const apiKey = generateApiKey();
  const made = { key_sha256: toKeySha256(apiKey), last_four: apiKey.slice(-4), grace_seconds: 3_600, ...changes };
  return { apiKey, made, ...(await auth.callInternal('POST', `/internal/keys/${keyId}/rotate`, made)) };
}
const changeWorkspace = (workspaceId: string, change: string) =>
  auth.callInternal('POST', `/internal/workspaces/${workspaceId}/${change}`);
const putCap = (workspaceId: string, body: object) =>
  auth.callInternal('PUT', `/internal/workspaces/${workspaceId}/cap`, body);

it('shows a key without anything that lets anyone use it', async () => {
  const { keyId, workspaceId, registration } = await registerAKey(auth, { rpm: 7, max_budget_nano_usd: '5' });
  expect(await auth.callInternal('GET', `/internal/keys/${keyId}`)).toEqual({
    status: 200,
    body: {
      key_id: keyId,
      workspace_id: workspaceId,
      last_four: registration.last_four,
      name: 'A key',
      status: 'active',
      blocked_by: null,
      rpm: 7,
      tpm: 1_000_000,
      max_budget_nano_usd: '5',
      period_budget: null,
      allowed_models: null,
      expires_at: null,
      created_at: expect.stringMatching(/^20\d\d-/),
      old_secret: null,
    },
  });
});

it('lists the keys of one workspace, revoked ones too, and no other’s', async () => {
  const { workspaceId, keyId } = await registerAKey(auth);
  const second = await registerAKey(auth, { workspace_id: workspaceId });
  await registerAKey(auth);
  await auth.callInternal('POST', `/internal/keys/${keyId}/revoke`);
  const { body } = await auth.callInternal('GET', `/internal/workspaces/${workspaceId}/keys`);
  const listed = body.keys.map((key: { key_id: string; status: string }) => [key.key_id, key.status]);
  expect(listed.sort()).toEqual(
    [
      [keyId, 'revoked'],
      [second.keyId, 'active'],
    ].sort(),
  );
  expect(body.next_after).toBeNull();
});

it('finds the keys that end in four characters, of every workspace, whatever became of them', async () => {
  const [first, second] = [
    await registerAKey(auth, { last_four: 'Zz9q' }),
    await registerAKey(auth, { last_four: 'Zz9q' }),
  ];
  await registerAKey(auth, { last_four: 'zz9q' });
  await auth.callInternal('POST', `/internal/keys/${first.keyId}/revoke`);
  const { status, body } = await auth.callInternal('GET', '/internal/keys?last_four=Zz9q');
  expect({ status, next: body.next_after }).toEqual({ status: 200, next: null });
  const found = body.keys.map((key: Record<string, string>) => [key.key_id, key.workspace_id, key.status]);
  expect(found.sort()).toEqual(
    [
      [first.keyId, first.workspaceId, 'revoked'],
      [second.keyId, second.workspaceId, 'active'],
    ].sort(),
  );
  expect(await auth.callInternal('GET', '/internal/keys?last_four=!!!!')).toMatchObject({
    status: 400,
    body: { error: 'invalid_request', param: 'last_four' },
  });
});

it('lists more keys than one page holds, each once, page by page', async () => {
  const { workspaceId } = await putAWorkspace(auth);
  await auth.db.apiKey.createMany({
    data: Array.from({ length: 501 }, (_, index) => ({
      keyId: `key_${workspaceId}_${String(index).padStart(3, '0')}`,
      workspaceId,
      storedHash: toKeySha256(`${workspaceId} ${index}`),
      pepperId: 'p2',
      lastFour: 'abcd',
      name: 'One of many',
    })),
  });
  const path = `/internal/workspaces/${workspaceId}/keys`;
  const first = await auth.callInternal('GET', path);
  const second = await auth.callInternal('GET', `${path}?after=${first.body.next_after}`);
  expect([first.body.keys.length, second.body.keys.length, second.body.next_after]).toEqual([500, 1, null]);
  const ids = [...first.body.keys, ...second.body.keys].map(({ key_id: id }: { key_id: string }) => id);
  expect(new Set(ids).size).toBe(501);
});

/** The account layer's side of a workspace that the operator made. */
const UNKNOWN_TO_ACCOUNTS = { account_status: null, account_cap_nano_usd: null };

it('lists workspaces and shows one', async () => {
  const { workspaceId, body } = await putAWorkspace(auth, { monthly_cap_nano_usd: '9' });
  const expected = { workspace_id: workspaceId, region: 'us', version: 1, ...UNKNOWN_TO_ACCOUNTS, ...body };
  expect(await auth.callInternal('GET', `/internal/workspaces/${workspaceId}`)).toEqual({
    status: 200,
    body: expected,
  });
  const { body: list } = await auth.callInternal('GET', '/internal/workspaces');
  expect(list.workspaces).toContainEqual(expected);
});

it('creates a workspace once, and changes none that is there', async () => {
  const body = { workspace_id: 'ws_created', ...aWorkspace({ monthly_cap_nano_usd: '9' }) };
  const create = (changes: object = {}) => auth.callInternal('POST', '/internal/workspaces', { ...body, ...changes });
  const created = { region: 'us', version: 1, ...UNKNOWN_TO_ACCOUNTS, ...body };
  expect(await create()).toEqual({ status: 200, body: created });
  await changeWorkspace('ws_created', 'hold');
  expect(await create()).toMatchObject({ status: 409, body: { error: 'workspace_exists' } });
  expect(await create({ workspace_id: 'ws_second' })).toMatchObject({
    status: 409,
    body: { error: 'workspace_conflict' },
  });
  expect(await create({ workspace_id: 'acme' })).toMatchObject({ status: 400, body: { param: 'workspace_id' } });
  const { body: kept } = await auth.callInternal('GET', '/internal/workspaces/ws_created');
  expect(kept).toMatchObject({ billing_status: 'on_hold', version: 2 });
});

const endOld = (keyId: string) => auth.callInternal('POST', `/internal/keys/${keyId}/end-old-secret`);
/** The answers of the gate and of look-ups for a secret. */
const recordOf = async (apiKey: string) => (await verify(auth, apiKey)).key;

it('sets the given fields of a key, tells the router, and leaves the others', async () => {
  const { apiKey, keyId, workspaceId } = await registerAKey(auth, { rpm: 50, max_budget_nano_usd: '7' });
  const update = (body: object, id = keyId) => auth.callInternal('POST', `/internal/keys/${id}/update`, body);
  const before = auth.announced.length;
  const changes = {
    ...{ name: 'Renamed', tpm: 9, period_budget: { period: 'week', max_nano_usd: '5' }, allowed_models: ['m'] },
    expires_at: '2099-01-31T00:00:00.000Z',
  };
  const kept = { rpm: 50, max_budget_nano_usd: '7' };
  expect(await update(changes)).toMatchObject({ status: 200, body: { ...kept, ...changes } });
  expect((await verify(auth, apiKey)).key).toMatchObject({ rpm: 50, tpm: 9, allowedModels: ['m'] });
  const removed = { max_budget_nano_usd: null, period_budget: null, allowed_models: null, expires_at: null };
  expect((await update(removed)).body).toMatchObject({ name: 'Renamed', tpm: 9, ...removed });
  expect(auth.announced.slice(before)).toEqual(
    [3, 4].map((n) => `PUT /internal/workspaces/${workspaceId}/keys/${keyId}/generation?generation=${n}`),
  );

  for (const wrong of [{ rpm: 0 }, { name: '' }, { allowed_models: [] }, { status: 'active' }])
    expect(await update(wrong)).toMatchObject({ status: 400 });
  expect(await update({ rpm: 5 }, 'key_none')).toMatchObject({ status: 404, body: { error: 'unknown_key' } });
  await auth.callInternal('POST', `/internal/keys/${keyId}/revoke`);
  expect(await update({ rpm: 5 })).toMatchObject({ status: 409, body: { error: 'key_revoked' } });
});

it('rotates a key: both secrets are one key, each known by its own end, and the old one ends after the grace', async () => {
  const limits = { rpm: 9, tpm: 8, max_budget_nano_usd: '7' };
  const { keyId, workspaceId, apiKey: oldApiKey } = await registerAKey(auth, limits);
  const before = Date.now();
  const { status, body, apiKey } = await rotate(keyId);
  expect(status).toBe(200);
  const both = { key_id: keyId, name: 'A key', ...limits };
  expect(body).toMatchObject({
    new_key: { ...both, last_four: apiKey.slice(-4), expires_at: null },
    old_key: { ...both, last_four: oldApiKey.slice(-4), expires_at: expect.any(String) },
  });
  const [oldRecord, newRecord] = [await recordOf(oldApiKey), await recordOf(apiKey)];
  expect(newRecord).toMatchObject({ keyId, lastFour: apiKey.slice(-4), expiresAt: null, maxBudgetNanoUsd: '7' });
  expect(oldRecord).toEqual({
    ...newRecord,
    lastFour: oldApiKey.slice(-4),
    expiresAt: body.old_key.expires_at,
    expiresInMs: expect.any(Number),
  });
  const endsAt = Date.parse(oldRecord.expiresAt);
  expect(endsAt).toBeGreaterThanOrEqual(before + HOUR_MS);
  expect(endsAt).toBeLessThanOrEqual(Date.now() + HOUR_MS);
  expect(await auth.db.apiKey.count({ where: { workspaceId } })).toBe(1);
});

it('shows and finds a rotated key by either of its secrets', async () => {
  const { keyId, workspaceId, apiKey: oldApiKey } = await registerAKey(auth);
  const { apiKey, body } = await rotate(keyId);
  const shown = {
    key_id: keyId,
    last_four: apiKey.slice(-4),
    expires_at: null,
    old_secret: { last_four: oldApiKey.slice(-4), ends_at: body.old_key.expires_at },
  };
  expect((await auth.callInternal('GET', `/internal/keys/${keyId}`)).body).toMatchObject(shown);
  const listed = await auth.callInternal('GET', `/internal/workspaces/${workspaceId}/keys`);
  expect(listed.body.keys).toMatchObject([shown]);
  for (const secret of [apiKey, oldApiKey]) {
    const found = await auth.callInternal('GET', `/internal/keys?last_four=${secret.slice(-4)}`);
    expect(found.body.keys).toContainEqual(expect.objectContaining(shown));
  }
});

it('tells the router at once that a secret has an end', async () => {
  const { keyId, workspaceId } = await registerAKey(auth);
  const before = auth.announced.length;
  await rotate(keyId);
  await endOld(keyId);
  await endOld(keyId);
  const told = (generation: number) =>
    `PUT /internal/workspaces/${workspaceId}/keys/${keyId}/generation?generation=${generation}`;
  expect(auth.announced.slice(before)).toEqual([told(3), told(4), told(4)]);
});

it('ends an old secret without a grace at once, and never later than the key ends', async () => {
  const { keyId, apiKey } = await registerAKey(auth);
  const rotated = await rotate(keyId, { grace_seconds: 0 });
  expect(await recordOf(apiKey)).toBeNull();
  expect(await recordOf(rotated.apiKey)).toMatchObject({ keyId });

  const soon = new Date(Date.now() + 60_000).toISOString();
  const ending = await registerAKey(auth, { expires_at: soon });
  const { body } = await rotate(ending.keyId);
  expect([body.old_key.expires_at, body.new_key.expires_at]).toEqual([soon, soon]);
});

it('takes no third secret while two work: it says when the old one ends, and takes it once that has ended', async () => {
  const { keyId, apiKey: first } = await registerAKey(auth);
  const { apiKey: second, body } = await rotate(keyId, { grace_seconds: 60 });
  const third = await rotate(keyId);
  expect(third).toMatchObject({
    status: 409,
    body: { error: 'key_has_two_secrets', message: expect.stringContaining(body.old_key.expires_at) },
  });
  expect(await recordOf(third.apiKey)).toBeNull();
  expect([await recordOf(first), await recordOf(second)]).toMatchObject([{ keyId }, { keyId }]);

  expect(await endOld(keyId)).toMatchObject({ status: 200, body: { key_id: keyId, last_four: second.slice(-4) } });
  expect(await recordOf(first)).toBeNull();
  const fourth = await rotate(keyId, { grace_seconds: 60 });
  expect(fourth.status).toBe(200);
  expect(await recordOf(first)).toBeNull();
  expect([await recordOf(second), await recordOf(fourth.apiKey)]).toMatchObject([{ keyId }, { keyId }]);
});

it('ends no secret of a key that was never rotated, or of none', async () => {
  const { keyId, apiKey } = await registerAKey(auth);
  expect(await endOld(keyId)).toMatchObject({ status: 409, body: { error: 'no_old_secret' } });
  expect(await endOld('key_none')).toMatchObject({ status: 404, body: { error: 'unknown_key' } });
  expect(await recordOf(apiKey)).toMatchObject({ keyId });
});

it('rotates a key once when it is asked to several times at once', async () => {
  const { keyId } = await registerAKey(auth);
  const answers = await Promise.all([1, 2, 3, 4].map(() => rotate(keyId)));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
  const records = await Promise.all(answers.map(({ apiKey }) => recordOf(apiKey)));
  expect(records.map((record) => record !== null)).toEqual(answers.map(({ status }) => status === 200));
});

it.each(['block', 'revoke'])('keeps both secrets of a rotated key out after %s', async (change) => {
  const { keyId, apiKey: oldApiKey } = await registerAKey(auth);
  const { apiKey } = await rotate(keyId);
  await auth.callInternal('POST', `/internal/keys/${keyId}/${change}`);
  const out = change === 'block' ? { isBlocked: true } : null;
  const records = [await recordOf(oldApiKey), await recordOf(apiKey)];
  if (out) expect(records).toMatchObject([out, out]);
  else expect(records).toEqual([null, null]);
});

it('registers no secret that a key has, or had last, for another', async () => {
  const { keyId, registration } = await registerAKey(auth);
  const { made } = await rotate(keyId, { grace_seconds: 0 });
  const other = await registerAKey(auth);
  for (const key_sha256 of [registration.key_sha256, made.key_sha256]) {
    const taken = { status: 409, body: { error: 'key_already_registered' } };
    expect(await rotate(other.keyId, { key_sha256 })).toMatchObject(taken);
    expect(await rotate(keyId, { key_sha256 })).toMatchObject(taken);
    expect(await auth.callInternal('POST', '/internal/keys', { ...registration, key_sha256 })).toMatchObject(taken);
  }
});

it.each(['block', 'revoke'])('does not rotate a key after %s, and registers nothing', async (change) => {
  const { keyId, workspaceId } = await registerAKey(auth);
  await auth.callInternal('POST', `/internal/keys/${keyId}/${change}`);
  expect(await rotate(keyId)).toMatchObject({ status: 409, body: { error: 'key_not_in_use' } });
  expect(await auth.db.apiKey.count({ where: { workspaceId } })).toBe(1);
});

it('changes nothing when the new key is registered already', async () => {
  const { keyId, registration, apiKey } = await registerAKey(auth);
  const answer = await rotate(keyId, { key_sha256: registration.key_sha256 });
  expect(answer).toMatchObject({ status: 409, body: { error: 'key_already_registered' } });
  expect((await verify(auth, apiKey)).key).toMatchObject({ expiresAt: null, generation: 2 });
});

it.each([
  ['key_sha256', { key_sha256: 'sk-not-a-hash' }],
  ['last_four', { last_four: '*' }],
  ['grace_seconds', { grace_seconds: -1 }],
  ['grace_seconds', { grace_seconds: 90 * 86_400 + 1 }],
])('refuses a rotation whose %s is wrong', async (param, changes) => {
  const { keyId } = await registerAKey(auth);
  expect(await rotate(keyId, changes)).toMatchObject({ status: 400, body: { error: 'invalid_request', param } });
});

it('puts a workspace on hold and releases it, each told to the router once for every key; repeating is no change', async () => {
  const { workspaceId, keyId } = await registerAKey(auth);
  const before = auth.announced.length;
  for (const [change, billing_status, version] of [
    ['hold', 'on_hold', 2],
    ['hold', 'on_hold', 2],
    ['release', 'active', 3],
  ]) {
    const answer = await changeWorkspace(workspaceId, String(change));
    expect(answer).toMatchObject({ status: 200, body: { billing_status, version } });
  }
  const announced = [3, 3, 4].map(
    (n) => `PUT /internal/workspaces/${workspaceId}/keys/${keyId}/generation?generation=${n}`,
  );
  expect(auth.announced.slice(before)).toEqual(announced);
});

it('answers a hold that another operator releases meanwhile by the workspace as it is', async () => {
  const { workspaceId } = await putAWorkspace(auth);
  const { workspace } = auth.db;
  const released = new Proxy(workspace, {
    get: (target, name) =>
      name === 'updateMany'
        ? async (change: Parameters<typeof workspace.updateMany>[0]) => {
            const result = await target.updateMany(change);
            await changeWorkspace(workspaceId, 'release');
            return result;
          }
        : Reflect.get(target, name),
  });
  const db = Object.create(auth.db, { workspace: { value: released } });
  expect(await changeHold(db, { workspaceId, change: 'hold' })).toMatchObject({ billingStatus: 'active', version: 3 });
});

it.each(['hold', 'release'])('%s never sets up a workspace for billing that was not', async (change) => {
  const { workspaceId } = await putAWorkspace(auth, { billing_status: 'not_provisioned' });
  const answer = await changeWorkspace(workspaceId, change);
  expect(answer).toMatchObject({ status: 409, body: { error: 'workspace_not_provisioned' } });
  const { body } = await auth.callInternal('GET', `/internal/workspaces/${workspaceId}`);
  expect(body).toMatchObject({ billing_status: 'not_provisioned', version: 1 });
});

it('sets and lifts a monthly cap, raising the version only when it changes', async () => {
  const { workspaceId } = await putAWorkspace(auth);
  const versions = [];
  for (const cap of ['5', '5', null, null])
    versions.push((await putCap(workspaceId, { monthly_cap_nano_usd: cap })).body);
  expect(versions.map((body) => [body.monthly_cap_nano_usd, body.version])).toEqual([
    ['5', 2],
    ['5', 2],
    [null, 3],
    [null, 3],
  ]);
});

it('does not take a missing cap for none', async () => {
  const { workspaceId } = await putAWorkspace(auth, { monthly_cap_nano_usd: '5' });
  const answer = await putCap(workspaceId, {});
  expect(answer).toMatchObject({ status: 400, body: { param: 'monthly_cap_nano_usd' } });
});

it.each([
  ['GET', '/internal/workspaces/ws_none', 404, 'workspace_not_found'],
  ['GET', '/internal/workspaces/ws_none/keys', 404, 'workspace_not_found'],
  ['POST', '/internal/workspaces/ws_none/hold', 404, 'workspace_not_found'],
  ['GET', '/internal/keys/key_none', 404, 'unknown_key'],
])('%s %s is %i', async (method, path, status, error) => {
  expect(await auth.callInternal(method, path)).toMatchObject({ status, body: { error } });
  expect(await auth.callInternal(method, path, undefined, {})).toMatchObject({ status: 401 });
});
