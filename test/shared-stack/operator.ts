import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rename, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { toKeySha256 } from '@turnpike/api-keys/apiKey';
import { generateSigningKey } from '@turnpike/config/internalKeys';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import { until } from '@turnpike/test-support/until';
import { readLogLines } from '../support/readLogLines.ts';
import { type CommandOutcome, runTurnpike, runTurnpikeHere } from '../support/runTurnpike.ts';
import { stack } from './stack.ts';

const MODEL = 'llama-3.3-70b-instruct';

const place = () => `stack ${stack.running.stack.port_base}, region us`;

/** Runs a command that is expected to be done, and gives its JSON document. */
async function done(...args: string[]) {
  const { code, stdout, stderr } = await runTurnpikeHere([...args, '--json'], stack);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
}

/** Runs a command that changes something, like `done`. Its output names the stack and the region. */
async function changed(...args: string[]) {
  const { written_to: writtenTo, ...document } = await done(...args);
  expect(writtenTo).toEqual({ stack: String(stack.running.stack.port_base), region: 'us' });
  return document;
}

/** Runs a command that is expected to fail: nothing on standard output, one line on standard error. */
async function refused(...args: string[]) {
  return expectRefused(await runTurnpikeHere(args, stack));
}
function expectRefused({ code, stdout, stderr }: CommandOutcome) {
  expect(stdout).toBe('');
  expect(stderr).toMatch(/^[^\n]+\n$/);
  return { code, problem: stderr.trim().replace(` [${place()}]`, '') };
}

async function chat(apiKey: string, { model = MODEL, maxTokens = 4 } = {}) {
  const response = await fetch(`${stack.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      max_tokens: maxTokens,
      messages: [{ role: 'user', content: `Hello [[sim: tokens=${maxTokens}]]` }],
    }),
  });
  const { error } = (await response.json()) as { error?: { message: string; code: string } };
  return { status: response.status, message: error?.message, code: error?.code };
}
const statusOf = async (apiKey: string) => (await chat(apiKey)).status;

async function listedModels(apiKey: string): Promise<string[]> {
  const response = await fetch(`${stack.baseUrl}/models`, { headers: { authorization: `Bearer ${apiKey}` } });
  const { data } = (await response.json()) as { data: { id: string }[] };
  return data.map(({ id }) => id);
}

const aWorkspace = () => stack.operator.makeWorkspace({ creditUsd: '10' });
const aKeyOf = async (workspaceId: string, ...options: string[]): Promise<{ key_id: string; api_key: string }> =>
  changed('keys', 'create', '--workspace', workspaceId, ...options);

it('creates a key that works, shown once, with the limits it was given, and finds it by how it ends', async () => {
  const workspaceId = await aWorkspace();
  const options = ['--name', 'Of a test', '--rpm', '7', '--tpm', '90000', '--budget', '1.5', '--expires', '2099-01-31'];
  options.push('--period-budget', '0.5/week', '--models', `${MODEL},bge-m3`);
  const { stdout, code } = await runTurnpike(['keys', 'create', '--workspace', workspaceId, ...options], stack);
  expect(code).toBe(0);
  const [apiKey = ''] = /sk-\w{50}/.exec(stdout) ?? [];
  expect(await statusOf(apiKey)).toBe(200);

  const list = await done('keys', 'list', '--workspace', workspaceId);
  expect(list.keys).toEqual([
    {
      key_id: expect.stringMatching(/^key_/),
      key: `sk-...${apiKey.slice(-4)}`,
      workspace_id: workspaceId,
      name: 'Of a test',
      status: 'active',
      blocked_by: null,
      rpm: 7,
      tpm: 90_000,
      max_budget_usd: '1.5',
      max_budget_nano_usd: '1500000000',
      period_budget: { period: 'week', max_usd: '0.5', max_nano_usd: '500000000' },
      allowed_models: [MODEL, 'bge-m3'],
      expires_at: '2099-01-31T00:00:00.000Z',
      created_at: expect.any(String),
      old_secret: null,
    },
  ]);
  const table = await runTurnpike(['keys', 'list', '--workspace', workspaceId], stack);
  expect(table.stdout).toMatch(
    /^ {2}id +key +name +status +rpm +tpm +budget USD +USD a period +models +expires +created +old secret\n {2}key_\w+ +sk-/,
  );
  expect(table.stdout).not.toContain(apiKey);
  expect((await done('keys', 'find', `sk-...${apiKey.slice(-4)}`)).keys).toEqual(list.keys);
});

it('makes no key for a model that the catalog lacks', async () => {
  const { code, problem } = await refused(
    'keys',
    'create',
    '--workspace',
    await aWorkspace(),
    '--models',
    `${MODEL},nope`,
  );
  expect([code, problem]).toEqual([1, expect.stringContaining('The catalog has no nope, so no key was made')]);
});

it('changes what is given of a key, from its next call on, and removes limits', async () => {
  const { key_id: keyId, api_key: apiKey } = await aKeyOf(await aWorkspace(), '--budget', '2', '--rpm', '50');
  expect(await statusOf(apiKey)).toBe(200);
  const limits = ['--budget', '0', '--period-budget', '0.5/week', '--models', 'bge-m3', '--expires', '2099-01-31'];
  expect(await changed('keys', 'update', keyId, '--name', 'Renamed', ...limits)).toMatchObject({
    ...{ key_id: keyId, name: 'Renamed', rpm: 50, max_budget_usd: '0', allowed_models: ['bge-m3'] },
    ...{ period_budget: { period: 'week', max_usd: '0.5' }, expires_at: '2099-01-31T00:00:00.000Z' },
  });
  expect((await chat(apiKey)).status).toBe(403);

  const noLimits = ['--period-budget', 'none', '--models', 'all', '--expires', 'never'];
  expect(await changed('keys', 'update', keyId, ...noLimits)).toMatchObject({
    ...{ name: 'Renamed', max_budget_usd: '0', period_budget: null, allowed_models: null, expires_at: null },
  });
  await until('the model to be admitted, and the budget to refuse', async () => (await statusOf(apiKey)) === 402);
  const { stdout } = await runTurnpikeHere(['keys', 'update', keyId, '--budget', 'none', '--tpm', '9000'], stack);
  expect(stdout).toMatch(/Renamed +active +50 +9000 +- +- +all/);
  await until('a call without a budget', async () => (await statusOf(apiKey)) === 200);
});

it('revokes a key from its next call on, and for good', async () => {
  const { key_id: keyId, api_key: apiKey } = await aKeyOf(await aWorkspace());
  expect(await statusOf(apiKey)).toBe(200);
  const revoke = ['keys', 'revoke', keyId, '--yes', '--json'];
  const { code, stdout, stderr } = await runTurnpike(revoke, stack);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(JSON.parse(stdout)).toEqual({
    key_id: keyId,
    status: 'revoked',
    written_to: { stack: String(stack.running.stack.port_base), region: 'us' },
  });
  expect(await statusOf(apiKey)).toBe(401);
  expect(await refused('keys', 'unblock', keyId)).toEqual({ code: 1, problem: 'This key is revoked, which is final.' });
});

it('does not revoke a key unasked: without a terminal it wants --yes, at one the key’s id', async () => {
  const { key_id: keyId, api_key: apiKey } = await aKeyOf(await aWorkspace());
  const unasked = await runTurnpike(['keys', 'revoke', keyId], stack);
  expect(expectRefused(unasked)).toMatchObject({ code: 2, problem: expect.stringContaining('--yes') });

  const mistyped = await runTurnpike(['keys', 'revoke', keyId], { ...stack, typed: 'yes' });
  expect(mistyped).toMatchObject({ code: 1, stdout: expect.stringContaining('nothing was changed') });
  expect(await statusOf(apiKey)).toBe(200);

  const confirmed = await runTurnpike(['keys', 'revoke', keyId], { ...stack, typed: keyId });
  expect(confirmed).toMatchObject({ code: 0, stdout: expect.stringContaining(`${keyId} is revoked.`) });
  expect(confirmed.stdout).toContain(`On ${place()}: This ends`);
  expect(await statusOf(apiKey)).toBe(401);
});

it('blocks a key from its next call on, and lets it in again', async () => {
  const { key_id: keyId, api_key: apiKey } = await aKeyOf(await aWorkspace());
  expect(await statusOf(apiKey)).toBe(200);
  await changed('keys', 'block', keyId);
  expect(await statusOf(apiKey)).toBe(403);
  await changed('keys', 'unblock', keyId);
  await until('the key to be let in', async () => ((await statusOf(apiKey)) === 200 ? true : undefined));
});

it('rotates a key: both secrets work for the grace, and without one the old secret ends at once', async () => {
  const { key_id: keyId, api_key: apiKey } = await aKeyOf(await aWorkspace(), '--rpm', '77');
  expect(await statusOf(apiKey)).toBe(200);
  const rotated = await changed('keys', 'rotate', keyId, '--grace', '2h');
  expect(rotated).toMatchObject({
    new_key: { key_id: keyId, rpm: 77, expires_at: null, key: `sk-...${rotated.api_key.slice(-4)}` },
    old_key: { key_id: keyId, rpm: 77, expires_at: expect.any(String), key: `sk-...${apiKey.slice(-4)}` },
  });
  const graceMs = Date.parse(rotated.old_key.expires_at) - Date.now();
  expect(graceMs).toBeGreaterThan(7_100_000);
  expect(graceMs).toBeLessThanOrEqual(7_200_000);
  expect([await statusOf(apiKey), await statusOf(rotated.api_key)]).toEqual([200, 200]);

  await changed('keys', 'end-old', keyId, '--yes');
  expect([await statusOf(apiKey), await statusOf(rotated.api_key)]).toEqual([401, 200]);
  const again = await changed('keys', 'rotate', keyId, '--grace', '0m');
  expect([await statusOf(rotated.api_key), await statusOf(again.api_key)]).toEqual([401, 200]);
  await changed('keys', 'revoke', keyId, '--yes');
  expect(await statusOf(again.api_key)).toBe(401);
});

it('gives a key no third secret while two work: it says when the old one ends, and how to end it now', async () => {
  const { key_id: keyId, api_key: apiKey } = await aKeyOf(await aWorkspace());
  const rotated = await changed('keys', 'rotate', keyId, '--grace', '1m');
  expect(await refused('keys', 'rotate', keyId)).toEqual({
    code: 1,
    problem: `The old secret of this key works until ${rotated.old_key.expires_at}, and a key has two secrets at most. Wait for that, or end it now with "turnpike keys end-old KEY_ID".`,
  });
  for (const secret of [apiKey, rotated.api_key]) {
    const { keys } = await done('keys', 'find', secret.slice(-4));
    expect(keys.map((key: { key_id: string }) => key.key_id)).toContain(keyId);
  }
});

it('makes a workspace that is served once it has credit and a key, and none anew', async () => {
  const id = `ws_${randomUUID()}`;
  const create = ['workspaces', 'create', id, '--name', 'Acme'];
  expect(await changed(...create, '--cap', '9.5')).toEqual({
    workspace_id: id,
    organization_id: id.replace('ws_', 'org_'),
    name: 'Acme',
    region: 'us',
    billing_status: 'active',
    monthly_cap_usd: '9.5',
    monthly_cap_nano_usd: '9500000000',
    account_status: null,
    account_cap_usd: null,
    account_cap_nano_usd: null,
  });
  expect(await refused(...create)).toEqual({ code: 1, problem: 'There is a workspace of this id already.' });
  expect(await done('workspaces', 'show', id)).toMatchObject({ monthly_cap_usd: '9.5' });
  const { api_key: apiKey } = await aKeyOf(id);
  expect(await statusOf(apiKey)).toBe(402);
  await changed('credit', 'add', id, '1', '--id', `credit_${randomUUID()}`);
  await until('the credit to be spent from', async () => ((await statusOf(apiKey)) === 200 ? true : undefined));
});

it('leaves a line for every change in the log of the service that made it: who and what, and nothing secret', async () => {
  const startedAt = new Date().toISOString();
  const id = `ws_${randomUUID()}`;
  const credit = `credit_${randomUUID()}`;
  await changed('workspaces', 'create', id, '--name', 'Tell nobody');
  await changed('workspaces', 'cap', id, '2.5');
  await changed('workspaces', 'hold', id, '--yes');
  await changed('credit', 'add', id, '3', '--id', credit, '--note', 'Tell nobody');
  const { key_id: keyId, api_key: apiKey } = await aKeyOf(id, '--name', 'Tell nobody');
  await changed('keys', 'update', keyId, '--name', 'Tell nobody else', '--rpm', '9');
  const { api_key: newApiKey } = await changed('keys', 'rotate', keyId);
  await changed('keys', 'end-old', keyId, '--yes');
  await changed('keys', 'revoke', keyId, '--yes');
  const { engines } = await done('engines');
  await changed('engines', 'drain', engines[0].id);
  await changed('engines', 'undrain', engines[0].id);
  await changed('models', 'disable', MODEL);
  await changed('models', 'enable', MODEL);

  const workspace = { service: 'auth', workspaceId: id, organizationId: id.replace('ws_', 'org_') };
  const [active, onHold] = [
    { ...workspace, billingStatus: 'active' },
    { ...workspace, billingStatus: 'on_hold' },
  ];
  const key = { service: 'auth', workspaceId: id, keyId };
  const expected = [
    { ...active, msg: 'workspace created', monthlyCapNanoUsd: null },
    { ...active, msg: 'workspace cap set', monthlyCapNanoUsd: '2500000000' },
    { ...onHold, msg: 'workspace status set', monthlyCapNanoUsd: '2500000000' },
    {
      service: 'usage-ledger',
      msg: 'credit applied',
      creditId: credit,
      workspaceId: id,
      amountNanoUsd: '3000000000',
      isApplied: true,
    },
    { ...key, msg: 'key created' },
    { ...key, msg: 'key updated', fields: ['name', 'rpm'] },
    { ...key, msg: 'key rotated', oldEndsAt: expect.any(String) },
    { ...key, msg: 'old secret ended' },
    { ...key, msg: 'key status set', status: 'revoked' },
    { service: 'model-router', msg: 'engine drained', engineId: engines[0].id },
    { service: 'model-router', msg: 'engine undrained', engineId: engines[0].id },
    { service: 'catalog', msg: 'model switched', model: MODEL, change: 'disable', version: expect.any(Number) },
    { service: 'catalog', msg: 'model switched', model: MODEL, change: 'enable', version: expect.any(Number) },
  ];
  const common = {
    level: 'info',
    scope: 'us',
    who: `operator:${userInfo().username}`,
    time: expect.any(String),
    requestId: expect.any(String),
  };
  const services = ['auth', 'catalog', 'model-router', 'usage-ledger', 'media-jobs'];
  const lines = await until('every change to be in a log', async () => {
    const all = (await Promise.all(services.map((service) => readLogLines(stack.stateDir, service)))).flat();
    const changes = all.filter((line) => 'who' in line && line.time >= startedAt);
    return changes.length >= expected.length ? changes.toSorted((a, b) => a.time.localeCompare(b.time)) : undefined;
  });
  expect(lines).toEqual(expected.map((line) => ({ ...common, ...line })));
  const text = JSON.stringify(lines);
  for (const secret of [apiKey, newApiKey, toKeySha256(apiKey), 'Tell nobody']) expect(text).not.toContain(secret);

  // The router may have heard of the model while it was switched off, and hears the rest at its next look.
  const { api_key: other } = await aKeyOf(await aWorkspace());
  await until('the model to be served again', async () => (await statusOf(other)) === 200);
});

it('raises a monthly cap for the next call, and lifts it', async () => {
  const workspaceId = await aWorkspace();
  const { api_key: apiKey } = await aKeyOf(workspaceId);
  await changed('workspaces', 'cap', workspaceId, '0.000000001');
  expect(await chat(apiKey)).toMatchObject({ status: 402, message: 'insufficient_balance' });
  const raised = await changed('workspaces', 'cap', workspaceId, '2.5');
  expect(raised).toMatchObject({ monthly_cap_usd: '2.5', monthly_cap_nano_usd: '2500000000' });
  expect(await statusOf(apiKey)).toBe(200);
  const lifted = await changed('workspaces', 'cap', workspaceId, 'none');
  expect(lifted).toMatchObject({ monthly_cap_usd: null, monthly_cap_nano_usd: null });
});

it('renames a workspace', async () => {
  const workspaceId = await aWorkspace();
  expect(await changed('workspaces', 'rename', workspaceId, 'Other name')).toMatchObject({ name: 'Other name' });
  expect(await done('workspaces', 'show', workspaceId)).toMatchObject({ name: 'Other name' });
});

it('puts a workspace on hold from its next call on, and releases it', async () => {
  const workspaceId = await aWorkspace();
  const { api_key: apiKey } = await aKeyOf(workspaceId);
  expect(await statusOf(apiKey)).toBe(200);
  expect(await refused('workspaces', 'hold', workspaceId)).toMatchObject({
    code: 2,
    problem: expect.stringContaining('--yes'),
  });
  expect(await statusOf(apiKey)).toBe(200);
  await changed('workspaces', 'hold', workspaceId, '--yes');
  expect(await chat(apiKey)).toMatchObject({ status: 402, message: 'account_on_hold' });
  expect(await changed('workspaces', 'release', workspaceId)).toMatchObject({ billing_status: 'active' });
  await until('the workspace to be served', async () => ((await statusOf(apiKey)) === 200 ? true : undefined));
});

it('says of every change, done or refused, which stack and region it was asked of, and of a look at it nothing', async () => {
  const workspaceId = await aWorkspace();
  const capped = await runTurnpike(['workspaces', 'cap', workspaceId, '2.5'], stack);
  expect(capped.stdout).toBe(`On ${place()}:\n${workspaceId} may spend 2.5 USD a month.\n`);
  const missing = await runTurnpike(['workspaces', 'cap', 'ws_nobody', '2.5'], stack);
  expect(missing.stderr).toMatch(new RegExp(` \\[${place()}\\]\n$`));
  expect(await done('workspaces', 'show', workspaceId)).not.toHaveProperty('written_to');
});

it('adds a credit once for each id, and only to a workspace that exists', async () => {
  const workspaceId = await stack.operator.makeWorkspace();
  const { api_key: apiKey } = await aKeyOf(workspaceId);
  expect(await statusOf(apiKey)).toBe(402);
  const id = `credit_${randomUUID()}`;
  const add = () => changed('credit', 'add', workspaceId, '3.25', '--id', id, '--note', 'Invoice 7');
  const credit = { credit_id: id, workspace_id: workspaceId, amount_usd: '3.25', amount_nano_usd: '3250000000' };
  expect(await add()).toEqual({ ...credit, applied: true });
  expect(await add()).toEqual({ ...credit, applied: false });
  await until('the credit to be spent from', async () => ((await statusOf(apiKey)) === 200 ? true : undefined));
  expect(await done('workspaces', 'show', workspaceId)).toMatchObject({ credited_usd: '3.25' });

  expect(await refused('credit', 'add', workspaceId, '4', '--id', id)).toMatchObject({ code: 1 });
  expect(await refused('credit', 'add', 'ws_nobody', '4', '--id', randomUUID())).toEqual({
    code: 1,
    problem: 'There is no such workspace. "turnpike workspaces list" shows the ids.',
  });
});

it('takes credit from the next call on, once for each id, and lists it with what was given', async () => {
  const workspaceId = await aWorkspace();
  const { api_key: apiKey } = await aKeyOf(workspaceId);
  expect(await statusOf(apiKey)).toBe(200);
  const id = `credit_${randomUUID()}`;
  const takeAll = ['credit', 'take', workspaceId, '10', '--id', id, '--note', 'Refund'];
  const take = () => changed(...takeAll, '--yes');
  const credit = { credit_id: id, workspace_id: workspaceId, amount_usd: '-10', amount_nano_usd: '-10000000000' };

  // Some of the ten is spent.
  await until('the call to be recorded', async () =>
    (await done('workspaces', 'show', workspaceId)).spent_nano_usd === '0' ? undefined : true,
  );
  expect(await refused(...takeAll)).toMatchObject({ code: 2, problem: expect.stringContaining('--yes') });
  const mistyped = await runTurnpike(takeAll, { ...stack, typed: 'yes' });
  expect(mistyped).toMatchObject({ code: 1, stdout: expect.stringContaining(`This leaves ${workspaceId} with -0.`) });
  expect(await statusOf(apiKey)).toBe(200);

  expect(await take()).toEqual({ ...credit, applied: true });
  expect(await chat(apiKey)).toMatchObject({ status: 402, message: 'insufficient_balance' });
  expect(await take()).toEqual({ ...credit, applied: false });
  expect(await done('workspaces', 'show', workspaceId)).toMatchObject({ credited_usd: '0' });
  expect(await done('credit', 'list', workspaceId)).toEqual({
    workspace_id: workspaceId,
    credits: [
      expect.objectContaining({ amount_usd: '10', amount_nano_usd: '10000000000' }),
      {
        credit_id: id,
        created_at: expect.any(String),
        note: 'Refund',
        amount_usd: '-10',
        amount_nano_usd: '-10000000000',
      },
    ],
    credited_usd: '0',
    credited_nano_usd: '0',
  });
  const listed = await runTurnpike(['credit', 'list', workspaceId], stack);
  expect(listed.stdout).toMatch(/^ {2}came +id +USD +note\n[\s\S]+ -10 +Refund\n {2}total +0\n$/);

  await changed('credit', 'add', workspaceId, '10', '--id', `credit_${randomUUID()}`);
  await until('the credit to be spent from', async () => ((await statusOf(apiKey)) === 200 ? true : undefined));
});

it('lists workspaces, and shows one with what it has spent', async () => {
  const workspaceId = await aWorkspace();
  const { key_id: keyId, api_key: apiKey } = await aKeyOf(workspaceId);
  const calledAt = new Date();
  expect(await statusOf(apiKey)).toBe(200);
  const { workspaces } = await done('workspaces', 'list');
  const listed = workspaces.map(({ workspace_id: id }: { workspace_id: string }) => id);
  expect(listed).toEqual(expect.arrayContaining([workspaceId, 'ws_local']));

  const usage = await until('the call to be recorded', async () => {
    const found = await done('usage', '--key', keyId);
    return found.usage.length > 0 ? found : undefined;
  });
  // A day may end meanwhile.
  const days = [calledAt, new Date()].map((at) => at.toISOString().slice(0, 10));
  expect(days).toContain(usage.usage[0].day);
  expect(usage.usage).toMatchObject([{ key_id: keyId, requests: 1, success: 1, completion_tokens: 4 }]);
  const { charge_usd: charge, charge_nano_usd: chargeNano } = usage.totals;
  expect(BigInt(chargeNano)).toBeGreaterThan(0n);
  expect(charge).toMatch(/^0\.\d+$/);

  const key = await done('keys', 'show', keyId);
  expect(key).toMatchObject({ key_id: keyId, workspace_id: workspaceId, status: 'active', calls: 1 });
  expect(key).toMatchObject({ spent_nano_usd: chargeNano, last_used_on: usage.usage[0].day });
  const keyTable = await runTurnpike(['keys', 'show', keyId], stack);
  expect(keyTable.stdout).toMatch(/\n {2}last used on +\d{4}-\d\d-\d\d\n$/);

  const shown = await done('workspaces', 'show', workspaceId);
  expect(shown).toMatchObject({ spent_nano_usd: chargeNano, month_spent_usd: charge, billing_status: 'active' });
  expect(BigInt(shown.left_nano_usd)).toBe(10_000_000_000n - BigInt(chargeNano));
  expect((await done('usage', '--workspace', workspaceId)).totals).toEqual(usage.totals);
  const byModel = await done('usage', '--workspace', workspaceId, '--by', 'model');
  expect(byModel).toMatchObject({
    usage: [{ model: MODEL, requests: 1, charge_nano_usd: chargeNano }],
    totals: usage.totals,
  });
  const table = await runTurnpike(['usage', '--workspace', workspaceId, '--by', 'model'], stack);
  expect(table.stdout).toMatch(/^ {2}model +requests +success [\s\S]*\n {2}total +1 /);
  const before = ['--from', '2026-01-01', '--to', '2026-01-31'];
  expect((await done('usage', '--key', keyId, ...before)).usage).toEqual([]);
});

/** Posts as a client does, and expects a success. */
async function post(apiKey: string, path: string, body: object) {
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
  const response = await fetch(stack.baseUrl + path, { method: 'POST', headers, body: JSON.stringify(body) });
  expect(response.ok).toBe(true);
  return {
    callId: response.headers.get('x-router-call-id') ?? '',
    requestId: response.headers.get('x-request-id') ?? '',
    body: (await response.json()) as { id: string },
  };
}

it('shows a call by the id of its answer or of either header: what became of it, and lines that sum to its charge', async () => {
  const workspaceId = await aWorkspace();
  const { key_id: keyId, api_key: apiKey } = await aKeyOf(workspaceId);
  const messages = [{ role: 'user', content: 'Hello [[sim: tokens=4]]' }];
  const asked = { model: MODEL, max_tokens: 4, messages };
  const { callId, requestId, body } = await post(apiKey, '/chat/completions', asked);
  const { call, job } = await until('the call to be recorded', async () => {
    const { code, stdout } = await runTurnpikeHere(['calls', 'show', callId, '--json'], stack);
    return code === 0 && JSON.parse(stdout);
  });
  expect(job).toBeNull();
  expect(call).toMatchObject({
    call_id: callId,
    request_id: requestId,
    workspace_id: workspaceId,
    key_id: keyId,
    canonical_model: MODEL,
    status: 'success',
    completion_tokens: 4,
  });
  const sum = call.cost.reduce(
    (total: number, line: { amount_nano_usd: string }) => total + Number(line.amount_nano_usd),
    0,
  );
  expect(sum).toBe(Number(call.charge_nano_usd));
  expect(body.id).toContain(callId);
  expect(await done('calls', 'show', body.id)).toEqual({ call, job: null });
  expect(await done('calls', 'show', requestId)).toEqual({ call, job: null });
  const { stdout: table } = await runTurnpikeHere(['calls', 'show', callId], stack);
  expect(table).toMatch(/ {2}status +success/);
  expect(table).toContain(`4 completion_tokens × `);
  expect(await refused('calls', 'show', randomUUID())).toMatchObject({
    code: 1,
    problem: expect.stringContaining('No call'),
  });
});

it('has one line in the access log of a call that was served, refused, or never passed on', async () => {
  const { key_id: keyId, api_key: apiKey } = await aKeyOf(await aWorkspace());
  const ask = async (path: string, model: string) => {
    const messages = [{ role: 'user', content: 'Nobody reads this [[sim: tokens=4]]' }];
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ model, max_tokens: 4, messages });
    const response = await fetch(stack.baseUrl + path, { method: 'POST', headers, body });
    await response.text();
    const { status } = response;
    return { status, requestId: response.headers.get('x-request-id') ?? '' };
  };
  const services = ['edge', 'model-router', 'catalog'];
  const lineOf = ({ requestId }: { requestId: string }) =>
    until('the line of the request', async () => {
      const all = (await Promise.all(services.map((service) => readLogLines(stack.stateDir, service)))).flat();
      const lines = all.filter((line) => line.msg === 'access' && line.requestId === requestId);
      expect(lines.length).toBeLessThan(2);
      return lines[0] as ((typeof lines)[0] & Record<string, unknown>) | undefined;
    });

  const served = await lineOf(await ask('/chat/completions', MODEL));
  const call = await until('the call to be recorded', async () => {
    const { code, stdout } = await runTurnpikeHere(['calls', 'show', served.callId ?? '', '--json'], stack);
    return code === 0 && JSON.parse(stdout).call;
  });
  expect(served).toMatchObject({
    service: 'model-router',
    route: 'POST /v1/chat/completions',
    keyId,
    model: MODEL,
    engine: expect.stringContaining(call.model),
    status: 200,
    outcome: 'whole',
    promptTokens: call.prompt_tokens,
    completionTokens: 4,
    chargeNanoUsd: call.charge_nano_usd,
  });
  const refusal = await ask('/chat/completions', 'a-model-of-nobody');
  const refusedLine = await lineOf(refusal);
  expect(refusedLine).toMatchObject({ service: 'model-router', keyId, status: 404, fault: 'unknown_model' });
  const unlistedLine = await lineOf(await ask('/a-path-of-nobody', MODEL));
  expect(unlistedLine).toMatchObject({ service: 'edge', route: 'unlisted', status: 404 });
  const listing = await fetch(`${stack.baseUrl}/models`, { headers: { authorization: `Bearer ${apiKey}` } });
  await listing.text();
  const listingLine = await lineOf({ requestId: listing.headers.get('x-request-id') ?? '' });
  expect(listingLine).toMatchObject({ service: 'catalog', route: 'GET /v1/models', keyId, status: 200 });
  for (const secret of [apiKey, 'Nobody reads', 'of-nobody'])
    expect(JSON.stringify([served, refusedLine, unlistedLine])).not.toContain(secret);

  const { problem } = await refused('calls', 'show', refusal.requestId);
  expect(problem).toContain(`grep ${refusal.requestId}`);
  expect(problem).toContain(refusedLine.time.slice(0, 'yyyy-mm-ddThh'.length));
});

it('shows a media job by its id while it waits, and with its call once it has ended', async () => {
  const workspaceId = await aWorkspace();
  const { api_key: apiKey } = await aKeyOf(workspaceId);
  const images = { model: 'flux.1-schnell', prompt: 'a fox', size: '512x512', n: 1, async: true };
  const { requestId, body } = await post(apiKey, '/images/generations', images);
  const { job: open } = await done('calls', 'show', body.id);
  expect(open).toMatchObject({ id: body.id, workspace_id: workspaceId, model: 'flux.1-schnell', error_code: null });
  const ended = await until('the call of the job', async () => {
    const shown = await done('calls', 'show', body.id);
    return shown.call !== null && shown;
  });
  expect(ended).toMatchObject({
    call: { call_id: open.call_id, status: 'success', units: 1, workspace_id: workspaceId },
    job: { state: 'completed', charge_nano_usd: ended.call.charge_nano_usd },
  });
  expect(await done('calls', 'show', open.call_id)).toEqual(ended);
  expect(await done('calls', 'show', requestId)).toEqual(ended);
});

it('disables a model for clients: 503 model_deactivated and not listed, until it is enabled', async () => {
  const { api_key: apiKey } = await aKeyOf(await aWorkspace());
  const model = 'qwen3-coder-30b-a3b-instruct';
  expect((await chat(apiKey, { model })).status).toBe(200);

  const { version } = await changed('models', 'disable', model);
  const refusedChat = await until('the router to have the switch', async () => {
    const answer = await chat(apiKey, { model });
    return answer.status === 200 ? undefined : answer;
  });
  expect(refusedChat).toMatchObject({ status: 503, code: 'model_deactivated' });
  expect(await listedModels(apiKey)).not.toContain(model);
  expect(await listedModels(apiKey)).toContain(MODEL);
  const { models } = await done('models', 'list');
  expect(models).toContainEqual(expect.objectContaining({ id: model, state: 'disabled', engines: 2 }));

  expect(await changed('models', 'enable', model)).toEqual({ model, state: 'enabled', version: version + 1 });
  const { versions } = await done('catalog', 'versions');
  const switched = { model, kind: 'changed', field: 'state' };
  expect(versions.slice(0, 2)).toMatchObject([
    { version: version + 1, changes: [{ ...switched, from: 'disabled', to: 'live' }], change_count: 1 },
    { version, changes: [{ ...switched, from: 'live', to: 'disabled' }], change_count: 1 },
  ]);
  const { stdout } = await runTurnpikeHere(['catalog', 'versions'], stack);
  expect(stdout).toContain(`${model} state: disabled → live`);
  expect(await listedModels(apiKey)).toContain(model);
  await until('the router to have the switch', async () =>
    (await chat(apiKey, { model })).status === 200 ? true : undefined,
  );
});

it('counts the engines of models of text, and the backends of models of media', async () => {
  const engines = await until('all of them to be ready', async () => {
    const { models } = await done('models', 'list');
    const listed = [MODEL, 'flux.1-schnell'].map((id) => models.find((model: { id: string }) => model.id === id));
    return listed.every((model) => model.healthy_engines === model.engines) ? listed : undefined;
  });
  expect(engines).toMatchObject([
    { id: MODEL, engines: 2 },
    { id: 'flux.1-schnell', engines: 2 },
  ]);
});

it('lists the media backends', async () => {
  const { backends } = await done('media', 'backends');
  expect(backends).toContainEqual({
    ...{ id: expect.any(String), url: expect.stringMatching(/^http:/), engine: expect.any(String) },
    ...{ model: 'flux.1-schnell', slots: expect.any(Number), state: 'ready', is_draining: false },
  });
  const { stdout } = await runTurnpike(['media', 'backends'], stack);
  expect(stdout).toMatch(/^ {2}id +state +model +engine +slots +address\n[\s\S]+ ready +flux\.1-schnell /);
});

it('says of each service that it is ready, makes a call through the edge, and has nothing that wants a look', async () => {
  const shown = await until('a stack in which all is well', async () => {
    const { code, stdout } = await runTurnpikeHere(['status', '--json'], stack);
    const document = code === 0 ? JSON.parse(stdout) : undefined;
    // A ledger that has just started has not counted its dead letters.
    return document?.services['usage-ledger'].dead_letters === 0 ? document : undefined;
  });
  const build = expect.stringMatching(/^dev\b/);
  const well = { state: 'ready', build, missing: [], problems: [], looks: [] };
  const spool = { spool_bytes: expect.any(Number), spool_limit_bytes: expect.any(Number) };
  const number = expect.any(Number);
  expect(shown).toEqual({
    services: {
      edge: { ...well, status_of_a_call: 401, milliseconds: number },
      auth: well,
      catalog: { ...well, version: number, live_models: number },
      'model-router': { ...well, ...spool, engines: number, engines_in: number, open_calls: number, alerts: 0 },
      'usage-ledger': { ...well, event_lag_records: number, dead_letters: 0, mismatches: 0 },
      'media-jobs': { ...well, ...spool, backends: number, backends_in: number, overdue_jobs: 0, alerts: 0 },
      'control-plane': well,
    },
  });
});

it('names in status a target that cannot be listed, a file that is refused, and a token that is not accepted', async () => {
  const file = join(stack.stateDir, 'engines.json');
  const before = await readFile(file, 'utf8');
  const put = async (text: string) => {
    await writeFile(`${file}.next`, text);
    await rename(`${file}.next`, file);
  };
  const shows = (code: number, text: string, options: { stackFile: string } = stack) =>
    until(`status to say ${text}`, async () => {
      const outcome = await runTurnpikeHere(['status'], options);
      return outcome.code === code && outcome.stdout.includes(text);
    });
  try {
    const lost = { id: 'lost', discover: 'dns://nowhere.invalid:9' };
    await put(JSON.stringify({ engines: [...JSON.parse(before).engines, lost] }));
    await shows(3, 'model-router: the engines of target lost cannot be listed since ');
    expect((await done('engines')).targets_not_listed).toEqual([expect.objectContaining({ id: 'lost' })]);
    await put('{"engines": [\n{"id": "no blanks", "url": "http://127.0.0.1:9"}]}');
    await shows(3, 'cannot be used: engines.0.id: must be letters, digits and . _ : / @ - (line 2)');
  } finally {
    await put(before);
  }

  const described = JSON.parse(await readFile(stack.stackFile, 'utf8'));
  const secrets = JSON.parse(await readFile(described.regions.us.secrets_file, 'utf8'));
  const folder = await mkdtemp(join(stack.stateDir, 'strange-'));
  secrets.internalKeys.operator = generateSigningKey('us/operator');
  described.regions.us.secrets_file = join(folder, 'secrets.json');
  await writeFile(join(folder, 'secrets.json'), JSON.stringify(secrets));
  await writeFile(join(folder, 'stack.json'), JSON.stringify(described));
  await shows(1, 'catalog: does not accept the operator’s token', { stackFile: join(folder, 'stack.json') });

  await until('all to be well again', async () => (await runTurnpikeHere(['status'], stack)).code === 0);
});

it('checks a catalog file before it is put in force: mistakes, differences, factors, and models without engines', async () => {
  const file = join(stack.stateDir, 'checked.yaml');
  const deployed = await readFile(join(repositoryRoot, 'deploy/catalog/us/catalog.yaml'), 'utf8');
  const { models } = await done('models', 'list');
  const price: string = models.find(({ id }: { id: string }) => id === MODEL).pricing.prompt;
  const check = async (text: string) => {
    await writeFile(file, text);
    const { code, stdout } = await runTurnpikeHere(['catalog', 'check', file, '--json'], stack);
    return { code, document: JSON.parse(stdout) };
  };
  const dearer = deployed.replaceAll(`prompt: "${price}"`, 'prompt: "0.5"');
  expect(dearer).not.toBe(deployed);
  const { code, document } = await check(dearer);
  expect(code).toBe(3);
  expect(document.changes).toContainEqual({
    ...{ model: MODEL, kind: 'changed', field: 'pricing.prompt', from: price, to: '0.5' },
    factor: expect.any(Number),
  });
  const factor = `${MODEL}: pricing.prompt changes from ${price} to 0.5, by more than a factor of 10`;
  expect(document.warnings).toContain(factor);

  const unknown = await check(deployed.replace('- id: bge-m3\n', '- id: not-served\n'));
  expect(unknown.document.warnings).toEqual(
    expect.arrayContaining([
      'not-served is sold, and no engine or backend is known for it',
      'bge-m3 has engines and is not in the file',
    ]),
  );
  const refused = await check(deployed.replace(`prompt: "${price}"`, 'prompt: "-1"'));
  expect(refused.code).toBe(1);
  expect(refused.document.mistakes).toEqual([expect.stringMatching(/checked\.yaml:\d+: .*"-1" is not a price/)]);
  expect((await done('models', 'show', MODEL)).model).toMatchObject({ id: MODEL, pricing: { prompt: price } });
});

it('checks an engines file before it is put in force: what comes, what goes, and what would be refused', async () => {
  const file = join(stack.stateDir, 'checked.json');
  const { engines } = JSON.parse(await readFile(join(stack.stateDir, 'engines.json'), 'utf8'));
  const check = async (content: object) => {
    await writeFile(file, JSON.stringify(content));
    const { code, stdout } = await runTurnpikeHere(['engines', 'check', file, '--json'], stack);
    return { code, document: JSON.parse(stdout) };
  };
  expect(await check({ engines })).toMatchObject({ code: 0, document: { added: [], removed: [], warnings: [] } });
  const others = engines.filter(({ model }: { model: string }) => model !== MODEL);
  const more = { id: 'more', url: 'http://127.0.0.1:9', model: 'nobodys' };
  const changed = await check({ engines: [...others, more] });
  expect(changed).toMatchObject({ code: 3, document: { added: ['more'] } });
  expect(changed.document.removed).toHaveLength(engines.length - others.length);
  expect(changed.document.warnings).toEqual([
    `${MODEL} loses its last engine`,
    'target more is of nobodys, which is not in the catalog',
  ]);
  const none = await check({ engines: [] });
  expect(none.code).toBe(1);
  expect(none.document.mistakes).toEqual([expect.stringContaining(`leaves 0 of ${engines.length} targets`)]);
  expect((await check({ engines: [], force: true })).document.mistakes).toEqual([]);
});

it('shows the engines as the router sees them', async () => {
  const engines = await until('each engine to have said what it is', async () => {
    const list = (await done('engines')).engines as { url: string; model: string; version: string | null }[];
    return list.every(({ version }) => version !== null) ? list : undefined;
  });
  const described = stack.running.stack.regions.us.engines.map(({ url }) => url);
  expect(engines.map(({ url }) => url).sort()).toEqual([...described].sort());
  const one = engines.find(({ model }) => model === MODEL);
  expect(one).toMatchObject({
    state: 'ready',
    is_healthy: true,
    weight: 1,
    running: expect.any(Number),
    cache_tokens: expect.any(Number),
    window_tokens: expect.any(Number),
    version: expect.any(String),
    tokens_in_flight: expect.any(Number),
    // On a busy machine one of two may be.
    is_slow: expect.any(Boolean),
  });
});

it('drains an engine, whose place another takes, until it is undrained', async () => {
  const stateOf = async (wanted: string) => {
    const { engines } = await done('engines');
    return engines.find(({ id }: { id: string }) => id === wanted)?.state;
  };
  const { engines } = await done('engines');
  const { id } = engines.find(({ model }: { model: string }) => model === MODEL);

  expect(await changed('engines', 'drain', id)).toEqual({ id, open_calls: 0, model: MODEL, engines_left: 1 });
  expect(await stateOf(id)).toBe('draining');
  const other = engines.find((engine: { id: string; model: string }) => engine.model === MODEL && engine.id !== id);
  const last = await runTurnpike(['engines', 'drain', other.id], { ...stack, typed: 'yes' });
  expect(last).toMatchObject({
    code: 1,
    stdout: expect.stringContaining(`This is the last engine that takes calls of ${MODEL}: they will get 503.`),
  });
  expect(await refused('engines', 'drain', other.id)).toMatchObject({ code: 2 });
  const { api_key: apiKey } = await aKeyOf(await aWorkspace());
  expect((await chat(apiKey, { model: MODEL })).status).toBe(200);

  expect(await changed('engines', 'undrain', id)).toMatchObject({ id });
  expect(await stateOf(id)).toBe('ready');
});

it.each([
  [['keys', 'revoke', 'key_nobody', '--yes'], 1, 'There is no such key. "turnpike keys list --workspace WS" shows'],
  [
    ['keys', 'create', '--workspace', 'ws_nobody'],
    1,
    'There is no such workspace. "turnpike workspaces list" shows the ids.',
  ],
  [['keys', 'list', '--workspace', 'ws_nobody'], 1, 'There is no such workspace.'],
  [['keys', 'update', 'key_nobody', '--rpm', '5'], 1, 'There is no such key.'],
  [['keys', 'show', 'key_nobody'], 1, 'There is no such key.'],
  [['keys', 'update', 'key_nobody'], 2, 'nothing to change is given'],
  [['keys', 'update', 'key_nobody', '--budget', 'much'], 2, '--budget must be dollars'],
  [['keys', 'update', 'key_nobody', '--models', 'nope'], 1, 'so the key was not changed'],
  [['workspaces', 'hold', 'ws_nobody'], 1, 'There is no such workspace.'],
  [['usage', '--key', 'key_nobody'], 1, 'There is no such key. "turnpike keys list --workspace WS" shows the ids.'],
  [['usage', '--workspace', 'ws_nobody'], 1, 'There is no such workspace.'],
  [['engines', 'drain', 'nobody'], 1, 'There is no such engine. "turnpike engines" shows the ids.'],
  [['engines', 'undrain', 'nobody'], 1, 'There is no such engine.'],
  [['models', 'disable', 'nothing'], 1, 'There is no such model. "turnpike models list" shows the ids'],
  [['models', 'disable', '*'], 2, 'MODEL must be a model id'],
  [['workspaces', 'cap', 'ws_local', '99999999'], 2, 'USD|none must be at most 9007199.254740991'],
])('%j ends with %i and says why', async (args, code, problem) => {
  expect(await refused(...args)).toEqual({ code, problem: expect.stringContaining(problem) });
});

it('says in one line, without a key or a secret, that a stack is away', async () => {
  const { code, stderr } = await runTurnpike(['engines'], { stackFile: '/nowhere/stack.json' });
  expect({ code, stderr }).toEqual({ code: 1, stderr: '/nowhere/stack.json cannot be read: does that stack run?\n' });
});
