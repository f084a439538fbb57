import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { generateApiKey, toKeySha256 } from '@turnpike/api-keys/apiKey';
import type { ConsoleRoute } from '@turnpike/console-api/console/consoleRoute';
import { KEY_STATES, keysConsoleApi, PLAYGROUND_KEY_NAME } from '@turnpike/console-api/console/keys';
import { hasRight, ROLES } from '@turnpike/console-api/roles';
import { aFleet } from '@turnpike/internal-auth/aFleet';
import { CONSOLE_CALLER_HEADER, type ConsoleCaller, signConsoleCaller } from '@turnpike/internal-auth/consoleToken';
import { createTokenIssuer } from '@turnpike/internal-auth/internalToken';
import { putAWorkspace, registerAKey, verify } from './builders.ts';
import { type Answer, fleet, startAuth, type TestAuth } from './startAuth.ts';

let auth: TestAuth;
beforeAll(async () => {
  auth = await startAuth();
});
afterAll(() => auth.stop());

const MEMBER: ConsoleCaller = { userId: 'u1', organizationId: 'o1', workspaceId: 'ws_none', role: 'developer' };

/** Calls a console route as the edge does, or with the headers given over those of the edge. */
async function call(
  { method, path }: ConsoleRoute,
  {
    member = {},
    params = {},
    query = '',
    body,
    headers = {},
  }: {
    member?: Partial<ConsoleCaller>;
    params?: Record<string, string>;
    query?: string;
    body?: object;
    headers?: Record<string, string>;
  } = {},
): Promise<Answer> {
  const issue = createTokenIssuer({ key: fleet.keyOf('edge') });
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => params[name] ?? 'none');
  return auth.callInternal(method, filled + query, method === 'GET' ? undefined : body, {
    ...(await issue('auth', `${method} ${path}`)),
    [CONSOLE_CALLER_HEADER]: signConsoleCaller({ ...MEMBER, ...member }, `${method} ${path}`, {
      key: fleet.keyOf('edge'),
    }),
    ...headers,
  });
}

const {
  listKeys,
  findKeys,
  createKey,
  updateKey,
  rotateKey,
  endOldSecret,
  blockKey,
  unblockKey,
  revokeKey,
  listKeyChanges,
  getKeyHeadroom,
  getCredit,
} = keysConsoleApi.routes;

describe.each(Object.entries<ConsoleRoute>(keysConsoleApi.routes))('%s', (_name, route) => {
  it.each(ROLES)('lets the role %s in by its rights', async (role) => {
    const { body } = await call(route, { member: { role }, body: {} });
    expect(body.error === 'right_missing').toBe(!hasRight(role, route.right));
  });

  it('lets in no role that there is not', async () => {
    expect(await call(route, { member: { role: 'root' }, body: {} })).toMatchObject({
      status: 403,
      body: { error: 'right_missing' },
    });
  });

  it('lets in none whom no edge of this region names for this route', async () => {
    const pattern = `${route.method} ${route.path}`;
    const names = [
      '',
      'us/edge:k1|e30|9999999999999|c2lnbmVk',
      signConsoleCaller(MEMBER, pattern, { key: fleet.keyOf('auth') }),
      signConsoleCaller(MEMBER, pattern, { key: aFleet().keyOf('edge') }),
      signConsoleCaller(MEMBER, pattern, { key: fleet.keyOf('edge'), now: () => Date.now() - 6 * 60_000 }),
      // The value of a request to another route.
      signConsoleCaller(MEMBER, `${route.method} ${route.path}/other`, { key: fleet.keyOf('edge') }),
    ];
    for (const name of names)
      expect(await call(route, { headers: { [CONSOLE_CALLER_HEADER]: name }, body: {} })).toMatchObject({
        status: 401,
        body: { error: 'no_console_caller' },
      });
  });

  it('serves the edge alone', async () => {
    const pattern = `${route.method} ${route.path}`;
    for (const service of ['operator', 'catalog']) {
      const headers = await createTokenIssuer({ key: fleet.keyOf(service) })('auth', pattern);
      expect((await call(route, { headers: headers as Record<string, string>, body: {} })).status).toBe(403);
    }
  });
});

it('lists the keys of the workspace in the token, and none of another', async () => {
  const { workspaceId, keyId, apiKey } = await registerAKey(auth, { name: 'Mine', max_budget_nano_usd: '7' });
  await registerAKey(auth);
  const { status, body } = await call(listKeys, { member: { workspaceId } });
  expect(status).toBe(200);
  expect(body.keys).toMatchObject([
    { key_id: keyId, name: 'Mine', last_four: apiKey.slice(-4), status: 'active', max_budget_nano_usd: '7' },
  ]);
  expect(JSON.stringify(body)).not.toContain('hash');
  const empty = await putAWorkspace(auth);
  expect((await call(listKeys, { member: { workspaceId: empty.workspaceId } })).body.keys).toEqual([]);
});

/** Finds keys of a workspace. Returns their names, their number on all pages, and the number of those that were left out. */
async function find(workspaceId: string, params: Record<string, string> = {}): Promise<[string[], number, number]> {
  const query = `?${new URLSearchParams(params)}`;
  const { body } = await call(findKeys, { member: { workspaceId }, query });
  return [body.keys.map(({ name }: { name: string }) => name), body.found, body.left_out];
}

/** Makes a workspace whose keys have these names, the last one the newest. Returns their ids in this order. */
async function keysNamed(...names: string[]): Promise<{ workspaceId: string; keyIds: string[] }> {
  const { workspaceId } = await putAWorkspace(auth);
  const keyIds: string[] = [];
  for (const [index, name] of names.entries()) {
    const { keyId } = await registerAKey(auth, { workspace_id: workspaceId, name });
    await auth.db.apiKey.update({ where: { keyId }, data: { createdAt: new Date(Date.UTC(2026, 0, 1 + index)) } });
    keyIds.push(keyId);
  }
  return { workspaceId, keyIds };
}

describe('findKeys', () => {
  it('shows pages of keys, the newest first, and none of another workspace', async () => {
    const { workspaceId } = await keysNamed('a', 'b', 'c', 'd');
    await registerAKey(auth, { name: 'other' });
    expect(await find(workspaceId)).toEqual([['d', 'c', 'b', 'a'], 4, 0]);
    expect(await find(workspaceId, { take: '2' })).toEqual([['d', 'c'], 4, 0]);
    expect(await find(workspaceId, { skip: '2', take: '2' })).toEqual([['b', 'a'], 4, 0]);
    expect(await find(workspaceId, { skip: '9' })).toEqual([[], 4, 0]);
    expect(await find((await putAWorkspace(auth)).workspaceId)).toEqual([[], 0, 0]);
  });

  it('finds a part of a name in any case, and the last four characters', async () => {
    const { workspaceId } = await keysNamed('Über_100%', 'Server', 'server two');
    expect(await find(workspaceId, { find: ' SERVER ' })).toEqual([['server two', 'Server'], 2, 0]);
    expect(await find(workspaceId, { find: 'üBER_' })).toEqual([['Über_100%'], 1, 0]);
    expect(await find(workspaceId, { find: '0_' })).toEqual([[], 0, 0]);
    const { apiKey } = await registerAKey(auth, { workspace_id: workspaceId, name: 'Laptop' });
    expect(await find(workspaceId, { find: apiKey.slice(-4).toLowerCase() })).toEqual([['Laptop'], 1, 0]);
  });

  it('finds keys by their states and by their ids', async () => {
    const { workspaceId, keyIds } = await keysNamed('active', 'blocked', 'expired', 'revoked');
    const [active = '', blocked = '', expired = '', revoked = ''] = keyIds;
    await auth.db.apiKey.update({ where: { keyId: expired }, data: { expiresAt: new Date(Date.now() - 1_000) } });
    await auth.callInternal('POST', `/internal/keys/${blocked}/block`);
    await auth.callInternal('POST', `/internal/keys/${revoked}/revoke`);
    for (const state of KEY_STATES) expect(await find(workspaceId, { states: state })).toEqual([[state], 1, 0]);
    expect(await find(workspaceId, { states: 'revoked,active' })).toEqual([['revoked', 'active'], 2, 0]);
    const { keyId: other } = await registerAKey(auth);
    expect(await find(workspaceId, { ids: `${expired},${other},${active}` })).toEqual([['expired', 'active'], 2, 0]);
  });

  it('counts ended keys of the playground that it leaves out', async () => {
    const { workspaceId, keyIds } = await keysNamed(PLAYGROUND_KEY_NAME, PLAYGROUND_KEY_NAME, 'Laptop', 'Server');
    for (const keyId of [keyIds[0], keyIds[2]]) await auth.callInternal('POST', `/internal/keys/${keyId}/revoke`);
    const shown = ['Server', 'Laptop', PLAYGROUND_KEY_NAME];
    expect(await find(workspaceId, { ended_playground: 'left_out' })).toEqual([shown, 3, 1]);
    expect(await find(workspaceId)).toEqual([[...shown, PLAYGROUND_KEY_NAME], 4, 0]);
  });

  it.each([
    ['find', 'two\nlines'],
    ['states', 'active,gone'],
    ['ids', 'key_1,'],
    ['skip', '-1'],
    ['take', '101'],
    ['ended_playground', 'yes'],
  ])('refuses a wrong %s', async (name, value) => {
    const query = `?${new URLSearchParams({ [name]: value })}`;
    expect(await call(findKeys, { query })).toMatchObject({
      status: 400,
      body: { error: 'invalid_request', param: name },
    });
  });
});

it('creates a key in the workspace of the token by its hash, which works at once', async () => {
  const { workspaceId } = await putAWorkspace(auth);
  const apiKey = generateApiKey();
  const key = { key_sha256: toKeySha256(apiKey), last_four: apiKey.slice(-4), name: ' Laptop ' };
  const { status, body } = await call(createKey, { member: { workspaceId }, body: key });
  expect(status).toBe(201);
  expect((await verify(auth, apiKey)).key).toMatchObject({
    keyId: body.key_id,
    rpm: 600,
    maxBudgetNanoUsd: null,
    workspace: { workspaceId },
  });
  expect((await call(createKey, { member: { workspaceId }, body: key })).body.error).toBe('key_already_registered');
  expect((await call(listKeys, { member: { workspaceId } })).body.keys).toMatchObject([{ name: 'Laptop' }]);
});

it.each([
  ['key_sha256', { key_sha256: 'sk-secret' }],
  ['last_four', { last_four: 'sk-secret' }],
  ['name', { name: '' }],
  ['name', { name: 'Lap\ud83d' }],
  ['name', { name: '\u200b' }],
  ['rpm', { rpm: 0 }],
  ['max_budget_nano_usd', { max_budget_nano_usd: '9999999999999999' }],
  ['max_budget_nano_usd', { max_budget_nano_usd: '-1' }],
  ['period_budget.period', { period_budget: { period: 'year', max_nano_usd: '1' } }],
  ['period_budget.max_nano_usd', { period_budget: { period: 'day', max_nano_usd: null } }],
  ['allowed_models', { allowed_models: [] }],
  ['allowed_models.0', { allowed_models: ['Not an id'] }],
  ['allowed_models', { allowed_models: Array.from({ length: 101 }, (_, nth) => `model-${nth}`) }],
  ['expires_at', { expires_at: 'tomorrow' }],
  ['expires_at', { expires_at: '0000-01-01T00:00:00Z' }],
  ['expires_at', { expires_at: '9999-12-31T23:59:59-23:59' }],
  ['body', { workspace_id: 'ws_other' }],
])('refuses a key whose %s is wrong', async (param, changes) => {
  const { workspaceId } = await putAWorkspace(auth);
  const key = { key_sha256: 'a'.repeat(64), last_four: 'abcd', name: 'Laptop', ...changes };
  const answer = await call(createKey, { member: { workspaceId }, body: key });
  expect([answer.status, answer.body.param]).toEqual([400, param]);
  expect(JSON.stringify(answer.body)).not.toContain('sk-secret');
});

it('creates 1,000 keys of a workspace within a day, and the next one after it or by the operator', async () => {
  const { workspaceId, keyId } = await registerAKey(auth);
  const { keyId: _keyId, ...row } = await auth.db.apiKey.findUniqueOrThrow({ where: { keyId } });
  await auth.db.apiKey.createMany({
    data: Array.from({ length: 998 }, (_, nth) => {
      return { ...row, keyId: `${keyId}_${nth}`, storedHash: toKeySha256(`${keyId}_${nth}`) };
    }),
  });
  const create = async () => {
    const { grace_seconds: _grace, ...secret } = aSecret().body;
    const { status, body } = await call(createKey, { member: { workspaceId }, body: { ...secret, name: 'Laptop' } });
    return body.error ?? status;
  };
  const answers = await Promise.all(Array.from({ length: 8 }, create));
  expect(answers.sort()).toEqual([201, ...Array(7).fill('too_many_keys')]);
  await registerAKey(auth, { workspace_id: workspaceId });
  expect(await create()).toBe('too_many_keys');
  await auth.db.apiKey.updateMany({
    where: { keyId: { in: [keyId, `${keyId}_0`] } },
    data: { createdAt: new Date(Date.now() - 25 * 3_600_000) },
  });
  expect(await create()).toBe(201);
});

it('creates no key before the region knows the workspace', async () => {
  const body = { key_sha256: 'b'.repeat(64), last_four: 'abcd', name: 'Laptop' };
  const answer = await call(createKey, { member: { workspaceId: 'ws_new' }, body });
  expect([answer.status, answer.body.error]).toEqual([404, 'workspace_not_found']);
});

it('blocks, unblocks and revokes a key of the workspace, and the router learns of each', async () => {
  const { workspaceId, keyId, apiKey } = await registerAKey(auth);
  const change = { member: { workspaceId }, params: { key_id: keyId } };
  const before = auth.announced.length;
  expect((await call(blockKey, change)).body).toEqual({ key_id: keyId, status: 'blocked' });
  expect((await verify(auth, apiKey)).key).toMatchObject({ isBlocked: true });
  expect((await call(unblockKey, change)).body).toEqual({ key_id: keyId, status: 'active' });
  expect((await verify(auth, apiKey)).key).toMatchObject({ isBlocked: false });
  expect((await call(revokeKey, change)).body).toEqual({ key_id: keyId, status: 'revoked' });
  expect((await verify(auth, apiKey)).key).toBeNull();
  expect((await call(unblockKey, change)).body.error).toBe('key_revoked');
  expect(auth.announced.length - before).toBe(3);
});

describe('a block', () => {
  const operate = (keyId: string, change: string) => auth.callInternal('POST', `/internal/keys/${keyId}/${change}`);
  /** A key, with what the console shows of its status. */
  async function aListedKey() {
    const { workspaceId, keyId, apiKey } = await registerAKey(auth);
    const member = { workspaceId };
    const change = (route: ConsoleRoute) => call(route, { member, params: { key_id: keyId } });
    const read = async () => {
      const [key] = (await call(listKeys, { member })).body.keys;
      return [key.status, key.blocked_by];
    };
    return { keyId, apiKey, change, read };
  }

  it('by the operator stays until the operator ends it', async () => {
    const { keyId, apiKey, change, read } = await aListedKey();
    expect(await read()).toEqual(['active', null]);
    await operate(keyId, 'block');
    expect(await read()).toEqual(['blocked', 'operator']);
    // A block from the console does not make it the console's.
    expect((await change(blockKey)).body).toEqual({ key_id: keyId, status: 'blocked' });
    const { status, body } = await change(unblockKey);
    expect([status, body.error]).toEqual([403, 'key_blocked_by_operator']);
    expect((await verify(auth, apiKey)).key).toMatchObject({ isBlocked: true });
    expect((await operate(keyId, 'unblock')).status).toBe(200);
    expect(await read()).toEqual(['active', null]);
  });

  it('from the console ends by the console and by the operator', async () => {
    const { keyId, change, read } = await aListedKey();
    for (const unblock of [() => change(unblockKey), () => operate(keyId, 'unblock')]) {
      await change(blockKey);
      expect(await read()).toEqual(['blocked', 'console']);
      expect((await unblock()).status).toBe(200);
      expect(await read()).toEqual(['active', null]);
    }
  });

  it('from the console becomes the operator’s once the operator blocks the key too', async () => {
    const { keyId, change, read } = await aListedKey();
    await change(blockKey);
    await operate(keyId, 'block');
    expect(await read()).toEqual(['blocked', 'operator']);
    expect((await change(unblockKey)).body.error).toBe('key_blocked_by_operator');
  });

  it('by the operator holds when the console unblocks the key at the same moment', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { keyId, change, read } = await aListedKey();
      await change(blockKey);
      const [unblocked] = await Promise.all([change(unblockKey), operate(keyId, 'block')]);
      expect([200, 403]).toContain(unblocked.status);
      expect(await read()).toEqual(['blocked', 'operator']);
    }
  });

  it('of before a key said who blocked it counts as the operator’s', async () => {
    const { keyId, change, read } = await aListedKey();
    // Writes as a process of the version before does.
    await auth.db
      .$executeRaw`UPDATE api_key SET status = 'blocked', generation = generation + 1 WHERE key_id = ${keyId}`;
    expect(await read()).toEqual(['blocked', 'operator']);
    expect((await change(unblockKey)).body.error).toBe('key_blocked_by_operator');
  });
});

/** A key whose fields a member sets. */
async function aChangedKey(changes: { [field: string]: unknown } = {}) {
  const made = await registerAKey(auth, changes);
  const { workspaceId, keyId } = made;
  const ask = (route: ConsoleRoute, body: object) =>
    call(route, { member: { workspaceId }, params: { key_id: keyId }, body });
  const read = async () => (await call(listKeys, { member: { workspaceId } })).body.keys[0];
  return { ...made, ask, read };
}

it('changes the given fields of a key and keeps the others, and the router learns of it', async () => {
  const { workspaceId, keyId, apiKey, ask, read } = await aChangedKey({ max_budget_nano_usd: '5', rpm: 7 });
  const before = auth.announced.length;
  const { generation } = (await verify(auth, apiKey)).key;
  const update = { name: ' New ', tpm: 9, max_budget_nano_usd: '8', expires_at: '2099-01-31T01:00:00+01:00' };
  const { status, body } = await ask(updateKey, update);
  expect(status).toBe(200);
  expect(body).toMatchObject({ ...update, name: 'New', rpm: 7, expires_at: '2099-01-31T00:00:00.000Z' });
  expect(body).toEqual(await read());
  expect((await verify(auth, apiKey)).key).toMatchObject({
    generation: generation + 1,
    rpm: 7,
    tpm: 9,
    maxBudgetNanoUsd: '8',
    expiresAt: '2099-01-31T00:00:00.000Z',
  });
  expect(auth.announced.slice(before)).toEqual([
    `PUT /internal/workspaces/${workspaceId}/keys/${keyId}/generation?generation=${generation + 1}`,
  ]);
});

it('removes the budget and the expiry of a key by null', async () => {
  const { apiKey, ask } = await aChangedKey({ max_budget_nano_usd: '5', expires_at: '2099-01-31T00:00:00Z' });
  await ask(updateKey, { max_budget_nano_usd: null, expires_at: null });
  expect((await verify(auth, apiKey)).key).toMatchObject({ maxBudgetNanoUsd: null, expiresAt: null });
});

it('limits a key to models, and lifts the limit by null', async () => {
  const { apiKey, ask, read } = await aChangedKey({ allowed_models: ['small'] });
  expect((await verify(auth, apiKey)).key).toMatchObject({ allowedModels: ['small'] });
  const { generation } = (await verify(auth, apiKey)).key;
  const allowed_models = ['small', 'large'];
  expect((await ask(updateKey, { allowed_models })).body).toMatchObject({ allowed_models });
  expect(await read()).toMatchObject({ allowed_models });
  expect((await verify(auth, apiKey)).key).toMatchObject({ allowedModels: allowed_models, generation: generation + 1 });
  await ask(updateKey, { allowed_models });
  expect((await verify(auth, apiKey)).key).toMatchObject({ generation: generation + 1 });
  await ask(updateKey, { allowed_models: null });
  expect((await verify(auth, apiKey)).key).toMatchObject({ allowedModels: null, generation: generation + 2 });
  expect(await read()).toMatchObject({ allowed_models: null });
});

it('limits the spend of a key in each period, and lifts the limit by null', async () => {
  const { apiKey, ask, read } = await aChangedKey({ period_budget: { period: 'day', max_nano_usd: '5' } });
  expect((await verify(auth, apiKey)).key).toMatchObject({ periodBudget: { period: 'day', maxNanoUsd: '5' } });
  const period_budget = { period: 'week', max_nano_usd: '7' };
  expect((await ask(updateKey, { period_budget })).body).toMatchObject({ period_budget, max_budget_nano_usd: null });
  expect(await read()).toMatchObject({ period_budget });
  await ask(updateKey, { period_budget: null });
  expect((await verify(auth, apiKey)).key).toMatchObject({ periodBudget: null, maxBudgetNanoUsd: null });
});

it('keeps the generation of a key that has the values already, and tells the router again', async () => {
  const { apiKey, ask } = await aChangedKey({ rpm: 7 });
  const { generation } = (await verify(auth, apiKey)).key;
  const before = auth.announced.length;
  for (const update of [{}, { rpm: 7 }, { expires_at: null }]) expect((await ask(updateKey, update)).status).toBe(200);
  expect((await verify(auth, apiKey)).key).toMatchObject({ generation });
  expect(auth.announced.length - before).toBe(3);
});

it.each([
  ['name', { name: 'two\nlines' }],
  ['name', { name: null }],
  ['rpm', { rpm: 1_000_000_001 }],
  ['tpm', { tpm: null }],
  ['max_budget_nano_usd', { max_budget_nano_usd: '9999999999999999' }],
  ['expires_at', { expires_at: 'tomorrow' }],
  ['expires_at', { expires_at: '0000-01-01T00:00:00Z' }],
  ['expires_at', { expires_at: '9999-12-31T23:59:59-23:59' }],
  ['body', { status: 'active' }],
])('refuses an update whose %s is wrong', async (param, update) => {
  const { ask, read } = await aChangedKey();
  const before = await read();
  const { status, body } = await ask(updateKey, { rpm: 9, ...update });
  expect([status, body.param]).toEqual([400, param]);
  expect(await read()).toEqual(before);
});

it('updates no revoked key', async () => {
  const { ask } = await aChangedKey();
  await ask(revokeKey, {});
  const { status, body } = await ask(updateKey, { name: 'Late' });
  expect([status, body.error]).toEqual([409, 'key_revoked']);
});

/** A secret made in the browser, and what travels of it. */
function aSecret() {
  const apiKey = generateApiKey();
  return { apiKey, body: { key_sha256: toKeySha256(apiKey), last_four: apiKey.slice(-4), grace_seconds: 3_600 } };
}

it('gives a key a new secret beside the old one, which works for the grace', async () => {
  const { keyId, apiKey, ask, read } = await aChangedKey({ rpm: 7 });
  const { apiKey: newKey, body: secret } = aSecret();
  const { status, body } = await ask(rotateKey, secret);
  expect([status, body.gate_told]).toEqual([200, true]);
  expect(body.key).toMatchObject({
    key_id: keyId,
    rpm: 7,
    last_four: newKey.slice(-4),
    old_secret: { last_four: apiKey.slice(-4) },
  });
  expect(JSON.stringify(body)).not.toContain(secret.key_sha256);
  expect(await read()).toEqual(body.key);
  const graceMs = Date.parse(body.key.old_secret.ends_at) - Date.now();
  expect(graceMs).toBeGreaterThan(3_000_000);
  expect(graceMs).toBeLessThanOrEqual(3_600_000);
  for (const each of [apiKey, newKey]) expect((await verify(auth, each)).key).toMatchObject({ keyId });
  expect((await ask(rotateKey, aSecret().body)).body.error).toBe('key_has_two_secrets');
});

it('ends the old secret of a key at once and keeps the new one, and the router learns of it', async () => {
  const { workspaceId, keyId, apiKey, ask } = await aChangedKey();
  expect((await ask(endOldSecret, {})).body.error).toBe('no_old_secret');
  const { apiKey: newKey, body: secret } = aSecret();
  await ask(rotateKey, secret);
  const before = auth.announced.length;
  const { status, body } = await ask(endOldSecret, {});
  expect(status).toBe(200);
  expect(Date.parse(body.old_secret.ends_at)).toBeLessThanOrEqual(Date.now());
  expect((await verify(auth, newKey)).key).toMatchObject({ keyId });
  expect((await verify(auth, apiKey)).key).toBeNull();
  expect(auth.announced.length - before).toBe(1);
  // An end that was has nothing to change.
  expect((await ask(endOldSecret, {})).body).toEqual(body);
  const { changes } = (await call(listKeyChanges, { member: { workspaceId, role: 'owner' } })).body;
  expect(changes.map(({ action }: { action: string }) => action)).toEqual(['end_old_secret', 'rotate']);
});

it('ends an old secret with its key once the key ends sooner', async () => {
  const { apiKey, ask } = await aChangedKey();
  await ask(rotateKey, aSecret().body);
  const end = new Date(Date.now() + 60_000).toISOString();
  expect((await ask(updateKey, { expires_at: end })).body.old_secret.ends_at).toBe(end);
  expect((await verify(auth, apiKey)).key).toMatchObject({ expiresAt: end });
});

it.each([
  ['key_sha256', { key_sha256: 'sk-secret' }],
  ['grace_seconds', { grace_seconds: 90 * 86_400 + 1 }],
  ['grace_seconds', { grace_seconds: undefined }],
])('refuses a rotation whose %s is wrong', async (param, changes) => {
  const { apiKey, ask } = await aChangedKey();
  const { status, body } = await ask(rotateKey, { ...aSecret().body, ...changes });
  expect([status, body.param]).toEqual([400, param]);
  expect(JSON.stringify(body)).not.toContain('sk-secret');
  expect((await verify(auth, apiKey)).key).toMatchObject({ expiresAt: null });
});

it.each([
  [updateKey, { name: 'Taken' }],
  [rotateKey, aSecret().body],
  [endOldSecret, {}],
  [blockKey, {}],
  [unblockKey, {}],
  [revokeKey, {}],
])('$method $path changes no key of another workspace', async (route, body) => {
  const { keyId, apiKey } = await registerAKey(auth);
  const { workspaceId } = await putAWorkspace(auth);
  const before = auth.announced.length;
  const foreign = await call(route, { member: { workspaceId }, params: { key_id: keyId }, body });
  const missing = await call(route, { member: { workspaceId }, params: { key_id: 'key_none' }, body });
  expect([foreign.status, foreign.body.error]).toEqual([404, 'unknown_key']);
  expect(missing).toEqual(foreign);
  expect((await verify(auth, apiKey)).key).toMatchObject({ keyId, isBlocked: false, expiresAt: null });
  expect(auth.announced.length).toBe(before);
});

/** Answers as the router does, each workspace and key with amounts of its own. */
function spendByAddress(amounts: Record<string, object>): void {
  auth.answerSpend((req, res) => {
    const found = Object.entries(amounts).find(([name]) => req.url?.split('/').includes(name));
    if (found) return res.end(JSON.stringify(found[1]));
    res.writeHead(503).end('{}');
  });
}

it('shows the live spend of a key of the workspace beside its limits, and of no other', async () => {
  const { workspaceId, keyId } = await registerAKey(auth, { max_budget_nano_usd: '7', rpm: 60, tpm: 90_000 });
  const asked: string[] = [];
  auth.answerSpend((req, res) => {
    asked.push(req.url ?? '');
    res.end(JSON.stringify({ spend_nano_usd: '3', held_nano_usd: '2', used_requests: 4, used_tokens: 90_001 }));
  });
  const params = { key_id: keyId };
  expect(await call(getKeyHeadroom, { member: { workspaceId }, params })).toEqual({
    status: 200,
    body: {
      key_id: keyId,
      spend_nano_usd: '3',
      held_nano_usd: '2',
      max_budget_nano_usd: '7',
      period_budget: null,
      rpm: 60,
      tpm: 90_000,
      used_requests: 4,
      used_tokens: 90_001,
    },
  });
  expect(asked).toEqual([`/internal/workspaces/${workspaceId}/keys/${keyId}/spend?rpm=60&tpm=90000`]);
  // Answers as a router of the version before does.
  spendByAddress({ [keyId]: { spend_nano_usd: '3', held_nano_usd: '2' } });
  expect((await call(getKeyHeadroom, { member: { workspaceId }, params })).body).toMatchObject({
    used_requests: null,
    used_tokens: null,
  });
  const foreign = await call(getKeyHeadroom, { member: { workspaceId: 'ws_other' }, params });
  expect([foreign.status, foreign.body.error]).toEqual([404, 'unknown_key']);
  expect(await call(getKeyHeadroom, { member: { workspaceId }, params: { key_id: 'key_none' } })).toEqual(foreign);
});

it('shows the spend of a key in its period, and when the period begins anew', async () => {
  const period_budget = { period: 'month', max_nano_usd: '9' };
  const { workspaceId, keyId } = await registerAKey(auth, { period_budget });
  let asked: string | undefined;
  auth.answerSpend((req, res) => {
    asked = req.url;
    res.end(JSON.stringify({ spend_nano_usd: '8', held_nano_usd: '2', period_spend_nano_usd: '3' }));
  });
  const { body } = await call(getKeyHeadroom, { member: { workspaceId }, params: { key_id: keyId } });
  expect(body).toMatchObject({
    spend_nano_usd: '8',
    max_budget_nano_usd: null,
    period_budget: {
      ...period_budget,
      spend_nano_usd: '3',
      resets_at: expect.stringMatching(/^\d{4}-\d\d-01T00:00:00.000Z$/),
    },
  });
  expect(asked).toBe(`/internal/workspaces/${workspaceId}/keys/${keyId}/spend?rpm=600&tpm=1000000&period=month`);
});

it('shows each workspace its own credit, with the end of the month and the lower cap', async () => {
  const [first, second] = [await putAWorkspace(auth), await putAWorkspace(auth, { monthly_cap_nano_usd: '50' })];
  await auth.db.workspace.update({ where: { workspaceId: second.workspaceId }, data: { accountCapNanoUsd: 40n } });
  spendByAddress({
    [first.workspaceId]: { credit_nano_usd: '-1', held_nano_usd: '0', month_spend_nano_usd: '0' },
    [second.workspaceId]: { credit_nano_usd: '9', held_nano_usd: '2', month_spend_nano_usd: '30' },
  });
  const answers = await Promise.all(
    [first, second].map(({ workspaceId }) => call(getCredit, { member: { workspaceId, role: 'billing_viewer' } })),
  );
  const month_ends_at = expect.stringMatching(/^\d{4}-\d\d-01T00:00:00.000Z$/);
  expect(answers.map(({ body }) => body)).toEqual([
    {
      credit_nano_usd: '-1',
      held_nano_usd: '0',
      month_spend_nano_usd: '0',
      monthly_cap_nano_usd: null,
      month_ends_at,
    },
    {
      credit_nano_usd: '9',
      held_nano_usd: '2',
      month_spend_nano_usd: '30',
      monthly_cap_nano_usd: '40',
      month_ends_at,
    },
  ]);
  expect(Date.parse(answers[0]?.body.month_ends_at)).toBeGreaterThan(Date.now());
});

it('says to retry while the router does not answer, and that a new workspace is not known yet', async () => {
  const { workspaceId, keyId } = await registerAKey(auth);
  spendByAddress({});
  for (const route of [getKeyHeadroom, getCredit])
    expect(await call(route, { member: { workspaceId }, params: { key_id: keyId } })).toMatchObject({
      status: 503,
      body: { error: 'balances_unavailable', message: expect.stringContaining('Retry') },
    });
  expect(await call(getCredit, { member: { workspaceId: 'ws_new' } })).toMatchObject({
    status: 404,
    body: { error: 'workspace_not_found' },
  });
});

describe('the audit of keys', () => {
  const listChanges = async (workspaceId: string, params: Record<string, string> = {}) => {
    const member = { workspaceId, role: 'admin' };
    return (await call(listKeyChanges, { member, query: `?${new URLSearchParams(params)}` })).body;
  };

  it('shows each change of a key with its maker, the newest first, and no secret', async () => {
    const { workspaceId } = await putAWorkspace(auth);
    const member = { workspaceId, userId: 'user_ada' };
    const [first, second] = [aSecret(), aSecret()];
    const { grace_seconds: _, ...made } = first.body;
    const { key_id: keyId } = (await call(createKey, { member, body: { ...made, name: 'Laptop' } })).body;
    const change = (route: ConsoleRoute, body = {}) => call(route, { member, params: { key_id: keyId }, body });
    await change(updateKey, {
      name: 'Desk',
      period_budget: { period: 'month', max_nano_usd: '7' },
      allowed_models: ['small'],
    });
    await change(rotateKey, second.body);
    await change(blockKey);
    // Changes nothing, so it leaves no line.
    await change(blockKey);
    await change(unblockKey);
    await change(revokeKey);
    const { changes, next } = await listChanges(workspaceId);
    expect(next).toBeNull();
    const [revoked] = changes;
    expect(revoked).toEqual({
      change_id: expect.stringMatching(/^\d+$/),
      at: expect.stringMatching(/^20\d\d-/),
      key_id: keyId,
      user_id: 'user_ada',
      role: 'developer',
      action: 'revoke',
      before: { status: 'active' },
      after: { status: 'revoked' },
    });
    const lastFours = [first, second].map(({ apiKey }) => apiKey.slice(-4));
    const seen = changes.map(({ action, before, after }: Record<string, unknown>) => [action, before, after]);
    expect(seen.slice(1)).toEqual([
      ['unblock', { status: 'blocked' }, { status: 'active' }],
      ['block', { status: 'active' }, { status: 'blocked' }],
      [
        'rotate',
        { last_four: lastFours[0], old_secret_ends_at: null },
        { last_four: lastFours[1], old_secret_ends_at: expect.stringMatching(/^20\d\d-/) },
      ],
      [
        'update',
        { name: 'Laptop', budget_period: null, period_budget_nano_usd: null, allowed_models: [] },
        { name: 'Desk', budget_period: 'month', period_budget_nano_usd: '7', allowed_models: ['small'] },
      ],
      ['create', null, expect.objectContaining({ name: 'Laptop', rpm: 600, max_budget_nano_usd: null })],
    ]);
    const text = JSON.stringify(changes);
    expect(text).not.toMatch(/[0-9a-f]{64}|hash|pepper|sk-/);
  });

  it('shows the changes of the workspace in the token alone, and none of the operator', async () => {
    const { ask } = await aChangedKey();
    await ask(blockKey, {});
    const { workspaceId, keyId } = await registerAKey(auth);
    await auth.callInternal('POST', `/internal/keys/${keyId}/block`);
    expect(await listChanges(workspaceId)).toEqual({ changes: [], next: null });
  });

  it('is read in pages of 100', async () => {
    const { workspaceId, ask } = await aChangedKey();
    for (let rpm = 1; rpm <= 101; rpm += 1) await ask(updateKey, { rpm });
    const page = await listChanges(workspaceId);
    expect(page.changes).toHaveLength(100);
    expect(page.changes[0].after).toEqual({ rpm: 101 });
    const rest = await listChanges(workspaceId, { before: page.next });
    expect([rest.next, rest.changes.map(({ after }: { after: object }) => after)]).toEqual([null, [{ rpm: 1 }]]);
  });

  it('is that of one key if asked for one, and empty for a key of another workspace', async () => {
    const { workspaceId, keyId, ask } = await aChangedKey();
    const { keyId: otherId } = await registerAKey(auth, { workspace_id: workspaceId });
    await call(blockKey, { member: { workspaceId }, params: { key_id: otherId } });
    await ask(blockKey, {});
    await ask(unblockKey, {});
    const { changes } = await listChanges(workspaceId, { key_id: keyId });
    expect(changes.map(({ action }: { action: string }) => action)).toEqual(['unblock', 'block']);
    const [{ change_id: before }] = changes;
    expect((await listChanges(workspaceId, { key_id: keyId, before })).changes).toEqual(changes.slice(1));
    const { workspaceId: foreign } = await putAWorkspace(auth);
    expect((await listChanges(foreign, { key_id: keyId })).changes).toEqual([]);
  });

  it('refuses a page that begins at no id', async () => {
    const { workspaceId } = await putAWorkspace(auth);
    expect(await listChanges(workspaceId, { before: '1 OR true' })).toMatchObject({ param: 'before' });
  });

  it('keeps its lines whatever is asked of the database', async () => {
    const { ask } = await aChangedKey();
    await ask(blockKey, {});
    for (const statement of [
      "UPDATE key_change SET user_id = 'user_eve'",
      'DELETE FROM key_change',
      'TRUNCATE key_change',
    ])
      await expect(auth.db.$executeRawUnsafe(statement)).rejects.toThrow(/append-only/);
  });

  it('makes no change that it cannot note', async () => {
    const { workspaceId, keyId, apiKey, read } = await aChangedKey();
    const before = await read();
    await auth.db.$executeRaw`ALTER TABLE key_change ADD CONSTRAINT no_eve CHECK (user_id <> 'user_eve')`;
    const member = { workspaceId, userId: 'user_eve' };
    const { grace_seconds: _, ...made } = aSecret().body;
    const asked: [ConsoleRoute, object][] = [
      [createKey, { ...made, name: 'Eve' }],
      [updateKey, { name: 'Eve' }],
      [rotateKey, aSecret().body],
      [blockKey, {}],
      [revokeKey, {}],
    ];
    for (const [route, body] of asked)
      expect((await call(route, { member, params: { key_id: keyId }, body })).status).toBe(500);
    expect((await call(listKeys, { member })).body.keys).toEqual([before]);
    expect((await verify(auth, apiKey)).key).toMatchObject({ isBlocked: false });
  });
});
