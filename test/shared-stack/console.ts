import { randomUUID } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { generateApiKey, toKeySha256 } from '@turnpike/api-keys/apiKey';
import { until } from '@turnpike/test-support/until';
import { untilMail } from '@turnpike/test-support/untilMail';
import { runTurnpikeHere } from '../support/runTurnpike.ts';
import { account, post, toCookie } from './accounts.ts';
import { MODEL_WITH_SHARED_CACHE, stack } from './stack.ts';

// The console host of the region, called as a page of the account layer does: with a token that the account layer signed.

const consoleUrl = () => stack.running.stack.regions.us.console_url;

/** Sends a request to the console host with a token and no cookie, like a page of the dashboard. */
const ask = (
  path: string,
  token: string,
  origin = account().origin,
  body?: object,
  method = body ? 'POST' : 'GET',
): Promise<Response> =>
  fetch(consoleUrl() + path, {
    method,
    headers: { origin, authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });

/** Signs a new user in, whose first workspace has credit, and makes an organization with it here. Returns a token for it. */
async function openConsole(): Promise<string> {
  const address = `console-${randomUUID()}@example.com`;
  await post('/account/sign-in/link', { address });
  const { text } = await untilMail(account().mail_catcher_url, { to: address });
  const signedIn = await post('/account/sign-in/link/complete', { token: /#(\S+)/.exec(text)?.[1] });
  const create = async (path: string, body: object) => {
    const answer = await post(path, body, toCookie(signedIn));
    expect(answer.status).toBe(201);
    return (await answer.json()) as Record<string, string>;
  };
  const { organization_id: organizationId = '' } = await create('/account/organizations', { name: 'Console' });
  const path = `/account/organizations/${organizationId}/workspaces`;
  const { workspace_id: workspaceId = '' } = await create(path, { region: 'us', name: 'States' });
  const { token = '' } = await create(`${path}/${workspaceId}/console-token`, {});
  return token;
}

it('lists the keys of a workspace for a member with a token of the account layer', async () => {
  const token = await openConsole();
  const answer = await ask('/console/keys', token);
  expect([answer.status, await answer.json()]).toEqual([200, { keys: [], next_after: null }]);
  expect(answer.headers.get('access-control-allow-origin')).toBe(account().origin);
  expect((await ask('/console/keys', token, 'https://evil.example')).status).toBe(403);
  expect((await ask('/console/keys', `${token}x`)).status).toBe(401);
  expect((await fetch(`${stack.running.stack.regions.us.base_url}/../console/keys`)).status).toBe(404);
});

it('creates a key that works at the API at once, and is refused from the next call on once it is revoked', async () => {
  const token = await openConsole();
  const apiKey = generateApiKey();
  const key = { key_sha256: toKeySha256(apiKey), last_four: apiKey.slice(-4), name: 'Console' };
  const change = (path: string, body: object, method?: string) => ask(path, token, account().origin, body, method);
  // The region learns of the workspace from the feed of the account layer.
  const { key_id: keyId } = await until('the workspace in the region', async () => {
    const answer = await change('/console/keys', key);
    return answer.status === 201 ? ((await answer.json()) as { key_id: string }) : undefined;
  });
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
  const { base_url: baseUrl } = stack.running.stack.regions.us;
  const chat = async () => {
    const body = JSON.stringify({
      model: MODEL_WITH_SHARED_CACHE,
      max_tokens: 1,
      messages: [{ role: 'user', content: 'Hi' }],
    });
    return (await fetch(`${baseUrl}/chat/completions`, { method: 'POST', headers, body })).status;
  };
  const readKey = async () => (await fetch(`${baseUrl}/svc/key`, { headers })).json();
  // On a busy machine the feed with the first credit takes longer than a call waits for it.
  await until('a call of the new workspace', async () => (await chat()) === 200);
  expect(await readKey()).toMatchObject({ rate_limit: { rpm: 600 } });
  expect((await change(`/console/keys/${keyId}`, { rpm: 7 }, 'PATCH')).status).toBe(200);
  expect(await readKey()).toMatchObject({ rate_limit: { rpm: 7 } });
  const headroom = await ask(`/console/keys/${keyId}/headroom`, token);
  const used = { used_requests: expect.any(Number), used_tokens: expect.any(Number) };
  expect(await headroom.json()).toMatchObject({ rpm: 7, ...used });
  expect((await change(`/console/keys/${keyId}/block`, {})).status).toBe(200);
  expect(await chat()).toBe(403);
  expect((await change(`/console/keys/${keyId}/unblock`, {})).status).toBe(200);
  await until('the key is let in again', async () => (await chat()) !== 403);
  expect((await change(`/console/keys/${keyId}/revoke`, {})).status).toBe(200);
  expect([await chat(), (await fetch(`${baseUrl}/svc/key`, { headers })).status]).toEqual([401, 401]);

  const { stdout } = await runTurnpikeHere(['audit', 'key', keyId, '--json'], stack);
  const { changes } = JSON.parse(stdout) as { changes: { action: string }[] };
  expect(changes.map(({ action }) => action)).toEqual(['revoke', 'unblock', 'block', 'update', 'create']);
  expect(changes[3]).toMatchObject({
    user_id: expect.stringMatching(/^user_/),
    before: { rpm: 600 },
    after: { rpm: 7 },
  });
  expect(stdout).not.toContain(key.key_sha256);
});
