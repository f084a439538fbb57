import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from '@turnpike/postgres/sql';
import { until } from '@turnpike/test-support/until';
import { changeKey } from '../src/keys/changeKey.ts';
import { changeHold } from '../src/workspaces/changeWorkspace.ts';
import { aKeyHash, aWorkspace, putAWorkspace, registerAKey, verify } from './builders.ts';
import { announcementHeard, startAuth, type TestAuth } from './startAuth.ts';

let auth: TestAuth;
beforeAll(async () => {
  auth = await startAuth();
});
afterAll(() => auth.stop());

const statusOf = (keyId: string, change: string) => auth.callInternal('POST', `/internal/keys/${keyId}/${change}`);

it('creates a workspace in the region of the stack', async () => {
  const { workspaceId, body } = await putAWorkspace(auth, { monthly_cap_nano_usd: '1' });
  const again = await auth.callInternal('PUT', `/internal/workspaces/${workspaceId}`, body);
  expect(again).toEqual({
    status: 200,
    body: {
      workspace_id: workspaceId,
      region: 'us',
      version: 1,
      ...body,
      account_status: null,
      account_cap_nano_usd: null,
    },
  });
});

it('gives a changed key a generation above each record of before, also where its workspace changes meanwhile', async () => {
  const { apiKey, keyId, workspaceId } = await registerAKey(auth);
  let holding: Promise<unknown> = Promise.resolve();
  let before: Awaited<ReturnType<typeof verify>> | undefined;
  const { generation } = await changeKey(auth.db, { keyId, by: 'operator', action: 'update' }, async () => {
    holding = changeHold(auth.db, { workspaceId, change: 'hold' });
    const waits = until('a hold that waits for the key', async () => {
      const waiting = await auth.db.query(sql`
        SELECT 1 AS one FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`);
      return waiting.length > 0;
    });
    await Promise.race([holding, waits]);
    before = await verify(auth, apiKey);
    return { rpm: 5 };
  });
  await holding;
  expect(before?.key.rpm).toBe(600);
  expect(generation.generation).toBeGreaterThan(before?.key.generation);
});

it('raises a workspace’s version, and with it its keys’ generation, only when something changes', async () => {
  const { workspaceId, body } = await putAWorkspace(auth);
  const { apiKey } = await registerAKey(auth, { workspace_id: workspaceId });
  const put = (changes: object) =>
    auth.callInternal('PUT', `/internal/workspaces/${workspaceId}`, { ...body, ...changes });

  expect((await put({})).body.version).toBe(1);
  expect((await put({ billing_status: 'on_hold' })).body.version).toBe(2);
  expect((await verify(auth, apiKey)).key).toMatchObject({ generation: 3, workspace: { billingStatus: 'on_hold' } });
  expect((await put({ monthly_cap_nano_usd: '7' })).body.version).toBe(3);
  expect((await put({ monthly_cap_nano_usd: '7' })).body.version).toBe(3);
  expect((await verify(auth, apiKey)).key).toMatchObject({ generation: 4, workspace: { billingStatus: 'active' } });
});

it('tells the router at once of every key that a changed workspace concerns', async () => {
  const { workspaceId, body } = await putAWorkspace(auth);
  const first = await registerAKey(auth, { workspace_id: workspaceId });
  const second = await registerAKey(auth, { workspace_id: workspaceId });
  const before = auth.announced.length;
  await auth.callInternal('PUT', `/internal/workspaces/${workspaceId}`, { ...body, name: 'Renamed' });
  expect(auth.announced.slice(before).sort()).toEqual(
    [first.keyId, second.keyId]
      .map((keyId) => `PUT /internal/workspaces/${workspaceId}/keys/${keyId}/generation?generation=3`)
      .sort(),
  );
});

it('renames a workspace and changes nothing else of it', async () => {
  const { workspaceId, body } = await putAWorkspace(auth, { monthly_cap_nano_usd: '7', billing_status: 'on_hold' });
  const rename = (id: string) => auth.callInternal('PUT', `/internal/workspaces/${id}/name`, { name: 'Renamed' });
  for (const _time of ['first', 'again'])
    expect(await rename(workspaceId)).toMatchObject({ status: 200, body: { ...body, name: 'Renamed', version: 2 } });
  expect(await rename('ws_nobody')).toMatchObject({ status: 404, body: { error: 'workspace_not_found' } });
});

it('an organization holds at most one workspace per region', async () => {
  const { body } = await putAWorkspace(auth);
  const second = await auth.callInternal('PUT', '/internal/workspaces/ws_second', body);
  expect(second).toMatchObject({ status: 409, body: { error: 'workspace_conflict' } });
  expect(await auth.db.workspace.count({ where: { workspaceId: 'ws_second' } })).toBe(0);
});

it('a workspace stays with its organization', async () => {
  const { workspaceId, body } = await putAWorkspace(auth);
  const moved = await auth.callInternal('PUT', `/internal/workspaces/${workspaceId}`, aWorkspace());
  expect(moved).toMatchObject({ status: 409, body: { error: 'workspace_conflict' } });
  const workspace = await auth.db.workspace.findUniqueOrThrow({ where: { workspaceId } });
  expect(workspace).toMatchObject({ organizationId: body.organization_id, version: 1 });
});

it('creates a workspace once when it is put several times at once', async () => {
  for (let number = 0; number < 30; number += 1) {
    const body = aWorkspace();
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => auth.callInternal('PUT', `/internal/workspaces/ws_at_once_${number}`, body)),
    );
    expect(answers.map(({ status, body: { version } }) => [status, version])).toEqual(Array(8).fill([200, 1]));
  }
});

it.each([
  ['organization_id', { organization_id: 'acme' }],
  ['organization_id', { organization_id: undefined }],
  ['name', { name: '' }],
  ['name', { name: 'a\0b' }],
  ['billing_status', { billing_status: 'free' }],
  ['monthly_cap_nano_usd', { monthly_cap_nano_usd: 5 }],
  ['monthly_cap_nano_usd', { monthly_cap_nano_usd: '-5' }],
  ['monthly_cap_nano_usd', { monthly_cap_nano_usd: '9007199254740992' }],
  ['body', { region: 'eu' }],
])('refuses a workspace whose %s is wrong', async (param, changes) => {
  const answer = await auth.callInternal('PUT', '/internal/workspaces/ws_wrong', aWorkspace(changes));
  expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_request', param, message: expect.any(String) } });
});

it('refuses a workspace id of another shape', async () => {
  const answer = await auth.callInternal('PUT', '/internal/workspaces/acme', aWorkspace());
  expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_request', param: 'workspace_id' } });
});

it('registers a key once, under whichever pepper it is stored', async () => {
  const { registration, keyId } = await registerAKey(auth);
  const again = await auth.callInternal('POST', '/internal/keys', registration);
  expect(again).toMatchObject({ status: 409, body: { error: 'key_already_registered' } });
  expect(keyId).toMatch(/^key_[0-9a-f]{32}$/);
});

it('registers a key once when it comes several times at once', async () => {
  const { registration } = await registerAKey(auth);
  const other = { ...registration, key_sha256: aKeyHash() };
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => auth.callInternal('POST', '/internal/keys', other)),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409, 409, 409, 409]);
});

it.each([
  ['key_sha256', { key_sha256: 'sk-not-a-hash' }],
  ['last_four', { last_four: 'abcde' }],
  ['name', { name: 'x'.repeat(201) }],
  ['workspace_id', { workspace_id: 'acme' }],
  ['rpm', { rpm: 0 }],
  ['tpm', { tpm: 1.5 }],
  ['max_budget_nano_usd', { max_budget_nano_usd: '1e9' }],
  ['expires_at', { expires_at: 'tomorrow' }],
  ['expires_at', { expires_at: '0000-01-01T00:00:00Z' }],
  ['expires_at', { expires_at: '9999-12-31T23:59:59-23:59' }],
  ['body', { status: 'blocked' }],
])('refuses a key whose %s is wrong', async (param, changes) => {
  const { registration } = await registerAKey(auth);
  const body = { ...registration, key_sha256: aKeyHash(), ...changes };
  const answer = await auth.callInternal('POST', '/internal/keys', body);
  expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_request', param } });
});

it('refuses a key of a workspace that is not there', async () => {
  const { registration } = await registerAKey(auth);
  const body = { ...registration, key_sha256: aKeyHash(), workspace_id: 'ws_that_is_not_there' };
  const answer = await auth.callInternal('POST', '/internal/keys', body);
  expect(answer).toMatchObject({ status: 404, body: { error: 'workspace_not_found' } });
});

it('blocks and unblocks a key, each change raising its generation and told to the router at once', async () => {
  const { apiKey, keyId, workspaceId } = await registerAKey(auth);
  const before = auth.announced.length;
  expect(await statusOf(keyId, 'block')).toEqual({ status: 200, body: { key_id: keyId, status: 'blocked' } });
  expect((await verify(auth, apiKey)).key).toMatchObject({ isBlocked: true, generation: 3 });
  expect(await statusOf(keyId, 'unblock')).toEqual({ status: 200, body: { key_id: keyId, status: 'active' } });
  expect((await verify(auth, apiKey)).key).toMatchObject({ isBlocked: false, generation: 4 });
  expect(auth.announced.slice(before)).toEqual(
    ['generation=3&status=blocked', 'generation=4&status=active'].map(
      (said) => `PUT /internal/workspaces/${workspaceId}/keys/${keyId}/generation?${said}`,
    ),
  );
});

describe('a change that the router is not told of', () => {
  afterEach(() => auth.answerAnnouncements(announcementHeard));
  const refuse = (status: number) =>
    auth.answerAnnouncements((_req, res) => {
      res.writeHead(status).end('{}');
    });
  const notTold = {
    status: 503,
    body: { error: 'gate_not_told', message: expect.stringMatching(/is made, .* Repeat/) },
  };

  it.each<[string, (key: { keyId: string; workspaceId: string; body: object }) => [string, string, unknown?]]>([
    ['a revocation', ({ keyId }) => ['POST', `/internal/keys/${keyId}/revoke`]],
    ['a block', ({ keyId }) => ['POST', `/internal/keys/${keyId}/block`]],
    ['a hold', ({ workspaceId }) => ['POST', `/internal/workspaces/${workspaceId}/hold`]],
    ['a cap', ({ workspaceId }) => ['PUT', `/internal/workspaces/${workspaceId}/cap`, { monthly_cap_nano_usd: '7' }]],
    ['a name', ({ workspaceId }) => ['PUT', `/internal/workspaces/${workspaceId}/name`, { name: 'Renamed' }]],
    [
      'a changed workspace',
      ({ workspaceId, body }) => ['PUT', `/internal/workspaces/${workspaceId}`, { ...body, name: 'Renamed' }],
    ],
  ])('is made and says so, and is told when it is repeated: %s', async (_what, toRequest) => {
    const { workspaceId, body } = await putAWorkspace(auth);
    const { apiKey, keyId } = await registerAKey(auth, { workspace_id: workspaceId });
    const request = toRequest({ keyId, workspaceId, body });
    const wasBefore = (await verify(auth, apiKey)).key;
    // The database has a change before its announcement, so that a reader of the announcement finds the change.
    let whenTold: unknown;
    auth.answerAnnouncements(async (_req, res) => {
      whenTold = (await verify(auth, apiKey)).key;
      res.writeHead(503).end('{}');
    });
    expect(await auth.callInternal(...request)).toMatchObject(notTold);
    expect(whenTold).not.toEqual(wasBefore);
    expect((await verify(auth, apiKey)).key).toEqual(whenTold);

    auth.answerAnnouncements(announcementHeard);
    const before = auth.announced.length;
    expect(await auth.callInternal(...request)).toMatchObject({ status: 200 });
    const said = `generation=3${request[1].endsWith('revoke') ? '&status=revoked' : ''}${request[1].endsWith('block') ? '&status=blocked' : ''}`;
    expect(auth.announced.slice(before)).toEqual([expect.stringContaining(`/keys/${keyId}/generation?${said}`)]);
    expect(auth.announced.at(-1)?.endsWith(said)).toBe(true);
    expect((await verify(auth, apiKey)).key).toEqual(whenTold);
  });

  it.each([404, 500])('takes status %i of the router for not being told', async (status) => {
    const { keyId } = await registerAKey(auth);
    refuse(status);
    expect(await statusOf(keyId, 'revoke')).toMatchObject(notTold);
  });

  it('has been tried for every key, whichever of them failed', async () => {
    const { workspaceId } = await putAWorkspace(auth);
    const keys = await Promise.all(Array.from({ length: 70 }, () => registerAKey(auth, { workspace_id: workspaceId })));
    const before = auth.announced.length;
    auth.answerAnnouncements((req, res) => {
      if (auth.announced.length === before + 1) res.writeHead(503).end('{}');
      else announcementHeard(req, res);
    });
    expect(await auth.callInternal('POST', `/internal/workspaces/${workspaceId}/hold`)).toMatchObject(notTold);
    const told = auth.announced.slice(before).map((line) => line.split('/')[5]);
    expect(told.sort()).toEqual(keys.map(({ keyId }) => keyId).sort());
  });

  it('is no reason to lose a secret that was made by a rotation', async () => {
    const { keyId } = await registerAKey(auth);
    refuse(503);
    const rotation = { key_sha256: aKeyHash(), last_four: 'abcd', grace_seconds: 0 };
    const answer = await auth.callInternal('POST', `/internal/keys/${keyId}/rotate`, rotation);
    expect(answer).toMatchObject({ status: 200, body: { gate_told: false, old_key: { key_id: keyId } } });
    auth.answerAnnouncements(announcementHeard);
    const next = { ...rotation, key_sha256: aKeyHash() };
    expect(await auth.callInternal('POST', `/internal/keys/${keyId}/rotate`, next)).toMatchObject({
      status: 200,
      body: { gate_told: true },
    });
  });
});

it('repeating a change is no change', async () => {
  const { apiKey, keyId } = await registerAKey(auth);
  await statusOf(keyId, 'block');
  expect(await statusOf(keyId, 'block')).toMatchObject({ status: 200, body: { status: 'blocked' } });
  expect((await verify(auth, apiKey)).key).toMatchObject({ generation: 3 });
  await statusOf(keyId, 'revoke');
  expect(await statusOf(keyId, 'revoke')).toMatchObject({ status: 200, body: { status: 'revoked' } });
});

it.each(['block', 'unblock'])('a revoked key stays revoked: %s is 409', async (change) => {
  const { apiKey, keyId } = await registerAKey(auth);
  await statusOf(keyId, 'revoke');
  expect(await statusOf(keyId, change)).toMatchObject({ status: 409, body: { error: 'key_revoked' } });
  expect((await verify(auth, apiKey)).key).toBeNull();
});

it.each(['revoke', 'block', 'unblock'])('%s of an unknown key is 404', async (change) => {
  expect(await statusOf('key_none', change)).toMatchObject({ status: 404, body: { error: 'unknown_key' } });
});
